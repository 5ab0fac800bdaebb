/** Orders edges by insertion, or by a radix sort of their weights, which is several times as fast as a sort with a comparison function. */
import type { NeighbourColumns } from './graph.ts';

/** Up to this many edges are sorted by insertion, in whatever order they come. */
const INSERTION_MAX = 32;
/** More are also sorted by insertion if that takes no more moves an edge: most rows are stored nearly in order. */
const INSERTION_MOVES = 8;
/** Moves beyond these, so that a few edges far from their place decide nothing, and a row in no order is given up after some hundred edges. */
const INSERTION_MOVES_MORE = 4_096;

/** Digits of 8 bits of a key of 32 bits. */
const DIGITS = 4;

/** Ranges of keys by which the greatest weights are found: one holds a few hundredths of what a busy address has. */
const RANGES = 4_096;

type Sorted = Pick<NeighbourColumns, 'ids' | 'weight'>;

/** Create one per thread. Its buffers are reused. */
export class WeightSort {
  #keys = new Uint32Array(0);
  #spare = new Uint32Array(0);
  #least = 0;
  #greatest = 0;
  readonly #counts = new Uint32Array(DIGITS * 256);
  #ranges = new Uint32Array(0);

  /**
   * Writes the positions of the first `count` edges in order: greatest weight first, then smallest id.
   *
   * @param order holds at least `count` numbers
   * @param needed so many of the positions must be in order; what follows them is left open
   */
  sort(edges: Sorted, count: number, order: Uint32Array, needed = count): void {
    for (let at = 0; at < count; at++) order[at] = at;
    const movesMore = count <= INSERTION_MAX ? Number.POSITIVE_INFINITY : INSERTION_MOVES_MORE;
    if (insert(edges, order, 0, count, movesMore)) return;
    for (let at = 0; at < count; at++) order[at] = at;
    this.#readKeys(edges.weight, count);
    const sorted = needed < count / 2 ? this.#chooseFirst(count, needed, order) : count;
    this.#sortByKeys(sorted, order);
    this.#sortEqualKeys(edges, sorted, order);
  }

  /** The upper halves of the weights, as whole numbers in the order of edges. */
  #readKeys(weights: Float64Array, count: number): void {
    if (this.#keys.length < count) {
      this.#keys = new Uint32Array(2 * count);
      this.#spare = new Uint32Array(2 * count);
    }
    const keys = this.#keys;
    const halves = new Int32Array(weights.buffer, weights.byteOffset, 2 * count);
    let least = 2 ** 32;
    let greatest = 0;
    for (let at = 0; at < count; at++) {
      const half = halves[2 * at + 1] as number;
      // Negative numbers are stored as sign and size. The greatest weight gets the least key.
      const key = (half < 0 ? half : ~half & 0x7fffffff) >>> 0;
      keys[at] = key;
      if (key < least) least = key;
      if (key > greatest) greatest = key;
    }
    this.#least = least;
    this.#greatest = greatest;
  }

  /**
   * Writes the positions of the edges with the least keys: at least `needed`, and all those in the range of the last of them. A busy address
   * has a hundred thousand edges, of which a walk takes some thousand.
   *
   * @returns their number
   */
  #chooseFirst(count: number, needed: number, order: Uint32Array): number {
    if (this.#ranges.length === 0) this.#ranges = new Uint32Array(RANGES);
    const keys = this.#keys;
    const ranges = this.#ranges.fill(0);
    const least = this.#least;
    const scale = RANGES / (this.#greatest - least + 1);
    for (let at = 0; at < count; at++) {
      const range = Math.floor(((keys[at] as number) - least) * scale);
      ranges[range] = (ranges[range] as number) + 1;
    }
    let last = 0;
    for (let found = ranges[0] as number; found < needed; found += ranges[last] as number) last++;
    let chosen = 0;
    for (let at = 0; at < count; at++)
      if (Math.floor(((keys[at] as number) - least) * scale) <= last) order[chosen++] = at;
    return chosen;
  }

  /** Sorts positions by their keys; those of equal keys keep their order. */
  #sortByKeys(count: number, order: Uint32Array): void {
    const keys = this.#keys;
    const allCounts = this.#counts.fill(0);
    for (let at = 0; at < count; at++) {
      const key = keys[order[at] as number] as number;
      for (let digit = 0; digit < DIGITS; digit++) {
        const place = 256 * digit + ((key >>> (8 * digit)) & 0xff);
        allCounts[place] = (allCounts[place] as number) + 1;
      }
    }
    let from: Uint32Array = order;
    let to: Uint32Array = this.#spare;
    for (let digit = 0; digit < DIGITS; digit++) {
      const shift = 8 * digit;
      const counts = allCounts.subarray(256 * digit, 256 * (digit + 1));
      // All edges have the same digit.
      if (counts[((keys[from[0] as number] as number) >>> shift) & 0xff] === count) continue;
      let next = 0;
      for (let value = 0; value < 256; value++) {
        const edgesOfValue = counts[value] as number;
        counts[value] = next;
        next += edgesOfValue;
      }
      for (let at = 0; at < count; at++) {
        const edge = from[at] as number;
        const value = ((keys[edge] as number) >>> shift) & 0xff;
        const place = counts[value] as number;
        counts[value] = place + 1;
        to[place] = edge;
      }
      [from, to] = [to, from];
    }
    if (from !== order) order.set(from.subarray(0, count));
  }

  /** Completes the order of edges whose weights have equal upper halves. */
  #sortEqualKeys(edges: Sorted, count: number, order: Uint32Array): void {
    const { ids, weight } = edges;
    const keys = this.#keys;
    for (let first = 0; first < count; ) {
      const key = keys[order[first] as number] as number;
      let end = first + 1;
      while (end < count && keys[order[end] as number] === key) end++;
      if (end - first > INSERTION_MAX)
        order
          .subarray(first, end)
          .sort(
            (a, b) =>
              (weight[b] as number) - (weight[a] as number) || (ids[a] as number) - (ids[b] as number),
          );
      else insert(edges, order, first, end, Number.POSITIVE_INFINITY);
      first = end;
    }
  }
}

/**
 * Sorts the positions `order[first, end)` by insertion: greatest weight first, then smallest id.
 *
 * @param movesMore moves that may be made beyond `INSERTION_MOVES` for each edge so far
 * @returns false if it took too many moves: the positions are then in no particular order
 */
function insert(
  { ids, weight }: Sorted,
  order: Uint32Array,
  first: number,
  end: number,
  movesMore: number,
): boolean {
  let movesLeft = movesMore;
  for (let at = first + 1; at < end; at++) {
    const moving = order[at] as number;
    const movingWeight = weight[moving] as number;
    let place = at;
    for (; place > first; place--) {
      const before = order[place - 1] as number;
      const weightBefore = weight[before] as number;
      const isAfter =
        weightBefore === movingWeight
          ? (ids[before] as number) > (ids[moving] as number)
          : weightBefore < movingWeight;
      if (!isAfter) break;
      order[place] = before;
    }
    order[place] = moving;
    movesLeft += INSERTION_MOVES - (at - place);
    if (movesLeft < 0) return false;
  }
  return true;
}
