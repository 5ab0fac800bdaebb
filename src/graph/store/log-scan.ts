/**
 * Reads the log in columns: the fields that rules over all transfers need, without objects and without exact amounts. A scan of a whole
 * chain then costs a fraction of a microsecond for each transfer.
 */
import { ByteReader } from './bytes.ts';
import type { ChainStore } from './chain-store.ts';
import { packedLength } from './fingerprint.ts';
import { LOG_CHUNK_TRANSFERS } from './log.ts';

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
  const reader = new ByteReader();
  for (let chunk = Math.floor(first / LOG_CHUNK_TRANSFERS); chunk * LOG_CHUNK_TRANSFERS < end; chunk++) {
    // The bytes are in a buffer that the next read overwrites; they are unpacked before it.
    const bytes = store.log.getBinaryFast(chunk);
    if (bytes === undefined) continue;
    let ordinal = chunk * LOG_CHUNK_TRANSFERS;
    for (let at = 0; at < bytes.length; ordinal++) {
      const length = bytes.readUInt16LE(at);
      if (length > 0 && ordinal >= first && ordinal < end)
        addRecord(columns, reader.open(bytes, at + 2, at + 2 + length), ordinal);
      at += 2 + length;
    }
    if (columns.count <= LOG_BATCH - LOG_CHUNK_TRANSFERS) continue;
    yield columns;
    columns.count = 0;
  }
  if (columns.count > 0) yield columns;
}

/** Appends the transfer of a record to columns, which have room for it. */
export function addRecord(columns: LogColumns, reader: ByteReader, ordinal: number): void {
  const row = columns.count++;
  const tag = reader.byte();
  const length = packedLength(tag) ?? reader.byte() + 1;
  reader.skip(length - 1);
  if (reader.varint() === 0) reader.skip(reader.byte());
  reader.varint();
  columns.ordinal[row] = ordinal;
  columns.timestampMs[row] = reader.time();
  columns.from[row] = reader.varint();
  columns.to[row] = reader.varint();
  columns.asset[row] = reader.varint();
  reader.varint();
  columns.amount[row] = reader.amountNumber();
  columns.initiation[row] = reader.isAtEnd ? 0 : reader.byte();
}
