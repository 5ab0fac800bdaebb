/**
 * Recent transactions, in memory. Their fingerprints are random, and writing one page of `places` for each would be most of the cost
 * of a live transfer. The log holds the same transfers, so nothing is lost with the memory: it is rebuilt from the log. Transactions are
 * written to `places` many at a time, in key order.
 */

import { GRAPH_LIMITS } from '../limits.ts';
import type { ChainStore } from './chain-store.ts';
import { FINGERPRINT_BYTES, Fingerprinter, positionMark, transactionKey } from './fingerprint.ts';
import { formerPositions, hasFormerTransactions, positionsAt } from './known-positions.ts';
import { loggedTransfers } from './log.ts';
import { type PlacesState, PlacesWriter, placesOf, readPlacesState } from './places.ts';
import type { KnownPosition } from './transactions.ts';

/** The transfers of the log that are not in `places` yet. Written with every change. */
export interface FreshState {
  readonly from: number;
  readonly to: number;
  /** Counts changes other than appends: after such a change by another writer, the memory is not trusted. */
  readonly turn: number;
}

/** A position, and whether the store has it apart from the log. */
interface HeldPosition extends KnownPosition {
  readonly isStored: boolean;
}

const NONE: FreshState = { from: 0, to: 0, turn: 0 };

/** Flags of a transaction: its positions differ from the stored ones; its stored positions were read. */
const CHANGED = 1;
const READ = 2;

/** The most positions held in memory, and the fewest transactions that one write moves. */
export interface FreshLimits {
  readonly max: number;
  readonly step: number;
}

const FRESH_LIMITS: FreshLimits = {
  max: GRAPH_LIMITS.freshTransactionsMax,
  step: GRAPH_LIMITS.freshTransactionsStep,
};

const FIRST_CAPACITY = 1024;

/**
 * One writer's memory of a chain. All methods run inside a write transaction, after `begin`. The exceptions are `commit` and `forget`,
 * which end it.
 */
export class FreshTransactions {
  readonly #store: ChainStore;
  readonly #fingerprint: Fingerprinter;
  readonly #limits: FreshLimits;
  #state: FreshState | null = null;
  /** Whether the memory may hold uncommitted changes. */
  #isOpen = false;
  /** Number of the transaction in each slot, plus one. At most half of the slots are taken. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  /** Three key words per transaction. */
  #keys = new Uint32Array(FIRST_CAPACITY * 3);
  #flags = new Uint8Array(FIRST_CAPACITY);
  /** First position of each transaction, plus one. */
  #heads = new Uint32Array(FIRST_CAPACITY);
  #count = 0;
  #marks = new Float64Array(FIRST_CAPACITY);
  /** Number of each position in the log, plus one. 0 if it is not stored. */
  #ordinals = new Float64Array(FIRST_CAPACITY);
  /** Sender, receiver, and the next position of the same transaction plus one. */
  #parties = new Uint32Array(FIRST_CAPACITY * 3);
  /** 1 for a position that the store has. */
  #stored = new Uint8Array(FIRST_CAPACITY);
  #positions = 0;
  #places: PlacesState | null = null;
  #hasFormer: boolean | null = null;
  /** Transactions that are being moved to `places`, in key order. They cover the log up to `until`. */
  #leaving: { readonly order: Uint32Array; at: number; readonly until: number } | null = null;

  constructor(store: ChainStore, limits = FRESH_LIMITS) {
    this.#store = store;
    this.#limits = limits;
    this.#fingerprint = new Fingerprinter(store.salt);
  }

  /** Called after the changes since `begin` were committed. */
  commit(): void {
    this.#isOpen = false;
  }

  /** Discards what a failed write transaction may have changed. */
  forget(): void {
    if (this.#isOpen) this.#state = null;
    this.#isOpen = false;
  }

  /** Synchronizes the memory with the store, which another process may have changed. */
  begin(): void {
    this.#isOpen = true;
    this.#places = readPlacesState(this.#store);
    this.#hasFormer ??= hasFormerTransactions(this.#store);
    const stored = (this.#store.meta.get('fresh') as FreshState | undefined) ?? NONE;
    const own = this.#state;
    if (own && own.from === stored.from && own.to === stored.to && own.turn === stored.turn) return;
    this.#clear();
    this.#state = stored;
    for (const logged of loggedTransfers(this.#store, stored.from, stored.to)) {
      const key = transactionKey(logged.transaction, this.#fingerprint);
      const transaction = this.#slotOf(key);
      const mark = positionMark(logged.position, this.#fingerprint);
      this.#push(transaction, { ...logged, mark }, false);
      this.#flags[transaction] = (this.#flags[transaction] as number) | CHANGED;
    }
  }

  /** Returns the number of a transaction, for the calls below. Reads its stored positions if they were not read yet. */
  open(key: Buffer): number {
    const transaction = this.#slotOf(key);
    if (((this.#flags[transaction] as number) & READ) === 0)
      this.#read(transaction, key, placesOf(this.#store, this.#places as PlacesState, key));
    return transaction;
  }

  has(transaction: number, mark: number): boolean {
    return this.#positionOf(transaction, mark) !== 0;
  }

  /** Returns true if an address is a party of the transaction. */
  isParty(transaction: number, node: number): boolean {
    const parties = this.#parties;
    for (let at = this.#heads[transaction] as number; at !== 0; at = parties[at * 3 - 1] as number)
      if (parties[at * 3 - 3] === node || parties[at * 3 - 2] === node) return true;
    return false;
  }

  add(transaction: number, position: KnownPosition): void {
    this.#push(transaction, position, false);
    this.#flags[transaction] = (this.#flags[transaction] as number) | CHANGED;
  }

  /** Removes positions from memory. The caller updates the stored ones. */
  remove(key: Buffer, gone: ReadonlySet<number>): void {
    const transaction = this.#slotOf(key);
    const left = this.#positionsOf(transaction).filter(({ mark }) => !gone.has(mark));
    this.#heads[transaction] = 0;
    for (const position of left) this.#push(transaction, position, position.isStored);
  }

  /** Called after positions were removed, here and in the store. */
  noteRemoval(): void {
    const state = this.#state ?? NONE;
    this.#put({ ...state, turn: state.turn + 1 });
  }

  /**
   * Called after transfers `first` to `end - 1` were added. If enough positions are waiting, it moves some transactions to the store: twice
   * as many as came, so that no single write pays for all.
   */
  settle(first: number, end: number): void {
    const state = this.#state ?? NONE;
    if (end > first) this.#put({ ...state, from: state.to > state.from ? state.from : first, to: end });
    const { max, step } = this.#limits;
    if (this.#leaving || this.#positions >= max) this.#leave(Math.max(step, 2 * (end - first)));
  }

  /** Moves up to `limit` transactions to the store. Returns true when none is left. A bulk load looks for them there. */
  drain(limit: number): boolean {
    const isDone = this.#leave(limit);
    const { from, to } = this.#state ?? NONE;
    return isDone && from === to;
  }

  #leave(limit: number): boolean {
    const state = this.#state ?? NONE;
    this.#leaving ??= { order: this.#changedInOrder(), at: 0, until: state.to };
    const { order, until } = this.#leaving;
    const end = Math.min(order.length, this.#leaving.at + limit);
    const places = new PlacesWriter(this.#store);
    places.reserve(end - this.#leaving.at);
    for (; this.#leaving.at < end; this.#leaving.at++) this.#write(order[this.#leaving.at] as number, places);
    this.#places = places.finish();
    if (end < order.length) return false;
    this.#leaving = null;
    this.#compact();
    this.#put({ from: until, to: state.to, turn: state.turn + 1 });
    return true;
  }

  #changedInOrder(): Uint32Array {
    const keys = this.#keys;
    const order = new Uint32Array(this.#count);
    let count = 0;
    for (let transaction = 0; transaction < this.#count; transaction++)
      if ((this.#flags[transaction] as number) & CHANGED) order[count++] = transaction;
    return order
      .subarray(0, count)
      .sort(
        (a, b) =>
          (keys[a * 3] as number) - (keys[b * 3] as number) ||
          (keys[a * 3 + 1] as number) - (keys[b * 3 + 1] as number) ||
          (keys[a * 3 + 2] as number) - (keys[b * 3 + 2] as number),
      );
  }

  #write(transaction: number, places: PlacesWriter): void {
    const key = Buffer.allocUnsafe(FINGERPRINT_BYTES);
    for (let word = 0; word < 3; word++)
      key.writeUInt32BE(this.#keys[transaction * 3 + word] as number, word * 4);
    if (((this.#flags[transaction] as number) & READ) === 0) this.#read(transaction, key, places.find(key));
    for (const { ordinal, isStored } of this.#positionsOf(transaction))
      if (!isStored && ordinal !== null) places.add(key, ordinal);
    for (let at = this.#heads[transaction] as number; at !== 0; at = this.#parties[at * 3 - 1] as number)
      this.#stored[at - 1] = 1;
    this.#flags[transaction] = READ;
  }

  /** Adds the stored positions of a transaction to those in memory. `ordinals`: those that `places` has. */
  #read(transaction: number, key: Buffer, ordinals: readonly number[]): void {
    this.#flags[transaction] = (this.#flags[transaction] as number) | READ;
    if (ordinals.length === 0 && this.#hasFormer === false) return;
    const stored = this.#hasFormer === true ? formerPositions(this.#store, key) : [];
    if (ordinals.length > 0) stored.push(...positionsAt(this.#store, this.#fingerprint, key, ordinals));
    for (const position of stored) {
      const held = this.#positionOf(transaction, position.mark);
      if (held === 0) this.#push(transaction, position, true);
      // A position without a number is stored again, with it.
      else if (position.ordinal !== null) this.#stored[held - 1] = 1;
    }
  }

  /** Returns the place of a position in the columns, plus one. 0 if it is not in memory. */
  #positionOf(transaction: number, mark: number): number {
    for (let at = this.#heads[transaction] as number; at !== 0; at = this.#parties[at * 3 - 1] as number)
      if (this.#marks[at - 1] === mark) return at;
    return 0;
  }

  /** Oldest first. */
  #positionsOf(transaction: number): HeldPosition[] {
    const found: HeldPosition[] = [];
    const parties = this.#parties;
    for (let at = this.#heads[transaction] as number; at !== 0; at = parties[at * 3 - 1] as number) {
      const number = this.#ordinals[at - 1] as number;
      found.push({
        mark: this.#marks[at - 1] as number,
        from: parties[at * 3 - 3] as number,
        to: parties[at * 3 - 2] as number,
        ordinal: number === 0 ? null : number - 1,
        isStored: this.#stored[at - 1] === 1,
      });
    }
    return found.reverse();
  }

  /** Keeps only the transactions that are not stored yet. */
  #compact(): void {
    const kept: { key: Uint32Array; flags: number; positions: HeldPosition[] }[] = [];
    for (let transaction = 0; transaction < this.#count; transaction++) {
      const flags = this.#flags[transaction] as number;
      if (flags & CHANGED)
        kept.push({
          key: this.#keys.slice(transaction * 3, transaction * 3 + 3),
          flags,
          positions: this.#positionsOf(transaction),
        });
    }
    this.#clear();
    for (const { key, flags, positions } of kept) {
      const transaction = this.#find(key[0] as number, key[1] as number, key[2] as number);
      this.#flags[transaction] = flags;
      for (const position of positions) this.#push(transaction, position, position.isStored);
    }
  }

  #clear(): void {
    this.#leaving = null;
    this.#slots = new Uint32Array(FIRST_CAPACITY * 2);
    this.#keys = new Uint32Array(FIRST_CAPACITY * 3);
    this.#flags = new Uint8Array(FIRST_CAPACITY);
    this.#heads = new Uint32Array(FIRST_CAPACITY);
    this.#marks = new Float64Array(FIRST_CAPACITY);
    this.#ordinals = new Float64Array(FIRST_CAPACITY);
    this.#parties = new Uint32Array(FIRST_CAPACITY * 3);
    this.#stored = new Uint8Array(FIRST_CAPACITY);
    this.#count = 0;
    this.#positions = 0;
  }

  #put(state: FreshState): void {
    this.#state = state;
    this.#store.meta.putSync('fresh', state);
  }

  #slotOf(key: Buffer): number {
    return this.#find(key.readUInt32BE(0), key.readUInt32BE(4), key.readUInt32BE(8));
  }

  /** Returns the number of a transaction, and adds it if it is new. The key is a keyed hash, so its words need no further mixing. */
  #find(first: number, second: number, third: number): number {
    const slots = this.#slots;
    const keys = this.#keys;
    const mask = slots.length - 1;
    let slot = second & mask;
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const at = ((slots[slot] as number) - 1) * 3;
      if (keys[at] === first && keys[at + 1] === second && keys[at + 2] === third)
        return (slots[slot] as number) - 1;
    }
    const transaction = this.#count++;
    slots[slot] = transaction + 1;
    keys[transaction * 3] = first;
    keys[transaction * 3 + 1] = second;
    keys[transaction * 3 + 2] = third;
    if (this.#count === this.#heads.length) this.#growTransactions();
    return transaction;
  }

  #growTransactions(): void {
    const capacity = this.#heads.length * 2;
    this.#keys = grown(this.#keys, new Uint32Array(capacity * 3));
    this.#flags = grown(this.#flags, new Uint8Array(capacity));
    this.#heads = grown(this.#heads, new Uint32Array(capacity));
    const slots = new Uint32Array(capacity * 2);
    const mask = slots.length - 1;
    for (let transaction = 0; transaction < this.#count; transaction++) {
      let slot = (this.#keys[transaction * 3 + 1] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = transaction + 1;
    }
    this.#slots = slots;
  }

  #push(transaction: number, { mark, from, to, ordinal }: KnownPosition, isStored: boolean): void {
    const position = this.#positions++;
    if (position === this.#marks.length) {
      this.#marks = grown(this.#marks, new Float64Array(position * 2));
      this.#ordinals = grown(this.#ordinals, new Float64Array(position * 2));
      this.#parties = grown(this.#parties, new Uint32Array(position * 6));
      this.#stored = grown(this.#stored, new Uint8Array(position * 2));
    }
    this.#marks[position] = mark;
    this.#stored[position] = isStored ? 1 : 0;
    this.#ordinals[position] = ordinal === null ? 0 : ordinal + 1;
    this.#parties[position * 3] = from;
    this.#parties[position * 3 + 1] = to;
    this.#parties[position * 3 + 2] = this.#heads[transaction] as number;
    this.#heads[transaction] = position + 1;
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
