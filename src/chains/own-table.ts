/** CSV tables of the operator: a header, and cells without quotes. Any invalid line is an error, because nothing in a table is guessed. */
import { AssayError, messageOf } from '../base/errors.ts';
import { separatorHint } from '../base/separator-hint.ts';

export interface OwnTable<Column extends string, Row> {
  /** Begins each error. */
  readonly name: string;
  /** The setting that names the table, if one does. */
  readonly setting?: string;
  readonly columns: readonly Column[];
  readonly required: readonly Column[];
  /**
   * Reads a row from its trimmed cells; the cell of an absent column is empty.
   *
   * @throws an error with the reason if the row is invalid
   */
  readonly readRow: (cell: (column: Column) => string) => Row;
}

/**
 * Reads all rows of a table.
 *
 * @throws INVALID_FILE with the line of the first invalid row
 */
export function readOwnTable<Column extends string, Row>(
  text: string,
  { name, setting, columns, required, readRow }: OwnTable<Column, Row>,
): Row[] {
  const fail = (line: number, reason: string): never => {
    const details = setting === undefined ? {} : { field: setting };
    throw new AssayError('INVALID_FILE', `${name}, line ${line}: ${reason}`, details);
  };
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const header = (lines[0] ?? '').split(',').map((cell) => cell.trim().toLowerCase());
  for (const column of required)
    if (!header.includes(column)) fail(1, `the column '${column}' is missing.${separatorHint(header)}`);
  for (const column of header)
    if (!(columns as readonly string[]).includes(column))
      fail(1, `the column '${column.slice(0, 40)}' must be one of ${columns.join(', ')}.`);
  const rows: Row[] = [];
  for (let at = 1; at < lines.length; at++) {
    const line = lines[at] as string;
    if (line.trim() === '') continue;
    const cells = line.split(',').map((cell) => cell.trim());
    if (cells.length !== header.length)
      fail(at + 1, `the row has ${cells.length} cells, and the header ${header.length}.`);
    try {
      rows.push(readRow((column) => cells[header.indexOf(column)] ?? ''));
    } catch (error) {
      fail(at + 1, messageOf(error));
    }
  }
  return rows;
}
