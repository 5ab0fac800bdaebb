/** Bytes in SCALE, the encoding of Substrate's chains (docs.polkadot.com/polkadot-protocol/parachain-basics/data-encoding). */
import { badAnswer } from '../exact-json.ts';

/** Reads bytes from front to back. Every method throws CHAIN_BAD_ANSWER where the bytes end before, or hold what no encoder makes. */
export class ScaleReader {
  readonly bytes: Buffer;
  readonly #field: string;
  at: number;

  constructor(bytes: Buffer, field: string, at = 0) {
    this.bytes = bytes;
    this.#field = field;
    this.at = at;
  }

  /** Moves on by `count` bytes; where they begin. */
  skip(count: number): number {
    const start = this.at;
    if (count > this.bytes.length - start) throw badAnswer(this.#field, 'as long as it says');
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

  /** A number of 1, 2, 4, or 5 to 68 bytes, by the two lowest bits of the first. */
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

  /** A compact number that counts things which each take a byte at least, or could. */
  count(): number {
    const value = this.compact();
    if (value > 0xffff_ffffn) throw badAnswer(this.#field, 'a count of at most 32 bits');
    return Number(value);
  }

  text(): string {
    return this.take(this.count()).toString('utf8');
  }

  /** A list whose items take a byte at least: a count that promises more than there is ends at once. */
  list<T>(item: () => T): T[] {
    const count = this.count();
    if (count > this.bytes.length - this.at) throw badAnswer(this.#field, 'as long as it says');
    return Array.from({ length: count }, item);
  }

  /** Null for none. */
  optional<T>(item: () => T): T | null {
    const tag = this.u8();
    if (tag > 1) throw badAnswer(this.#field, 'SCALE: an option is 0 or 1');
    return tag === 0 ? null : item();
  }
}
