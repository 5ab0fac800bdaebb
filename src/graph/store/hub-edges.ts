/**
 * The greatest edges of an address with too many counterparties for a row to be scanned. Its chunks are in the order of ids, so all of them
 * are read to find the greatest edges, which are kept decoded: the next query does not read them again.
 */
import type { ChunkView } from '../edge-chunk.ts';
import type { EdgeSums } from '../row-collector.ts';
import { WeightSort } from '../weight-sort.ts';

/** Numbers of the sums of one asset: transfers, unpriced transfers, cents, amount, first and last time. */
const FIELDS = 6;

/** Stored edges with the sums of each of their assets, in columns. Edges are in the order of ids, as chunks are. */
export class HubEdges implements EdgeSums {
  #count = 0;
  readonly #limit: number;
  readonly #sort = new WeightSort();
  #ids: Uint32Array;
  #ranks: Float64Array;
  /** Transfers without a price, of all assets. */
  #unpriced: Float64Array;
  /** Where the sums of each edge end. Those of the first begin at 0. */
  #ends: Uint32Array;
  #assets: Uint32Array;
  #fields: Float64Array;
  #sums = 0;
  #asset = 0;
  /** The rank that an edge must reach. Minus infinity until more than `limit` edges are known. */
  #least = Number.NEGATIVE_INFINITY;
  /** Places of the edges, greatest first. */
  #order: Uint32Array;

  /** @param limit the most edges kept; until the end up to twice as many */
  constructor(limit: number) {
    const capacity = 2 * limit;
    this.#limit = limit;
    this.#ids = new Uint32Array(capacity);
    this.#ranks = new Float64Array(capacity);
    this.#unpriced = new Float64Array(capacity);
    this.#ends = new Uint32Array(capacity);
    this.#assets = new Uint32Array(capacity);
    this.#fields = new Float64Array(FIELDS * capacity);
    this.#order = new Uint32Array(capacity);
  }

  /** Adds those edges of a chunk that may be among the greatest. */
  take(view: ChunkView): void {
    const { ranks, count } = view;
    let skipped = 0;
    for (let index = 0; index < count; index++) {
      const rank = ranks[index] as number;
      // Below zero, edges of equal rank are equal except for their ids, and the smaller ids came first.
      if (rank < this.#least || (rank === this.#least && rank < 0)) {
        skipped++;
        continue;
      }
      if (this.#count === this.#ids.length) this.#prune();
      view.skipTails(skipped);
      skipped = 0;
      this.#ranks[this.#count] = rank;
      view.weigh(index, this);
    }
  }

  /** Leaves out all but the greatest edges, and gives memory back that only the search needed. */
  finish(): this {
    this.#prune();
    const count = this.#count;
    this.#ids = this.#ids.slice(0, count);
    this.#ranks = this.#ranks.slice(0, count);
    this.#unpriced = this.#unpriced.slice(0, count);
    this.#ends = this.#ends.slice(0, count);
    this.#assets = this.#assets.slice(0, this.#sums);
    this.#fields = this.#fields.slice(0, FIELDS * this.#sums);
    this.#sortByValue();
    this.#order = this.#order.slice(0, count);
    return this;
  }

  /** Number of edges. */
  get count(): number {
    return this.#count;
  }

  /** Place of the edge that comes after `nth` greater ones. */
  placeOf(nth: number): number {
    return this.#order[nth] as number;
  }

  /** The edge at a place, as `byValue` compares it. */
  valueAt(place: number): {
    readonly counterparty: number;
    readonly cents: number;
    readonly unpriced: number;
  } {
    return {
      counterparty: this.#ids[place] as number,
      cents: Math.max(this.#ranks[place] as number, 0),
      unpriced: this.#unpriced[place] as number,
    };
  }

  /** Adds the edge at a place to the sums of a query. */
  weigh(place: number, sums: EdgeSums): void {
    const end = this.#ends[place] as number;
    const fields = this.#fields;
    sums.begin(this.#ids[place] as number);
    for (let sum = place === 0 ? 0 : (this.#ends[place - 1] as number); sum < end; sum++) {
      if (!sums.counts(this.#assets[sum] as number)) continue;
      const at = FIELDS * sum;
      const [transfers, unpriced, cents] = [fields[at], fields[at + 1], fields[at + 2]] as number[];
      const [amount, firstSeenMs, lastSeenMs] = [fields[at + 3], fields[at + 4], fields[at + 5]] as number[];
      sums.add(
        transfers as number,
        unpriced as number,
        cents as number,
        amount as number,
        firstSeenMs as number,
        lastSeenMs as number,
      );
    }
    sums.end();
  }

  begin(counterparty: number): void {
    this.#ids[this.#count] = counterparty;
    this.#unpriced[this.#count] = 0;
  }

  counts(asset: number): boolean {
    this.#asset = asset;
    return true;
  }

  add(
    transfers: number,
    unpriced: number,
    cents: number,
    amount: number,
    firstSeenMs: number,
    lastSeenMs: number,
  ): void {
    const sum = this.#sums++;
    if (sum === this.#assets.length) this.#growSums();
    const at = FIELDS * sum;
    const fields = this.#fields;
    this.#assets[sum] = this.#asset;
    fields[at] = transfers;
    fields[at + 1] = unpriced;
    fields[at + 2] = cents;
    fields[at + 3] = amount;
    fields[at + 4] = firstSeenMs;
    fields[at + 5] = lastSeenMs;
    this.#unpriced[this.#count] = (this.#unpriced[this.#count] as number) + unpriced;
  }

  end(): void {
    this.#ends[this.#count++] = this.#sums;
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
    this.begin(counterparty);
    this.#asset = asset;
    this.add(transfers, unpriced, cents, amount, firstSeenMs, lastSeenMs);
    this.end();
  }

  /** Orders the edges as `byValue` (edges.ts). */
  #sortByValue(): void {
    const count = this.#count;
    const order = this.#order;
    const ranks = this.#ranks;
    const unpriced = this.#unpriced;
    this.#sort.sort({ ids: this.#ids, weight: ranks }, count, order);
    for (let first = 0; first < count; ) {
      const rank = ranks[order[first] as number] as number;
      let end = first + 1;
      let isOrdered = true;
      for (; end < count && ranks[order[end] as number] === rank; end++)
        isOrdered &&=
          (unpriced[order[end] as number] as number) <= (unpriced[order[end - 1] as number] as number);
      // The places of edges are in the order of ids.
      if (!isOrdered)
        order.subarray(first, end).sort((a, b) => (unpriced[b] as number) - (unpriced[a] as number) || a - b);
      first = end;
    }
  }

  /** Leaves out the edges beyond the limit. */
  #prune(): void {
    if (this.#count <= this.#limit) return;
    this.#sortByValue();
    const order = this.#order;
    this.#least = this.#ranks[order[this.#limit - 1] as number] as number;
    const kept = order.subarray(0, this.#limit).sort();
    const fields = this.#fields;
    let sums = 0;
    for (let at = 0; at < kept.length; at++) {
      const place = kept[at] as number;
      const begin = place === 0 ? 0 : (this.#ends[place - 1] as number);
      const end = this.#ends[place] as number;
      this.#ids[at] = this.#ids[place] as number;
      this.#ranks[at] = this.#ranks[place] as number;
      this.#unpriced[at] = this.#unpriced[place] as number;
      this.#assets.copyWithin(sums, begin, end);
      fields.copyWithin(FIELDS * sums, FIELDS * begin, FIELDS * end);
      sums += end - begin;
      this.#ends[at] = sums;
    }
    this.#count = kept.length;
    this.#sums = sums;
  }

  #growSums(): void {
    const assets = new Uint32Array(2 * this.#assets.length);
    assets.set(this.#assets);
    this.#assets = assets;
    const fields = new Float64Array(2 * this.#fields.length);
    fields.set(this.#fields);
    this.#fields = fields;
  }
}
