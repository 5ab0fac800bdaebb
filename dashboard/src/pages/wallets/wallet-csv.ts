/** Reads a CSV file of wallets in the browser. Every line becomes a row: one that cannot be added says why, and none is left out. */

import type { Schemas } from '../../api/client.ts';
import { everyOf } from '../../api/every.ts';
import { cellText } from '../../ui/csv.ts';
import { parseCsv } from '../../ui/csv-read.ts';

/** Columns of a file, with the other names that they may have. */
const COLUMNS = {
  address: ['address', 'walletaddress', 'wallet'],
  chain: ['chain', 'network'],
  label: ['label', 'name'],
  notes: ['notes', 'note'],
  threshold: ['alertthreshold', 'threshold'],
  frequency: ['alertfrequency', 'frequency'],
  webhook: ['customwebhookurl', 'webhook'],
} as const;
type ColumnName = keyof typeof COLUMNS;

type Wallet = Schemas['MonitoredWallet'];
export const THRESHOLDS = everyOf<Wallet['alertThreshold']>()(['all', 'medium', 'high', 'critical']);
export const FREQUENCIES = everyOf<Wallet['alertFrequency']>()(['realtime', 'daily']);
/** Limits of the API (`WalletBody`). */
export const LABEL_CHARS_MAX = 200;
export const NOTES_CHARS_MAX = 4_000;
/** Rows of one file: the wallets that a plan allows. */
export const ROWS_MAX = 10_000;

export type Problem =
  | 'NO_ADDRESS'
  | 'NO_CHAIN'
  | 'CHAIN'
  | 'ADDRESS'
  | 'LABEL'
  | 'NOTES'
  | 'THRESHOLD'
  | 'FREQUENCY'
  | 'TWICE';

/** A line of the file. */
export interface WalletRow {
  /** Number of the line in the file, from 1; a record in quotes may have several, and this is its first. */
  readonly line: number;
  /** The cells as they are in the file. */
  readonly cells: readonly string[];
  readonly address: string;
  readonly chain: string;
  readonly label: string;
  readonly notes: string;
  readonly threshold: string;
  readonly frequency: string;
  readonly webhook: string;
  /** Null if the row can be added. */
  readonly problem: Problem | null;
}

export interface WalletFile {
  /** Null if the file has no header; its columns are then address, chain, label. */
  readonly header: readonly string[] | null;
  readonly rows: readonly WalletRow[];
  /** Rows after the last one that is read. */
  readonly cut: number;
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, '');

/** Returns the places of the columns that a header names; null if the line is no header. */
function columnsIn(cells: readonly string[]): Readonly<Partial<Record<ColumnName, number>>> | null {
  const names = cells.map(plain);
  const places: Partial<Record<ColumnName, number>> = {};
  for (const [column, known] of Object.entries(COLUMNS)) {
    const at = names.findIndex((name) => (known as readonly string[]).includes(name));
    if (at !== -1) places[column as ColumnName] = at;
  }
  return places.address === undefined ? null : places;
}

const isOneOf = (text: string, known: readonly string[]): boolean => text === '' || known.includes(text);

/** Facts about chains that the reader needs. */
export interface ChainFacts {
  /** Whether wallets of the chain can be watched. */
  readonly isMonitored: (chain: string) => boolean;
  /** Returns every chain on which a text is a valid address. */
  readonly detectChains: (text: string) => readonly string[];
}

function problemOf(
  row: Omit<WalletRow, 'problem'>,
  { isMonitored, detectChains }: ChainFacts,
): Problem | null {
  if (row.address === '') return 'NO_ADDRESS';
  if (row.chain === '') return 'NO_CHAIN';
  if (!isMonitored(row.chain)) return 'CHAIN';
  if (!detectChains(row.address).includes(row.chain)) return 'ADDRESS';
  if (row.label.length > LABEL_CHARS_MAX) return 'LABEL';
  if (row.notes.length > NOTES_CHARS_MAX) return 'NOTES';
  if (!isOneOf(row.threshold, THRESHOLDS)) return 'THRESHOLD';
  if (!isOneOf(row.frequency, FREQUENCIES)) return 'FREQUENCY';
  return null;
}

/**
 * Reads the wallets of a file.
 *
 * @param standardChain - chain of rows that name none; empty: such a row is a problem
 */
export function readWallets(text: string, standardChain: string, facts: ChainFacts): WalletFile {
  const lines = parseCsv(text);
  const named = columnsIn(lines[0]?.cells ?? []);
  const columns = named ?? { address: 0, chain: 1, label: 2 };
  const records = named === null ? lines : lines.slice(1);
  const seen = new Set<string>();
  const rows = records.slice(0, ROWS_MAX).map(({ line, cells }): WalletRow => {
    const cellOf = (column: ColumnName): string => cellText((cells[columns[column] ?? -1] ?? '').trim());
    const row = {
      line,
      cells,
      address: cellOf('address'),
      chain: cellOf('chain').toUpperCase() || standardChain,
      label: cellOf('label'),
      notes: cellOf('notes'),
      threshold: cellOf('threshold').toLowerCase(),
      frequency: cellOf('frequency').toLowerCase(),
      webhook: cellOf('webhook'),
    };
    const problem = problemOf(row, facts);
    // All chains that are watched are EVM chains, on which case is only a checksum.
    const key = `${row.chain} ${row.address.toLowerCase()}`;
    const isTwice = problem === null && seen.has(key);
    seen.add(key);
    return { ...row, problem: isTwice ? 'TWICE' : problem };
  });
  return {
    header: named === null ? null : (lines[0]?.cells ?? null),
    rows,
    cut: records.length - rows.length,
  };
}
