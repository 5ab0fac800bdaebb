/**
 * The log: every stored transfer by its arrival number, in chunks of eight, so that three or four chunks fit on a page. Edges and addresses
 * refer to their newest transfers by these numbers.
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { type ChainRecords, lostRecord } from './chain-records.ts';
import type { ChainStore } from './chain-store.ts';
import { packedLength, positionCode, positionText } from './fingerprint.ts';
import { UNKNOWN_INITIATION } from './initiation.ts';

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

const scratch = new ByteWriter();

/** Packs a record with its length in front. The result is a copy. */
export function packTransfer(transfer: LoggedTransfer): Buffer {
  const out = scratch;
  out.length = 0;
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
  const record = Buffer.allocUnsafe(out.length + 2);
  record.writeUInt16LE(out.length, 0);
  out.bytes.copy(record, 2, 0, out.length);
  return record;
}

function unpackTransfer(reader: ByteReader): LoggedTransfer {
  const { bytes } = reader;
  const tag = reader.byte();
  const length = packedLength(tag) ?? reader.byte() + 1;
  const transaction = Buffer.alloc(length);
  transaction[0] = tag;
  bytes.copy(transaction, 1, reader.at, reader.at + length - 1);
  reader.skip(length - 1);
  const code = reader.varint();
  const position = code === 0 ? reader.text(reader.byte()) : positionText(code);
  const blockNumber = reader.varint();
  const timestampMs = reader.time();
  const from = reader.varint();
  const to = reader.varint();
  const asset = reader.varint();
  const cents = reader.varint();
  const amount = reader.amount();
  const initiation = reader.isAtEnd ? UNKNOWN_INITIATION : reader.byte();
  return {
    transaction,
    position,
    blockNumber,
    timestampMs,
    from,
    to,
    asset,
    amount,
    cents: cents === 0 ? null : cents - 1,
    initiation,
  };
}

/** A number without a transfer: a duplicate in a bulk load, or a reverted transfer. */
export const EMPTY_RECORD: Buffer = Buffer.alloc(2);

/** Writes records in the order of their numbers, which may have gaps. Used inside a write transaction. */
export class LogWriter {
  readonly #store: ChainStore;
  #chunk = -1;
  #parts: Buffer[] = [];

  constructor(store: ChainStore) {
    this.#store = store;
  }

  add(ordinal: number, record: Buffer): void {
    const chunk = Math.floor(ordinal / LOG_CHUNK_TRANSFERS);
    if (chunk !== this.#chunk) {
      this.flush();
      this.#chunk = chunk;
      this.#parts = recordsIn(this.#store.log.getBinary(chunk));
    }
    const slot = ordinal % LOG_CHUNK_TRANSFERS;
    while (this.#parts.length < slot) this.#parts.push(EMPTY_RECORD);
    this.#parts[slot] = record;
  }

  flush(): void {
    if (this.#chunk >= 0) this.#store.log.putSync(this.#chunk, Buffer.concat(this.#parts));
    this.#chunk = -1;
  }
}

/** The records of a chunk, each with its length in front. A record of two bytes is empty. */
export function recordsIn(bytes: Buffer | undefined): Buffer[] {
  const records: Buffer[] = [];
  if (!bytes) return records;
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16LE(at);
    records.push(bytes.subarray(at, end));
    at = end;
  }
  return records;
}

const reader = new ByteReader();

/** A transfer with its number in the log. */
export interface NumberedTransfer extends LoggedTransfer {
  readonly ordinal: number;
}

/** The transfers with the numbers from `first` to `end - 1`, without reverted ones. */
export function* loggedTransfers(store: ChainStore, first: number, end: number): Generator<NumberedTransfer> {
  for (let chunk = Math.floor(first / LOG_CHUNK_TRANSFERS); chunk * LOG_CHUNK_TRANSFERS < end; chunk++)
    for (const [slot, record] of recordsIn(store.log.getBinary(chunk)).entries()) {
      const ordinal = chunk * LOG_CHUNK_TRANSFERS + slot;
      if (ordinal >= first && ordinal < end && record.length > EMPTY_RECORD.length)
        yield Object.assign(unpackTransfer(reader.open(record, EMPTY_RECORD.length)), { ordinal });
    }
}

/** Sender and receiver of a record from `recordsIn`. 0 if absent. */
export function partiesOf(record: Buffer): readonly [from: number, to: number] {
  if (record.length <= EMPTY_RECORD.length) return [0, 0];
  const { from, to } = unpackTransfer(reader.open(record, EMPTY_RECORD.length));
  return [from, to];
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
  let at = 0;
  for (let skip = ordinal % LOG_CHUNK_TRANSFERS; bytes && skip > 0 && at + 2 <= bytes.length; skip--)
    at += 2 + bytes.readUInt16LE(at);
  if (!bytes || at + 2 >= bytes.length) return null;
  const length = bytes.readUInt16LE(at);
  if (length === 0) return null;
  return unpackTransfer(reader.open(bytes, at + 2, at + 2 + length));
}

/** Returns whether a transfer has the number: false for a reverted one. */
export function hasTransfer(records: Pick<ChainRecords, 'logChunk'>, ordinal: number): boolean {
  const bytes = records.logChunk(Math.floor(ordinal / LOG_CHUNK_TRANSFERS));
  let at = 0;
  for (let skip = ordinal % LOG_CHUNK_TRANSFERS; bytes && skip > 0 && at + 2 <= bytes.length; skip--)
    at += 2 + bytes.readUInt16LE(at);
  return bytes !== undefined && at + 2 < bytes.length && bytes.readUInt16LE(at) > 0;
}
