/** Cache of the keys that this process has verified since the store last changed, by the digest of their text; the text is not kept. */
import type { KeyRecord } from './keys.ts';

/** A verified key, and the time of its last use (ms since the epoch). */
export interface VerifiedKey {
  readonly record: KeyRecord;
  lastUsedMs: number;
  /** Time as last written to the store. */
  writtenMs: number;
}

const DIGEST_WORDS = 4;

/** An open-addressing table of 128-bit digests, at most half full. */
export class VerifiedKeys {
  readonly #keysMax: number;
  #digests = new Uint32Array(0);
  #entries: (VerifiedKey | undefined)[] = [];
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

  find(digest: Uint32Array): VerifiedKey | undefined {
    const digests = this.#digests;
    let slot = (digest[0] as number) & this.#mask;
    for (;;) {
      const entry = this.#entries[slot];
      if (entry === undefined) return undefined;
      const base = slot * DIGEST_WORDS;
      const difference =
        ((digests[base] as number) ^ (digest[0] as number)) |
        ((digests[base + 1] as number) ^ (digest[1] as number)) |
        ((digests[base + 2] as number) ^ (digest[2] as number)) |
        ((digests[base + 3] as number) ^ (digest[3] as number));
      if (difference === 0) return entry;
      slot = (slot + 1) & this.#mask;
    }
  }

  add(digest: Uint32Array, entry: VerifiedKey): void {
    if (this.#size * 2 >= this.#entries.length) this.#grow();
    this.#insert(digest, entry);
  }

  *values(): IterableIterator<VerifiedKey> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }

  #insert(digest: Uint32Array, entry: VerifiedKey): void {
    let slot = (digest[0] as number) & this.#mask;
    while (this.#entries[slot] !== undefined) slot = (slot + 1) & this.#mask;
    this.#digests.set(digest, slot * DIGEST_WORDS);
    this.#entries[slot] = entry;
    this.#size++;
  }

  #grow(): void {
    const digests = this.#digests;
    const entries = this.#entries;
    this.#resize(entries.length * 2);
    for (const [slot, entry] of entries.entries()) {
      if (entry === undefined) continue;
      this.#insert(digests.subarray(slot * DIGEST_WORDS, (slot + 1) * DIGEST_WORDS), entry);
    }
  }

  #resize(slots: number): void {
    this.#digests = new Uint32Array(slots * DIGEST_WORDS);
    this.#entries = new Array<VerifiedKey | undefined>(slots).fill(undefined);
    this.#mask = slots - 1;
    this.#size = 0;
  }
}
