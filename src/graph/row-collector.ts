/** Reads of one row of edges: sums an edge over the assets of a query, keeps those that weigh enough, and orders them. */
import { createNeighbourColumns, type NeighbourColumns, type RowQuery, type RowScan } from './graph.ts';

/** The sums of one edge over the assets of a query. */
export interface EdgeSums {
  /** Starts an edge. */
  begin(counterparty: number): void;
  /** Returns true if sums of the asset are part of the query. */
  counts(asset: number): boolean;
  add(
    asset: number,
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void;
  /** Ends the edge. */
  end(): void;
}

/** Above this many edges, an order is sorted out of place. Below it, insertion is fastest. */
const INSERTION_MAX = 32;

const ALL: RowQuery = {
  evidence: new Set(),
  rates: null,
  least: Number.NEGATIVE_INFINITY,
  limit: 0,
  seenUntilMs: Number.POSITIVE_INFINITY,
};

/** One per thread and graph; reused from row to row. */
export class RowCollector implements EdgeSums {
  #query: RowQuery = ALL;
  #rows: NeighbourColumns = createNeighbourColumns(1024);
  #count = 0;
  #lightEdges = 0;
  #lightTransfers = 0;
  #lightWeight = 0;
  #lightCents = 0;
  #hiddenWeight = 0;
  // The edge that is being summed.
  #counterparty = 0;
  #isKnown = false;
  #weight = 0;
  #cents = 0;
  #amount = 0;
  #transfers = 0;
  #unpriced = 0;
  #firstSeenMs = 0;
  #lastSeenMs = 0;

  open(query: RowQuery): this {
    this.#query = query;
    this.#count = 0;
    this.#lightEdges = 0;
    this.#lightTransfers = 0;
    this.#lightWeight = 0;
    this.#lightCents = 0;
    this.#hiddenWeight = 0;
    return this;
  }

  /** True once the query has what it asked for. */
  get hasEnough(): boolean {
    return this.#query.enough !== undefined && this.#count > this.#query.enough;
  }

  counts(asset: number): boolean {
    return this.#query.evidence.has(asset);
  }

  begin(counterparty: number): void {
    this.#counterparty = counterparty;
    this.#isKnown = false;
    this.#weight = 0;
    this.#cents = 0;
    this.#amount = 0;
    this.#transfers = 0;
    this.#unpriced = 0;
    this.#firstSeenMs = Number.POSITIVE_INFINITY;
    this.#lastSeenMs = 0;
  }

  add(
    asset: number,
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void {
    const { rates, seenUntilMs } = this.#query;
    const weight = rates === null ? 0 : (rates.get(asset) ?? 0) * amount;
    if (rates !== null && amount === 0) return;
    if (firstSeenMs > seenUntilMs) {
      this.#hiddenWeight += weight;
      return;
    }
    this.#isKnown = true;
    this.#weight += weight;
    this.#cents += cents;
    this.#amount += amount;
    this.#transfers += transfers;
    this.#unpriced += unpriced;
    if (firstSeenMs < this.#firstSeenMs) this.#firstSeenMs = firstSeenMs;
    if (lastSeenMs > this.#lastSeenMs) this.#lastSeenMs = lastSeenMs;
  }

  end(): void {
    if (!this.#isKnown) return;
    const weight =
      this.#query.rates === null
        ? this.#cents > 0
          ? this.#cents / 100
          : -1 / (1 + this.#amount)
        : this.#weight;
    if (weight < this.#query.least) {
      this.#lightEdges++;
      this.#lightTransfers += this.#transfers;
      this.#lightWeight += weight;
      this.#lightCents += this.#cents;
      return;
    }
    const at = this.#count++;
    if (at === this.#rows.ids.length) this.#grow();
    const rows = this.#rows;
    rows.ids[at] = this.#counterparty;
    rows.weight[at] = weight;
    rows.valueUsd[at] = this.#cents / 100;
    rows.transfers[at] = this.#transfers;
    rows.unpriced[at] = this.#unpriced;
    rows.firstSeenMs[at] = this.#firstSeenMs;
    rows.lastSeenMs[at] = this.#lastSeenMs;
  }

  /**
   * Writes the first edges of the query in order.
   *
   * @param wasCut - true if edges of the row were not added
   */
  finish(into: NeighbourColumns, wasCut: boolean): RowScan {
    const heavy = this.#count;
    const count = Math.min(this.#query.limit, heavy);
    if (count > 0) this.#write(into, count);
    return {
      count,
      heavy,
      light: {
        edges: this.#lightEdges,
        transfers: this.#lightTransfers,
        weight: this.#lightWeight,
        valueUsd: this.#lightCents / 100,
      },
      hiddenWeight: this.#hiddenWeight,
      isPartial: wasCut,
    };
  }

  #write(into: NeighbourColumns, count: number): void {
    const rows = this.#rows;
    const order = this.#order();
    for (let at = 0; at < count; at++) {
      const from = order === null ? at : (order[at] as number);
      into.ids[at] = rows.ids[from] as number;
      into.weight[at] = rows.weight[from] as number;
      into.valueUsd[at] = rows.valueUsd[from] as number;
      into.transfers[at] = rows.transfers[from] as number;
      into.unpriced[at] = rows.unpriced[from] as number;
      into.firstSeenMs[at] = rows.firstSeenMs[from] as number;
      into.lastSeenMs[at] = rows.lastSeenMs[from] as number;
    }
  }

  #comesAfter(a: number, b: number): boolean {
    const { weight, ids } = this.#rows;
    const first = weight[a] as number;
    const second = weight[b] as number;
    return first === second ? (ids[a] as number) > (ids[b] as number) : first < second;
  }

  /** Positions in order; null if they are in order as they came. */
  #order(): Uint32Array | null {
    const count = this.#count;
    let sorted = 1;
    while (sorted < count && !this.#comesAfter(sorted - 1, sorted)) sorted++;
    if (sorted >= count) return null;
    const order = new Uint32Array(count);
    for (let at = 0; at < count; at++) order[at] = at;
    if (count > INSERTION_MAX) return order.sort((a, b) => (a === b ? 0 : this.#comesAfter(a, b) ? 1 : -1));
    for (let at = sorted; at < count; at++) {
      const moving = order[at] as number;
      let place = at;
      while (place > 0 && this.#comesAfter(order[place - 1] as number, moving)) {
        order[place] = order[place - 1] as number;
        place--;
      }
      order[place] = moving;
    }
    return order;
  }

  #grow(): void {
    const old = this.#rows;
    const grown = createNeighbourColumns(old.ids.length * 2);
    for (const name of Object.keys(old) as (keyof NeighbourColumns)[]) grown[name].set(old[name]);
    this.#rows = grown;
  }
}
