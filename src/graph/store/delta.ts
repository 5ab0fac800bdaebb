/**
 * The delta of an address: its transfers that are not merged into its sums yet, one record each, in the order of arrival. An update appends
 * a few bytes here. A block is reverted by removing its records.
 */
import { ByteReader, ByteWriter } from './bytes.ts';

/** One transfer, seen from one address. */
export interface DeltaEntry {
  /** 0 in, 1 out. */
  readonly direction: number;
  /** 0 if there is no counterparty; the address itself for a self-transfer. */
  readonly counterparty: number;
  readonly asset: number;
  readonly amount: bigint;
  /** Null if no price is known. */
  readonly cents: number | null;
  readonly timestampMs: number;
  readonly ordinal: number;
  /** Whether this is the first transfer of its transaction in which the address took part. */
  readonly isNewTransaction: boolean;
  /** Height of its block if the block can be reverted, otherwise null. */
  readonly pendingBlock: number | null;
}

const OUT = 1;
const NEW_TRANSACTION = 2;
const PRICED = 4;
const PENDING = 8;

/** Appends an entry to a writer. */
export function writeEntry(out: ByteWriter, entry: DeltaEntry): void {
  out.byte(
    (entry.direction === 1 ? OUT : 0) |
      (entry.isNewTransaction ? NEW_TRANSACTION : 0) |
      (entry.cents === null ? 0 : PRICED) |
      (entry.pendingBlock === null ? 0 : PENDING),
  );
  out.varint(entry.counterparty);
  out.varint(entry.asset);
  out.varint(entry.ordinal);
  out.time(entry.timestampMs);
  if (entry.cents !== null) out.varint(entry.cents);
  if (entry.pendingBlock !== null) out.varint(entry.pendingBlock);
  out.amount(entry.amount);
}

const reader = new ByteReader();

/** Unpacks the entries of a delta. */
export function readEntries(bytes: Buffer): DeltaEntry[] {
  const entries: DeltaEntry[] = [];
  reader.open(bytes);
  while (!reader.isAtEnd) {
    const flags = reader.byte();
    const counterparty = reader.varint();
    const asset = reader.varint();
    const ordinal = reader.varint();
    const timestampMs = reader.time();
    const cents = flags & PRICED ? reader.varint() : null;
    const pendingBlock = flags & PENDING ? reader.varint() : null;
    const amount = reader.amount();
    entries.push({
      direction: flags & OUT,
      counterparty,
      asset,
      amount,
      cents,
      timestampMs,
      ordinal,
      isNewTransaction: (flags & NEW_TRANSACTION) !== 0,
      pendingBlock,
    });
  }
  return entries;
}

/** Calls `visit` for the entries of a delta in their order, without their amounts and prices. */
export function forEachHead(
  bytes: Buffer,
  visit: (direction: number, counterparty: number, timestampMs: number, ordinal: number) => void,
): void {
  reader.open(bytes);
  while (!reader.isAtEnd) {
    const flags = reader.byte();
    const counterparty = reader.varint();
    reader.varint();
    const ordinal = reader.varint();
    const timestampMs = reader.time();
    if (flags & PRICED) reader.varint();
    if (flags & PENDING) reader.varint();
    reader.skipAmount();
    visit(flags & OUT, counterparty, timestampMs, ordinal);
  }
}

const out = new ByteWriter();

/** Packs entries into a delta. */
export function packEntries(entries: readonly DeltaEntry[]): Buffer {
  out.length = 0;
  for (const entry of entries) writeEntry(out, entry);
  return out.take();
}
