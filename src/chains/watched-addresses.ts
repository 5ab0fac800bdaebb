/**
 * The addresses that the parts of the program watch, together. Hardly any transfer concerns one of them, so each block is read once for all
 * parts, against one filter, and only the few transfers that pass are looked up in the tables of the parts. A block costs nearly the same,
 * whether one part watches addresses or several do.
 */
import { AddressFilter } from './address-filter.ts';
import type { Block } from './block.ts';
import type { ChainId } from './registry.ts';
import type { Transfer } from './transfer.ts';

/** A part of the program that watches addresses. */
export interface AddressOwner {
  /** Number of its addresses. */
  readonly size: number;
  /** Whether it looks for transfers from its addresses, too, and not only for those to them. */
  readonly watchesSenders: boolean;
  /** Returns its addresses, or the ends of them that an AddressFilter reads. */
  ends(): Iterable<string>;
  /** Whether it looks for a transfer. */
  watches(transfer: Transfer, chain: ChainId): boolean;
}

/** The transfers of a block that were found for each part. */
interface Reading {
  readonly block: Block;
  readonly version: number;
  /** The part that asked first. */
  readonly by: AddressOwner;
  /** Whether another part has asked, too. */
  isShared: boolean;
  /** A part without a list has none. */
  readonly found: ReadonlyMap<AddressOwner, readonly Transfer[]> | null;
}

/**
 * Words of the filter, as a power of two: 4 MB. With a million addresses, one of 2,700 others passes. With more, more pass, and the table
 * of each part decides as it would without a filter.
 */
const FILTER_WORD_BITS = 20;
/** Removed addresses from which the filter may be filled again, which reads all watched ones. */
const STALE_MIN = 65_536;

const NONE: readonly Transfer[] = [];

export class WatchedAddresses {
  readonly #owners = new Set<AddressOwner>();
  /** The last reading of each chain: at the head of a chain, all parts ask for the same block. */
  readonly #latest = new Map<ChainId, Reading>();
  /** Earlier readings, for parts that are some blocks behind another one. */
  readonly #earlier = new WeakMap<Block, Reading>();
  /** Null before the first address. */
  #filter: AddressFilter | null = null;
  #readsSenders = false;
  /** Changes with each added address: blocks that were read before have to be read again. */
  #version = 0;

  /** Registers a part of the program. It reports each address that it adds or removes from then on. */
  register(owner: AddressOwner): void {
    this.#owners.add(owner);
    for (const end of owner.ends()) this.added(owner, end);
  }

  /** Removes a part of the program. */
  release(owner: AddressOwner): void {
    if (!this.#owners.delete(owner)) return;
    this.#readsSenders = [...this.#owners].some((each) => each.watchesSenders && each.size > 0);
    this.removed(owner.size);
  }

  /** A registered part has added an address. */
  added({ watchesSenders }: AddressOwner, address: string): void {
    this.#filter ??= new AddressFilter(FILTER_WORD_BITS, STALE_MIN);
    this.#filter.add(address);
    this.#readsSenders ||= watchesSenders;
    this.#version++;
  }

  /** Registered parts have removed addresses. */
  removed(count = 1): void {
    let left = 0;
    for (const { size } of this.#owners) left += size;
    this.#filter?.removed(count, left, () => this.#ends());
  }

  *#ends(): Generator<string> {
    for (const owner of this.#owners) yield* owner.ends();
  }

  /**
   * Returns the transfers of a block that a part watches, in the order of the block. A block is read for all parts when the first one asks.
   */
  found(owner: AddressOwner, block: Block): readonly Transfer[] {
    const latest = this.#latest.get(block.chain);
    const known = latest?.block === block ? latest : this.#earlier.get(block);
    if (known !== undefined && known.version === this.#version) {
      if (known.by !== owner) known.isShared = true;
      return known.found === null ? NONE : (known.found.get(owner) ?? NONE);
    }
    // The weak map costs more than a comparison, so it has only readings that some part may still ask for.
    if (latest !== undefined && !latest.isShared && this.#owners.size > 1)
      this.#earlier.set(latest.block, latest);
    const found = this.#read(block);
    this.#latest.set(block.chain, { block, version: this.#version, by: owner, isShared: false, found });
    return found?.get(owner) ?? NONE;
  }

  #read({ chain, transfers }: Block): Reading['found'] {
    const filter = this.#filter;
    if (filter === null) return null;
    const readsSenders = this.#readsSenders;
    let found: Map<AddressOwner, Transfer[]> | null = null;
    for (const transfer of transfers) {
      const { from, to } = transfer;
      if (!((to !== null && filter.passes(to)) || (readsSenders && from !== null && filter.passes(from))))
        continue;
      for (const owner of this.#owners) {
        if (!owner.watches(transfer, chain)) continue;
        found ??= new Map();
        const list = found.get(owner);
        if (list === undefined) found.set(owner, [transfer]);
        else list.push(transfer);
      }
    }
    return found;
  }
}
