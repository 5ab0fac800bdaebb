/**
 * Texts of answers in one fixed piece of memory, the oldest overwritten first. With memory of its own for each answer, V8 counted the bytes of all
 * answers that came and went as growth, and collected the whole heap of a busy thread once a second.
 */

interface RingEntry<T> {
  readonly at: number;
  readonly length: number;
  readonly about: T;
}

/** A memory of texts by name, with something about each. */
export class AnswerRing<T> {
  readonly #size: number;
  /** Allocated for the first text: the system provides its pages as they are filled. */
  #bytes: Buffer | null = null;
  /** In the order of their places from `#next` around the ring, so the first is the next to be overwritten. */
  readonly #entries = new Map<string, RingEntry<T>>();
  #next = 0;

  /** @param size - bytes of all texts together */
  constructor(size: number) {
    this.#size = size;
  }

  /**
   * Returns a text and what was stored about it; null if it is not kept. The text is a view that is valid until the next call, and the caller may
   * change its bytes. A text that would soon be overwritten is moved, because it is still asked for.
   */
  get(name: string): { readonly text: Buffer; readonly about: T } | null {
    const entry = this.#entries.get(name);
    if (entry === undefined || this.#bytes === null) return null;
    const { at, length, about } = entry;
    const ahead = (at - this.#next + this.#size) % this.#size;
    if (ahead >= this.#size / 2) return { text: this.#bytes.subarray(at, at + length), about };
    this.#entries.delete(name);
    const to = this.#placeFor(length);
    this.#bytes.copyWithin(to, at, at + length);
    this.#entries.set(name, { at: to, length, about });
    return { text: this.#bytes.subarray(to, to + length), about };
  }

  /** Stores a text, which must not be longer than the ring. */
  set(name: string, text: Uint8Array, about: T): void {
    this.#entries.delete(name);
    const at = this.#placeFor(text.length);
    this.#bytes ??= Buffer.allocUnsafeSlow(this.#size);
    this.#bytes.set(text, at);
    this.#entries.set(name, { at, length: text.length, about });
  }

  delete(name: string): void {
    this.#entries.delete(name);
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
