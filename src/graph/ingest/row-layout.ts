/** Checks before an ingest that every file has rows of its format, so that a file of another kind is refused and changes nothing. */
import { basename } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { noUsableRow, REJECTS_QUOTED } from '../../sources/layout-error.ts';
import type { Reject } from '../../sources/records.ts';
import { kindOf } from './ethereum-etl.ts';
import { type RowFields, readRows } from './rows.ts';
import { REJECT_TEXT_CHARS } from './transfer-fields.ts';

export type RowFormat = 'ethereum-etl' | 'ndjson' | 'bitcoin-etl' | 'bitcoin-resolved';

/** Rows that are read before a file without any row of its format is refused: the first ones may be damaged. */
const ROWS_READ_MAX = 100;

interface Layout {
  /** Returns whether a row with these fields belongs to the format. A missing further field is a fault of the row. */
  readonly has: (fields: RowFields) => boolean;
  /** Fields that identify a row, for errors. */
  readonly fields: string;
}

const hasAll =
  (...names: readonly string[]) =>
  (fields: RowFields): boolean =>
    names.every((name) => name in fields);

const isBitcoinBlock = hasAll('hash', 'number', 'timestamp');

const LAYOUTS: Readonly<Record<RowFormat, Layout>> = {
  ndjson: {
    has: hasAll('txHash', 'blockNumber'),
    fields: 'txHash, position, blockNumber, timestamp, asset, amount, and from or to',
  },
  'ethereum-etl': {
    has: (fields) => kindOf(fields) !== 'other',
    fields:
      'those that ethereum-etl exports for blocks, transactions, token transfers, traces, receipts, logs, contracts or tokens',
  },
  'bitcoin-etl': {
    has: (fields) => 'inputs' in fields || 'outputs' in fields || isBitcoinBlock(fields),
    fields: 'hash, inputs, outputs, … of transactions, or hash, number, timestamp, … of blocks',
  },
  'bitcoin-resolved': {
    has: hasAll('txid', 'dir'),
    fields: 'block, time, txid, dir, index, address, sats, prev_txid, prev_index',
  },
};

/**
 * Checks the beginning of every file.
 *
 * @throws INVALID_FILE with the name of the first file that is empty or has no row of the format
 */
export async function requireLayout(
  format: RowFormat,
  files: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  for (const file of files) await requireLayoutOf(format, file, signal);
}

async function requireLayoutOf(
  format: RowFormat,
  file: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { has, fields } = LAYOUTS[format];
  const name = basename(file);
  const rejects: Reject[] = [];
  let hasColumns = false;
  let rows = 0;
  const onColumns = (columns: readonly string[]): void => {
    hasColumns = has(Object.fromEntries(columns.map((column) => [column, ''])));
  };
  for await (const row of readRows(file, signal, onColumns)) {
    if (hasColumns || (row.ok && has(row.fields))) return;
    const reason = row.ok ? 'has other fields' : row.reason;
    if (rejects.length < REJECTS_QUOTED)
      rejects.push({
        type: 'reject',
        reason,
        text: row.text.slice(0, REJECT_TEXT_CHARS),
        provenance: { file: name, line: row.line },
      });
    if (++rows === ROWS_READ_MAX) break;
  }
  if (hasColumns) return;
  throw noUsableRow([name], `the format '${format}'`, {
    rejected: rows,
    rejects,
    more: ` Its fields are ${fields}.`,
  });
}

/**
 * Checks that each of several files has a row that is not rejected. Reading stops at the first one. A file without rows is valid: the
 * header of an export of a time without transfers.
 *
 * @param faultOf - returns the reason why a row is rejected; null if it is not
 * @throws INVALID_FILE with the name of the first file of which every row is rejected
 */
export async function requireUsableRows(
  format: RowFormat,
  files: readonly string[],
  faultOf: (fields: RowFields) => string | null,
  signal?: AbortSignal,
): Promise<void> {
  for (const file of files) {
    const name = basename(file);
    const rejects: Reject[] = [];
    let rejected = 0;
    let isUsable = false;
    for await (const row of readRows(file, signal)) {
      const reason = row.ok ? faultOf(row.fields) : row.reason;
      if (reason === null) {
        isUsable = true;
        break;
      }
      rejected++;
      const text = row.text.slice(0, REJECT_TEXT_CHARS);
      if (rejects.length < REJECTS_QUOTED)
        rejects.push({ type: 'reject', reason, text, provenance: { file: name, line: row.line } });
    }
    if (isUsable || rejected === 0) continue;
    const more = ' No file of this call was stored.';
    throw noUsableRow([name], `the format '${format}'`, { rejected, rejects, more });
  }
}

/**
 * Creates the error for block files that contain no block.
 *
 * @param files - Paths of the files.
 */
export const noBlock = (files: readonly string[]): AssayError =>
  new AssayError(
    'INVALID_FILE',
    `file: ${files.map((file) => basename(file)).join(', ')} has no block. Is it a file of the format 'bitcoin-blk'? Nothing of it was stored.`,
    { field: 'file' },
  );
