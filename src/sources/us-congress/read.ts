/** Reads `legislators-current.json` of the unitedstates project: an array with one object for each member of Congress. */
import { readDate } from '../dates.ts';
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

const OFFICES: Readonly<Record<string, string>> = {
  sen: 'Senator',
  rep: 'Member of the House of Representatives',
  prez: 'President',
  viceprez: 'Vice President',
};

const inside = (object: JsonObject, field: string): JsonObject => {
  const value = object[field];
  return isObject(value) ? value : {};
};

/** Returns a name as `Family, Given Middle`. */
function listName(name: JsonObject): string {
  const given = [fieldText(name, 'first'), fieldText(name, 'middle')].filter((part) => part !== '').join(' ');
  return [fieldText(name, 'last'), given].filter((part) => part !== '').join(', ');
}

function partyOf(row: JsonObject) {
  const name = inside(row, 'name');
  const terms = objectsIn(row.terms);
  const last = terms.at(-1) ?? {};
  const id = fieldText(inside(row, 'id'), 'bioguide') || fieldText(inside(row, 'id'), 'govtrack');
  const nickname = fieldText(name, 'nickname');
  const office = OFFICES[fieldText(last, 'type')] ?? '';
  return {
    listType: 'pep',
    entityId: id,
    schema: 'Person',
    name: fieldText(name, 'official_full') || listName(name),
    aliases: [
      listName(name),
      nickname === '' ? '' : `${nickname} ${fieldText(name, 'last')}`,
      ...objectsIn(row.other_names).map((other) => listName({ ...name, middle: '', ...other })),
    ],
    birthDates: [fieldText(inside(row, 'bio'), 'birthday')],
    countries: ['US'],
    programs: [
      [office, fieldText(last, 'state')].filter((part) => part !== '').join(', '),
      fieldText(last, 'party'),
    ],
    listedAt: readDate(fieldText(terms[0] ?? {}, 'start')),
    sourceUrl: /^[A-Z]\d{6}$/.test(id) ? `https://bioguide.congress.gov/search/bio/${id}` : null,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if a document is not a member with terms. */
export const usCongressReader = namedJsonReader({
  layout: 'CONGRESS_LEGISLATORS_JSON',
  expected: 'legislators-current.json, with a name and the terms of each member',
  rowsOf: (document) =>
    Array.isArray(document.terms) && isObject(document.name) && isObject(document.id) ? [document] : null,
  partyOf,
});
