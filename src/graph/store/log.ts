/**
 * The log: every stored transfer by its arrival number, in chunks of eight (log-chunk.ts), so that nine or ten chunks fit on a page. Edges and addresses
 * refer to their newest transfers by these numbers.
 */
import { ByteWriter } from './bytes.ts';
import { type ChainRecords, lostRecord } from './chain-records.ts';
import type { ChainStore } from './chain-store.ts';
import { packedLength, positionCode, positionText } from './fingerprint.ts';
import { UNKNOWN_INITIATION } from './initiation.ts';
import { LogCursor, packChunk } from './log-chunk.ts';

export const LOG_CHUNK_TRANSFERS = 8;

/** A transfer with the ids of the store. */
export interface LoggedTransfer {
  readonly transaction: Uint8Array;
  readonly position: string;
  readonly blockNumber: number;
  readonly timestampMs: number;
  /** Dense ids. 0 if there is no sender or receiver. */
  readonly from: number;
  readonly to: number;
  readonly asset: number;
  readonly amount: bigint;
  readonly cents: number | null;
  /** How its transaction was started (initiation.ts). */
  readonly initiation: number;
}

/** The length in front of a record. */
const LENGTH_BYTES = 2;
const scratch = new ByteWriter();

/** Packs a transfer as a record with its length in front, for `LogWriter`. The result is a copy. */
export function packTransfer(transfer: LoggedTransfer): Buffer {
  scratch.length = 0;
  writeTransfer(scratch, transfer);
  return scratch.take();
}

/** Appends a transfer as a record with its length in front. */
function writeTransfer(out: ByteWriter, transfer: LoggedTransfer): void {
  const start = out.length;
  out.reserve(LENGTH_BYTES);
  out.length += LENGTH_BYTES;
  const { transaction } = transfer;
  const tag = transaction[0] as number;
  out.byte(tag);
  if (packedLength(tag) === null) out.byte(transaction.length - 1);
  out.copy(transaction, 1, transaction.length);
  const code = positionCode(transfer.position);
  out.varint(code ?? 0);
  if (code === null) {
    const text = Buffer.from(transfer.position, 'utf8');
    out.byte(text.length);
    out.copy(text, 0, text.length);
  }
  out.varint(transfer.blockNumber);
  out.time(transfer.timestampMs);
  out.varint(transfer.from);
  out.varint(transfer.to);
  out.varint(transfer.asset);
  out.varint(transfer.cents === null ? 0 : transfer.cents + 1);
  out.amount(transfer.amount);
  // Records of older stores end here, and so do those with unknown initiation.
  if (transfer.initiation !== UNKNOWN_INITIATION) out.byte(transfer.initiation);
  out.bytes.writeUInt16LE(out.length - start - LENGTH_BYTES, start);
}

const cursor = new LogCursor();

/** Returns the transfer that a cursor is at. */
function transferOf(read: LogCursor): LoggedTransfer {
  return {
    transaction: read.transaction(),
    position: read.position === 0 ? read.positionText() : positionText(read.position),
    blockNumber: read.blockNumber,
    timestampMs: read.timestampMs,
    from: read.from,
    to: read.to,
    asset: read.asset,
    amount: read.amount(),
    cents: read.cents < 0 ? null : read.cents,
    initiation: read.initiation,
  };
}

/** A number without a transfer: a duplicate in a bulk load, or a reverted transfer. */
export const EMPTY_RECORD: Buffer = Buffer.alloc(LENGTH_BYTES);

/** Writes records in the order of their numbers, which may have gaps. Used inside a write transaction. */
export class LogWriter {
  readonly #store: ChainStore;
  #chunk = -1;
  /** The records of the chunk, one after another. */
  readonly #records = new ByteWriter(1024);
  /** The end of each of them. */
  #ends: number[] = [];

  constructor(store: ChainStore) {
    this.#store = store;
  }

  /** Writes a record from `packTransfer`, in place of the one that has the number, if any. */
  add(ordinal: number, record: Buffer): void {
    const slot = this.#open(ordinal);
    const records = this.#records;
    const rest = slot < this.#ends.length ? this.#cut(slot) : [];
    for (const one of [record, ...rest]) {
      records.copy(one, 0, one.length);
      this.#ends.push(records.length);
    }
  }

  /** Writes a transfer. No record may have its number. */
  append(ordinal: number, transfer: LoggedTransfer): void {
    if (this.#open(ordinal) < this.#ends.length) throw new Error(`Transfer ${ordinal} is logged already.`);
    writeTransfer(this.#records, transfer);
    this.#ends.push(this.#records.length);
  }

  /** Reads the chunk of a number and fills its gap. Returns the place of the number in the chunk. */
  #open(ordinal: number): number {
    const chunk = Math.floor(ordinal / LOG_CHUNK_TRANSFERS);
    const slot = ordinal % LOG_CHUNK_TRANSFERS;
    if (chunk !== this.#chunk) {
      this.flush();
      this.#chunk = chunk;
      this.#records.length = 0;
      this.#ends = [];
      for (const record of recordsIn(this.#store.log.getBinary(chunk))) {
        this.#records.copy(record, 0, record.length);
        this.#ends.push(this.#records.length);
      }
    }
    while (this.#ends.length < slot) {
      this.#records.copy(EMPTY_RECORD, 0, LENGTH_BYTES);
      this.#ends.push(this.#records.length);
    }
    return slot;
  }

  /** Removes the records from a place on. Returns copies of those behind it. */
  #cut(slot: number): Buffer[] {
    const ends = this.#ends;
    const behind = ends
      .slice(slot + 1)
      .map((end, index) => Buffer.from(this.#records.bytes.subarray(ends[slot + index] as number, end)));
    this.#records.length = slot === 0 ? 0 : (ends[slot - 1] as number);
    this.#ends.length = slot;
    return behind;
  }

  flush(): void {
    const { bytes, length } = this.#records;
    if (this.#chunk >= 0) this.#store.log.putSync(this.#chunk, packChunk(bytes.subarray(0, length)));
    this.#chunk = -1;
  }
}

/** The records of a chunk, each as from `packTransfer`. A record of two bytes is empty. */
export function recordsIn(bytes: Buffer | undefined): Buffer[] {
  const records: Buffer[] = [];
  if (!bytes) return records;
  const read = new LogCursor().open(bytes);
  while (read.next()) records.push(read.isEmpty ? EMPTY_RECORD : packTransfer(transferOf(read)));
  return records;
}

/** A transfer with its number in the log. */
export interface NumberedTransfer extends LoggedTransfer {
  readonly ordinal: number;
}

/** The transfers with the numbers from `first` to `end - 1`, without reverted ones. */
export function* loggedTransfers(store: ChainStore, first: number, end: number): Generator<NumberedTransfer> {
  const read = new LogCursor();
  for (let chunk = Math.floor(first / LOG_CHUNK_TRANSFERS); chunk * LOG_CHUNK_TRANSFERS < end; chunk++) {
    const bytes = store.log.getBinary(chunk);
    if (bytes === undefined) continue;
    read.open(bytes);
    for (let ordinal = chunk * LOG_CHUNK_TRANSFERS; read.next(); ordinal++)
      if (ordinal >= first && ordinal < end && !read.isEmpty)
        yield Object.assign(transferOf(read), { ordinal });
  }
}

/** Sender and receiver of a record from `recordsIn`. 0 if absent. */
export function partiesOf(record: Buffer): readonly [from: number, to: number] {
  return cursor.open(record).seek(0) ? [cursor.from, cursor.to] : [0, 0];
}

/** Replaces reverted transfers by empty records. */
export function eraseTransfers(store: ChainStore, first: number, count: number): void {
  const log = new LogWriter(store);
  for (let ordinal = first; ordinal < first + count; ordinal++) log.add(ordinal, EMPTY_RECORD);
  log.flush();
}

/** Reads one transfer. Throws STORE_CORRUPT if no transfer has the number. */
export function readTransfer(records: ChainRecords, ordinal: number): LoggedTransfer {
  const found = transferAt(records, ordinal);
  if (found === null) throw lostRecord(records.chain, `transfer ${ordinal}`);
  return found;
}

/** Reads one transfer. Returns null if no transfer has the number. */
export function transferAt(records: Pick<ChainRecords, 'logChunk'>, ordinal: number): LoggedTransfer | null {
  const bytes = records.logChunk(Math.floor(ordinal / LOG_CHUNK_TRANSFERS));
  if (bytes === undefined || !cursor.open(bytes).seek(ordinal % LOG_CHUNK_TRANSFERS)) return null;
  return transferOf(cursor);
}

/**
 * Reads one transfer without copying its texts.
 *
 * @returns a cursor that is valid until the next read of the log
 * @throws STORE_CORRUPT if no transfer has the number
 */
export function cursorAt(records: Pick<ChainRecords, 'chain' | 'logChunk'>, ordinal: number): LogCursor {
  const bytes = records.logChunk(Math.floor(ordinal / LOG_CHUNK_TRANSFERS));
  if (bytes === undefined || !cursor.open(bytes).seek(ordinal % LOG_CHUNK_TRANSFERS))
    throw lostRecord(records.chain, `transfer ${ordinal}`);
  return cursor;
}

/** Returns whether a transfer has the number: false for a reverted one. */
export function hasTransfer(records: Pick<ChainRecords, 'logChunk'>, ordinal: number): boolean {
  const bytes = records.logChunk(Math.floor(ordinal / LOG_CHUNK_TRANSFERS));
  return bytes !== undefined && cursor.open(bytes).seek(ordinal % LOG_CHUNK_TRANSFERS);
}
