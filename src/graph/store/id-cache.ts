/** Ids of addresses by their texts, for writers. */
import { systemRandom } from '../../base/random.ts';
import { GRAPH_LIMITS } from '../limits.ts';

const ID_SLOT_BITS = Math.floor(Math.log2(GRAPH_LIMITS.transferIdsCached));

/**
 * Cache of the dense ids of recently written addresses. Each text has one slot, chosen by its hash, and a newer text replaces the older
 * one. All batches of a store share the cache. It is cleared if a batch fails.
 */
export class IdCache {
  #texts: (string | undefined)[] = [];
  #ids = new Uint32Array(0);
  /** Differs for each cache, so that an attacker cannot prepare addresses that share a slot. */
  readonly #seed = Buffer.from(systemRandom.bytes(4)).readInt32LE(0);
  /** The slot of the last `get`. */
  #slot = 0;

  /** Returns the id, or 0 if it is not cached. */
  get(text: string): number {
    if (this.#ids.length === 0) this.#open();
    let hash = this.#seed ^ text.length;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x5bd1e995);
    hash ^= hash >>> 15;
    this.#slot = Math.imul(hash, 0x2c1b3c6d) >>> (32 - ID_SLOT_BITS);
    return this.#texts[this.#slot] === text ? (this.#ids[this.#slot] as number) : 0;
  }

  /** Stores the id of the text that the last `get` did not find. */
  set(text: string, id: number): void {
    this.#texts[this.#slot] = text;
    this.#ids[this.#slot] = id;
  }

  clear(): void {
    this.#texts = [];
    this.#ids = new Uint32Array(0);
  }

  #open(): void {
    this.#texts = new Array<string | undefined>(2 ** ID_SLOT_BITS).fill(undefined);
    this.#ids = new Uint32Array(2 ** ID_SLOT_BITS);
  }
}
