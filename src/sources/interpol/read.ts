/**
 * Reads red notices of Interpol's public API (https://ws-public.interpol.int/notices/v1/red): pages of a search (`_embedded.notices`), and
 * whole notices; one document, or one on each line.
 */
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : [];

const linkOf = (row: JsonObject): string => {
  const self = isObject(row._links) ? row._links.self : undefined;
  return isObject(self) ? fieldText(self, 'href') : '';
};

function partyOf(row: JsonObject) {
  const url = linkOf(row);
  // Yellow notices are about missing people.
  if (url !== '' && !url.includes('/red')) return null;
  const family = fieldText(row, 'name');
  const given = fieldText(row, 'forename');
  return {
    listType: 'adverse_media',
    entityId: fieldText(row, 'entity_id'),
    schema: 'Person',
    name: given === '' ? family : `${family}, ${given}`,
    birthDates: [fieldText(row, 'date_of_birth').replaceAll('/', '-')],
    countries: [...textsOf(row.nationalities), fieldText(row, 'country_of_birth_id')],
    programs: [
      'Red notice',
      ...objectsIn(row.arrest_warrants).map((warrant) => fieldText(warrant, 'charge_translation', 'charge')),
    ],
    sourceUrl: url,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the file is not this JSON. */
export const interpolReader = namedJsonReader({
  layout: 'INTERPOL_RED_JSON',
  expected: "a page of Interpol's notices, with _embedded.notices, or a notice with entity_id",
  rowsOf: (document) => {
    if (isObject(document._embedded) && Array.isArray(document._embedded.notices))
      return objectsIn(document._embedded.notices);
    return typeof document.entity_id === 'string' ? [document] : null;
  },
  partyOf,
});
