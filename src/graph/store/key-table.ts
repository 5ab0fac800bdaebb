/**
 * Address keys, numbered in the order in which they were first seen, in flat memory: 64 bytes per address on average instead of the 200 of
 * a Map of texts.
 */
import { systemRandom } from '../../base/random.ts';

const SLOTS_AT_FIRST = 1 << 16;
/** Words in front of a key: its number and its length in bytes. */
const HEAD_WORDS = 2;
const KEY_WORDS_MAX = 128;
/** Words of a batch for each of its keys. Longer keys make batches shorter. */
const KEY_WORDS_USUAL = 9;
/** Keys that are looked up together: their slots fit into the first cache of a processor. */
const BATCH_KEYS = 512;
/**
 * Words of a slot: the head and a key of at most 24 bytes, as nearly all are. They share a line of the processor's cache: most look-ups in
 * a large table wait for one line of memory, and would wait for two if the keys were elsewhere.
 */
const SLOT_WORDS = 8;
const INLINE_WORDS = SLOT_WORDS - HEAD_WORDS;

/** A hash table from address keys to numbers, with open addressing. */
export class KeyTable {
  /** Number 0 marks a free slot. A longer key has its hash and its place in `#long` instead of its words. At most 3 of 4 slots are taken. */
  #slots = new Uint32Array(SLOTS_AT_FIRST * SLOT_WORDS);
  /** Words of the keys that do not fit into their slots. */
  #long = new Uint32Array(0);
  #longFilled = 0;
  /** Keys that were numbered since the last `takeFresh`: number, length, then the key in words padded with zeros. */
  #fresh = new Uint32Array(SLOTS_AT_FIRST);
  #freshFilled = 0;
  /** Words, hashes and numbers of the keys of the batch. */
  readonly #words = new Uint32Array(BATCH_KEYS * KEY_WORDS_USUAL + 4 * KEY_WORDS_MAX);
  readonly #starts = new Uint32Array(BATCH_KEYS + 1);
  readonly #lengths = new Uint32Array(BATCH_KEYS);
  readonly #hashes = new Uint32Array(BATCH_KEYS);
  readonly #numbers = new Uint32Array(BATCH_KEYS);
  #waiting = 0;
  /** Keeps the reads that bring slots into the cache. */
  #touched = 0;
  /** Of the hashes. Differs for each table, so that an attacker cannot prepare addresses that collide. */
  readonly seed = Buffer.from(systemRandom.bytes(4)).readInt32LE(0);
  /** The greatest assigned number. The first is 1. */
  count = 0;

  /** Returns true if the batch has room for `keys` more keys of any length. */
  hasRoomFor(keys: number): boolean {
    return (
      this.#waiting + keys <= BATCH_KEYS &&
      (this.#starts[this.#waiting] as number) + keys * KEY_WORDS_MAX <= this.#words.length
    );
  }

  /** Adds a key of at most 512 bytes to the batch, which must have room for it. Returns its place in the batch, from 0. */
  add(key: Uint8Array, start: number, end: number): number {
    const batch = this.#words;
    const place = this.#waiting++;
    const first = this.#starts[place] as number;
    let to = first;
    let at = start;
    for (; at + 4 <= end; at += 4)
      batch[to++] =
        (key[at] as number) |
        ((key[at + 1] as number) << 8) |
        ((key[at + 2] as number) << 16) |
        ((key[at + 3] as number) << 24);
    if (at < end) {
      let word = 0;
      for (let rest = 0; at + rest < end; rest++) word |= (key[at + rest] as number) << (8 * rest);
      batch[to++] = word;
    }
    this.#starts[place + 1] = to;
    this.#lengths[place] = end - start;
    this.#hashes[place] = hashOf(this.seed ^ (end - start), batch, first, to - first);
    return place;
  }

  /**
   * Numbers the keys of the batch in their order, and starts the next batch. A new key gets a new number.
   *
   * @returns the numbers by place, valid until the next call
   */
  settle(): Uint32Array {
    const count = this.#waiting;
    const slots = this.#slots;
    const hashes = this.#hashes;
    const mask = slots.length / SLOT_WORDS - 1;
    // Reads that do not depend on each other wait for memory together. Most look-ups then find their slot in the cache.
    let touched = 0;
    for (let place = 0; place < count; place++)
      touched ^= slots[((hashes[place] as number) & mask) * SLOT_WORDS] as number;
    this.#touched ^= touched;
    for (let place = 0; place < count; place++) this.#numbers[place] = this.#numberOf(place);
    this.#waiting = 0;
    return this.#numbers;
  }

  #numberOf(place: number): number {
    const start = this.#starts[place] as number;
    const words = (this.#starts[place + 1] as number) - start;
    const length = this.#lengths[place] as number;
    const hash = this.#hashes[place] as number;
    const slots = this.#slots;
    const mask = slots.length / SLOT_WORDS - 1;
    let slot = hash & mask;
    for (; slots[slot * SLOT_WORDS] !== 0; slot = (slot + 1) & mask)
      if (this.#isWanted(slot * SLOT_WORDS, start, length, words, hash))
        return slots[slot * SLOT_WORDS] as number;
    return this.#put(slot, this.#words, start, length, hash);
  }

  /** Numbers a new key, which gets a free slot. */
  #put(slot: number, from: Uint32Array, start: number, length: number, hash: number): number {
    const words = (length + 3) >> 2;
    const number = ++this.count;
    this.#putSlot(slot * SLOT_WORDS, number, from, start, length, words, hash);
    this.#noteFresh(number, from, start, length, words);
    if (this.count * 4 * SLOT_WORDS >= this.#slots.length * 3) this.#grow();
    return number;
  }

  /**
   * Numbers keys of one length that were hashed elsewhere, in their order. The batch of `add` must be settled.
   *
   * @param keys - `INLINE_WORDS` words each, padded with zeros
   * @param length - bytes of each key: 21 to 24
   * @param hashes - of the keys, as `hashOf` with the seed of this table
   * @param present - 0 for a place without a key, which gets the number 0
   * @param numbers - receives the numbers
   */
  numberAll(
    { keys, hashes, present }: { keys: Uint32Array; hashes: Uint32Array; present: Uint8Array },
    { from, to, length }: { from: number; to: number; length: number },
    numbers: Uint32Array,
  ): void {
    let slots = this.#slots;
    let mask = slots.length / SLOT_WORDS - 1;
    let touched = 0;
    for (let place = from; place < to; place++)
      touched ^= slots[((hashes[place] as number) & mask) * SLOT_WORDS] as number;
    this.#touched ^= touched;
    for (let place = from; place < to; place++) {
      if (present[place] === 0) {
        numbers[place] = 0;
        continue;
      }
      const hash = hashes[place] as number;
      const key = place * INLINE_WORDS;
      let slot = hash & mask;
      let number = 0;
      for (let at = slot * SLOT_WORDS; slots[at] !== 0; at = slot * SLOT_WORDS) {
        if (
          slots[at + 1] === length &&
          slots[at + 2] === keys[key] &&
          slots[at + 3] === keys[key + 1] &&
          slots[at + 4] === keys[key + 2] &&
          slots[at + 5] === keys[key + 3] &&
          slots[at + 6] === keys[key + 4] &&
          slots[at + 7] === keys[key + 5]
        ) {
          number = slots[at] as number;
          break;
        }
        slot = (slot + 1) & mask;
      }
      if (number === 0) {
        number = this.#put(slot, keys, key, length, hash);
        slots = this.#slots;
        mask = slots.length / SLOT_WORDS - 1;
      }
      numbers[place] = number;
    }
  }

  /** Returns the keys that were numbered since the last call, in the format of `keysIn`. */
  takeFresh(): Uint32Array<ArrayBuffer> {
    const fresh = this.#fresh.slice(0, this.#freshFilled);
    this.#freshFilled = 0;
    return fresh;
  }

  #isWanted(at: number, start: number, length: number, words: number, hash: number): boolean {
    const slots = this.#slots;
    const batch = this.#words;
    if (slots[at + 1] !== length) return false;
    let same = 0;
    if (words <= INLINE_WORDS) {
      while (same < words && slots[at + HEAD_WORDS + same] === batch[start + same]) same++;
      return same === words;
    }
    if (slots[at + HEAD_WORDS] !== hash) return false;
    const long = this.#long;
    const place = slots[at + HEAD_WORDS + 1] as number;
    while (same < words && long[place + same] === batch[start + same]) same++;
    return same === words;
  }

  #putSlot(
    at: number,
    number: number,
    batch: Uint32Array,
    start: number,
    length: number,
    words: number,
    hash: number,
  ): void {
    const slots = this.#slots;
    slots[at] = number;
    slots[at + 1] = length;
    if (words <= INLINE_WORDS) {
      for (let word = 0; word < words; word++) slots[at + HEAD_WORDS + word] = batch[start + word] as number;
      return;
    }
    slots[at + HEAD_WORDS] = hash;
    slots[at + HEAD_WORDS + 1] = this.#longFilled;
    if (this.#longFilled + words > this.#long.length) this.#long = enlarged(this.#long, words);
    for (let word = 0; word < words; word++)
      this.#long[this.#longFilled + word] = batch[start + word] as number;
    this.#longFilled += words;
  }

  #noteFresh(number: number, from: Uint32Array, start: number, length: number, words: number): void {
    const at = this.#freshFilled;
    const needed = HEAD_WORDS + words;
    if (at + needed > this.#fresh.length) this.#fresh = enlarged(this.#fresh, needed);
    const fresh = this.#fresh;
    fresh[at] = number;
    fresh[at + 1] = length;
    for (let word = 0; word < words; word++) fresh[at + HEAD_WORDS + word] = from[start + word] as number;
    this.#freshFilled = at + needed;
  }

  #grow(): void {
    const before = this.#slots;
    const slots = new Uint32Array(before.length * 2);
    const mask = slots.length / SLOT_WORDS - 1;
    for (let at = 0; at < before.length; at += SLOT_WORDS) {
      if (before[at] === 0) continue;
      const length = before[at + 1] as number;
      const words = (length + 3) >> 2;
      const hash =
        words <= INLINE_WORDS
          ? hashOf(this.seed ^ length, before, at + HEAD_WORDS, words)
          : (before[at + HEAD_WORDS] as number);
      let slot = hash & mask;
      while (slots[slot * SLOT_WORDS] !== 0) slot = (slot + 1) & mask;
      for (let word = 0; word < SLOT_WORDS; word++)
        slots[slot * SLOT_WORDS + word] = before[at + word] as number;
    }
    this.#slots = slots;
  }
}

function hashOf(seed: number, key: Uint32Array, start: number, words: number): number {
  let hash = seed;
  for (let word = 0; word < words; word++) {
    hash = Math.imul(hash ^ (key[start + word] as number), 0x2c1b3c6d);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function enlarged(from: Uint32Array, more: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(Math.max(from.length * 2, from.length + more));
  to.set(from);
  return to;
}

/** Numbers and keys of a `takeFresh` result, in the order of their numbers. The keys are views into it. */
export function* keysIn(fresh: Uint32Array<ArrayBuffer>): Generator<{ number: number; key: Buffer }> {
  for (let at = 0; at < fresh.length; ) {
    const number = fresh[at] as number;
    const length = fresh[at + 1] as number;
    at += HEAD_WORDS;
    yield { number, key: Buffer.from(fresh.buffer, fresh.byteOffset + at * 4, length) };
    at += Math.ceil(length / 4);
  }
}
