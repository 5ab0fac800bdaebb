/** Collects the words that match a part of a query, and sorts them by their gains. */

/** Longer lists are sorted by the runtime. */
const INSERTED_MOST = 64;

export class FoundWords {
  #words = new Int32Array(1 << 8);
  #gains = new Float64Array(1 << 8);
  #count = 0;

  begin(): this {
    this.#count = 0;
    return this;
  }

  add(word: number, gain: number): void {
    if (this.#count === this.#words.length) {
      const [words, gains] = [new Int32Array(this.#count * 2), new Float64Array(this.#count * 2)];
      words.set(this.#words);
      gains.set(this.#gains);
      this.#words = words;
      this.#gains = gains;
    }
    this.#words[this.#count] = word;
    this.#gains[this.#count++] = gain;
  }

  /** Returns the words by descending gain, then by ascending number. */
  sorted(): { readonly words: Int32Array; readonly gains: Float64Array } {
    if (this.#count <= INSERTED_MOST) this.#insert();
    else this.#sort();
    return { words: this.#words.slice(0, this.#count), gains: this.#gains.slice(0, this.#count) };
  }

  #insert(): void {
    const [words, gains] = [this.#words, this.#gains];
    for (let at = 1; at < this.#count; at++) {
      const [word, gain] = [words[at] as number, gains[at] as number];
      let to = at;
      for (; to > 0; to--) {
        const before = gains[to - 1] as number;
        if (before > gain || (before === gain && (words[to - 1] as number) < word)) break;
        gains[to] = before;
        words[to] = words[to - 1] as number;
      }
      gains[to] = gain;
      words[to] = word;
    }
  }

  #sort(): void {
    const [words, gains] = [this.#words.slice(0, this.#count), this.#gains.slice(0, this.#count)];
    const order = Array.from(words.keys()).sort(
      (a, b) => (gains[b] as number) - (gains[a] as number) || (words[a] as number) - (words[b] as number),
    );
    for (const [to, from] of order.entries()) {
      this.#words[to] = words[from] as number;
      this.#gains[to] = gains[from] as number;
    }
  }
}
