/** Converts dates as publishers print them to ISO dates or partial dates (`1972`, `1972-05`). */

import { AssayError } from '../base/errors.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** A wider range of years is useless for a comparison. */
const RANGE_YEARS_MAX = 20;

/**
 * Returns `1972`, `1972-05` or `1972-05-09` from numbers; null if they are not a date. A part of 0 or NaN is unknown.
 */
export function partialDate(year: number, month = 0, day = 0): string | null {
  if (!Number.isInteger(year) || year < 1000 || year > 2999) return null;
  const yyyy = String(year);
  if (!(month >= 1 && month <= 12)) return yyyy;
  const mm = String(month).padStart(2, '0');
  // Day 0 of the next month is the last day of this one.
  if (!(day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate())) return `${yyyy}-${mm}`;
  return `${yyyy}-${mm}-${String(day).padStart(2, '0')}`;
}

const FORMS: readonly {
  readonly pattern: RegExp;
  readonly read: (parts: readonly string[]) => string | null;
}[] = [
  // 2025-03-04, 2025-03-04T10:00:00Z, 2025-03-04-04:00, 1972-05, 1972
  {
    pattern: /^(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?(?:[T ]\d.*|Z|[+-]\d\d:\d\d)?$/,
    read: ([year, month, day]) => partialDate(Number(year), Number(month), Number(day)),
  },
  // 04/03/2025, dd/mm/1972, 00/00/1972, 04-03-2025, 4.3.2025: the day comes first
  {
    pattern: /^(\d\d?|[dD]{2})[/.-](\d\d?|[mM]{2})[/.-](\d{4})$/,
    read: ([day, month, year]) => partialDate(Number(year), Number(month), Number(day)),
  },
  // 10 Dec 1948, 24-Jun-2026, Dec 1948
  {
    pattern: /^(?:(\d\d?)[ -])?([A-Za-z]{3})[a-z]*\.?[ -](\d{4})$/,
    read: ([day, month, year]) =>
      partialDate(Number(year), MONTHS.indexOf((month ?? '').toLowerCase()) + 1, Number(day)),
  },
];

/**
 * Parses one date with the day before the month; returns null
 * for any other text. `circa` and similar words are ignored.
 */
export function readDate(text: string): string | null {
  const bare = text.trim().replace(/^(?:circa|approximately|about|c\.|between|late|early|mid)\s+/i, '');
  for (const { pattern, read } of FORMS) {
    const match = pattern.exec(bare);
    if (match) return read(match.slice(1));
  }
  return null;
}

/** Parses OFAC's `MM/DD/YYYY`; returns null if the text is not such a date. */
export function readUsDate(text: string): string | null {
  const match = /^(\d\d?)\/(\d\d?)\/(\d{4})$/.exec(text.trim());
  return match ? partialDate(Number(match[3]), Number(match[1]), Number(match[2])) : null;
}

/** Returns the years of a range, including both ends; only the two ends if the range is wider than 20 years. */
export function yearRange(from: number, to: number): string[] {
  const first = partialDate(from);
  const last = partialDate(to);
  if (first === null || last === null || to < from) return [first, last].filter((year) => year !== null);
  if (to - from > RANGE_YEARS_MAX) return [first, last];
  return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
}

/**
 * Parses a date or a range (`1953 to 1955`, `01 Jan 1961 to 31 Dec 1961`, `1953-1955`) and returns the dates that it
 * can mean.
 */
export function readDates(text: string): string[] {
  const single = readDate(text);
  if (single !== null) return [single];
  const ends = text.split(/\s+(?:to|and|or|-)\s+|(?<=^\s*\d{4})-(?=\d{4}\s*$)/i).map((end) => readDate(end));
  const [from, to] = ends;
  if (!from || !to || ends.length !== 2) return ends.filter((end) => end !== null && end !== undefined);
  return yearRange(Number(from.slice(0, 4)), Number(to.slice(0, 4)));
}

/** How far a publication date may be ahead of the clock: time zones, and publishers that date a list for tomorrow. */
const AHEAD_MS_MAX = 2 * 86_400_000;

/**
 * Throws if a date of publication is in the future: such a file would count as the newest, and its list as checked, until that day.
 *
 * @param published - ISO date or time
 * @param code - code of the error: whether the date is the caller's or belongs to a file
 */
export function requirePublished(
  published: string,
  now: number,
  code: 'INVALID_FILE' | 'INVALID_REQUEST',
): void {
  if (Date.parse(published) <= now + AHEAD_MS_MAX) return;
  throw new AssayError(code, `published: ${published.slice(0, 40)} is in the future.`, {
    field: 'published',
  });
}
