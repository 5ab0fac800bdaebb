/** The addresses of invoices in memory. */
import { AddressFilter } from '../../chains/address-filter.ts';
import type { Block } from '../../chains/block.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { type AddressOwner, WatchedAddresses } from '../../chains/watched-addresses.ts';

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
/** Removed addresses from which the filter may be filled again, which reads all watched ones. */
const STALE_MIN = 10_000;

export class WatchTable implements AddressOwner {
  readonly watchesSenders = false;
  readonly #addresses: WatchedAddresses;
  readonly #byTarget = new Map<string, Watched>();
  /** Read before the map: most of what the filter of all parts lets pass is not of an invoice. Also for outputs of UTXO chains. */
  readonly #filter = new AddressFilter(FILTER_WORD_BITS, STALE_MIN);
  readonly #counts = new Map<ChainId, number>();

  /** @param addresses - those of all parts of the program; default: only of this table */
  constructor(addresses = new WatchedAddresses()) {
    this.#addresses = addresses;
    addresses.register(this);
  }

  get size(): number {
    return this.#byTarget.size;
  }

  ends(): Iterable<string> {
    return this.#byTarget.keys();
  }

  /** Number of targets of a chain. */
  count(chain: ChainId): number {
    return this.#counts.get(chain) ?? 0;
  }

  add(watched: Watched): void {
    const { target, chain } = watched;
    this.#filter.add(target);
    const isNew = !this.#byTarget.has(target);
    this.#byTarget.set(target, watched);
    if (!isNew) return;
    this.#counts.set(chain, this.count(chain) + 1);
    this.#addresses.added(this, target);
  }

  remove(target: string): void {
    const known = this.#byTarget.get(target);
    if (known === undefined) return;
    this.#byTarget.delete(target);
    this.#counts.set(known.chain, this.count(known.chain) - 1);
    this.#addresses.removed();
    this.#filter.removed(1, this.size, () => this.ends());
  }

  watches({ to }: Transfer): boolean {
    return this.find(to) !== null;
  }

  /** Returns the transfers of a block to addresses of invoices, in the order of the block. */
  found(block: Block): readonly Transfer[] {
    return this.#addresses.found(this, block);
  }

  /** Returns the invoice of an address; null if absent. */
  find(address: string | null): Watched | null {
    return address !== null && this.#filter.passes(address) ? (this.#byTarget.get(address) ?? null) : null;
  }

  /** Yields the targets of a chain. */
  *of(chain: ChainId): Generator<Watched> {
    for (const watched of this.#byTarget.values()) if (watched.chain === chain) yield watched;
  }

  /** Ends the use of the table. */
  release(): void {
    this.#addresses.release(this);
  }
}
