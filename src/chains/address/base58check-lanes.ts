/**
 * Base58check of many texts at once, four in the lanes of a vector: bulk look-ups decode the texts of a batch with it before they write the
 * keys. The kernel is WebAssembly that the build assembles (scripts/kernels), and only confirms what is right: whatever it does not confirm
 * is decoded again by `decodeBase58Check`, which says what is wrong.
 */
import { type KernelMemory, loadKernel } from '../../base/kernel.ts';
import { BITCOIN_DIGITS, decoded, RIPPLE_DIGITS } from './base58.ts';
import { type DecodedAhead, payloadStart, takeDecoded } from './base58check.ts';

const LANES = 4;
/** Texts of one batch: a multiple of the lanes. */
const TEXTS_MAX = 128;
/** Fewer texts cost more in lanes than one by one. */
const TEXTS_MIN = 3;
/** Shortest text of a payload with a hash of 20 bytes: that of a version byte, the hash and a checksum with the most zeros. */
const TEXT_MIN = 25;

/** Where the kernel finds and leaves its values, in bytes of its only page. */
export const LANES_MEMORY = {
  /** Tables of digits, 256 bytes each. */
  bitcoinDigits: 0,
  rippleDigits: 256,
  /** 32-bit numbers, one for each text: its place in this memory, its table, the length of its payload, its written checksum. */
  starts: 512,
  ends: 1024,
  digits: 1536,
  lengths: 2048,
  written: 2560,
  /** A decoded number of 32 bytes, and as many zeros. */
  number: 3072,
  /** Payloads, each a block of SHA-256. */
  blocks: 4096,
  blockBytes: 64,
  /** The part of the source that contains the texts. */
  source: 12_288,
  end: 65_536,
  /** Longest text: 58^36 has 27 bytes. All addresses with a hash of 20 bytes are shorter. */
  textMax: 36,
} as const;

const tableOf = (digits: Uint8Array): number =>
  digits === RIPPLE_DIGITS ? LANES_MEMORY.rippleDigits : LANES_MEMORY.bitcoinDigits;

/** The text `source[start, end)`. */
export interface TextPlace {
  readonly start: number;
  readonly end: number;
}

const decodedWords = new DataView(decoded.buffer, decoded.byteOffset, decoded.length);

interface Kernel extends KernelMemory {
  readonly check: (count: number) => void;
}

/** Decodes the base58check texts of batches. Holds the results of one batch, which `decodeBase58Check` takes in the order of the texts. */
export class Base58CheckLanes implements DecodedAhead {
  readonly #check: (count: number) => void;
  readonly #memory: Uint8Array;
  readonly #words: DataView;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #digits: Int32Array;
  readonly #lengths: Int32Array;
  #source: Uint8Array | null = null;
  /** Offset of the source minus the place in the memory of the kernel. */
  #shift = 0;
  #count = 0;
  #next = 0;

  private constructor({ memory, check }: Kernel) {
    this.#check = check;
    const { buffer } = memory;
    this.#memory = new Uint8Array(buffer);
    this.#words = new DataView(buffer);
    const numbers = (at: number): Int32Array => new Int32Array(buffer, at, TEXTS_MAX);
    this.#starts = numbers(LANES_MEMORY.starts);
    this.#ends = numbers(LANES_MEMORY.ends);
    this.#digits = numbers(LANES_MEMORY.digits);
    this.#lengths = numbers(LANES_MEMORY.lengths);
    this.#memory.set(BITCOIN_DIGITS, LANES_MEMORY.bitcoinDigits);
    this.#memory.set(RIPPLE_DIGITS, LANES_MEMORY.rippleDigits);
  }

  /** Returns a decoder of batches; null if this machine cannot run the kernel. */
  static create(): Base58CheckLanes | null {
    const kernel = loadKernel<Kernel>('base58check');
    return kernel === null ? null : new Base58CheckLanes(kernel);
  }

  /**
   * Decodes the base58check texts among up to 128 items of `source`, and makes `decodeBase58Check` take the results until `finish`.
   *
   * @param items - places of the texts, in order
   * @param digitsOf - returns the digits of an item's base58check texts; null if it has none
   */
  decode<Item extends TextPlace>(
    source: Uint8Array,
    items: readonly Item[],
    from: number,
    to: number,
    digitsOf: (item: Item) => Uint8Array | null,
  ): void {
    this.#count = 0;
    this.#next = 0;
    this.#shift = (items[from] as Item).start - LANES_MEMORY.source;
    let end = 0;
    for (let index = from; index < to; index++) {
      const item = items[index] as Item;
      const digits = digitsOf(item);
      if (digits === null) continue;
      // Texts behind one that is out of order, or too far from the first, are decoded one by one.
      if (item.start < end || item.end - this.#shift > LANES_MEMORY.end) continue;
      end = item.end;
      this.#add(item.start, item.end, digits);
    }
    if (this.#count < TEXTS_MIN) return;
    this.#memory.set(source.subarray(this.#shift + LANES_MEMORY.source, end), LANES_MEMORY.source);
    // The last four may contain texts of an earlier batch, whose results are never taken.
    this.#check((this.#count + LANES - 1) & -LANES);
    this.#source = source;
    takeDecoded(this);
  }

  /** Forgets the batch: its source may change from now on. */
  finish(): void {
    this.#source = null;
    takeDecoded(null);
  }

  #add(start: number, end: number, digits: Uint8Array): void {
    if (end - start < TEXT_MIN || end - start > LANES_MEMORY.textMax || this.#count === TEXTS_MAX) return;
    const item = this.#count++;
    this.#starts[item] = start - this.#shift;
    this.#ends[item] = end - this.#shift;
    this.#digits[item] = tableOf(digits);
  }

  take(source: Uint8Array, start: number, end: number, digits: Uint8Array): number {
    if (source !== this.#source) return 0;
    const place = start - this.#shift;
    while (this.#next < this.#count && (this.#starts[this.#next] as number) < place) this.#next++;
    const item = this.#next;
    if (item === this.#count || this.#starts[item] !== place || this.#ends[item] !== end - this.#shift)
      return 0;
    const length = this.#digits[item] === tableOf(digits) ? (this.#lengths[item] as number) : 0;
    const block = LANES_MEMORY.blocks + item * LANES_MEMORY.blockBytes;
    const at = payloadStart(length);
    // A word at a time: what is written behind the payload, up to three bytes, is not read.
    for (let index = 0; index < length; index += 4)
      decodedWords.setInt32(at + index, this.#words.getInt32(block + index));
    return length;
  }
}
