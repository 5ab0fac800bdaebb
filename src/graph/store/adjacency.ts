/** Reads addresses and their edges: the merged data with the delta applied. All reads and walks of the store go through this module. */
import type { AssayError } from '../../base/errors.ts';
import { currentReading } from '../../base/reading.ts';
import { ChunkView } from '../edge-chunk.ts';
import { byValue, type Edge, type EdgeTotals, totalsOf } from '../edges.ts';
import type { AssetSums, NeighbourColumns, RowQuery, RowScan } from '../graph.ts';
import { nthGreatest } from '../greatest.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { type EdgeSums, RowCollector } from '../row-collector.ts';
import { type ChainRecords, lostRecord } from './chain-records.ts';
import { type DeltaEntry, readEntries } from './delta.ts';
import { HubEdges } from './hub-edges.ts';
import { cursorAt, LOG_CHUNK_TRANSFERS } from './log.ts';
import { addToEdge, addToNode } from './merge.ts';
import {
  counterpartiesIn,
  createNode,
  flowSums,
  type NodeRecord,
  sumsOfFlow,
  unpackNode,
} from './node-record.ts';

/**
 * Returns the sums of an address including its delta, or null if no transfer of it is stored. The counterparty counts include only merged
 * transfers.
 */
export function readNode(records: ChainRecords, node: number): NodeRecord | null {
  const stored = records.node(node);
  const timeOf = (ordinal: number): number => {
    records.prefetchLog?.(record?.newest.map((one) => Math.floor(one.ordinal / LOG_CHUNK_TRANSFERS)) ?? []);
    return cursorAt(records, ordinal).timestampMs;
  };
  const record = stored ? unpackNode(stored, timeOf) : null;
  const delta = records.delta(node);
  if (!delta) return record;
  const joined = record ?? createNode();
  for (const entry of readEntries(delta)) addToNode(joined, node, entry);
  return joined;
}

function weighEdge({ counterparty, assets }: Edge, sums: EdgeSums): void {
  sums.begin(counterparty);
  for (const sum of assets) {
    if (!sums.counts(sum.asset)) continue;
    const { transfers, unpriced, cents, amount, firstSeenMs, lastSeenMs } = sum;
    sums.add(transfers, unpriced, cents, Number(amount), firstSeenMs, lastSeenMs);
  }
  sums.end();
}

/** Above this many neighbours, selecting the greatest is cheaper than sorting all. */
const RANKED_MAX = 2 ** 16;

/** Cached records of one address, except its edges. */
interface Remembered {
  node: number;
  entries: readonly DeltaEntry[] | null;
  /** Its merged sums: a copy, because the bytes of a read are overwritten by the next one. Undefined until they are read. */
  record: Buffer | null | undefined;
  /** Merged counterparties by direction. Null until they are read. */
  degrees: readonly [number, number] | null;
}

/** The greatest merged edges of a hub. */
interface KeptHub {
  /** The sums of the hub at that time. Each merged transfer changes them, so equal sums mean equal edges. */
  readonly record: Buffer;
  readonly edges: HubEdges;
}

/** The neighbours of one address in one direction. Create one instance per chain and thread, and open it for one address after another. */
export class Adjacency {
  readonly #records: ChainRecords;
  readonly #view = new ChunkView();
  #node = 0;
  #direction = 0;
  /** Complete edges that the delta changes, by counterparty. They replace the merged ones. */
  #changed: Map<number, Edge> | null = null;
  /** How many of those are also merged. */
  #changedMerged = 0;
  /** Cache for the last address: a kernel reads both degrees and both lists of one address before it moves to the next. */
  readonly #last: Remembered = { node: 0, entries: null, record: undefined, degrees: null };
  #recordBytes = Buffer.allocUnsafeSlow(4096);
  /** The reading in which it was cached. */
  #lastReading = 0;
  #isForgetting = false;
  readonly #collector = new RowCollector();
  #ranks = new Float64Array(0);
  #sorted = new Float64Array(0);
  #placed = new Uint32Array(0);
  /** By twice the node plus the direction, the least recently used first. */
  readonly #hubs = new Map<number, KeptHub>();

  constructor(records: ChainRecords) {
    this.#records = records;
  }

  open(node: number, direction: number): this {
    this.#node = node;
    this.#direction = direction;
    this.#changed = null;
    this.#changedMerged = 0;
    if (this.#last.node !== node || this.#lastReading !== currentReading()) this.#remember(node);
    if (this.#last.entries) this.#openDelta(this.#last.entries);
    return this;
  }

  /**
   * Caches the records of an address. The cache is valid until the running code or its reading ends: later commits are not visible before
   * that.
   */
  #remember(node: number): void {
    const delta = this.#records.delta(node);
    this.#last.node = node;
    this.#lastReading = currentReading();
    this.#last.entries = delta ? readEntries(delta) : null;
    this.#last.record = undefined;
    this.#last.degrees = null;
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    queueMicrotask(() => {
      this.#isForgetting = false;
      this.#last.node = 0;
    });
  }

  /** The merged sums of the address. */
  #record(): Buffer | null {
    const known = this.#last.record;
    if (known !== undefined) return known;
    const stored = this.#records.node(this.#node);
    if (stored !== undefined && stored.length > this.#recordBytes.length)
      this.#recordBytes = Buffer.allocUnsafeSlow(2 * stored.length);
    // The memory of a `getBinaryFast` result is longer than its `length`.
    if (stored !== undefined) this.#recordBytes.set(stored.subarray(0, stored.length));
    const record = stored === undefined ? null : this.#recordBytes.subarray(0, stored.length);
    this.#last.record = record;
    return record;
  }

  /** Number of distinct counterparties. */
  degree(): number {
    let degrees = this.#last.degrees;
    if (!degrees) {
      const record = this.#record();
      degrees = record ? degreesIn(record) : [0, 0];
      this.#last.degrees = degrees;
    }
    return this.#degreeWith(this.#direction === 0 ? degrees[0] : degrees[1]);
  }

  #degreeWith(merged: number): number {
    return merged + (this.#changed ? this.#changed.size - this.#changedMerged : 0);
  }

  /** Writes the first `limit` neighbours by value. */
  neighbours(limit: number, into: NeighbourColumns): number {
    if (limit <= 0) return 0;
    const view = this.#openFirst();
    if (view && !view.isHub && !this.#changed) {
      const count = Math.min(limit, view.count);
      for (let index = 0; index < count; index++) writeColumns(into, index, view.totals(index));
      return count;
    }
    if (view && !this.#changed && this.degree() <= RANKED_MAX) return this.#ranked(limit, into);
    const best = this.best(limit);
    for (const [index, totals] of best.entries()) writeColumns(into, index, totals);
    return best.length;
  }

  /**
   * Does the same for an address with more than one chunk and not too many neighbours. Its ranks are sorted as plain numbers: the position
   * of a rank is the position of its edge. Edges of equal rank are already in id order.
   */
  #ranked(limit: number, into: NeighbourColumns): number {
    const total = this.#readRanks();
    const ranks = this.#ranks;
    const placed = this.#placed.fill(0, 0, total);
    const sorted = this.#sorted.subarray(0, total);
    sorted.set(ranks.subarray(0, total));
    sorted.sort();
    const count = Math.min(limit, total);
    // If edges share the last rank and not all of them fit, those with the most unpriced transfers come first.
    const isCut = count < total && sorted[total - count] === sorted[total - count - 1];
    const lastRank = isCut ? sorted[total - count] : null;
    const last: EdgeTotals[] = [];
    let at = 0;
    for (let view = this.#openFirst(); view; view = this.#openNext(view)) {
      for (let index = 0; index < view.count; index++) {
        const rank = ranks[at++] as number;
        const first = total - firstGreater(sorted, rank);
        const place = first + (placed[first] as number);
        placed[first] = place - first + 1;
        if (rank === lastRank) last.push(view.totals(index));
        else if (place < count) writeColumns(into, place, view.totals(index));
        else view.skipTails(1);
      }
    }
    if (lastRank !== null) {
      const first = total - firstGreater(sorted, lastRank as number);
      last.sort(byValue);
      for (let index = first; index < count; index++)
        writeColumns(into, index, last[index - first] as EdgeTotals);
    }
    orderByUnpriced(into, count);
    return count;
  }

  /** Reads the ranks of all chunks, and returns their number. */
  #readRanks(): number {
    let total = 0;
    for (let view = this.#openFirst(); view; view = this.#openNext(view)) {
      const { ranks, count } = view;
      if (total + count > this.#ranks.length) this.#growRanks(total + count);
      this.#ranks.set(ranks, total);
      total += count;
    }
    return total;
  }

  #growRanks(needed: number): void {
    const grown = new Float64Array(2 * needed);
    grown.set(this.#ranks);
    this.#ranks = grown;
    this.#sorted = new Float64Array(grown.length);
    this.#placed = new Uint32Array(grown.length);
  }

  /** Returns the first `limit` neighbours by value. Holds at most twice as many in memory: a hub has millions. */
  best(limit: number): EdgeTotals[] {
    if (limit <= 0) return [];
    const best: EdgeTotals[] = [];
    const changed = this.#changed;
    if (changed) for (const edge of changed.values()) best.push(totalsOf(edge));
    if (best.length > limit) prune(best, limit);
    // Edges that cannot be among the best are read only up to their rank.
    let threshold = Number.NEGATIVE_INFINITY;
    for (let view = this.#openFirst(); view; view = this.#openNext(view)) {
      const { ranks, count } = view;
      let hasCandidate = threshold === Number.NEGATIVE_INFINITY;
      for (let index = 0; index < count && !hasCandidate; index++) {
        const rank = ranks[index] as number;
        // Below zero, equal ranks also have an equal price, and the smaller ids came first.
        hasCandidate = rank > threshold || (rank === threshold && rank > 0);
      }
      if (!hasCandidate) continue;
      for (let index = 0; index < count; index++) {
        if ((ranks[index] as number) < threshold) {
          view.skipTails(1);
          continue;
        }
        const totals = view.totals(index);
        if (changed?.has(totals.counterparty)) continue;
        best.push(totals);
      }
      if (best.length < limit * 2) continue;
      const last = prune(best, limit);
      threshold = last.cents > 0 ? last.cents : -1 / (1 + last.unpriced);
    }
    best.sort(byValue);
    return best.length > limit ? best.slice(0, limit) : best;
  }

  /** Returns the ids of the first `limit` neighbours by value. */
  bestIds(limit: number): number[] {
    const view = limit > 0 && !this.#changed ? this.#openFirst() : null;
    // An only chunk is in the order of value, and its edges need not be decoded.
    if (view?.isHub === false) return Array.from(view.ids.subarray(0, limit));
    return this.best(limit).map(({ counterparty }) => counterparty);
  }

  /** The flows of the address by direction, including its delta. */
  sums(): readonly [AssetSums[], AssetSums[]] {
    if (this.#last.entries === null) {
      const record = this.#record();
      return record ? flowSums(record) : [[], []];
    }
    const sums: [AssetSums[], AssetSums[]] = [[], []];
    for (const flow of readNode(this.#records, this.#node)?.flows ?? [])
      sums[flow.direction === 0 ? 0 : 1].push(sumsOfFlow(flow));
    return sums;
  }

  /** Reads the row for a query (`TransferGraph.row`). */
  row(query: RowQuery, into: NeighbourColumns): RowScan {
    // Without the record of the address, its only chunk has the number of its merged edges.
    const isRecordRead = this.#last.degrees !== null || this.#last.record !== undefined;
    const only = isRecordRead ? null : this.#openFirst();
    const isOnly = only !== null && !only.isHub;
    const degree = isOnly ? this.#degreeWith(only.count) : this.degree();
    if (degree > GRAPH_LIMITS.rowScanMax) return this.#hubRow(query, into);
    let first = isOnly ? only : this.#openFirst();
    const collector = this.#collector.open(query);
    const changed = this.#changed;
    if (changed === null && isByValue(query) && query.limit > 0 && query.limit < degree) {
      if (first?.isHub === false) return { ...this.#firstOf(first, query.limit, into), heavy: degree };
      const rank = this.#rankOf(query.limit);
      // Edges without a price are in another order than their ranks.
      if (rank > 0) {
        const isGreat = (view: ChunkView, index: number): boolean => (view.ranks[index] as number) >= rank;
        return { ...this.#readThose(isGreat, into), heavy: degree };
      }
      first = this.#openFirst();
    }
    if (query.isWanted !== undefined && degree <= query.limit && isChoosable(query))
      return this.#wanted(query.isWanted, query.leftOut, first, into);
    if (changed) for (const edge of changed.values()) weighEdge(edge, collector);
    for (let view = first; view; view = this.#openNext(view)) {
      for (let index = 0; index < view.count; index++) {
        if (changed?.has(view.ids[index] as number)) view.skipTails(1);
        else view.weigh(index, collector);
      }
      if (collector.hasEnough) return collector.finish(into, true);
    }
    return collector.finish(into, false);
  }

  /** Reads a chunk in the order of value for the query of the collector, up to the last edge that may be among the first `limit`. */
  #firstOf(view: ChunkView, limit: number, into: NeighbourColumns): RowScan {
    const collector = this.#collector;
    let least = 0;
    for (let index = 0; index < view.count; index++) {
      view.weigh(index, collector);
      if (index === limit - 1) least = view.cents;
      // Edges without a price are in another order than their weights: then all are read.
      if (index >= limit && view.cents < least) break;
    }
    return collector.finish(into, false);
  }

  /** Reads the merged edges that pass a test for the query of the collector, and skips the tails of the others. */
  #readThose(isRead: (view: ChunkView, index: number) => boolean, into: NeighbourColumns): RowScan {
    const collector = this.#collector;
    for (let view = this.#openFirst(); view; view = this.#openNext(view)) {
      let skipped = 0;
      for (let index = 0; index < view.count; index++) {
        if (!isRead(view, index)) {
          skipped++;
          continue;
        }
        view.skipTails(skipped);
        skipped = 0;
        view.weigh(index, collector);
      }
    }
    return collector.finish(into, false);
  }

  /** Reads the edges to some counterparties for the query of the collector. */
  #wanted(
    isWanted: (counterparty: number) => boolean,
    leftOut: number[] | undefined,
    first: ChunkView | null,
    into: NeighbourColumns,
  ): RowScan {
    const collector = this.#collector;
    const changed = this.#changed;
    for (const edge of changed?.values() ?? []) {
      const { counterparty, assets } = edge;
      if (isWanted(counterparty)) weighEdge(edge, collector);
      else if (leftOut && assets.some(({ asset }) => collector.includes(counterparty, asset)))
        leftOut.push(counterparty);
    }
    for (let view = first; view; view = this.#openNext(view)) {
      const { ids, count } = view;
      let next = 0;
      for (let index = 0; index < count; index++) {
        const id = ids[index] as number;
        const isRead = isWanted(id);
        if ((!isRead && leftOut === undefined) || changed?.has(id)) continue;
        view.skipTails(index - next);
        next = index + 1;
        if (isRead) view.weigh(index, collector);
        else if (view.isIncluded(index, collector)) leftOut?.push(id);
      }
    }
    return collector.finish(into, false);
  }

  /** The rank of the `nth` edge by value. */
  #rankOf(nth: number): number {
    // Reading them may replace the column.
    const count = this.#readRanks();
    return nthGreatest(this.#ranks, count, nth);
  }

  /** Reads the first edges by stored value of an address with too many counterparties to scan. */
  #hubRow(query: RowQuery, into: NeighbourColumns): RowScan {
    const collector = this.#collector.open(query);
    const changed = [...(this.#changed?.values() ?? [])]
      .map((edge) => ({ edge, totals: totalsOf(edge) }))
      .sort((a, b) => byValue(a.totals, b.totals));
    const merged = this.#hubEdges(query.limit + changed.length);
    const places: number[] = [];
    let taken = 0;
    for (let nth = 0; nth < merged.count && taken + places.length < query.limit; nth++) {
      const place = merged.placeOf(nth);
      const value = merged.valueAt(place);
      if (this.#changed?.has(value.counterparty)) continue;
      while (taken < changed.length && byValue((changed[taken] as (typeof changed)[0]).totals, value) < 0)
        taken++;
      if (taken + places.length < query.limit) places.push(place);
    }
    taken = Math.min(changed.length, query.limit - places.length);
    for (const { edge } of changed.slice(0, taken)) weighEdge(edge, collector);
    for (const place of places.sort((a, b) => a - b)) merged.weigh(place, collector);
    return collector.finish(into, true);
  }

  /** At least the `needed` greatest merged edges, if there are so many. */
  #hubEdges(needed: number): HubEdges {
    const { hubEdgesKept, hubsKept } = GRAPH_LIMITS;
    const name = 2 * this.#node + this.#direction;
    const record = this.#record();
    const kept = this.#hubs.get(name);
    const isKept = needed <= hubEdgesKept && record !== null && kept?.record.equals(record) === true;
    const edges = isKept ? kept.edges : new HubEdges(Math.max(needed, hubEdgesKept));
    if (!isKept) {
      for (let view = this.#openFirst(); view; view = this.#openNext(view)) edges.take(view);
      edges.finish();
    }
    // A remote graph may be replaced by that of another store.
    if (record === null || needed > hubEdgesKept || this.#records.prefetch !== undefined) return edges;
    this.#hubs.delete(name);
    this.#hubs.set(name, isKept ? kept : { record: Buffer.from(record), edges });
    for (const [oldest] of this.#hubs) if (this.#hubs.size > hubsKept) this.#hubs.delete(oldest);
    return edges;
  }

  /** The complete edge to one counterparty, or null if nothing moved. */
  edge(counterparty: number): Edge | null {
    return this.#changed?.get(counterparty) ?? this.#mergedEdge(counterparty);
  }

  /** Complete edges of the given counterparties, by id. */
  edges(wanted: ReadonlySet<number>): Map<number, Edge> {
    const found = new Map<number, Edge>();
    for (const id of wanted) {
      const edge = this.#changed?.get(id);
      if (edge) found.set(id, edge);
    }
    for (let view = this.#openFirst(); view && found.size < wanted.size; view = this.#openNext(view)) {
      let skipped = 0;
      for (let index = 0; index < view.count; index++) {
        const id = view.ids[index] as number;
        if (!wanted.has(id) || found.has(id)) {
          skipped++;
          continue;
        }
        view.skipTails(skipped);
        skipped = 0;
        found.set(id, view.edge(index));
      }
    }
    return found;
  }

  #openDelta(entries: readonly DeltaEntry[]): void {
    const changed = new Map<number, Edge>();
    for (const entry of entries) {
      const { counterparty } = entry;
      if (entry.direction !== this.#direction || counterparty === 0 || counterparty === this.#node) continue;
      let edge = changed.get(counterparty);
      if (!edge) {
        const merged = this.#mergedEdge(counterparty);
        if (merged) this.#changedMerged++;
        edge = merged ?? { counterparty, assets: [] };
        changed.set(counterparty, edge);
      }
      addToEdge(edge, entry);
    }
    if (changed.size > 0) this.#changed = changed;
  }

  #mergedEdge(counterparty: number): Edge | null {
    const bytes = this.#records.chunkFor(this.#node, this.#direction, counterparty);
    if (!bytes) return null;
    const view = this.#view.open(bytes);
    const index = view.indexOf(counterparty);
    if (index < 0) return null;
    view.skipTails(index);
    return view.edge(index);
  }

  #openFirst(): ChunkView | null {
    return this.#openChunk(0);
  }

  /** The next chunk of a hub, or null after the last one. */
  #openNext(view: ChunkView): ChunkView | null {
    if (!view.isHub || view.next === 0) return null;
    const next = this.#openChunk(view.next);
    if (next) return next;
    throw this.#lost();
  }

  #openChunk(firstId: number): ChunkView | null {
    const bytes = this.#records.chunk(this.#node, this.#direction, firstId);
    return bytes ? this.#view.open(bytes) : null;
  }

  #lost(): AssayError {
    return lostRecord(this.#records.chain, `neighbours of address ${this.#node}`);
  }
}

/** The merged counterparties of a stored record by direction. */
const degreesIn = (record: Buffer): readonly [number, number] => [
  counterpartiesIn(record, 0),
  counterpartiesIn(record, 1),
];

/** Returns true if a query takes all edges by their USD: the order of their stored ranks, as far as they have a price. */
const isByValue = (query: RowQuery): boolean =>
  query.isWhole === true &&
  query.rates === null &&
  query.least === Number.NEGATIVE_INFINITY &&
  query.seenUntilMs === Number.POSITIVE_INFINITY &&
  query.enough === undefined &&
  !query.without;

/** Returns true if edges may be left out of a query. Others look at the amounts and times of those that are left out. */
const isChoosable = ({ leftOut, rates, seenUntilMs }: RowQuery): boolean =>
  leftOut === undefined || (rates === null && seenUntilMs === Number.POSITIVE_INFINITY);

/** Keeps the best `limit`, in order, and returns the last of them. */
function prune(best: EdgeTotals[], limit: number): EdgeTotals {
  best.sort(byValue);
  best.length = limit;
  return best[limit - 1] as EdgeTotals;
}

/** Position of the first greater number in an ascending list. */
function firstGreater(sorted: Float64Array, rank: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) <= rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Completes the order by rank: of edges with the same known value, those with the most unpriced transfers come first. */
function orderByUnpriced(columns: NeighbourColumns, count: number): void {
  const { valueUsd, unpriced } = columns;
  let start = 0;
  let isOrdered = true;
  for (let at = 1; at <= count; at++) {
    if (at < count && valueUsd[at] === valueUsd[start]) {
      isOrdered &&= (unpriced[at] as number) <= (unpriced[at - 1] as number);
      continue;
    }
    if (!isOrdered) sortRows(columns, start, at);
    start = at;
    isOrdered = true;
  }
}

/** Sorts rows of one value by their unpriced transfers. The sort is stable. */
function sortRows(columns: NeighbourColumns, start: number, end: number): void {
  const { unpriced } = columns;
  const order = Uint32Array.from({ length: end - start }, (_, at) => start + at);
  order.sort((a, b) => (unpriced[b] as number) - (unpriced[a] as number) || a - b);
  for (const column of Object.values(columns) as (Uint32Array | Float64Array)[]) {
    const moved = column.slice(start, end);
    for (const [at, from] of order.entries()) column[start + at] = moved[from - start] as number;
  }
}

function writeColumns(into: NeighbourColumns, index: number, totals: EdgeTotals): void {
  into.ids[index] = totals.counterparty;
  into.valueUsd[index] = totals.cents / 100;
  into.transfers[index] = totals.transfers;
  into.unpriced[index] = totals.unpriced;
  into.firstSeenMs[index] = totals.firstSeenMs;
  into.lastSeenMs[index] = totals.lastSeenMs;
}

/** Caps the requested number of counterparties. */
export const cappedCounterparties = (limit: number): number =>
  Math.min(Math.max(0, limit), GRAPH_LIMITS.counterpartiesMax);
