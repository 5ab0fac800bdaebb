/** Address keys by number of first sight, in flat memory: 40 bytes an address where a Map of texts takes 200. */
import { systemRandom } from '../../base/random.ts';

const SLOTS_AT_FIRST = 1 << 16;

export class KeyTable {
  /** Hash and number of each slot, number 0 where it is free; at most half of them are taken. */
  #slots = new Uint32Array(SLOTS_AT_FIRST * 2);
  #ends = new Float64Array(SLOTS_AT_FIRST / 2 + 2);
  #bytes = new Uint8Array(SLOTS_AT_FIRST * 16);
  /** Differs from table to table, so that nobody can prepare addresses that collide. */
  readonly #seed = Buffer.from(systemRandom.bytes(4)).readInt32LE(0);
  /** The greatest number given; the first is 1. */
  count = 0;

  /** The number of a key, a new one where it was never seen. */
  numberOf(key: Uint8Array, start: number, end: number): number {
    let hash = this.#seed ^ (end - start);
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const word =
        (key[at] as number) |
        ((key[at + 1] as number) << 8) |
        ((key[at + 2] as number) << 16) |
        ((key[at + 3] as number) << 24);
      hash = Math.imul(hash ^ word, 0x2c1b3c6d);
      hash ^= hash >>> 15;
    }
    for (; at < end; at++) hash = Math.imul(hash ^ (key[at] as number), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39);
    hash = (hash ^ (hash >>> 15)) >>> 0;
    const slots = this.#slots;
    const mask = slots.length / 2 - 1;
    let slot = hash & mask;
    for (;;) {
      const number = slots[slot * 2 + 1] as number;
      if (number === 0) break;
      if (slots[slot * 2] === hash && this.#isAt(number, key, start, end)) return number;
      slot = (slot + 1) & mask;
    }
    const number = ++this.count;
    slots[slot * 2] = hash;
    slots[slot * 2 + 1] = number;
    const from = this.#ends[number - 1] as number;
    if (from + end - start > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#bytes.length * 2);
    for (let own = start, to = from; own < end; own++, to++) this.#bytes[to] = key[own] as number;
    this.#ends[number] = from + end - start;
    if (number * 4 >= slots.length) this.#grow();
    return number;
  }

  /** The key of a number, as bytes of its own. */
  keyOf(number: number): Buffer {
    return Buffer.from(this.#bytes.slice(this.#ends[number - 1], this.#ends[number]));
  }

  #isAt(number: number, key: Uint8Array, start: number, end: number): boolean {
    const from = this.#ends[number - 1] as number;
    if ((this.#ends[number] as number) - from !== end - start) return false;
    for (let at = start, own = from; at < end; at++, own++) if (this.#bytes[own] !== key[at]) return false;
    return true;
  }

  #grow(): void {
    const before = this.#slots;
    const length = before.length;
    const slots = new Uint32Array(length * 2);
    for (let at = 0; at < length; at += 2) {
      const number = before[at + 1] as number;
      if (number === 0) continue;
      let slot = (before[at] as number) & (length - 1);
      while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & (length - 1);
      slots[slot * 2] = before[at] as number;
      slots[slot * 2 + 1] = number;
    }
    this.#slots = slots;
    const ends = new Float64Array(length / 2 + 2);
    ends.set(this.#ends);
    this.#ends = ends;
  }
}

function grown(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(length);
  more.set(bytes);
  return more;
}
