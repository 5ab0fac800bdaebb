/** The nodes that value of an exposure walk reaches in a hop, by number, and the order in which the next hop follows them. */
import { WeightSort } from '../weight-sort.ts';
import type { NodeIndex } from './node-index.ts';

/** Enough for the direct counterparties of most addresses. */
const CAPACITY = 2 ** 10;

/** The nodes of one hop at a time. Their memory is kept between calls. */
export class ReachedNodes {
  count = 0;
  #numbers = new Uint32Array(CAPACITY);
  #ordered = new Uint32Array(CAPACITY);
  #order = new Uint32Array(CAPACITY);
  #edges = { weight: new Float64Array(CAPACITY), ids: new Uint32Array(CAPACITY) };
  readonly #sort = new WeightSort();

  clear(): void {
    this.count = 0;
  }

  add(number: number): void {
    if (this.count === this.#numbers.length) this.#grow();
    this.#numbers[this.count++] = number;
  }

  /** Returns the numbers in the order in which they were added. Valid until the next one is added. */
  numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.count);
  }

  /**
   * Takes all out, greatest share first, then by id.
   *
   * @param shares - by number
   * @returns The numbers. Valid until the next call.
   */
  takeOrdered(shares: Float64Array, nodes: NodeIndex): Uint32Array {
    const { weight, ids } = this.#edges;
    const count = this.count;
    for (let at = 0; at < count; at++) {
      const number = this.#numbers[at] as number;
      weight[at] = shares[number] as number;
      ids[at] = nodes.nodeAt(number);
    }
    this.#sort.sort(this.#edges, count, this.#order);
    for (let at = 0; at < count; at++) this.#ordered[at] = this.#numbers[this.#order[at] as number] as number;
    this.count = 0;
    return this.#ordered.subarray(0, count);
  }

  #grow(): void {
    const capacity = this.#numbers.length * 2;
    const numbers = new Uint32Array(capacity);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    this.#ordered = new Uint32Array(capacity);
    this.#order = new Uint32Array(capacity);
    this.#edges = { weight: new Float64Array(capacity), ids: new Uint32Array(capacity) };
  }
}
