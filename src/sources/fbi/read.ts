/** Reads the pages of the FBI's API of wanted persons (https://api.fbi.gov/wanted/v1/list): one page, or one on each line. */
import { readDate } from '../dates.ts';
import { fieldText, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

/** Posters about victims and unknown persons: they are not wanted. */
const NOT_WANTED = /^(?:victim|witness)$/i;
const NOT_WANTED_POSTERS = /^(?:missing|kidnapping|information)$/i;
/** States of a poster that is no longer valid. */
const ENDED = /^(?:captured|recovered|located|surrendered|deceased)$/i;

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : [];

/** `August 15, 1997` is printed as in the United States. */
const dayFirst = (text: string): string =>
  text
    .trim()
    .replace(
      /^([A-Za-z]+) (\d{1,2}), (\d{4})$/,
      (_, month: string, day, year) => `${day} ${month.slice(0, 3)} ${year}`,
    );

function partyOf(row: JsonObject) {
  const isWanted =
    !NOT_WANTED.test(fieldText(row, 'person_classification')) &&
    !NOT_WANTED_POSTERS.test(fieldText(row, 'poster_classification')) &&
    !ENDED.test(fieldText(row, 'status'));
  if (!isWanted) return null;
  return {
    listType: 'adverse_media',
    entityId: fieldText(row, 'uid'),
    schema: 'Person',
    // Some titles end with a place: `JOHN DOE - TUCSON, ARIZONA`.
    name: fieldText(row, 'title').replace(/\s+[-–]\s+.*$/, ''),
    aliases: textsOf(row.aliases).map((alias) => alias.replace(/^["“]|["”]$/g, '')),
    birthDates: textsOf(row.dates_of_birth_used).map(dayFirst),
    countries: [fieldText(row, 'nationality'), ...textsOf(row.possible_countries)],
    programs: [...textsOf(row.subjects), fieldText(row, 'description')],
    listedAt: readDate(fieldText(row, 'publication')),
    sourceUrl: fieldText(row, 'url'),
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the file is not this JSON. */
export const fbiReader = namedJsonReader({
  layout: 'FBI_WANTED_JSON',
  expected: "a page of the FBI's API of wanted persons, with items",
  rowsOf: ({ items }) => (Array.isArray(items) ? objectsIn(items) : null),
  partyOf,
  changedOf: (row) => fieldText(row, 'modified'),
});
