/** Collects the edges of one row: sums each edge over the assets of a query, keeps those with enough weight, and orders them. */
import { createNeighbourColumns, type NeighbourColumns, type RowQuery, type RowScan } from './graph.ts';
import { WeightSort } from './weight-sort.ts';

/** The sums of one edge over the assets of a query. */
export interface EdgeSums {
  /** Starts an edge. */
  begin(counterparty: number): void;
  /** Returns true if the query includes the asset. Later `add` calls add sums of that asset. */
  counts(asset: number): boolean;
  add(
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void;
  /** Ends the edge. */
  end(): void;
  /** Adds an edge of one asset: `begin`, `counts`, `add` and `end` in one call, because nearly all edges have one. */
  single(
    counterparty: number,
    asset: number,
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void;
}

/** The sums that a query includes. */
export interface IncludedSums {
  /** Returns true if the query includes the asset's sums with the counterparty. */
  includes(counterparty: number, asset: number): boolean;
}

const ALL: RowQuery = {
  evidence: new Set(),
  rates: null,
  least: Number.NEGATIVE_INFINITY,
  limit: 0,
  seenUntilMs: Number.POSITIVE_INFINITY,
};

/** The weight of an edge without rates: its USD, or below zero and closer to it the greater the amount, so that priced edges come first. */
const weightOf = (cents: number, amount: number): number => (cents > 0 ? cents / 100 : -1 / (1 + amount));

/** Create one per thread and graph. It is reused for all rows. */
export class RowCollector implements EdgeSums, IncludedSums {
  #query: RowQuery = ALL;
  #rows: NeighbourColumns = createNeighbourColumns(1024);
  #isWeighed = false;
  #least = 0;
  #lightBelow = 0;
  #seenUntilMs = 0;
  // The asset of the last `counts` call.
  #asset = -1;
  #isEvidence = false;
  #rate = 0;
  #count = 0;
  #order = new Uint32Array(0);
  readonly #sort = new WeightSort();
  #lightEdges = 0;
  /** Those of them that are returned. */
  #lightReturned = 0;
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
    this.#isWeighed = query.rates !== null;
    this.#least = query.least;
    this.#lightBelow = query.lightBelow ?? query.least;
    this.#seenUntilMs = query.seenUntilMs;
    this.#asset = -1;
    this.#count = 0;
    this.#lightEdges = 0;
    this.#lightReturned = 0;
    this.#lightTransfers = 0;
    this.#lightWeight = 0;
    this.#lightCents = 0;
    this.#hiddenWeight = 0;
    return this;
  }

  /** True once the query has found as many edges as it needs. */
  get hasEnough(): boolean {
    return this.#query.enough !== undefined && this.#count > this.#query.enough;
  }

  counts(asset: number): boolean {
    // Nearly all edges of a row have the same asset.
    if (asset !== this.#asset) {
      const { evidence, rates, onOther } = this.#query;
      this.#asset = asset;
      this.#isEvidence = evidence.has(asset);
      if (!this.#isEvidence) onOther?.(asset);
      this.#rate = rates?.get(asset) ?? 0;
    }
    return this.#isEvidence;
  }

  includes(counterparty: number, asset: number): boolean {
    if (!this.counts(asset)) return false;
    const { without } = this.#query;
    return without?.counterparty !== counterparty || without.asset !== asset;
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
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void {
    const weight = this.#rate * amount;
    if (amount === 0 && this.#isWeighed) return;
    if (firstSeenMs > this.#seenUntilMs) {
      this.#hiddenWeight += weight;
      return;
    }
    const { without } = this.#query;
    if (without?.counterparty === this.#counterparty && without.asset === this.#asset) return;
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
    this.#take(
      this.#counterparty,
      this.#isWeighed ? this.#weight : weightOf(this.#cents, this.#amount),
      this.#transfers,
      this.#unpriced,
      this.#cents,
      this.#firstSeenMs,
      this.#lastSeenMs,
    );
  }

  single(
    counterparty: number,
    asset: number,
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void {
    if (!this.counts(asset) || (amount === 0 && this.#isWeighed)) return;
    if (firstSeenMs > this.#seenUntilMs) {
      this.#hiddenWeight += this.#rate * amount;
      return;
    }
    const { without } = this.#query;
    if (without?.counterparty === counterparty && without.asset === asset) return;
    const weight = this.#isWeighed ? this.#rate * amount : weightOf(cents, amount);
    this.#take(counterparty, weight, transfers, unpriced, cents, firstSeenMs, lastSeenMs);
  }

  #take(
    counterparty: number,
    weight: number,
    transfers: number,
    unpriced: number,
    cents: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void {
    if (weight < this.#lightBelow) {
      this.#lightEdges++;
      this.#lightTransfers += transfers;
      this.#lightWeight += weight;
      this.#lightCents += cents;
      if (weight < this.#least) return;
      this.#lightReturned++;
    }
    const at = this.#count++;
    if (at === this.#rows.ids.length) this.#grow();
    const rows = this.#rows;
    rows.ids[at] = counterparty;
    rows.weight[at] = weight;
    rows.valueUsd[at] = cents / 100;
    rows.transfers[at] = transfers;
    rows.unpriced[at] = unpriced;
    rows.firstSeenMs[at] = firstSeenMs;
    rows.lastSeenMs[at] = lastSeenMs;
  }

  /**
   * Writes the first edges of the query in order.
   *
   * @param wasCut true if edges of the row were not added
   */
  finish(into: NeighbourColumns, wasCut: boolean): RowScan {
    const count = Math.min(this.#query.limit, this.#count);
    if (count > 0) this.#write(into, count);
    return {
      count,
      heavy: this.#count - this.#lightReturned,
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
    const all = this.#count;
    if (this.#order.length < all) this.#order = new Uint32Array(2 * all);
    const order = this.#order;
    this.#sort.sort(rows, all, order, count);
    for (let at = 0; at < count; at++) {
      const from = order[at] as number;
      into.ids[at] = rows.ids[from] as number;
      into.weight[at] = rows.weight[from] as number;
      into.valueUsd[at] = rows.valueUsd[from] as number;
      into.transfers[at] = rows.transfers[from] as number;
      into.unpriced[at] = rows.unpriced[from] as number;
      into.firstSeenMs[at] = rows.firstSeenMs[from] as number;
      into.lastSeenMs[at] = rows.lastSeenMs[from] as number;
    }
  }

  #grow(): void {
    const old = this.#rows;
    const grown = createNeighbourColumns(old.ids.length * 2);
    for (const name of Object.keys(old) as (keyof NeighbourColumns)[]) grown[name].set(old[name]);
    this.#rows = grown;
  }
}
