/** Collects the words that match a part of a query, and sorts them by their gains. */

/** Ratio of the distances. Source: Knuth, The Art of Computer Programming, 5.2.1. */
const APART = 3;

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
  sorted(): { readonly words: readonly number[]; readonly gains: readonly number[] } {
    this.#insert();
    const count = this.#count;
    const words = new Array<number>(count);
    const gains = new Array<number>(count);
    for (let at = 0; at < count; at++) {
      words[at] = this.#words[at] as number;
      gains[at] = this.#gains[at] as number;
    }
    return { words, gains };
  }

  /** Sorts by insertion at decreasing distances: a word finds a hundred others, at most a few thousand. */
  #insert(): void {
    const [words, gains] = [this.#words, this.#gains];
    let apart = 1;
    while (apart < this.#count / APART) apart = apart * APART + 1;
    for (; apart >= 1; apart = Math.floor(apart / APART)) {
      for (let at = apart; at < this.#count; at++) {
        const word = words[at] as number;
        const gain = gains[at] as number;
        let to = at;
        for (; to >= apart; to -= apart) {
          const before = gains[to - apart] as number;
          if (before > gain || (before === gain && (words[to - apart] as number) < word)) break;
          gains[to] = before;
          words[to] = words[to - apart] as number;
        }
        gains[to] = gain;
        words[to] = word;
      }
    }
  }
}
