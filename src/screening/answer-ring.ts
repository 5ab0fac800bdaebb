/**
 * Texts of answers in one fixed piece of memory, the oldest overwritten first. With memory of its own for each answer, V8 counted the bytes of all
 * answers that came and went as growth, and collected the whole heap of a busy thread once a second.
 */

interface RingEntry {
  readonly at: number;
  readonly length: number;
}

/** A memory of texts by name. */
export class AnswerRing {
  readonly #size: number;
  /** Allocated for the first text: the system provides its pages as they are filled. */
  #bytes: Buffer | null = null;
  /** In the order of their places from `#next` around the ring, so the first is the next to be overwritten. */
  readonly #entries = new Map<string, RingEntry>();
  #next = 0;

  /** @param size - bytes of all texts together */
  constructor(size: number) {
    this.#size = size;
  }

  /**
   * Returns a text, as a view that is valid until the next call and whose bytes the caller may change; null if it is not kept. A text that
   * would soon be overwritten is moved, because it is still asked for.
   */
  get(name: string): Buffer | null {
    const entry = this.#entries.get(name);
    if (entry === undefined || this.#bytes === null) return null;
    const { at, length } = entry;
    const ahead = (at - this.#next + this.#size) % this.#size;
    if (ahead >= this.#size / 2) return this.#bytes.subarray(at, at + length);
    this.#entries.delete(name);
    const to = this.#placeFor(length);
    this.#bytes.copyWithin(to, at, at + length);
    this.#entries.set(name, { at: to, length });
    return this.#bytes.subarray(to, to + length);
  }

  /** Stores a text, which must not be longer than the ring. */
  set(name: string, text: Uint8Array): void {
    this.#entries.delete(name);
    const at = this.#placeFor(text.length);
    this.#bytes ??= Buffer.allocUnsafeSlow(this.#size);
    this.#bytes.set(text, at);
    this.#entries.set(name, { at, length: text.length });
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Returns the next place of that length, and forgets the texts that are there. */
  #placeFor(length: number): number {
    if (this.#next + length > this.#size) {
      this.#forget(this.#next, this.#size);
      this.#next = 0;
    }
    const at = this.#next;
    this.#next += length;
    this.#forget(at, this.#next);
    return at;
  }

  /** Forgets the oldest texts, if they begin in this part: whatever began before it and reached into it was forgotten earlier. */
  #forget(from: number, to: number): void {
    for (const [name, { at }] of this.#entries) {
      if (at < from || at >= to) return;
      this.#entries.delete(name);
    }
  }
}
