/**
 * The addresses of invoices in memory. Every transfer of a followed chain is looked up here, and hardly any is found, so a bit set is read
 * before the map: it costs two characters of the address.
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

/** Bits of the filter: with 100,000 addresses, one in forty lookups passes. 512 KB. */
const FILTER_BITS = 22;

/** Mixes the last characters of an address, which differ at random on every chain. Integers only: this runs for every transfer. */
function slotOf(address: string): number {
  const end = address.length;
  const low =
    (address.charCodeAt(end - 1) << 14) ^ (address.charCodeAt(end - 2) << 7) ^ address.charCodeAt(end - 3);
  const high = (address.charCodeAt(end - 4) << 7) ^ address.charCodeAt(end - 5);
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed >>> (32 - FILTER_BITS);
}

export class WatchTable {
  readonly #byTarget = new Map<string, Watched>();
  readonly #filter = new Uint8Array(1 << (FILTER_BITS - 3));
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
    const slot = slotOf(target);
    this.#filter[slot >> 3] = (this.#filter[slot >> 3] as number) | (1 << (slot & 7));
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

  /** Returns the invoice of an address; null if there is none. */
  find(address: string | null): Watched | null {
    if (address === null) return null;
    const slot = slotOf(address);
    if (((this.#filter[slot >> 3] as number) & (1 << (slot & 7))) === 0) return null;
    return this.#byTarget.get(address) ?? null;
  }

  /** Yields the targets of a chain. */
  *of(chain: ChainId): Generator<Watched> {
    for (const watched of this.#byTarget.values()) if (watched.chain === chain) yield watched;
  }
}
