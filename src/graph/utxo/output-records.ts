/**
 * Binary records of the outputs store: a transaction with its outputs and spends, packed without field names. Numbers have variable length.
 */
import { AssayError } from '../../base/errors.ts';
import type { ScriptKind } from '../../chains/utxo-transaction.ts';
import type { TxNumber } from './spend-graph.ts';

/** An output while it is being written. */
export interface OutputDraft {
  readonly n: number;
  value: bigint | null;
  script: ScriptKind;
  address: number;
  spentBy: TxNumber | null;
}

/** A transaction while it is being written: a SpendTransaction with mutable fields. */
export interface TransactionDraft {
  readonly number: TxNumber;
  readonly txid: string;
  isKnown: boolean;
  isCoinbase: boolean;
  block: number;
  indexInBlock: number;
  timestampMs: number;
  inputs: { readonly tx: TxNumber; readonly n: number }[];
  outputs: OutputDraft[];
  shieldedIn: bigint;
  shieldedOut: bigint;
}

/** Records store the index in this list: append new kinds, and never reorder. */
const SCRIPT_KINDS: readonly ScriptKind[] = [
  'other',
  'p2pk',
  'p2pkh',
  'p2sh',
  'p2wpkh',
  'p2wsh',
  'p2tr',
  'multisig',
  'op_return',
];

const KNOWN = 1;
const COINBASE = 2;
const SHIELDED = 4;

const TXID_BYTES = 32;
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Grows while it is written. One instance is reused for all records. */
class ByteWriter {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #at = 0;

  start(): void {
    this.#at = 0;
  }

  #room(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2 + count);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  u8(value: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = value;
  }

  hex(text: string): void {
    this.#room(text.length >> 1);
    this.#at += this.#bytes.write(text, this.#at, 'hex');
  }

  /** Seven bits per byte, lowest first. */
  number(value: number): void {
    this.#room(8);
    let left = value;
    while (left >= 0x80) {
      this.#bytes[this.#at++] = (left % 0x80) | 0x80;
      left = Math.floor(left / 0x80);
    }
    this.#bytes[this.#at++] = left;
  }

  bigint(value: bigint): void {
    if (value <= SAFE) {
      this.number(Number(value));
      return;
    }
    this.#room(16);
    let left = value;
    while (left >= 0x80n) {
      this.#bytes[this.#at++] = Number(left & 0x7fn) | 0x80;
      left >>= 7n;
    }
    this.#bytes[this.#at++] = Number(left);
  }

  copy(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }
}

class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u8(): number {
    const value = this.#bytes[this.#at++];
    if (value === undefined)
      throw new AssayError('STORE_CORRUPT', 'The outputs store is damaged: a transaction is truncated.');
    return value;
  }

  hex(count: number): string {
    this.#at += count;
    return this.#bytes.toString('hex', this.#at - count, this.#at);
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  bigint(): bigint {
    const from = this.#at;
    let bytes = 1;
    while (this.u8() >= 0x80) bytes++;
    this.#at = from;
    if (bytes <= 7) return BigInt(this.number());
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.u8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}

const writer = new ByteWriter();

/** Packs a transaction into a record. */
export function encodeTransaction(draft: TransactionDraft): Buffer {
  const isShielded = draft.shieldedIn > 0n || draft.shieldedOut > 0n;
  writer.start();
  writer.u8((draft.isKnown ? KNOWN : 0) | (draft.isCoinbase ? COINBASE : 0) | (isShielded ? SHIELDED : 0));
  writer.hex(draft.txid);
  if (draft.isKnown) {
    writer.number(draft.block);
    writer.number(draft.indexInBlock);
    writer.number(draft.timestampMs);
  }
  if (isShielded) {
    writer.bigint(draft.shieldedIn);
    writer.bigint(draft.shieldedOut);
  }
  writer.number(draft.inputs.length);
  for (const { tx, n } of draft.inputs) {
    writer.number(tx);
    writer.number(n);
  }
  writer.number(draft.outputs.length);
  let expected = 0;
  for (const { n, value, script, address, spentBy } of draft.outputs) {
    writer.number(n - expected);
    expected = n + 1;
    writer.bigint(value === null ? 0n : value + 1n);
    writer.u8(SCRIPT_KINDS.indexOf(script));
    writer.number(address);
    writer.number(spentBy ?? 0);
  }
  return writer.copy();
}

/** Returns the transaction id of a record without decoding the rest. */
export const txidOfRecord = (bytes: Buffer): string => bytes.toString('hex', 1, 1 + TXID_BYTES);

/**
 * Unpacks a record.
 *
 * @throws STORE_CORRUPT if the record is cut short
 */
export function decodeTransaction(number: TxNumber, bytes: Buffer): TransactionDraft {
  const reader = new ByteReader(bytes);
  const flags = reader.u8();
  const isKnown = (flags & KNOWN) !== 0;
  const txid = reader.hex(TXID_BYTES);
  const block = isKnown ? reader.number() : -1;
  const indexInBlock = isKnown ? reader.number() : 0;
  const timestampMs = isKnown ? reader.number() : 0;
  const isShielded = (flags & SHIELDED) !== 0;
  const shieldedIn = isShielded ? reader.bigint() : 0n;
  const shieldedOut = isShielded ? reader.bigint() : 0n;
  const inputs: { tx: TxNumber; n: number }[] = [];
  for (let left = reader.number(); left > 0; left--) inputs.push({ tx: reader.number(), n: reader.number() });
  const outputs: OutputDraft[] = [];
  let n = 0;
  for (let left = reader.number(); left > 0; left--) {
    n += reader.number();
    const value = reader.bigint();
    const script = SCRIPT_KINDS[reader.u8()] ?? 'other';
    const address = reader.number();
    const spentBy = reader.number();
    outputs.push({ n, value: value === 0n ? null : value - 1n, script, address, spentBy: spentBy || null });
    n++;
  }
  return {
    number,
    txid,
    isKnown,
    isCoinbase: (flags & COINBASE) !== 0,
    block,
    indexInBlock,
    timestampMs,
    inputs,
    outputs,
    shieldedIn,
    shieldedOut,
  };
}
