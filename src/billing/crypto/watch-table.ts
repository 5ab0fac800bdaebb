/**
 * The addresses of invoices in memory. Every transfer of a followed chain is looked up here, and hardly any is found, so a filter is
 * read before the map: one word of memory for six characters of the address.
 */
import type { ChainId } from '../../chains/registry.ts';

export interface Watched {
  readonly chain: ChainId;
  readonly accountId: string;
  readonly invoiceId: string;
  /** The address, or on Solana the reference key. */
  readonly target: string;
  /** Late payments are looked for until this time. */
  readonly untilMs: number;
}

/** Words of the filter, as a power of two: 512 KB, which stay in the cache of a core. */
const FILTER_WORD_BITS = 17;
/**
 * Characters of the end of an address that the filter reads. They differ at random on every chain. With 100,000 addresses, of 100 others
 * fewer than one has the same six hex digits as one of them.
 */
const READ_CHARACTERS = 6;

/**
 * Mixes the last characters of an address. Integers only, and no loop: this runs for every transfer of a followed chain.
 *
 * @param end - length of the address, at least READ_CHARACTERS
 */
function hashOf(address: string, end: number): number {
  const low =
    address.charCodeAt(end - 1) | (address.charCodeAt(end - 2) << 8) | (address.charCodeAt(end - 3) << 16);
  const high =
    address.charCodeAt(end - 4) | (address.charCodeAt(end - 5) << 8) | (address.charCodeAt(end - 6) << 16);
  const mixed = Math.imul(Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b), 0xc2b2ae35);
  return mixed ^ (mixed >>> 15);
}

/** Two bits of one word, so that a look-up reads memory once. The upper bits of the hash choose the word. */
const bitsOf = (hash: number): number => (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31));
const wordOf = (hash: number): number => hash >>> (32 - FILTER_WORD_BITS);

export class WatchTable {
  readonly #byTarget = new Map<string, Watched>();
  readonly #filter = new Int32Array(1 << FILTER_WORD_BITS);
  readonly #counts = new Map<ChainId, number>();

  get size(): number {
    return this.#byTarget.size;
  }

  /** Number of targets of a chain. */
  count(chain: ChainId): number {
    return this.#counts.get(chain) ?? 0;
  }

  add(watched: Watched): void {
    const { target, chain } = watched;
    if (target.length >= READ_CHARACTERS) {
      const hash = hashOf(target, target.length);
      this.#filter[wordOf(hash)] = (this.#filter[wordOf(hash)] as number) | bitsOf(hash);
    }
    if (!this.#byTarget.has(target)) this.#counts.set(chain, this.count(chain) + 1);
    this.#byTarget.set(target, watched);
  }

  /** The bit of the filter stays: others may share it, and a lookup that passes in vain is correct. */
  remove(target: string): void {
    const known = this.#byTarget.get(target);
    if (known === undefined) return;
    this.#byTarget.delete(target);
    this.#counts.set(known.chain, this.count(known.chain) - 1);
  }

  /** Whether the filter lets an address pass: no other one can be watched. */
  mayHave(address: string): boolean {
    const end = address.length;
    // No chain has addresses that short; the map decides.
    if (end < READ_CHARACTERS) return true;
    const hash = hashOf(address, end);
    const bits = bitsOf(hash);
    return ((this.#filter[wordOf(hash)] as number) & bits) === bits;
  }

  /** Returns the invoice of an address; null if absent. */
  find(address: string | null): Watched | null {
    return address !== null && this.mayHave(address) ? (this.#byTarget.get(address) ?? null) : null;
  }

  /** Yields the targets of a chain. */
  *of(chain: ChainId): Generator<Watched> {
    for (const watched of this.#byTarget.values()) if (watched.chain === chain) yield watched;
  }
}
