/** Counts, for one query at a time, how much each name of an index has gained, and returns the most promising names. */

/** Number of rank steps into which candidates are counted. */
const RANK_STEPS = 512;
const stepOf = (rank: number): number => Math.min(RANK_STEPS, Math.floor(rank * (RANK_STEPS / 1.5)));

/** The share of a rank that depends on the query, and on the name: a name that matches all of a query but has much more is less promising. */
const OF_QUERY = 0.55;
const OF_NAME = 0.45;

/** Parts of a query are bits; further ones share the last. */
const BITS_MOST = 31;

export class Tally {
  readonly #weights: Float32Array;
  /**
   * Two cells for each name, beside each other in memory: the parts of the query from which it has gained (a name gains once from each), and
   * the gain, which is read through the view of floats.
   */
  readonly #parts: Int32Array;
  readonly #gains: Float32Array;
  #touched: Int32Array = new Int32Array(1 << 14);
  #count = 0;
  #ranks = new Float64Array(1 << 14);
  #kept = new Int32Array(1 << 14);

  /** @param weights The weight of each name. */
  constructor(weights: Float32Array) {
    this.#weights = weights;
    this.#parts = new Int32Array(weights.length * 2);
    this.#gains = new Float32Array(this.#parts.buffer);
  }

  /** The number of names that have gained. */
  get count(): number {
    return this.#count;
  }

  static bitOf(part: number): number {
    return 1 << Math.min(part, BITS_MOST);
  }

  /** Adds a gain to a name. */
  add(name: number, gain: number, bit: number): void {
    const cell = name * 2;
    const parts = this.#parts[cell] as number;
    if ((parts & bit) !== 0) return;
    if (parts === 0) {
      if (this.#count === this.#touched.length) {
        const wider = new Int32Array(this.#count * 2);
        wider.set(this.#touched);
        this.#touched = wider;
      }
      this.#touched[this.#count++] = name;
    }
    this.#parts[cell] = parts | bit;
    this.#gains[cell + 1] = (this.#gains[cell + 1] as number) + gain;
  }

  /** Adds a gain to the names of a range of postings; if `isOpen` is false, only to names that have already gained. */
  addAll(postings: Int32Array, start: number, end: number, gain: number, bit: number, isOpen: boolean): void {
    if (isOpen) for (let at = start; at < end; at++) this.add(postings[at] as number, gain, bit);
    else {
      const parts = this.#parts;
      for (let at = start; at < end; at++) {
        const name = postings[at] as number;
        if (parts[name * 2] !== 0) this.add(name, gain, bit);
      }
    }
  }

  /** Adds a gain to the names that have already gained and that satisfy a condition. */
  addKnown(gain: number, bit: number, condition: (name: number) => boolean): void {
    for (let at = 0; at < this.#count; at++) {
      const name = this.#touched[at] as number;
      if (((this.#parts[name * 2] as number) & bit) === 0 && condition(name)) this.add(name, gain, bit);
    }
  }

  /**
   * Returns the names with the highest ranks, best first, and forgets all gains.
   *
   * @param total What a name gains that matches the whole query.
   * @param most Maximum number of names.
   * @param least Minimum rank.
   * @param leastShare Minimum share that matches, of the query or of the name: if both have more that does not match, they contradict.
   */
  best(total: number, most: number, least: number, leastShare: number): number[] {
    const stepLeast = stepOf(least);
    const counts = new Int32Array(RANK_STEPS + 1);
    if (this.#ranks.length < this.#count) {
      this.#ranks = new Float64Array(this.#touched.length);
      this.#kept = new Int32Array(this.#touched.length);
    }
    const ranks = this.#ranks;
    const kept = this.#kept;
    let size = 0;
    for (let at = 0; at < this.#count; at++) {
      const name = this.#touched[at] as number;
      const gain = this.#gains[name * 2 + 1] as number;
      const weight = this.#weights[name] as number;
      this.#gains[name * 2 + 1] = 0;
      this.#parts[name * 2] = 0;
      if (gain < leastShare * total && gain < leastShare * weight) continue;
      const rank = gain / (OF_QUERY * total + OF_NAME * weight);
      const step = stepOf(rank);
      if (step < stepLeast) continue;
      ranks[size] = rank;
      kept[size++] = name;
      counts[step] = (counts[step] as number) + 1;
    }
    this.#count = 0;
    // Finds the highest step that still lets enough names through, so that only those are sorted.
    let step = RANK_STEPS;
    for (let sum = counts[step] as number; step > stepLeast && sum < most; ) sum += counts[--step] as number;
    const chosen: number[] = [];
    for (let at = 0; at < size; at++) if (stepOf(ranks[at] as number) >= step) chosen.push(at);
    return chosen
      .sort(
        (a, b) => (ranks[b] as number) - (ranks[a] as number) || (kept[a] as number) - (kept[b] as number),
      )
      .slice(0, most)
      .map((at) => kept[at] as number);
  }
}
