/**
 * Halves of the newest transfers wait in `recent`, one value for each batch, before they are moved to the deltas of their addresses: a delta
 * is on a page of its own for nearly every address of a block, a batch takes a few pages. A reader keeps the waiting halves by address in
 * memory, and adds the batches that came since its last reading.
 */
import { AssayError } from '../../base/errors.ts';
import { ReadingValue } from '../../base/reading.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Database, RootDatabase } from '../../state/lmdb.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { ByteReader, ByteWriter } from './bytes.ts';

/** The batches `from` to `to - 1` wait. A number is never used for two batches. Written with every change. */
interface RecentState {
  readonly from: number;
  readonly to: number;
  /** Number of waiting halves. */
  readonly halves: number;
}

const NONE: RecentState = { from: 0, to: 0, halves: 0 };

/** The databases of a chain that are used here. */
interface RecentStore {
  readonly chain: ChainId;
  readonly meta: Database<unknown, string>;
  readonly deltas: Database<Buffer, number>;
  readonly recent: Database<Buffer, number> | null;
}

/** A read transaction, for a reader that holds one commit open. */
interface ReadAt {
  readonly transaction: ReturnType<RootDatabase['useReadTransaction']>;
}

/** Packs the halves of a batch: for each address its id, the length of its entries (delta.ts), and the entries. */
export class RecentBatch {
  readonly #packed = new ByteWriter(16 * 1024);
  halves = 0;

  add(node: number, entries: Buffer, halves: number): void {
    this.#packed.varint(node);
    this.#packed.varint(entries.length);
    this.#packed.copy(entries, 0, entries.length);
    this.halves += halves;
  }

  /** Valid until the next `add`. */
  get bytes(): Buffer {
    return this.#packed.bytes.subarray(0, this.#packed.length);
  }
}

/** The waiting halves of one store, as of the commit of the current reading. */
export class RecentHalves {
  readonly #store: RecentStore;
  readonly #at: ReadAt | undefined;
  readonly #byNode = new Map<number, Buffer>();
  readonly #isCurrent = new ReadingValue<boolean>();
  readonly #joined = new ByteWriter(4096);
  #state = NONE;
  /** Bytes of the address with the most. */
  #longest = 0;
  /** The most halves that wait. */
  readonly max: number;

  constructor(
    store: RecentStore,
    {
      at,
      max = GRAPH_LIMITS.recentHalvesMax,
    }: { readonly at?: ReadAt; readonly max?: number | undefined } = {},
  ) {
    this.#store = store;
    this.#at = at;
    this.max = max;
  }

  /** Reads what came since the last reading. Called before the delta is read, whose bytes the next read overwrites. */
  current(): this {
    if (this.#isCurrent.value !== true) this.#refresh();
    return this;
  }

  /**
   * Returns the transfers of an address that are not merged: the stored delta, then the waiting halves.
   *
   * @param stored - the delta, as read after `current` in the same reading
   * @returns bytes that are valid until the next call
   */
  join(node: number, stored: Buffer | undefined): Buffer | undefined {
    if (this.#byNode.size === 0) return stored;
    const waiting = this.#byNode.get(node);
    if (waiting === undefined || stored === undefined) return waiting ?? stored;
    const joined = this.#joined;
    joined.length = 0;
    joined.copy(stored, 0, stored.length);
    joined.copy(waiting, 0, waiting.length);
    return joined.bytes.subarray(0, joined.length);
  }

  /** Adds a batch. Runs inside the write transaction. */
  add({ bytes, halves }: RecentBatch): void {
    const { from, to } = this.#state;
    this.#recent().putSync(to, bytes);
    this.#store.meta.putSync('recent', { from, to: to + 1, halves: this.#state.halves + halves });
    this.#refresh();
  }

  /** Returns true if a batch may wait too. Runs inside the write transaction, before `add` or `move`. */
  hasRoom(halves: number): boolean {
    this.#refresh();
    return this.#state.halves + halves <= this.max && this.#longest <= GRAPH_LIMITS.hubDeltaBytesMax;
  }

  /**
   * Moves all waiting halves to the deltas, in the order of ids. It merges nothing: only addresses of the log that is new since its last
   * time are compared by a push, and merging changes their records. Runs inside the write transaction.
   */
  move(): void {
    this.#refresh();
    const { from, to } = this.#state;
    if (from === to) return;
    const { deltas } = this.#store;
    for (const node of Uint32Array.from(this.#byNode.keys()).sort())
      deltas.putSync(node, this.join(node, deltas.getBinaryFast(node)) as Buffer);
    for (let batch = from; batch < to; batch++) this.#recent().removeSync(batch);
    this.#store.meta.putSync('recent', { from: to, to, halves: 0 });
    this.#refresh();
  }

  /** Called after a commit: the next read may see another one than the last. */
  expire(): void {
    this.#isCurrent.value = false;
  }

  /** Discards what a failed write transaction may have added. */
  forget(): void {
    this.#clear(NONE);
    this.expire();
  }

  /** Reads the batches that came since the last call. If others left, it reads all. */
  #refresh(): void {
    const state = (this.#store.meta.get('recent', this.#at) as RecentState | undefined) ?? NONE;
    if (state.from !== this.#state.from || state.to < this.#state.to)
      this.#clear({ ...NONE, from: state.from, to: state.from });
    try {
      for (let batch = this.#state.to; batch < state.to; batch++) this.#read(batch);
    } catch (error) {
      this.#clear(NONE);
      throw error;
    }
    this.#state = state;
    this.#isCurrent.value = true;
  }

  #read(batch: number): void {
    const bytes = this.#recent().get(batch, this.#at);
    if (bytes === undefined)
      throw new AssayError(
        'STORE_CORRUPT',
        `The transfer store of ${this.#store.chain} is damaged: batch ${batch} of its recent transfers is missing.`,
      );
    const reader = new ByteReader().open(bytes);
    while (!reader.isAtEnd) {
      const node = reader.varint();
      const length = reader.varint();
      const start = reader.at;
      reader.skip(length);
      const more = bytes.subarray(start, reader.at);
      const known = this.#byNode.get(node);
      const all = known === undefined ? more : Buffer.concat([known, more]);
      this.#byNode.set(node, all);
      this.#longest = Math.max(this.#longest, all.length);
    }
  }

  #clear(state: RecentState): void {
    this.#byNode.clear();
    this.#longest = 0;
    this.#state = state;
  }

  #recent(): Database<Buffer, number> {
    const { chain, recent } = this.#store;
    if (recent !== null) return recent;
    throw new AssayError(
      'STORE_CORRUPT',
      `The transfer store of ${chain} is damaged: its recent transfers are missing.`,
    );
  }
}
