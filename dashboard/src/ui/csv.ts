/** CSV files of tables, safe to open in a spreadsheet. */

import { plainText } from './plain-text.ts';

export type CsvValue = string | number | boolean | null | undefined;

/** A cell that begins with one of these is a formula to a spreadsheet (OWASP, "CSV injection"). Full-width forms count as well. */
const FORMULA_START = /^[\s\uFEFF]*[=+\-@|%\t\r\n＝＋－＠]/;
/**
 * A place inside a text at which a spreadsheet may begin a cell: if the language of a person separates cells by semicolons, the quotes of
 * this file do not count there. A separator starts a match and ends the blanks of the one before, so that the time is linear.
 */
const INNER_FORMULA = /([;\t\r\n](?:[^\S\t\r\n]|["'])*)(?=[=+\-@|%＝＋－＠])/g;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const NEEDS_QUOTES = /[",;\r\n\t]/;

/**
 * Returns a cell. A text that a spreadsheet would take for a formula gets an apostrophe in front, which shows it as text; numbers stay as
 * they are.
 */
export function csvCell(value: CsvValue): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? plainText(value) : String(value);
  const inner = typeof value === 'string' ? text.replace(INNER_FORMULA, "$1'") : text;
  const safe =
    typeof value === 'string' && FORMULA_START.test(value) && !NUMBER.test(value) ? `'${inner}` : inner;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the text of a cell that `csvCell` wrote: without the apostrophe in front of a formula. */
export const cellText = (cell: string): string =>
  cell.startsWith("'") && FORMULA_START.test(cell.slice(1)) ? cell.slice(1) : cell;

/** Returns a CSV file (RFC 4180). It begins with a byte order mark, without which Excel does not read UTF-8. */
export function csvText(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  const lines = [header, ...rows].map((cells) => cells.map(csvCell).join(','));
  return `\uFEFF${lines.join('\r\n')}\r\n`;
}
