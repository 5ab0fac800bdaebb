/** Pasted rows of a spreadsheet or of a CSV file: which column has the addresses, and which one the chains. */
import { parseCsv } from '../ui/csv-read.ts';

/** A part of the rows that must be addresses for a column to be that of the addresses. */
const ADDRESSES_MIN = 0.5;

type ChainsOf = (text: string) => readonly string[];

/** An entry of a list: `ETH:0x…` if the chain is known, else only the address. */
export interface ListEntry {
  readonly text: string;
  readonly chain: string | null;
}

/** Returns the parts of an entry. A prefix that is no chain of the address is a part of the text. */
export function entryOf(text: string, chainsOf: ChainsOf): ListEntry {
  const [, prefix = '', address = ''] = /^([A-Za-z0-9]{2,20}):(.+)$/s.exec(text) ?? [];
  const chain = prefix.toUpperCase();
  return chainsOf(address).includes(chain) ? { text: address, chain } : { text, chain: null };
}

/**
 * Returns the addresses of a table in the order of its rows, each with its chain if the table names it, and cells of the same column that are
 * no addresses, except its header.
 *
 * @param chainsOf - returns the chains on which a text is a valid address
 * @returns null if the text is no table with a column of addresses
 */
export function entriesOfTable(text: string, chainsOf: ChainsOf): readonly string[] | null {
  const rows = parseCsv(text).map(({ cells }) => cells.map((cell) => cell.trim()));
  const width = rows[0]?.length ?? 0;
  if (rows.length < 2 || width < 2 || rows.some((cells) => cells.length !== width)) return null;
  const isAddress = (cell: string | undefined): boolean => cell !== undefined && chainsOf(cell).length > 0;
  const counts = Array.from(
    { length: width },
    (_, column) => rows.filter((cells) => isAddress(cells[column])).length,
  );
  const most = Math.max(...counts);
  if (most < 1 || most < (rows.length - 1) * ADDRESSES_MIN) return null;
  const column = counts.indexOf(most);
  const body = isAddress(rows[0]?.[column]) ? rows : rows.slice(1);
  const isChain = (cells: readonly string[], at: number): boolean =>
    chainsOf(cells[column] ?? '').includes(cells[at]?.toUpperCase() ?? '');
  const isUnset = (cells: readonly string[], at: number): boolean =>
    cells[at] === '' || !isAddress(cells[column]);
  const chainColumn = Array.from({ length: width }, (_, at) => at).find(
    (at) => at !== column && body.every((cells) => isUnset(cells, at) || isChain(cells, at)),
  );
  return body.flatMap((cells) => {
    const cell = cells[column] ?? '';
    if (cell === '') return [];
    return chainColumn !== undefined && isChain(cells, chainColumn)
      ? [`${cells[chainColumn]?.toUpperCase()}:${cell}`]
      : [cell];
  });
}
