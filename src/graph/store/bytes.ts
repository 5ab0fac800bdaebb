/** Packed integers, times and amounts: the encoding of all records of the transfer store. */
import { AssayError } from '../../base/errors.ts';

const TWO_64 = 1n << 64n;
const TWO_96 = 1n << 96n;
/**
 * The most bytes of an amount: sums of 2^53 amounts below 2^256 need 39. A record may set the highest bit of the length byte to mark that
 * another value follows the amount.
 */
const AMOUNT_BYTES_MAX = 0x7f;
/**
 * Decimal exponents of a compact amount by the upper half of its first byte. Amounts of people are round in decimal digits, and 18 is a
 * whole coin of most EVM chains.
 */
const EXPONENTS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18] as const;
const LAST_EXPONENT = EXPONENTS.length - 1;
/** Exact as doubles, so that a product with a mantissa below 2^53 is rounded once. */
const POWERS = EXPONENTS.map((exponent) => 10 ** exponent);
const BIG_POWERS = EXPONENTS.map((exponent) => 10n ** BigInt(exponent));
/** The lower half of the first byte of a compact amount if the length is in the next byte. */
const LENGTH_FOLLOWS = 15;
const BILLION = 1e9;
const COPIED_BY_BYTE_MAX = 48;

/** The lowest 64 bits of an amount, also accessible as words: this takes fewer steps than digits. */
const lowWords = new BigUint64Array(1);
const words = new Uint32Array(lowWords.buffer);

/** An amount below 2^96 without trailing zeros, as words. */
class Trimmed {
  low = 0;
  middle = 0;
  high = 0;

  /** Removes the trailing zeros of an amount, and returns their code in `EXPONENTS`. */
  trim(low: number, middle: number, high: number): number {
    this.low = low;
    this.middle = middle;
    this.high = high;
    let zeros = 0;
    // A multiple of 10^9 is one of 2^9: random amounts are nearly always told apart without a division.
    while (zeros < 18 && (this.low & 511) === 0 && this.#divideByBillion()) zeros += 9;
    if (this.high !== 0 || this.middle >= 0x20_0000) return Math.min(zeros, LAST_EXPONENT);
    let rest = this.low + this.middle * 2 ** 32;
    if (rest === 0) return 0;
    for (; zeros < 18; zeros++) {
      const tenth = Math.floor(rest / 10);
      if (tenth * 10 !== rest) break;
      rest = tenth;
    }
    for (; zeros > (EXPONENTS[LAST_EXPONENT - 1] as number) && zeros < 18; zeros--) rest *= 10;
    this.low = rest >>> 0;
    this.middle = Math.floor(rest / 2 ** 32);
    return Math.min(zeros, LAST_EXPONENT);
  }

  /** Divides if nothing is left over. Long division with digits of 16 bits, so that every step is exact. */
  #divideByBillion(): boolean {
    let low = 0;
    let middle = 0;
    let high = 0;
    let rest = 0;
    if (this.high === 0 && this.middle === 0 && this.low < BILLION) return false;
    for (let digit = this.high !== 0 ? 5 : 3; digit >= 0; digit--) {
      const word = digit > 3 ? this.high : digit > 1 ? this.middle : this.low;
      const dividend = rest * 0x10000 + (digit % 2 === 1 ? word >>> 16 : word & 0xffff);
      const quotient = Math.floor(dividend / BILLION);
      rest = dividend - quotient * BILLION;
      if (digit > 3) high = high * 0x10000 + quotient;
      else if (digit > 1) middle = middle * 0x10000 + quotient;
      else low = low * 0x10000 + quotient;
    }
    if (rest !== 0) return false;
    this.low = low;
    this.middle = middle;
    this.high = high;
    return true;
  }
}

const trimmed = new Trimmed();

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

  /**
   * An amount without its trailing decimal zeros. The first byte has their number (`EXPONENTS`) and the number of bytes that follow, most
   * significant first.
   */
  compact(amount: bigint): void {
    if (amount < TWO_96) {
      lowWords[0] = amount;
      this.compactWords(words[0] as number, words[1] as number, amount < TWO_64 ? 0 : Number(amount >> 64n));
      return;
    }
    this.byte(LENGTH_FOLLOWS);
    this.amount(amount);
  }

  /** Same as `compact` for an amount below 2^96, given as words. */
  compactWords(low: number, middle: number, high: number): void {
    const code = trimmed.trim(low, middle, high);
    const start = this.length;
    this.amountWords(trimmed.low, trimmed.middle, trimmed.high);
    // At most 12 bytes: the length fits beside the exponent.
    this.bytes[start] = (this.bytes[start] as number) | (code << 4);
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    // A view of a few bytes costs more than copying them.
    if (end - start <= COPIED_BY_BYTE_MAX) {
      const { bytes } = this;
      let at = this.length;
      for (let index = start; index < end; index++) bytes[at++] = from[index] as number;
    } else this.bytes.set(from.subarray(start, end), this.length);
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
    const { at, bytes, end } = this;
    if (at < end) {
      const byte = bytes[at] as number;
      if (byte < 0x80) {
        this.at = at + 1;
        return byte;
      }
    }
    return this.#longVarint();
  }

  /** Apart from `varint`, so that the usual single byte is read without a call. */
  #longVarint(): number {
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

  skipVarint(): void {
    const { bytes, end } = this;
    let { at } = this;
    while (at < end && (bytes[at] as number) >= 0x80) at++;
    if (at >= end) throw cut();
    this.at = at + 1;
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
    return this.#digits((this.bytes[this.at] as number) & AMOUNT_BYTES_MAX);
  }

  /** Skips a byte, and reads a number of `length` bytes. */
  #digits(length: number): bigint {
    this.skip(1);
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

  /** Reads what `ByteWriter.compact` wrote. */
  compact(): bigint {
    const head = this.bytes[this.at] as number;
    if ((head & 15) === LENGTH_FOLLOWS) {
      this.skip(1);
      return this.amount();
    }
    const mantissa = this.#digits(head & 15);
    return head < 16 ? mantissa : mantissa * (BIG_POWERS[head >> 4] as bigint);
  }

  /** Reads a compact amount as the nearest double. */
  compactNumber(): number {
    if (this.at >= this.end) throw cut();
    const head = this.bytes[this.at] as number;
    const length = head & 15;
    if (length > 6)
      return length === LENGTH_FOLLOWS || head >= 16 ? Number(this.compact()) : this.amountNumber();
    this.at += length + 1;
    if (this.at > this.end) throw cut();
    const { bytes, at } = this;
    let mantissa = 0;
    // Three bytes fit into fast 32-bit arithmetic.
    if (length <= 3) {
      for (let byte = at - length; byte < at; byte++) mantissa = (mantissa << 8) | (bytes[byte] as number);
    } else
      for (let byte = at - length; byte < at; byte++) mantissa = mantissa * 0x100 + (bytes[byte] as number);
    return head < 16 ? mantissa : mantissa * (POWERS[head >> 4] as number);
  }

  skipCompact(): void {
    const length = this.byte() & 15;
    if (length === LENGTH_FOLLOWS) this.skipAmount();
    else this.skip(length);
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
