/** Edges that a kernel has read, as growing columns. They are kept between calls, so that a walk allocates little besides its result. */
import type { NeighbourColumns, NodeId } from '../graph.ts';

const CAPACITY = 2 ** 14;

/** Edges as columns: index i of each column belongs to one edge. */
export interface EdgeList {
  readonly count: number;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** Edges are ordered by this (`RowQuery.rates` null). */
  readonly weight: Float64Array;
  /** USD of the priced transfers. 0 if none is priced. */
  readonly valueUsd: Float64Array;
  readonly transfers: Float64Array;
  /** Transfers of an amount without a known price. */
  readonly unpriced: Float64Array;
  readonly firstSeenMs: Float64Array;
  readonly lastSeenMs: Float64Array;
}

const createColumns = (capacity: number): Omit<EdgeList, 'count'> => ({
  from: new Uint32Array(capacity),
  to: new Uint32Array(capacity),
  weight: new Float64Array(capacity),
  valueUsd: new Float64Array(capacity),
  transfers: new Float64Array(capacity),
  unpriced: new Float64Array(capacity),
  firstSeenMs: new Float64Array(capacity),
  lastSeenMs: new Float64Array(capacity),
});

/** A growing list of edges. */
export class EdgeColumns implements EdgeList {
  count = 0;
  #columns = createColumns(CAPACITY);

  get from(): Uint32Array {
    return this.#columns.from;
  }
  get to(): Uint32Array {
    return this.#columns.to;
  }
  get weight(): Float64Array {
    return this.#columns.weight;
  }
  get valueUsd(): Float64Array {
    return this.#columns.valueUsd;
  }
  get transfers(): Float64Array {
    return this.#columns.transfers;
  }
  get unpriced(): Float64Array {
    return this.#columns.unpriced;
  }
  get firstSeenMs(): Float64Array {
    return this.#columns.firstSeenMs;
  }
  get lastSeenMs(): Float64Array {
    return this.#columns.lastSeenMs;
  }

  clear(): void {
    this.count = 0;
  }

  /** Removes all but the first `count` edges. */
  truncate(count: number): void {
    this.count = count;
  }

  /** Adds the edge at `at` in a list of neighbours. */
  push(from: NodeId, to: NodeId, neighbours: NeighbourColumns, at: number): void {
    if (this.count === this.#columns.from.length) this.#grow();
    const columns = this.#columns;
    const index = this.count++;
    columns.from[index] = from;
    columns.to[index] = to;
    columns.weight[index] = neighbours.weight[at] as number;
    columns.valueUsd[index] = neighbours.valueUsd[at] as number;
    columns.transfers[index] = neighbours.transfers[at] as number;
    columns.unpriced[index] = neighbours.unpriced[at] as number;
    columns.firstSeenMs[index] = neighbours.firstSeenMs[at] as number;
    columns.lastSeenMs[index] = neighbours.lastSeenMs[at] as number;
  }

  /** Returns a copy of the edges. */
  toList(): EdgeList {
    const { count } = this;
    const { from, to, weight, valueUsd, transfers, unpriced, firstSeenMs, lastSeenMs } = this.#columns;
    return {
      count,
      from: from.slice(0, count),
      to: to.slice(0, count),
      weight: weight.slice(0, count),
      valueUsd: valueUsd.slice(0, count),
      transfers: transfers.slice(0, count),
      unpriced: unpriced.slice(0, count),
      firstSeenMs: firstSeenMs.slice(0, count),
      lastSeenMs: lastSeenMs.slice(0, count),
    };
  }

  #grow(): void {
    const old = this.#columns;
    const grown = createColumns(old.from.length * 2);
    grown.from.set(old.from);
    grown.to.set(old.to);
    grown.weight.set(old.weight);
    grown.valueUsd.set(old.valueUsd);
    grown.transfers.set(old.transfers);
    grown.unpriced.set(old.unpriced);
    grown.firstSeenMs.set(old.firstSeenMs);
    grown.lastSeenMs.set(old.lastSeenMs);
    this.#columns = grown;
  }
}
