/** Results of bulk jobs as CSV. The server sends NDJSON; a spreadsheet needs columns. */
import { type CsvValue, csvText } from '../../ui/csv.ts';

/** Nested objects become columns such as `risk.score`; deeper ones become JSON. */
const DEPTH_MAX = 2;
/** Columns of a file. Results have below 60. */
const COLUMNS_MAX = 200;

type Cells = Map<string, CsvValue>;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list in one cell: its texts, or of objects their names. */
function listText(values: readonly unknown[]): string {
  return values
    .map((value) => {
      if (!isObject(value)) return String(value);
      const name = value.name ?? value.list ?? value.category ?? value.code;
      return typeof name === 'string' ? name : JSON.stringify(value);
    })
    .join('; ');
}

function fill(cells: Cells, prefix: string, value: unknown, depth: number): void {
  if (Array.isArray(value)) cells.set(prefix, listText(value));
  else if (!isObject(value)) cells.set(prefix, value as CsvValue);
  else if (depth >= DEPTH_MAX) cells.set(prefix, JSON.stringify(value));
  else
    for (const [name, inner] of Object.entries(value))
      fill(cells, prefix === '' ? name : `${prefix}.${name}`, inner, depth + 1);
}

/**
 * Returns a result as CSV: one row for each line, and a column for every field that any line has.
 *
 * @param ndjson - complete lines
 */
export function resultCsv(ndjson: string): string {
  const columns = new Set<string>();
  const rows = ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const cells: Cells = new Map();
      fill(cells, '', JSON.parse(line), 0);
      for (const name of cells.keys()) if (columns.size < COLUMNS_MAX) columns.add(name);
      return cells;
    });
  const names = [...columns];
  return csvText(
    names,
    rows.map((cells) => names.map((name) => cells.get(name))),
  );
}
