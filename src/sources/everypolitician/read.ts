/**
 * Reads politicians as Popolo JSON (https://www.popoloproject.com/specs/), in which EveryPolitician publishes each legislature, and as the
 * JSON results of the Wikidata query of docs/guides/names.md (https://query.wikidata.org/): one document, or one on each line.
 */
import { readDate } from '../dates.ts';
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader, splitCell } from '../named-files.ts';

/** Returns the text of a variable of a Wikidata result. */
const variableOf = (row: JsonObject, variable: string): string => {
  const value = row[variable];
  return isObject(value) ? fieldText(value, 'value') : '';
};

const bindingsOf = ({ results }: JsonObject): readonly JsonObject[] | null =>
  isObject(results) && Array.isArray(results.bindings) ? objectsIn(results.bindings) : null;

function wikidataParty(row: JsonObject) {
  const page = variableOf(row, 'person');
  const id = /Q\d+$/.exec(page)?.[0] ?? '';
  const label = variableOf(row, 'personLabel');
  return {
    listType: 'pep',
    entityId: id,
    schema: 'Person',
    // A person without a label in the language of the query has its id as label.
    name: label === id ? '' : label,
    aliases: splitCell(variableOf(row, 'aliases'), '|'),
    birthDates: [variableOf(row, 'birthDate').slice(0, 10)],
    countries: [variableOf(row, 'countryCode')],
    programs: splitCell(variableOf(row, 'positions'), '|'),
    listedAt: readDate(variableOf(row, 'since').slice(0, 10)),
    sourceUrl: page,
  } as const;
}

/** Organisations and memberships of a document, by their ids: made once for its thousands of people. */
interface Legislature {
  readonly organisations: ReadonlyMap<string, string>;
  readonly memberships: ReadonlyMap<string, readonly JsonObject[]>;
}
const legislatures = new WeakMap<JsonObject, Legislature>();

function legislatureOf(document: JsonObject): Legislature {
  const known = legislatures.get(document);
  if (known !== undefined) return known;
  const memberships = new Map<string, JsonObject[]>();
  for (const membership of objectsIn(document.memberships)) {
    const person = fieldText(membership, 'person_id');
    const own = memberships.get(person);
    if (own) own.push(membership);
    else memberships.set(person, [membership]);
  }
  const organisations = new Map(
    objectsIn(document.organizations).map((one) => [fieldText(one, 'id'), fieldText(one, 'name')]),
  );
  const made = { organisations, memberships };
  legislatures.set(document, made);
  return made;
}

function popoloParty(row: JsonObject, document: JsonObject) {
  const { organisations, memberships } = legislatureOf(document);
  const own = memberships.get(fieldText(row, 'id')) ?? [];
  // A person of the document without a membership holds no office; a dead one is no politically exposed person.
  if (own.length === 0 || fieldText(row, 'death_date') !== '') return null;
  const positions = own.map((one) => {
    const name = organisations.get(fieldText(one, 'organization_id')) ?? '';
    return [fieldText(one, 'role'), name].filter((part) => part !== '').join(', ');
  });
  const starts = own.map((one) => readDate(fieldText(one, 'start_date'))).filter((date) => date !== null);
  const url = objectsIn(row.links)
    .map((link) => fieldText(link, 'url'))
    .find((link) => link.includes('wikipedia.org'));
  return {
    listType: 'pep',
    entityId: fieldText(row, 'id'),
    schema: 'Person',
    name: fieldText(row, 'name'),
    aliases: [
      fieldText(row, 'sort_name'),
      ...objectsIn(row.other_names).map((one) => fieldText(one, 'name')),
    ],
    birthDates: [fieldText(row, 'birth_date')],
    programs: positions,
    listedAt: starts.sort()[0] ?? null,
    sourceUrl: url ?? null,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if a document is in neither layout. */
export const everyPoliticianReader = namedJsonReader({
  layout: 'POPOLO_OR_WIKIDATA_JSON',
  expected: 'Popolo JSON with persons and memberships, or results of the Wikidata query',
  rowsOf: (document) =>
    bindingsOf(document) ?? (Array.isArray(document.persons) ? objectsIn(document.persons) : null),
  partyOf: (row, document) =>
    bindingsOf(document) === null ? popoloParty(row, document) : wikidataParty(row),
});
