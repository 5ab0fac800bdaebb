/** The hint in errors about tables whose columns are not separated by commas. */

const OTHER_SEPARATORS = [
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
] as const;

/**
 * Returns a sentence about the separator if the header of a table with commas was read as one column, with a space before it; otherwise nothing.
 * Spreadsheets write semicolons where a comma separates decimals.
 */
export function separatorHint(cells: readonly string[]): string {
  const [only = ''] = cells;
  const found =
    cells.length === 1 ? OTHER_SEPARATORS.find(([separator]) => only.includes(separator)) : undefined;
  return found === undefined ? '' : ` Its columns are separated by ${found[1]}; save it with commas.`;
}
