/** Counts, for one query at a time, how much each name of an index has gained, and returns the most promising names. */
import { bitsApart } from '../edits.ts';
import { POSTING_NAME } from './format.ts';

/** Number of rank steps into which candidates are counted. */
const RANK_STEPS = 512;
const stepOf = (rank: number): number => Math.min(RANK_STEPS, Math.floor(rank * (RANK_STEPS / 1.5)));

/** The share of a rank that depends on the query, and on the name: a name that matches all of a query but has much more is less promising. */
const OF_QUERY = 0.55;
const OF_NAME = 0.45;

/**
 * What a name needs to be within reach of a threshold: all names of the query, or a partner for each of its own. Names that are joined
 * words, and those of class `open`, are always within reach.
 */
export interface Bound {
  /** Bits of the names of the query. */
  readonly needed: number;
  /** Bit of names that have adjacent words of the query as one, or the reverse. */
  readonly joined: number;
  /** Number of initials in the query, each of which can be a partner of any name. */
  readonly initials: number;
  readonly open: number;
  /** Weights of the parts of the query, by their bits. */
  readonly weights: readonly number[];
}

/** Share of the weight of a query that a name must have to reach the default threshold: with less, the model's score is below it. */
const COVERED_LEAST = 0.44;
/** More than the weight of an initial. */
const NOT_SOUGHT = 0.35;

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
  readonly #classes: Uint8Array;
  #touched: Int32Array = new Int32Array(1 << 14);
  #count = 0;
  readonly #within = new Ranking();
  readonly #beyond = new Ranking();

  /**
   * @param weights The weight of each name.
   * @param classes The number of words of each name that are names, as `format.ts` describes it.
   */
  constructor(weights: Float32Array, classes: Uint8Array) {
    this.#weights = weights;
    this.#classes = classes;
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

  /** Adds a gain to a name, given as a posting. */
  add(posting: number, gain: number, bit: number): void {
    const name = posting & POSTING_NAME;
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
        const posting = postings[at] as number;
        if (parts[(posting & POSTING_NAME) * 2] !== 0) this.add(posting, gain, bit);
      }
    }
  }

  /** Adds to each name that has already gained, but not from this part, what a function returns for it. */
  addKnown(bit: number, gainOf: (name: number) => number): void {
    const parts = this.#parts;
    for (let at = 0; at < this.#count; at++) {
      const name = this.#touched[at] as number;
      if (((parts[name * 2] as number) & bit) !== 0) continue;
      const gain = gainOf(name);
      if (gain > 0) this.add(name, gain, bit);
    }
  }

  /**
   * Returns the names with the highest ranks, best first, those within the bound apart from those beyond it, and forgets all gains.
   */
  best(options: BestOptions): { readonly within: readonly number[]; readonly beyond: readonly number[] } {
    const { total, least, leastShare, bound } = options;
    const within = this.#within.begin(least);
    const beyond = this.#beyond.begin(least);
    const parts = this.#parts;
    const gains = this.#gains;
    const ofQuery = OF_QUERY * total;
    const shareLeast = leastShare * total;
    const stepLeast = stepOf(least);
    for (let at = 0; at < this.#count; at++) {
      const name = this.#touched[at] as number;
      const cell = name * 2;
      const bits = parts[cell] as number;
      const gain = gains[cell + 1] as number;
      gains[cell + 1] = 0;
      parts[cell] = 0;
      // The rank of a name without weight shows most names that are not promising, without reading their weights.
      if (stepOf(gain / ofQuery) < stepLeast) continue;
      const weight = this.#weights[name] as number;
      if (gain < shareLeast && gain < leastShare * weight) continue;
      const rank = gain / (ofQuery + OF_NAME * weight);
      if (stepOf(rank) < stepLeast) continue;
      (bound === null || this.#isWithin(name, bits, bound) ? within : beyond).add(name, rank);
    }
    this.#count = 0;
    return { within: within.best(options.most), beyond: beyond.best(options.mostBeyond) };
  }

  #isWithin(name: number, bits: number, { needed, joined, initials, open, weights }: Bound): boolean {
    if ((needed & ~bits) === 0 || (bits & joined) !== 0) return true;
    const names = this.#classes[name] as number;
    if (names === open) return true;
    if (names > bitsApart(bits, 0) + initials) return false;
    // A single name is a partial match, whatever share of the query it is.
    if (names === 1) return true;
    let all = 0;
    let found = 0;
    for (let at = 0; at < weights.length; at++) {
      const weight = weights[at] as number;
      all += weight;
      // Particles and initials are not looked for.
      if (weight < NOT_SOUGHT || (bits & Tally.bitOf(at)) !== 0) found += weight;
    }
    return found >= COVERED_LEAST * all;
  }
}

export interface BestOptions {
  /** What a name gains that matches the whole query. */
  readonly total: number;
  /** Maximum number of names within the bound, and beyond it. */
  readonly most: number;
  readonly mostBeyond: number;
  /** Minimum rank. */
  readonly least: number;
  /** Minimum share that matches, of the query or of the name: if both have more that does not match, they contradict. */
  readonly leastShare: number;
  /** Null if every name is within reach. */
  readonly bound: Bound | null;
}

/** Names with their ranks, counted by steps of the rank, so that only the best are sorted. */
class Ranking {
  #ranks = new Float64Array(1 << 10);
  #names = new Int32Array(1 << 10);
  readonly #counts = new Int32Array(RANK_STEPS + 1);
  #size = 0;
  #least = 0;

  begin(least: number): this {
    this.#size = 0;
    this.#least = stepOf(least);
    this.#counts.fill(0);
    return this;
  }

  add(name: number, rank: number): void {
    if (this.#size === this.#names.length) {
      const [ranks, names] = [new Float64Array(this.#size * 2), new Int32Array(this.#size * 2)];
      ranks.set(this.#ranks);
      names.set(this.#names);
      this.#ranks = ranks;
      this.#names = names;
    }
    this.#ranks[this.#size] = rank;
    this.#names[this.#size++] = name;
    const step = stepOf(rank);
    this.#counts[step] = (this.#counts[step] as number) + 1;
  }

  /** Returns the names with the highest ranks, best first. */
  best(most: number): number[] {
    const [ranks, names, counts] = [this.#ranks, this.#names, this.#counts];
    // Finds the highest step that still lets enough names through, so that only those are sorted.
    let step = RANK_STEPS;
    for (let sum = counts[step] as number; step > this.#least && sum < most; )
      sum += counts[--step] as number;
    const chosen: number[] = [];
    for (let at = 0; at < this.#size; at++) if (stepOf(ranks[at] as number) >= step) chosen.push(at);
    return chosen
      .sort(
        (a, b) => (ranks[b] as number) - (ranks[a] as number) || (names[a] as number) - (names[b] as number),
      )
      .slice(0, most)
      .map((at) => names[at] as number);
  }
}
