/**
 * Maps addresses to watched wallets, for a million wallets and every transfer of a chain: an open-addressing table over packed
 * 20-byte addresses. It is built from the store once, then updated as wallets are added and removed.
 */
import { READ_CHARACTERS } from '../chains/address-filter.ts';
import type { Block } from '../chains/block.ts';
import type { Transfer } from '../chains/transfer.ts';
import { type AddressOwner, WatchedAddresses } from '../chains/watched-addresses.ts';
import type { MonitoringChain, WatchChange, WatchedAddress } from './records.ts';

/** A wallet that watches an address. Several accounts may watch the same address. */
export interface Watcher {
  readonly accountId: string;
  readonly walletId: string;
}

export interface WatchTable extends AddressOwner {
  /** Number of wallets on all chains. */
  readonly size: number;
  /** Chains with watched wallets. */
  readonly chains: ReadonlySet<MonitoringChain>;
  /** Returns the watchers of an address (canonical or in any letter case); may be empty. */
  watchers(chain: MonitoringChain, address: string): readonly Watcher[];
  /** Returns the transfers of a block that concern a watched address, in the order of the block. */
  found(block: Block): readonly Transfer[];
  /** Applies a change; applying it again is a no-op. */
  apply(change: WatchChange): void;
  /** Ends the use of the table. */
  release(): void;
}

const ADDRESS_BYTES = 20;
/** Length of a wallet id, see ids.ts. */
const ID_CHARS = 26;
const NOBODY: readonly Watcher[] = [];

/** Accounts are few compared with wallets, so each name is stored once. */
interface AccountNames {
  numberOf(accountId: string): number;
  nameOf(number: number): string;
}

function createAccountNames(): AccountNames {
  const names: string[] = [];
  const numbers = new Map<string, number>();
  return {
    numberOf(accountId) {
      const known = numbers.get(accountId);
      if (known !== undefined) return known;
      const number = names.push(accountId) - 1;
      numbers.set(accountId, number);
      return number;
    },
    nameOf: (number) => names[number] as string,
  };
}

/** Value of a hex digit by its character code; -1 for others. */
const HEX = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  HEX[digit.toString(16).charCodeAt(0)] = digit;
  HEX[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

/** Writes the 20 bytes of `0x…`; returns false if the text is not an EVM address. */
function writeAddress(address: string, into: Uint8Array, at: number): boolean {
  if (address.length !== 2 + 2 * ADDRESS_BYTES) return false;
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    const high = HEX[address.charCodeAt(2 + 2 * i) & 0x7f] as number;
    const low = HEX[address.charCodeAt(3 + 2 * i) & 0x7f] as number;
    if (high < 0 || low < 0) return false;
    into[at + i] = (high << 4) | low;
  }
  return true;
}

/**
 * The last 4 bytes of the address: an EVM address is part of a hash, so its bytes are uniform, except that vanity addresses have
 * fixed leading bytes.
 */
const hashOf = (bytes: Uint8Array, at: number): number =>
  (((bytes[at + 16] as number) << 24) |
    ((bytes[at + 17] as number) << 16) |
    ((bytes[at + 18] as number) << 8) |
    (bytes[at + 19] as number)) >>>
  0;

function equal(a: Uint8Array, atA: number, b: Uint8Array, atB: number): boolean {
  for (let i = ADDRESS_BYTES - 1; i >= 0; i--) if (a[atA + i] !== b[atB + i]) return false;
  return true;
}

/** The table of one chain. A slot holds 1 + the number of a distinct address; the wallets of an address are a linked list. */
class ChainTable {
  #count = 0;
  #addresses = new Uint8Array(1_024 * ADDRESS_BYTES);
  #slots = new Uint32Array(4_096);
  /** Distinct address → its last wallet; wallet → the previous one. All numbers plus 1; 0 for none. */
  #last = new Uint32Array(1_024);
  #before = new Uint32Array(1_024);
  /** Ids of the wallets as consecutive characters: a string of its own takes 48 bytes. */
  #ids = Buffer.alloc(1_024 * ID_CHARS);
  /** Number of the account of each wallet. */
  #accounts = new Uint32Array(1_024);
  /** Number of wallet places ever used. */
  #places = 0;
  readonly #accountNames: AccountNames;
  /** Wallet places that are free again. */
  readonly #free: number[] = [];
  readonly #probe = new Uint8Array(ADDRESS_BYTES);

  /** Distinct addresses that no wallet watches any more. */
  #unwatched = 0;

  /** Number of watched wallets. */
  live = 0;

  constructor(accountNames: AccountNames) {
    this.#accountNames = accountNames;
  }

  #idOf(wallet: number): string {
    return this.#ids.toString('latin1', (wallet - 1) * ID_CHARS, wallet * ID_CHARS);
  }

  add(address: string, watcher: Watcher): void {
    if (!writeAddress(address, this.#probe, 0)) return;
    const found = this.#find();
    this.live++;
    const wallet = this.#free.pop() ?? ++this.#places;
    if (wallet > this.#before.length) {
      this.#before = grown(this.#before);
      this.#accounts = grown(this.#accounts);
      const more = Buffer.alloc(this.#ids.length * 2);
      this.#ids.copy(more);
      this.#ids = more;
    }
    this.#ids.write(watcher.walletId, (wallet - 1) * ID_CHARS, ID_CHARS, 'latin1');
    this.#accounts[wallet - 1] = this.#accountNames.numberOf(watcher.accountId);
    const number = found === 0 ? this.#insert() : found;
    if (found !== 0 && this.#last[number - 1] === 0) this.#unwatched--;
    this.#before[wallet - 1] = this.#last[number - 1] as number;
    this.#last[number - 1] = wallet;
  }

  /** Removes a wallet from the list of its address. */
  remove(address: string, walletId: string): void {
    if (!writeAddress(address, this.#probe, 0)) return;
    const number = this.#find();
    if (number === 0) return;
    let above = 0;
    let wallet = this.#last[number - 1] as number;
    while (wallet !== 0 && this.#idOf(wallet) !== walletId) {
      above = wallet;
      wallet = this.#before[wallet - 1] as number;
    }
    if (wallet === 0) return;
    const below = this.#before[wallet - 1] as number;
    if (above === 0) {
      this.#last[number - 1] = below;
      if (below === 0) this.#unwatched++;
    } else this.#before[above - 1] = below;
    this.#free.push(wallet);
    this.live--;
  }

  /** Returns true if the address is watched. */
  has(address: string): boolean {
    if (!writeAddress(address, this.#probe, 0)) return false;
    const number = this.#find();
    return number !== 0 && this.#last[number - 1] !== 0;
  }

  watchers(address: string): readonly Watcher[] {
    if (!writeAddress(address, this.#probe, 0)) return NOBODY;
    const number = this.#find();
    if (number === 0) return NOBODY;
    const found: Watcher[] = [];
    for (
      let wallet = this.#last[number - 1] as number;
      wallet !== 0;
      wallet = this.#before[wallet - 1] as number
    )
      found.push({
        accountId: this.#accountNames.nameOf(this.#accounts[wallet - 1] as number),
        walletId: this.#idOf(wallet),
      });
    return found.reverse();
  }

  /** Returns the ends of the watched addresses. */
  *ends(): Generator<string> {
    const bytes = READ_CHARACTERS / 2;
    const addresses = Buffer.from(this.#addresses.buffer);
    for (let number = 1; number <= this.#count; number++)
      if (this.#last[number - 1] !== 0)
        yield addresses.toString('hex', number * ADDRESS_BYTES - bytes, number * ADDRESS_BYTES);
  }

  /** Number of the address in the probe, from 1; 0 if the table does not contain it. */
  #find(): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(this.#probe, 0) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] as number;
      if (number === 0 || equal(this.#addresses, (number - 1) * ADDRESS_BYTES, this.#probe, 0)) return number;
    }
  }

  #insert(): number {
    // Wallets come and go: before the table grows, the places of addresses without one are used again, if they are at least half.
    const isFull = (this.#count + 1) * ADDRESS_BYTES > this.#addresses.length;
    if (isFull && this.#unwatched * 2 >= this.#count) this.#removeUnwatched();
    const number = ++this.#count;
    if (number * ADDRESS_BYTES > this.#addresses.length) {
      const more = new Uint8Array(this.#addresses.length * 2);
      more.set(this.#addresses);
      this.#addresses = more;
    }
    if (number > this.#last.length) this.#last = grown(this.#last);
    this.#addresses.set(this.#probe, (number - 1) * ADDRESS_BYTES);
    // At most half full, so that probe sequences stay short.
    if (number * 2 > this.#slots.length) {
      this.#slots = new Uint32Array(this.#slots.length * 2);
      for (let one = 1; one < number; one++) this.#place(one);
    }
    this.#place(number);
    return number;
  }

  /** Removes the addresses that no wallet watches any more. */
  #removeUnwatched(): void {
    this.#slots.fill(0);
    let kept = 0;
    for (let number = 1; number <= this.#count; number++) {
      const last = this.#last[number - 1] as number;
      if (last === 0) continue;
      this.#addresses.copyWithin(kept * ADDRESS_BYTES, (number - 1) * ADDRESS_BYTES, number * ADDRESS_BYTES);
      this.#last[kept++] = last;
      this.#place(kept);
    }
    this.#last.fill(0, kept, this.#count);
    this.#count = kept;
    this.#unwatched = 0;
  }

  #place(number: number): void {
    const mask = this.#slots.length - 1;
    let slot = hashOf(this.#addresses, (number - 1) * ADDRESS_BYTES) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = number;
  }
}

function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(array.length * 2);
  more.set(array);
  return more;
}

/**
 * Builds the table of the watched addresses.
 *
 * @param addresses - those of all parts of the program; default: only of this table
 */
export function buildWatchTable(
  watched: Iterable<WatchedAddress>,
  addresses = new WatchedAddresses(),
): WatchTable {
  const tables = new Map<MonitoringChain, ChainTable>();
  const accountNames = createAccountNames();

  function add({ chain, walletAddress, accountId, walletId }: WatchedAddress): void {
    let table = tables.get(chain);
    if (table === undefined) {
      table = new ChainTable(accountNames);
      tables.set(chain, table);
    }
    table.add(walletAddress, { accountId, walletId });
  }

  const built: WatchTable = {
    watchesSenders: true,
    *ends() {
      for (const table of tables.values()) yield* table.ends();
    },
    watches: ({ from, to }, chain) => {
      const table = tables.get(chain as MonitoringChain);
      return table !== undefined && ((from !== null && table.has(from)) || (to !== null && table.has(to)));
    },
    found: (block) => addresses.found(built, block),
    release: () => addresses.release(built),
    get size() {
      return [...tables.values()].reduce((sum, { live }) => sum + live, 0);
    },
    get chains() {
      return new Set([...tables].filter(([, { live }]) => live > 0).map(([chain]) => chain));
    },
    watchers: (chain, address) => tables.get(chain)?.watchers(address) ?? NOBODY,
    apply(change) {
      const { chain, walletAddress, walletId, isActive } = change;
      const table = tables.get(chain);
      const isThere = table?.watchers(walletAddress).some((one) => one.walletId === walletId) ?? false;
      if (isActive && !isThere) {
        add(change);
        addresses.added(built, walletAddress);
      }
      if (!isActive && isThere) {
        table?.remove(walletAddress, walletId);
        addresses.removed();
      }
    },
  };
  addresses.register(built);
  for (const one of watched) {
    add(one);
    addresses.added(built, one.walletAddress);
  }
  return built;
}
