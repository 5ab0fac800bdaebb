/** Cache of the keys that this process has verified since the store last changed, by the digest of their text; the text is not kept. */
import type { KeyRecord } from './keys.ts';

/**
 * Words of a place: the digest, then the time of the last use, and that time as last written to the store (ms since the epoch, high word
 * first). A look-up of one key among thousands waits for memory, so all that it needs besides the record is in one cache line.
 */
const PLACE_WORDS = 8;
const USED = 4;
const WRITTEN = 6;
const WORD = 2 ** 32;

/** An open-addressing table of 128-bit digests, at most half full. */
export class VerifiedKeys {
  readonly #keysMax: number;
  #words = new Uint32Array(0);
  #records: (KeyRecord | undefined)[] = [];
  #mask = 0;
  #size = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
    this.clear();
  }

  /** True if the table holds `keysMax` keys; the caller must then clear it before the next `add`. */
  get isFull(): boolean {
    return this.#size >= this.#keysMax;
  }

  clear(): void {
    this.#resize(64);
  }

  /**
   * Returns the record of a key, and records its use.
   *
   * @param usedMs - ms since the epoch
   */
  use(digest: Uint32Array, usedMs: number): KeyRecord | undefined {
    const words = this.#words;
    let slot = (digest[0] as number) & this.#mask;
    for (;;) {
      const record = this.#records[slot];
      if (record === undefined) return undefined;
      const at = slot * PLACE_WORDS;
      const difference =
        ((words[at] as number) ^ (digest[0] as number)) |
        ((words[at + 1] as number) ^ (digest[1] as number)) |
        ((words[at + 2] as number) ^ (digest[2] as number)) |
        ((words[at + 3] as number) ^ (digest[3] as number));
      if (difference === 0) {
        writeTime(words, at + USED, usedMs);
        return record;
      }
      slot = (slot + 1) & this.#mask;
    }
  }

  /** Adds a key that was used at `usedMs`. */
  add(digest: Uint32Array, record: KeyRecord, usedMs: number): void {
    if (this.#size * 2 >= this.#records.length) this.#grow();
    const at = this.#place(digest, record) * PLACE_WORDS;
    writeTime(this.#words, at + USED, usedMs);
  }

  /** Calls back for every key that was used later than its time was last taken. */
  takeUses(take: (id: string, usedMs: number) => void): void {
    const words = this.#words;
    for (const [slot, record] of this.#records.entries()) {
      if (record === undefined) continue;
      const at = slot * PLACE_WORDS;
      const usedMs = timeAt(words, at + USED);
      if (usedMs <= timeAt(words, at + WRITTEN)) continue;
      writeTime(words, at + WRITTEN, usedMs);
      take(record.id, usedMs);
    }
  }

  /** Returns the slot in which it has put a digest and its record. */
  #place(digest: Uint32Array, record: KeyRecord): number {
    let slot = (digest[0] as number) & this.#mask;
    while (this.#records[slot] !== undefined) slot = (slot + 1) & this.#mask;
    this.#words.set(digest, slot * PLACE_WORDS);
    this.#records[slot] = record;
    this.#size++;
    return slot;
  }

  #grow(): void {
    const words = this.#words;
    const records = this.#records;
    this.#resize(records.length * 2);
    for (const [slot, record] of records.entries()) {
      if (record === undefined) continue;
      const from = slot * PLACE_WORDS;
      const place = this.#place(words.subarray(from, from + USED), record);
      this.#words.set(words.subarray(from + USED, from + PLACE_WORDS), place * PLACE_WORDS + USED);
    }
  }

  #resize(slots: number): void {
    this.#words = new Uint32Array(slots * PLACE_WORDS);
    this.#records = new Array<KeyRecord | undefined>(slots).fill(undefined);
    this.#mask = slots - 1;
    this.#size = 0;
  }
}

function writeTime(words: Uint32Array, at: number, ms: number): void {
  const high = Math.floor(ms / WORD);
  words[at] = high;
  words[at + 1] = ms - high * WORD;
}

const timeAt = (words: Uint32Array, at: number): number =>
  (words[at] as number) * WORD + (words[at + 1] as number);
