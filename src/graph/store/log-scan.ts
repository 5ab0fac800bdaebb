/**
 * Reads the log in columns: the fields that rules over all transfers need, without objects and without exact amounts. A scan of a whole
 * chain then costs a fraction of a microsecond for each transfer.
 */
import type { ChainStore } from './chain-store.ts';
import { LOG_CHUNK_TRANSFERS } from './log.ts';
import { LogCursor } from './log-chunk.ts';

/** Columns of one batch of transfers. Reused for all batches of a scan. */
export interface LogColumns {
  count: number;
  /** Numbers in the log, ascending. */
  readonly ordinal: Float64Array;
  /** Dense ids. 0 if there is no sender or receiver. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly asset: Uint32Array;
  /** Smallest units, as the nearest double. */
  readonly amount: Float64Array;
  /** Milliseconds since the epoch. */
  readonly timestampMs: Float64Array;
  /** How its transaction was started (initiation.ts). */
  readonly initiation: Uint8Array;
}

/** Transfers of a batch: 370 KB of columns, which stay in the cache of a core, and few enough that a scan can be interrupted often. */
export const LOG_BATCH = 8_192;

/** Creates empty columns with room for `rows` transfers. */
export const createColumns = (rows: number): LogColumns => ({
  count: 0,
  ordinal: new Float64Array(rows),
  from: new Uint32Array(rows),
  to: new Uint32Array(rows),
  asset: new Uint32Array(rows),
  amount: new Float64Array(rows),
  timestampMs: new Float64Array(rows),
  initiation: new Uint8Array(rows),
});

/**
 * Yields the transfers with the numbers from `first` to `end - 1`, without reverted ones, in batches that share their columns.
 *
 * @throws STORE_CORRUPT if a record is damaged
 */
export function* scanLog(
  store: Pick<ChainStore, 'log'>,
  first: number,
  end: number,
): Generator<LogColumns, void> {
  const columns = createColumns(LOG_BATCH);
  const read = new LogCursor();
  for (let chunk = Math.floor(first / LOG_CHUNK_TRANSFERS); chunk * LOG_CHUNK_TRANSFERS < end; chunk++) {
    // The bytes are in a buffer that the next read overwrites; they are unpacked before it.
    const bytes = store.log.getBinaryFast(chunk);
    if (bytes === undefined) continue;
    read.open(bytes);
    for (let ordinal = chunk * LOG_CHUNK_TRANSFERS; read.next(); ordinal++)
      if (ordinal >= first && ordinal < end && !read.isEmpty) addTransfer(columns, read, ordinal);
    if (columns.count <= LOG_BATCH - LOG_CHUNK_TRANSFERS) continue;
    yield columns;
    columns.count = 0;
  }
  if (columns.count > 0) yield columns;
}

/** Appends the transfer that a cursor is at to columns, which have room for it. */
export function addTransfer(columns: LogColumns, read: LogCursor, ordinal: number): void {
  const row = columns.count++;
  columns.ordinal[row] = ordinal;
  columns.timestampMs[row] = read.timestampMs;
  columns.from[row] = read.from;
  columns.to[row] = read.to;
  columns.asset[row] = read.asset;
  columns.amount[row] = read.amountNumber();
  columns.initiation[row] = read.initiation;
}
