/**
 * Reads the World Bank's listing of ineligible firms and individuals: the JSON with which its page fills the table (`response`,
 * `ZPROCSUPP`). Names have footnotes (`*203`), and further names in the same cell.
 */
import { readDate } from '../dates.ts';
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

const PAGE = 'https://www.worldbank.org/en/projects-operations/procurement/debarred-firms';

/** Words between the names of one cell. */
const OTHER_NAME =
  /[,(\s]*\b(?:a\/?k\/?a\b|a\.k\.a\.|also known as|f\/?k\/?a\b|f\.k\.a\.|formerly(?: known as)?|currently(?: d\/b\/a)?|also d\.b\.a\.|d\/b\/a\b|name change from)[.:,\s]*/i;
/** Titles before the names of people: firms have none. */
const PERSON_TITLE = /^(?:MR|MRS|MS|MISS|DR|ENG|ENGR|PROF)\.\s*/i;

function namesIn(text: string): string[] {
  return text
    .replace(/\*\s*\d+/g, ' ')
    .split(OTHER_NAME)
    .map((name) => name.replace(PERSON_TITLE, '').replace(/^[\s,("]+|[\s,)"]+$/g, ''))
    .filter((name) => name !== '');
}

function partyOf(row: JsonObject) {
  const text = fieldText(row, 'SUPP_NAME');
  const [name = '', ...aliases] = namesIn(text);
  const until = readDate(fieldText(row, 'DEBAR_TO_DATE'));
  const reason = fieldText(row, 'DEBAR_REASON');
  return {
    listType: 'adverse_media',
    entityId: fieldText(row, 'SUPP_ID'),
    schema: PERSON_TITLE.test(text.trim()) ? 'Person' : 'Unknown',
    name,
    aliases,
    countries: [fieldText(row, 'COUNTRY_NAME')],
    // Debarments without an end have the year 2999.
    programs: [
      `debarred${until === null || until.startsWith('29') ? '' : ` until ${until}`}${reason === '' ? '' : `: ${reason}`}`,
    ],
    listedAt: readDate(fieldText(row, 'DEBAR_FROM_DATE')),
    sourceUrl: PAGE,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the file is not this JSON. */
export const worldBankReader = namedJsonReader({
  layout: 'WORLD_BANK_JSON',
  expected: 'the JSON of the World Bank, with response.ZPROCSUPP',
  rowsOf: ({ response }) =>
    isObject(response) && Array.isArray(response.ZPROCSUPP) ? objectsIn(response.ZPROCSUPP) : null,
  partyOf,
});
