/**
 * A filter over addresses: it says of most others, with one word of memory, that they are not among them. Those that pass have to be looked
 * up in a table.
 */

/**
 * Characters of the end of an address that the filter reads, 32 bits of an EVM address. The start of an address is the same for all of a
 * chain, or can be chosen.
 */
export const READ_CHARACTERS = 8;
/** Makes the letters of hex digits lower case. On chains whose addresses have both cases, it only makes the hash a little weaker. */
const LOWER_CASE = 0x2020_2020;

/** Converts four hex digits to their values, one in each byte. Other characters become other numbers. */
const digitsOf = (characters: number): number => {
  const lower = characters | LOWER_CASE;
  return (lower & 0x0f0f_0f0f) + 9 * ((lower >>> 6) & 0x0101_0101);
};

/**
 * Mixes the last characters of an address. Different hex digits have different hashes: equal ones would pass whatever the filter reads. Integers
 * only, and no loop: this runs for each transfer of a followed chain.
 *
 * @param end - length of the address, at least READ_CHARACTERS
 */
function hashOf(address: string, end: number): number {
  const low =
    address.charCodeAt(end - 1) |
    (address.charCodeAt(end - 2) << 8) |
    (address.charCodeAt(end - 3) << 16) |
    (address.charCodeAt(end - 4) << 24);
  const high =
    address.charCodeAt(end - 5) |
    (address.charCodeAt(end - 6) << 8) |
    (address.charCodeAt(end - 7) << 16) |
    (address.charCodeAt(end - 8) << 24);
  const mixed = Math.imul(digitsOf(low) ^ (digitsOf(high) << 4), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** Two different bits of a first word, by the lower bits of the hash. */
const firstBits = (hash: number): number =>
  (1 << (hash & 31)) | (1 << ((hash ^ (((hash >>> 5) & 15) + 1)) & 31));
/** Other bits, for the second word. */
const rehash = (hash: number): number => Math.imul(hash, 0x27d4eb2f);
/** Up to four bits of a second word. */
const secondBits = (more: number): number =>
  (1 << (more >>> 24)) | (1 << (more >>> 19)) | (1 << (more >>> 14)) | (1 << (more >>> 9));
/** The second word is one of eight, which are near the first one. */
const secondOf = (first: number, more: number): number => (first & ~15) | ((more >>> 28) & 14) | 1;

/**
 * An address sets bits in two words: two in a word with an even number, and four in one with an odd number, in the same line of the cache. The
 * first word rejects nearly all others. The second one, which other addresses share, rejects most of the rest. The upper bits of the hash
 * choose the first word.
 */
export class AddressFilter {
  readonly #words: Int32Array;
  readonly #shift: number;
  readonly #staleMin: number;
  /** Number of removed addresses that still pass. */
  #stale = 0;

  /**
   * @param wordBits - number of 32-bit words, as a power of two; at least 4
   * @param staleMin - removed addresses from which the filter is filled again, if they are also at least as many as the others
   */
  constructor(wordBits: number, staleMin: number) {
    this.#staleMin = staleMin;
    this.#words = new Int32Array(2 ** wordBits);
    this.#shift = 33 - wordBits;
  }

  /** Adds an address, or its last READ_CHARACTERS characters. */
  add(address: string): void {
    // Short texts always pass.
    if (address.length < READ_CHARACTERS) return;
    const hash = hashOf(address, address.length);
    const more = rehash(hash);
    const first = (hash >>> this.#shift) << 1;
    const second = secondOf(first, more);
    this.#words[first] = (this.#words[first] as number) | firstBits(hash);
    this.#words[second] = (this.#words[second] as number) | secondBits(more);
  }

  /** Returns false if the address was not added. */
  passes(address: string): boolean {
    const end = address.length;
    // No chain has addresses that short; a table decides.
    if (end < READ_CHARACTERS) return true;
    const hash = hashOf(address, end);
    const bits = firstBits(hash);
    const first = (hash >>> this.#shift) << 1;
    if (((this.#words[first] as number) & bits) !== bits) return false;
    const more = rehash(hash);
    const others = secondBits(more);
    return ((this.#words[secondOf(first, more)] as number) & others) === others;
  }

  /**
   * Notes that addresses were removed. They pass until most bits are of removed ones; then the filter is filled with those that are left.
   *
   * @param left - number of the other addresses
   * @param each - returns them, or their last READ_CHARACTERS characters
   */
  removed(count: number, left: number, each: () => Iterable<string>): void {
    this.#stale += count;
    if (this.#stale < this.#staleMin || this.#stale < left) return;
    this.#stale = 0;
    this.#words.fill(0);
    for (const address of each()) this.add(address);
  }
}
