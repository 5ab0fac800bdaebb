/**
 * Caches the keys of addresses by node. An answer shows the same addresses in several lists, and many answers show the same services; each read
 * of the store costs a microsecond and a buffer of its own. The key of a node of a local store never changes, so entries do not expire.
 */
import type { ChainRecords } from './chain-records.ts';

/** Slots of a chain, a power of two: 4.8 MB. Of the addresses that answers show, services and hubs recur, and a chain has fewer of them. */
const SLOTS = 2 ** 17;
/** Bytes of a slot: those of most keys (EVM 22, Bitcoin 22 to 34). Longer keys are read each time. */
const KEY_BYTES = 32;

/** The keys of one chain. Each node has one slot, and the last node that maps to the slot keeps it. */
export class KeyCache implements Pick<ChainRecords, 'keyOf'> {
  readonly #records: Pick<ChainRecords, 'keyOf'>;
  // Allocated on first use: most open chains are never asked for a key.
  #nodes = new Uint32Array(0);
  #lengths = new Uint8Array(0);
  #bytes: Buffer = Buffer.alloc(0);

  constructor(records: Pick<ChainRecords, 'keyOf'>) {
    this.#records = records;
  }

  /**
   * Returns the key of a node, in memory of its own.
   *
   * @throws STORE_CORRUPT for an id that was never assigned
   */
  keyOf(node: number): Buffer {
    if (this.#nodes.length === 0) this.#allocate();
    const slot = node & (SLOTS - 1);
    const begin = slot * KEY_BYTES;
    // No address has the number 0, which marks an empty slot.
    if (node !== 0 && this.#nodes[slot] === node)
      return Buffer.from(this.#bytes.subarray(begin, begin + (this.#lengths[slot] as number)));
    const key = this.#records.keyOf(node);
    if (key.length <= KEY_BYTES) {
      this.#bytes.set(key, begin);
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
