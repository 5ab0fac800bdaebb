/** SCALE, the binary encoding of Substrate chains (docs.polkadot.com/polkadot-protocol/parachain-basics/data-encoding). */
import { badAnswer } from '../../endpoints/exact-json.ts';

/** Reads bytes front to back. Every method throws CHAIN_BAD_ANSWER if the bytes end too early or are not a valid encoding. */
export class ScaleReader {
  readonly bytes: Buffer;
  readonly #field: string;
  at: number;

  constructor(bytes: Buffer, field: string, at = 0) {
    this.bytes = bytes;
    this.#field = field;
    this.at = at;
  }

  /** Advances by `count` bytes and returns the offset before the advance. */
  skip(count: number): number {
    const start = this.at;
    if (count > this.bytes.length - start)
      throw badAnswer(this.#field, 'as long as its length prefix states');
    this.at = start + count;
    return start;
  }

  take(count: number): Buffer {
    const start = this.skip(count);
    return this.bytes.subarray(start, start + count);
  }

  u8(): number {
    return this.bytes[this.skip(1)] as number;
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.skip(4));
  }

  u128(): bigint {
    const start = this.skip(16);
    return this.bytes.readBigUInt64LE(start) + (this.bytes.readBigUInt64LE(start + 8) << 64n);
  }

  /** Reads a number of 1, 2, 4, or 5 to 68 bytes; the two lowest bits of the first byte are the mode. */
  compact(): bigint {
    const first = this.u8();
    const mode = first & 3;
    if (mode === 0) return BigInt(first >> 2);
    if (mode === 1) return BigInt((first + (this.u8() << 8)) >> 2);
    let value = 0n;
    if (mode === 2) {
      this.at--;
      return BigInt(this.u32() >>> 2);
    }
    const digits = this.take((first >> 2) + 4);
    for (let i = digits.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(digits[i] as number);
    return value;
  }

  /** Reads a compact number as a count of at most 32 bits. */
  count(): number {
    const value = this.compact();
    if (value > 0xffff_ffffn) throw badAnswer(this.#field, 'a count of at most 32 bits');
    return Number(value);
  }

  text(): string {
    return this.take(this.count()).toString('utf8');
  }

  /** Reads a list of items with at least one byte each: a count that exceeds the remaining bytes is rejected at once. */
  list<T>(item: () => T): T[] {
    const count = this.count();
    if (count > this.bytes.length - this.at)
      throw badAnswer(this.#field, 'as long as its length prefix states');
    return Array.from({ length: count }, item);
  }

  /** Reads an option; null if it is empty. */
  optional<T>(item: () => T): T | null {
    const tag = this.u8();
    if (tag > 1) throw badAnswer(this.#field, 'a SCALE option, 0 or 1');
    return tag === 0 ? null : item();
  }
}
