/** Packed integers, times and amounts: the encoding of all records of the transfer store. */
import { AssayError } from '../../base/errors.ts';

const TWO_64 = 1n << 64n;
const TWO_96 = 1n << 96n;
/**
 * The most bytes of an amount: sums of 2^53 amounts below 2^256 need 39. A record may set the highest bit of the length byte to mark that
 * another value follows the amount.
 */
const AMOUNT_BYTES_MAX = 0x7f;
/** The lowest 64 bits of an amount, also accessible as words: this takes fewer steps than digits. */
const lowWords = new BigUint64Array(1);
const words = new Uint32Array(lowWords.buffer);

/** Writes into a buffer that grows. */
export class ByteWriter {
  bytes: Buffer;
  length = 0;

  constructor(capacity = 64 * 1024) {
    this.bytes = Buffer.allocUnsafe(capacity);
  }

  /** Makes room for `more` bytes after the written ones. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1, 7 bits per byte. */
  varint(value: number): void {
    this.reserve(8);
    const { bytes } = this;
    let at = this.length;
    let rest = value;
    // The remainder of a double is a call that costs ten times a division.
    while (rest >= 0x10000000) {
      const next = Math.floor(rest / 0x80);
      bytes[at++] = (rest - next * 0x80) | 0x80;
      rest = next;
    }
    while (rest >= 0x80) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[at++] = rest;
    this.length = at;
  }

  /** Milliseconds, for a time or a duration. Block times are nearly always whole seconds. */
  time(ms: number): void {
    const seconds = Math.floor(ms / 1000);
    this.varint(seconds * 1000 === ms ? seconds * 2 : ms * 2 + 1);
  }

  /** A signed difference. */
  signed(value: number): void {
    this.varint(value < 0 ? -value * 2 - 1 : value * 2);
  }

  /** A length byte, then the bytes of the amount, most significant first. */
  amount(amount: bigint): void {
    if (amount < TWO_96) {
      lowWords[0] = amount;
      this.amountWords(words[0] as number, words[1] as number, amount < TWO_64 ? 0 : Number(amount >> 64n));
      return;
    }
    const hex = amount.toString(16);
    const length = (hex.length + 1) >> 1;
    if (length > AMOUNT_BYTES_MAX)
      throw new AssayError('INTERNAL', `A sum of amounts needs more than ${AMOUNT_BYTES_MAX} bytes.`);
    this.reserve(length + 1);
    this.bytes[this.length] = length;
    this.bytes.write(hex.length % 2 === 0 ? hex : `0${hex}`, this.length + 1, length, 'hex');
    this.length += length + 1;
  }

  /** Same as `amount` for an amount below 2^96, given as words. */
  amountWords(low: number, middle: number, high: number): void {
    this.reserve(13);
    const { bytes } = this;
    const from = this.length + 1;
    let at = from;
    for (let word = 2; word >= 0; word--) {
      const value = word === 2 ? high : word === 1 ? middle : low;
      for (let shift = 24; shift >= 0; shift -= 8) {
        const byte = (value >>> shift) & 0xff;
        if (at > from || byte !== 0) bytes[at++] = byte;
      }
    }
    bytes[this.length] = at - from;
    this.length = at;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.bytes.set(from.subarray(start, end), this.length);
    this.length += end - start;
  }

  /** Returns a copy of the written bytes. */
  take(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.length));
  }
}

/** Reads the values that ByteWriter writes. Throws STORE_CORRUPT if the bytes end inside a value. */
export class ByteReader {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  end = 0;

  open(bytes: Buffer, at = 0, end = bytes.length): this {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    return this;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  byte(): number {
    if (this.at >= this.end) throw cut();
    return this.bytes[this.at++] as number;
  }

  varint(): number {
    const { bytes, end } = this;
    let at = this.at;
    let value = 0;
    // Four bytes fit into fast 32-bit arithmetic.
    for (let shift = 0; shift < 28; shift += 7) {
      if (at >= end) throw cut();
      const byte = bytes[at++] as number;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.at = at;
        return value;
      }
    }
    for (let factor = 2 ** 28; ; factor *= 0x80) {
      if (at >= end) throw cut();
      const byte = bytes[at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        this.at = at;
        return value;
      }
    }
  }

  time(): number {
    const code = this.varint();
    const half = Math.floor(code / 2);
    return half * 2 === code ? half * 1000 : half;
  }

  signed(): number {
    const code = this.varint();
    const half = Math.floor(code / 2);
    return half * 2 === code ? half : -half - 1;
  }

  /** Whether the next amount has its mark bit set. */
  get isMarked(): boolean {
    return this.at < this.end && (this.bytes[this.at] as number) > AMOUNT_BYTES_MAX;
  }

  amount(): bigint {
    const length = this.byte() & AMOUNT_BYTES_MAX;
    const start = this.at;
    this.skip(length);
    if (length === 0) return 0n;
    if (length <= 6) return BigInt(this.bytes.readUIntBE(start, length));
    if (length > 8) return BigInt(`0x${this.bytes.toString('hex', start, start + length)}`);
    const high = this.bytes.readUIntBE(start, length - 4);
    return (BigInt(high) << 32n) | BigInt(this.bytes.readUInt32BE(start + length - 4));
  }

  /** Reads an amount as the nearest double, for weights and shares. */
  amountNumber(): number {
    const { bytes } = this;
    const length = this.byte() & AMOUNT_BYTES_MAX;
    const start = this.at;
    this.skip(length);
    if (length === 0) return 0;
    if (length <= 12) {
      // Both parts are exact, so that the sum is rounded once.
      const middle = start + Math.max(0, length - 6);
      let high = 0;
      for (let at = start; at < middle; at++) high = high * 0x100 + (bytes[at] as number);
      let low = 0;
      for (let at = middle; at < start + length; at++) low = low * 0x100 + (bytes[at] as number);
      return high * 2 ** 48 + low;
    }
    return Number(BigInt(`0x${bytes.toString('hex', start, start + length)}`));
  }

  skipAmount(): void {
    this.skip(this.byte() & AMOUNT_BYTES_MAX);
  }

  skip(count: number): void {
    if (this.at + count > this.end) throw cut();
    this.at += count;
  }

  text(length: number): string {
    const start = this.at;
    this.skip(length);
    return this.bytes.toString('utf8', start, start + length);
  }
}

const cut = (): AssayError =>
  new AssayError('STORE_CORRUPT', 'The transfer store is damaged: a record ends in the middle of a value.');
