/**
 * Caches the keys and texts of addresses by node. An answer shows the same addresses in several lists, and many answers show the same services;
 * each read of the store costs a microsecond and a buffer of its own. The key of a node of a local store never changes, so entries do not
 * expire.
 */
import type { NodeId, TextCache } from '../graph.ts';
import type { ChainRecords } from './chain-records.ts';

/**
 * Slots of a chain, a power of two: 4.8 MB of keys, and up to 10 MB of texts. Of the addresses that answers show, services and hubs recur, and
 * a chain has fewer of them.
 */
const SLOTS = 2 ** 17;
/** Bytes of a slot: those of most keys (EVM 22, Bitcoin 22 to 34). Longer keys are read each time. */
const KEY_BYTES = 32;

/** The keys and texts of one chain. Each node has one slot, and the last node that maps to the slot keeps it. */
export class KeyCache implements Pick<ChainRecords, 'keyOf'>, TextCache {
  readonly #records: Pick<ChainRecords, 'keyOf' | 'peekKey'>;
  // Allocated on first use: most open chains are never asked for a key.
  #nodes = new Uint32Array(0);
  #lengths = new Uint8Array(0);
  #bytes: Buffer = Buffer.alloc(0);
  /** Buffers by length, for `viewOf`. */
  readonly #views: Buffer[] = [];
  #textNodes = new Uint32Array(0);
  #texts: string[] = [];

  constructor(records: Pick<ChainRecords, 'keyOf' | 'peekKey'>) {
    this.#records = records;
  }

  /**
   * Returns the key of a node, in memory of its own.
   *
   * @throws STORE_CORRUPT for an id that was never assigned
   */
  keyOf(node: number): Buffer {
    return this.#isCached(node) ? Buffer.from(this.#copy(node)) : this.#read(node);
  }

  /**
   * Returns the key of a node, in memory that the next call overwrites.
   *
   * @throws STORE_CORRUPT for an id that was never assigned
   */
  viewOf(node: number): Buffer {
    return this.#isCached(node) ? this.#copy(node) : this.#read(node);
  }

  /**
   * Does the same, and does not cache the key: walks look thousands of addresses up once, and would displace those that answers show.
   *
   * @throws STORE_CORRUPT for an id that was never assigned
   */
  peek(node: number): Buffer {
    if (this.#isCached(node)) return this.#copy(node);
    const read = this.#records.peekKey?.(node);
    if (read === undefined) return this.#records.keyOf(node);
    const view = this.#view(read.length);
    for (let at = 0; at < view.length; at++) view[at] = read[at] as number;
    return view;
  }

  /** Returns the text that `set` stored for a node; undefined if it is not cached. */
  get(node: NodeId): string | undefined {
    const slot = node & (SLOTS - 1);
    return this.#textNodes[slot] === node && node !== 0 ? this.#texts[slot] : undefined;
  }

  set(node: NodeId, text: string): void {
    if (this.#textNodes.length === 0) {
      this.#textNodes = new Uint32Array(SLOTS);
      this.#texts = new Array<string>(SLOTS).fill('');
    }
    const slot = node & (SLOTS - 1);
    this.#textNodes[slot] = node;
    this.#texts[slot] = text;
  }

  // No address has the number 0, which marks an empty slot.
  #isCached(node: number): boolean {
    return node !== 0 && this.#nodes[node & (SLOTS - 1)] === node;
  }

  #copy(node: number): Buffer {
    const slot = node & (SLOTS - 1);
    const begin = slot * KEY_BYTES;
    const length = this.#lengths[slot] as number;
    const view = this.#view(length);
    const bytes = this.#bytes;
    for (let at = 0; at < length; at++) view[at] = bytes[begin + at] as number;
    return view;
  }

  #view(length: number): Buffer {
    let view = this.#views[length];
    if (view === undefined) {
      view = Buffer.alloc(length);
      this.#views[length] = view;
    }
    return view;
  }

  #read(node: number): Buffer {
    if (this.#nodes.length === 0) this.#allocate();
    const key = this.#records.keyOf(node);
    if (key.length <= KEY_BYTES) {
      const slot = node & (SLOTS - 1);
      this.#bytes.set(key, slot * KEY_BYTES);
      this.#lengths[slot] = key.length;
      this.#nodes[slot] = node;
    }
    return key;
  }

  #allocate(): void {
    this.#nodes = new Uint32Array(SLOTS);
    this.#lengths = new Uint8Array(SLOTS);
    this.#bytes = Buffer.alloc(SLOTS * KEY_BYTES);
  }
}
