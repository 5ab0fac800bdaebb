/** Counts, for one query at a time, how much each name of an index has gained, and returns the most promising names. */
import { bitsApart } from '../edits.ts';
import { POSTING_CLASS, POSTING_NAME } from './format.ts';

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

/** Spreads the numbers of names: 2 to the power of 32, divided by the golden ratio. Source: Knuth, The Art of Computer Programming, 6.4. */
const placeOf = (key: number): number => Math.imul(key, 0x9e3779b1) >>> 15;

/** Cells of a name: its number plus 1, the parts of the query from which it has gained (once from each), its gain (a float), and its class. */
const CELLS = 4;
const PARTS = 1;
const GAIN = 2;
const CLASS = 3;
/** Places for the names of a usual query. They are doubled when half of them are taken; a query follows at most 16,000 postings. */
const LEAST_PLACES = 1 << 13;

/**
 * The names that have gained are in a table with open addressing, which is as small as their number allows: the names of a posting are
 * anywhere in an index, and most of a large one is not in the cache of a processor.
 */
export class Tally {
  readonly #weights: Float32Array;
  #cells = new Int32Array(LEAST_PLACES * CELLS);
  /** The same cells, for the gains. */
  #gains = new Float32Array(this.#cells.buffer);
  /** Number of places of the present query, less 1. */
  #mask = LEAST_PLACES - 1;
  /** The first cells of the names that have gained. */
  #touched = new Int32Array(LEAST_PLACES);
  #count = 0;
  readonly #within = new Ranking();
  readonly #beyond = new Ranking();

  /** @param weights The weight of each name. */
  constructor(weights: Float32Array) {
    this.#weights = weights;
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
    const key = (posting & POSTING_NAME) + 1;
    const cells = this.#cells;
    const mask = this.#mask;
    let at = placeOf(key) & mask;
    while (cells[at * CELLS] !== key) {
      if (cells[at * CELLS] === 0) {
        this.#insert(at * CELLS, key, posting >>> POSTING_CLASS, gain, bit);
        return;
      }
      at = (at + 1) & mask;
    }
    this.#gain(at * CELLS, gain, bit);
  }

  /** Adds a gain to the names of a range of postings; if `isOpen` is false, only to names that have already gained. */
  addAll(postings: Int32Array, start: number, end: number, gain: number, bit: number, isOpen: boolean): void {
    if (isOpen) {
      for (let at = start; at < end; at++) this.add(postings[at] as number, gain, bit);
      return;
    }
    const cells = this.#cells;
    const mask = this.#mask;
    for (let each = start; each < end; each++) {
      const key = ((postings[each] as number) & POSTING_NAME) + 1;
      let at = placeOf(key) & mask;
      let found = cells[at * CELLS] as number;
      while (found !== key && found !== 0) {
        at = (at + 1) & mask;
        found = cells[at * CELLS] as number;
      }
      if (found === key) this.#gain(at * CELLS, gain, bit);
    }
  }

  /** Adds to each name that has already gained, but not from this part, what a function returns for it. */
  addKnown(bit: number, gainOf: (name: number, names: number) => number): void {
    const cells = this.#cells;
    for (let each = 0; each < this.#count; each++) {
      const cell = this.#touched[each] as number;
      if (((cells[cell + PARTS] as number) & bit) !== 0) continue;
      const gain = gainOf((cells[cell] as number) - 1, cells[cell + CLASS] as number);
      if (gain > 0) this.#gain(cell, gain, bit);
    }
  }

  #gain(cell: number, gain: number, bit: number): void {
    const parts = this.#cells[cell + PARTS] as number;
    if ((parts & bit) !== 0) return;
    this.#cells[cell + PARTS] = parts | bit;
    this.#gains[cell + GAIN] = (this.#gains[cell + GAIN] as number) + gain;
  }

  #insert(cell: number, key: number, names: number, gain: number, bit: number): void {
    this.#cells[cell] = key;
    this.#cells[cell + PARTS] = bit;
    this.#gains[cell + GAIN] = gain;
    this.#cells[cell + CLASS] = names;
    this.#touched[this.#count++] = cell;
    if (this.#count * 2 > this.#mask) this.#grow();
  }

  #grow(): void {
    const [cells, touched, count] = [this.#cells, this.#touched, this.#count];
    const kept = new Int32Array(count * CELLS);
    for (let each = 0; each < count; each++) {
      const cell = touched[each] as number;
      for (let at = 0; at < CELLS; at++) kept[each * CELLS + at] = cells[cell + at] as number;
      cells[cell] = 0;
    }
    const places = (this.#mask + 1) * 2;
    this.#mask = places - 1;
    if (this.#cells.length < places * CELLS) {
      this.#cells = new Int32Array(places * CELLS);
      this.#gains = new Float32Array(this.#cells.buffer);
      this.#touched = new Int32Array(places);
    }
    for (let each = 0; each < count; each++) {
      let at = placeOf(kept[each * CELLS] as number) & this.#mask;
      while (this.#cells[at * CELLS] !== 0) at = (at + 1) & this.#mask;
      for (let cell = 0; cell < CELLS; cell++)
        this.#cells[at * CELLS + cell] = kept[each * CELLS + cell] as number;
      this.#touched[each] = at * CELLS;
    }
  }

  /**
   * Returns the names with the highest ranks, best first, those within the bound apart from those beyond it, and forgets all gains.
   */
  best(options: BestOptions): { readonly within: readonly number[]; readonly beyond: readonly number[] } {
    const { total, least, leastShare, bound } = options;
    const within = this.#within.begin(least);
    const beyond = this.#beyond.begin(least);
    const cells = this.#cells;
    const gains = this.#gains;
    const ofQuery = OF_QUERY * total;
    const shareLeast = leastShare * total;
    const stepLeast = stepOf(least);
    for (let each = 0; each < this.#count; each++) {
      const cell = this.#touched[each] as number;
      const name = (cells[cell] as number) - 1;
      const gain = gains[cell + GAIN] as number;
      cells[cell] = 0;
      // The rank of a name without weight shows most names that are not promising, without reading their weights.
      if (stepOf(gain / ofQuery) < stepLeast) continue;
      const weight = this.#weights[name] as number;
      if (gain < shareLeast && gain < leastShare * weight) continue;
      const rank = gain / (ofQuery + OF_NAME * weight);
      if (stepOf(rank) < stepLeast) continue;
      const parts = cells[cell + PARTS] as number;
      const isWithin = bound === null || this.#isWithin(cells[cell + CLASS] as number, parts, bound);
      (isWithin ? within : beyond).add(name, rank);
    }
    this.#count = 0;
    this.#mask = LEAST_PLACES - 1;
    return { within: within.best(options.most), beyond: beyond.best(options.mostBeyond) };
  }

  #isWithin(names: number, bits: number, { needed, joined, initials, open, weights }: Bound): boolean {
    if ((needed & ~bits) === 0 || (bits & joined) !== 0) return true;
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
