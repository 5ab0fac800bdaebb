/**
 * The transfer store as of the end of an earlier day. Edges that were first seen later are hidden. Edges that continued after it are cut to
 * the amounts moved by then, if the store has amounts by day (edge-days.ts).
 */

import { isoTime } from '../base/clock.ts';
import { addUsd } from '../base/figures.ts';
import type { AddressKey } from '../chains/address/address.ts';
import { dayOf, partSince, startOfDay } from './edge-days.ts';
import type { AssetFlow, Direction } from './flow.ts';
import {
  type AssetSums,
  createNeighbourColumns,
  type EdgeDetail,
  edgeBetween,
  type NeighbourColumns,
  type NodeId,
  type RowQuery,
  type RowScan,
  type TransferGraph,
} from './graph.ts';
import { GRAPH_LIMITS } from './limits.ts';
import type { AddressTotals, Flow, TransferReader } from './transfers.ts';

/** Returns the sums of an asset of an edge as of the end of a day. Null if nothing had moved by then. */
function detailUntil(sum: EdgeDetail, untilMs: number): EdgeDetail | null {
  if (sum.firstSeenMs > untilMs) return null;
  if (sum.lastSeenMs <= untilMs) return sum;
  const later = partSince(sum, dayOf(untilMs) + 1);
  // All of it is later: the store has no days of this edge, or dropped them. The whole edge is shown.
  if (later.transfers === 0 || later.transfers === sum.transfers) return sum;
  const transfers = sum.transfers - later.transfers;
  const amount = sum.amount - later.amount;
  const part = sum.amount === 0n ? 0 : Number(amount) / Number(sum.amount);
  const days = sum.days.filter(({ day }) => startOfDay(day) <= untilMs);
  return {
    ...sum,
    transfers,
    amount,
    valueUsd: sum.valueUsd === null ? null : Math.round(100 * sum.valueUsd * part) / 100,
    unpricedTransfers: Math.round((sum.unpricedTransfers * transfers) / sum.transfers),
    lastSeenMs: Math.max(sum.firstSeenMs, startOfDay(days[0]?.day ?? 0)),
    days: days.length > 1 ? days : [],
  };
}

/** Returns columns with room for a row. Allocates new ones if needed. */
function columnsFor(columns: NeighbourColumns, count: number): NeighbourColumns {
  return columns.ids.length >= count ? columns : createNeighbourColumns(2 * count);
}

/** One edge of a reconstructed row. */
interface SeenEdge {
  readonly id: NodeId;
  readonly weight: number;
  readonly valueUsd: number;
  readonly transfers: number;
  readonly unpriced: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

function putEdge(columns: NeighbourColumns, at: number, edge: SeenEdge): void {
  columns.ids[at] = edge.id;
  columns.weight[at] = edge.weight;
  columns.valueUsd[at] = edge.valueUsd;
  columns.transfers[at] = edge.transfers;
  columns.unpriced[at] = edge.unpriced;
  columns.firstSeenMs[at] = edge.firstSeenMs;
  columns.lastSeenMs[at] = edge.lastSeenMs;
}

const edgeAt = (columns: NeighbourColumns, at: number): SeenEdge => ({
  id: columns.ids[at] as NodeId,
  weight: columns.weight[at] as number,
  valueUsd: columns.valueUsd[at] as number,
  transfers: columns.transfers[at] as number,
  unpriced: columns.unpriced[at] as number,
  firstSeenMs: columns.firstSeenMs[at] as number,
  lastSeenMs: columns.lastSeenMs[at] as number,
});

/** Adds up the assets of an edge that were seen by then. Null if there are none. */
function sumSeen(
  id: NodeId,
  sums: readonly EdgeDetail[],
  weightOf: (sum: EdgeDetail) => number,
): SeenEdge | null {
  if (sums.length === 0) return null;
  const total = (of: (sum: EdgeDetail) => number): number => sums.reduce((all, sum) => all + of(sum), 0);
  return {
    id,
    weight: total(weightOf),
    valueUsd: Math.round(100 * total(({ valueUsd }) => valueUsd ?? 0)) / 100,
    transfers: total(({ transfers }) => transfers),
    unpriced: total(({ unpricedTransfers }) => unpricedTransfers),
    firstSeenMs: Math.min(...sums.map(({ firstSeenMs }) => firstSeenMs)),
    lastSeenMs: Math.max(...sums.map(({ lastSeenMs }) => lastSeenMs)),
  };
}

/** Rows of a graph as of the end of a day. */
class SeenRows {
  readonly #graph: TransferGraph;
  readonly #untilMs: number;
  #columns = createNeighbourColumns(0);

  constructor(graph: TransferGraph, untilMs: number) {
    this.#graph = graph;
    this.#untilMs = untilMs;
  }

  edge(from: NodeId, to: NodeId): EdgeDetail[] {
    const seen = this.#graph.edge(from, to).flatMap((sum) => detailUntil(sum, this.#untilMs) ?? []);
    return seen.sort((a, b) => b.transfers - a.transfers);
  }

  neighbours(node: NodeId, direction: Direction, limit: number, into: NeighbourColumns): number {
    const count = this.#graph.neighbours(node, direction, limit, into);
    const seen: SeenEdge[] = [];
    for (let at = 0; at < count; at++) {
      const edge = edgeAt(into, at);
      if (edge.firstSeenMs > this.#untilMs) continue;
      const cut =
        edge.lastSeenMs <= this.#untilMs
          ? edge
          : sumSeen(edge.id, edgeBetween(this, node, direction, edge.id), () => edge.weight);
      if (cut !== null) seen.push(cut);
    }
    seen.sort((a, b) => b.valueUsd - a.valueUsd || b.unpriced - a.unpriced || a.id - b.id);
    for (const [at, edge] of seen.entries()) putEdge(into, at, edge);
    return seen.length;
  }

  /** Like `TransferGraph.row`. Weight that moved later counts as hidden. */
  row(node: NodeId, direction: Direction, query: RowQuery, into: NeighbourColumns): RowScan {
    const untilMs = Math.min(query.seenUntilMs, this.#untilMs);
    const degree = this.#graph.degree(node, direction);
    const limit = degree > GRAPH_LIMITS.rowScanMax ? query.limit : degree;
    const columns = columnsFor(this.#columns, limit);
    this.#columns = columns;
    const { enough: _, ...whole } = query;
    const all = { ...whole, seenUntilMs: untilMs, least: Number.NEGATIVE_INFINITY, limit };
    const scan = this.#graph.row(node, direction, all, columns);
    const weightOf = this.#weigher(query);
    const heavy: SeenEdge[] = [];
    const light = { edges: 0, transfers: 0, weight: 0, valueUsd: 0 };
    let { hiddenWeight } = scan;
    for (let at = 0; at < scan.count; at++) {
      const edge = edgeAt(columns, at);
      const cut =
        edge.lastSeenMs > untilMs ? weightOf(edge.id, edgeBetween(this, node, direction, edge.id)) : edge;
      if (cut !== null && query.rates !== null) hiddenWeight += edge.weight - cut.weight;
      if (cut === null) continue;
      if (cut.weight >= query.least) {
        heavy.push(cut);
        continue;
      }
      light.edges++;
      light.transfers += cut.transfers;
      light.weight += cut.weight;
      light.valueUsd += cut.valueUsd;
    }
    heavy.sort((a, b) => b.weight - a.weight || a.id - b.id);
    const count = Math.min(query.limit, heavy.length);
    for (let at = 0; at < count; at++) putEdge(into, at, heavy[at] as SeenEdge);
    return { count, heavy: heavy.length, light, hiddenWeight, isPartial: scan.isPartial };
  }

  /** Returns a function that weighs an edge like the query. */
  #weigher({
    evidence,
    rates,
    without,
  }: RowQuery): (id: NodeId, sums: readonly EdgeDetail[]) => SeenEdge | null {
    const rateOf = new Map<string, number>();
    for (const asset of evidence.keys()) rateOf.set(this.#graph.assetName(asset), rates?.get(asset) ?? 0);
    return (id, sums) => {
      const left = without?.counterparty === id ? this.#graph.assetName(without.asset) : null;
      const known = sums.filter(
        ({ asset, amount }) => asset !== left && rateOf.has(asset) && (rates === null || amount > 0n),
      );
      const found = sumSeen(id, known, ({ asset, amount }) => (rateOf.get(asset) ?? 0) * Number(amount));
      if (found === null || rates !== null) return found;
      const amount = known.reduce((sum, one) => sum + Number(one.amount), 0);
      return { ...found, weight: found.valueUsd > 0 ? found.valueUsd : -1 / (1 + amount) };
    };
  }
}

/** Adds up the assets of many edges. */
class FlowSum {
  readonly #assets = new Map<string, AssetFlow>();

  add({ asset, decimals, transfers, amount, valueUsd, unpricedTransfers }: AssetFlow): void {
    const known = this.#assets.get(asset);
    this.#assets.set(asset, {
      asset,
      decimals,
      transfers: transfers + (known?.transfers ?? 0),
      amount: amount + (known?.amount ?? 0n),
      valueUsd: addUsd(known?.valueUsd ?? null, valueUsd),
      unpricedTransfers: unpricedTransfers + (known?.unpricedTransfers ?? 0),
    });
  }

  flow(): Flow {
    const byAsset = [...this.#assets.values()].sort(
      (a, b) => b.transfers - a.transfers || (a.asset < b.asset ? -1 : 1),
    );
    return {
      transfers: byAsset.reduce((sum, { transfers }) => sum + transfers, 0),
      unpricedTransfers: byAsset.reduce((sum, { unpricedTransfers }) => sum + unpricedTransfers, 0),
      valueUsd: byAsset.reduce<number | null>((sum, { valueUsd }) => addUsd(sum, valueUsd), null),
      byAsset,
    };
  }
}

/** The asset sums of a node's visible edges in one direction. */
function visibleSums(graph: TransferGraph, node: NodeId, direction: Direction): readonly AssetFlow[] {
  const columns = createNeighbourColumns(
    Math.min(graph.degree(node, direction), GRAPH_LIMITS.counterpartiesMax),
  );
  const count = graph.neighbours(node, direction, columns.ids.length, columns);
  const sum = new FlowSum();
  for (let at = 0; at < count; at++) {
    const other = columns.ids[at] as NodeId;
    for (const asset of edgeBetween(graph, node, direction, other)) sum.add(asset);
  }
  return sum.flow().byAsset;
}

/** What moved later along the edges of a node, of one asset and in one direction. */
interface LaterSums {
  transfers: number;
  unpriced: number;
  cents: number;
  amount: bigint;
}

const centsOf = (valueUsd: number | null): number => Math.round((valueUsd ?? 0) * 100);

/** Adds up what moved later along the edges of a node. Null if nothing did. */
function laterSums(
  graph: TransferGraph,
  node: NodeId,
  direction: Direction,
  untilMs: number,
): ReadonlyMap<string, LaterSums> | null {
  const columns = createNeighbourColumns(graph.degree(node, direction));
  const count = graph.neighbours(node, direction, columns.ids.length, columns);
  const sums = new Map<string, LaterSums>();
  for (let at = 0; at < count; at++) {
    if ((columns.lastSeenMs[at] as number) <= untilMs) continue;
    for (const whole of edgeBetween(graph, node, direction, columns.ids[at] as NodeId)) {
      const seen = detailUntil(whole, untilMs);
      if (seen === whole) continue;
      const sum = sums.get(whole.asset) ?? { transfers: 0, unpriced: 0, cents: 0, amount: 0n };
      sum.transfers += whole.transfers - (seen?.transfers ?? 0);
      sum.unpriced += whole.unpricedTransfers - (seen?.unpricedTransfers ?? 0);
      sum.cents += centsOf(whole.valueUsd) - centsOf(seen?.valueUsd ?? null);
      sum.amount += whole.amount - (seen?.amount ?? 0n);
      sums.set(whole.asset, sum);
    }
  }
  return sums.size === 0 ? null : sums;
}

/** Below this part of a sum, the difference of two doubles has lost its digits. */
const EXACT_PART_MIN = 1e-6;

/**
 * Returns the sums of a node in one direction without what moved later along its edges. Transfers without a counterparty have no times and
 * remain.
 */
function sumsUntil(
  graph: TransferGraph,
  node: NodeId,
  direction: Direction,
  untilMs: number,
): readonly AssetSums[] {
  const whole = graph.sums(node)[direction];
  const later = laterSums(graph, node, direction, untilMs);
  if (later === null) return whole;
  let all: Map<string, AssetFlow> | null = null;
  return whole.flatMap((sums): AssetSums[] => {
    const name = graph.assetName(sums.asset);
    const hidden = later.get(name);
    if (hidden === undefined) return [sums];
    const transfers = sums.transfers - hidden.transfers;
    if (transfers <= 0) return [];
    const unpriced = Math.max(0, sums.unpriced - hidden.unpriced);
    const cents = Math.max(0, sums.cents - hidden.cents);
    let amount = sums.amount - Number(hidden.amount);
    if (amount < EXACT_PART_MIN * sums.amount) {
      all ??= new Map(visibleSums(graph, node, direction).map((flow) => [flow.asset, flow]));
      const moved = all.get(name);
      // What moved without a counterparty is known only as a difference, too.
      const without =
        moved === undefined || moved.transfers === sums.transfers ? 0 : sums.amount - Number(moved.amount);
      amount = Number((moved?.amount ?? 0n) - hidden.amount) + Math.max(0, without);
    }
    amount = Math.max(0, amount);
    return [
      {
        asset: sums.asset,
        transfers,
        unpriced,
        cents,
        amount,
        pricedAmount: pricedPart(sums, unpriced, cents, amount),
      },
    ];
  });
}

/** Edges do not have the priced part of their amount: the rate of all transfers of the address is used. */
const pricedPart = (
  { cents: wholeCents, pricedAmount }: AssetSums,
  unpriced: number,
  cents: number,
  amount: number,
): number =>
  unpriced === 0 || wholeCents === 0 ? amount : Math.min(amount, (cents * pricedAmount) / wholeCents);

/**
 * Returns a graph without transfers after the end of a day. `degree` is still that of the whole graph: an upper bound. `neighbours` reads
 * the first `limit` rows of the whole graph, so it may return fewer than exist.
 *
 * The sums of an address exclude what moved later, because they decide how its value is weighed and which asset it passes on. An address
 * with more than `GRAPH_LIMITS.counterpartiesMax` counterparties, other than the start, has its whole sums, and its rows report the weight
 * that is hidden.
 *
 * @param untilMs end of a day (UTC), milliseconds since the epoch; transfers at this time or before are visible
 * @param start the subject, if it was active later: its sums are those of its visible edges alone
 */
export function graphUntil(
  graph: TransferGraph,
  untilMs: number,
  start: NodeId | null = null,
): TransferGraph {
  const sumsOf = new Map<NodeId, ReturnType<TransferGraph['sums']>>();
  const rows = new SeenRows(graph, untilMs);
  const isWhole = (node: NodeId): boolean =>
    node !== start &&
    Math.max(graph.degree(node, 'in'), graph.degree(node, 'out')) > GRAPH_LIMITS.counterpartiesMax;
  const view: TransferGraph = {
    chain: graph.chain,
    nodeCount: graph.nodeCount,
    idOf: (key) => graph.idOf(key),
    keyOf: (node) => graph.keyOf(node),
    ...(graph.peekKey && { peekKey: (node) => graph.peekKey?.(node) ?? graph.keyOf(node) }),
    addressOf: (node) => graph.addressOf(node),
    ...(graph.texts && { texts: graph.texts }),
    assetName: (asset) => graph.assetName(asset),
    degree: (node, direction) => graph.degree(node, direction),
    neighbours: (node, direction, limit, into) => rows.neighbours(node, direction, limit, into),
    edge: (from, to) => rows.edge(from, to),
    sums(node) {
      if (isWhole(node)) return graph.sums(node);
      let sums = sumsOf.get(node);
      if (sums === undefined) {
        sums =
          node === start
            ? sumsOfStart()
            : {
                in: sumsUntil(graph, node, 'in', untilMs),
                out: sumsUntil(graph, node, 'out', untilMs),
              };
        sumsOf.set(node, sums);
      }
      return sums;
    },
    row(node, direction, query, into) {
      const scan = rows.row(node, direction, query, into);
      // The sums include nothing hidden.
      return isWhole(node) ? scan : { ...scan, hiddenWeight: 0 };
    },
    ...(graph.prefetch && { prefetch: (next) => graph.prefetch?.(next) }),
  };

  function sumsOfStart(): ReturnType<TransferGraph['sums']> {
    const node = start as NodeId;
    const whole = graph.sums(node);
    const visible = (direction: Direction): readonly AssetSums[] => {
      const seen = new Map(visibleSums(view, node, direction).map((flow) => [flow.asset, flow]));
      const all = new Map(visibleSums(graph, node, direction).map((flow) => [flow.asset, flow]));
      return whole[direction].flatMap((sums): AssetSums[] => {
        const name = graph.assetName(sums.asset);
        const flow = seen.get(name);
        // Nothing of this asset is hidden, so transfers without a counterparty count as well.
        if (flow !== undefined && flow.transfers === all.get(name)?.transfers) return [sums];
        if (flow === undefined) return [];
        const amount = Number(flow.amount);
        const cents = centsOf(flow.valueUsd);
        const unpriced = flow.unpricedTransfers;
        const pricedAmount = pricedPart(sums, unpriced, cents, amount);
        return [{ asset: sums.asset, transfers: flow.transfers, unpriced, cents, amount, pricedAmount }];
      });
    };
    return { in: visible('in'), out: visible('out') };
  }

  return view;
}

/**
 * Returns the transfers of all chains as of an earlier time. The totals of an address that was active later are added up from its visible
 * edges: without coinbases, mints and fees, without transfers to itself, and without a count of transactions.
 *
 * @param untilMs milliseconds since the epoch
 */
export function transfersUntil(transfers: TransferReader, untilMs: number): TransferReader {
  const graphOf: TransferReader['graph'] = (chain) => {
    const graph = transfers.graph(chain);
    return graph === null ? null : graphUntil(graph, untilMs);
  };

  function sumOf(graph: TransferGraph, node: NodeId, direction: Direction, seen: Times): Flow {
    const columns = createNeighbourColumns(
      Math.min(graph.degree(node, direction), GRAPH_LIMITS.counterpartiesMax),
    );
    const count = graph.neighbours(node, direction, columns.ids.length, columns);
    const sum = new FlowSum();
    for (let at = 0; at < count; at++) {
      const other = columns.ids[at] as NodeId;
      for (const asset of edgeBetween(graph, node, direction, other)) {
        sum.add(asset);
        seen.firstSeenMs = Math.min(seen.firstSeenMs, asset.firstSeenMs);
        seen.lastSeenMs = Math.max(seen.lastSeenMs, Math.min(asset.lastSeenMs, untilMs));
      }
    }
    return sum.flow();
  }

  function totals(chain: TransferGraph['chain'], key: AddressKey): AddressTotals | null {
    const whole = transfers.totals(chain, key);
    if (whole === null || whole.lastSeenMs <= untilMs) return whole;
    if (whole.firstSeenMs > untilMs) return null;
    const graph = graphOf(chain);
    const node = graph?.idOf(key) ?? null;
    if (graph === null || node === null) return null;
    const seen = { firstSeenMs: Number.POSITIVE_INFINITY, lastSeenMs: Number.NEGATIVE_INFINITY };
    const flows = { in: sumOf(graph, node, 'in', seen), out: sumOf(graph, node, 'out', seen) };
    if (flows.in.transfers + flows.out.transfers === 0) return null;
    return { ...flows, selfTransfers: 0, transactions: null, ...seen };
  }

  return {
    counterparties: (chain, key, options) =>
      transfers.counterparties(chain, key, options).filter(({ firstSeenMs }) => firstSeenMs <= untilMs),
    counterpartyCount: (chain, key, direction) => transfers.counterpartyCount(chain, key, direction),
    totals,
    newest: (chain, from, to, limit) =>
      transfers
        .newest(chain, from, to, GRAPH_LIMITS.recentTransfersPerAddress)
        .filter(({ timestampMs }) => timestampMs <= untilMs)
        .slice(0, limit),
    recent: (chain, key, limit, isWanted = () => true) =>
      transfers
        .recent(chain, key, GRAPH_LIMITS.recentTransfersPerAddress)
        .filter(({ timestampMs }) => timestampMs <= untilMs)
        .slice(0, limit)
        .filter((transfer) => isWanted(transfer, () => transfer.counterparty?.key ?? null)),
    transaction(chain, txHashes, limit) {
      const found = transfers.transaction(chain, txHashes, limit);
      if (found === null) return null;
      const seen = found.transfers.filter(({ timestampMs }) => timestampMs <= untilMs);
      return { ...found, transfers: seen, total: found.total - (found.transfers.length - seen.length) };
    },
    daily(chain, key, limitDays) {
      const last = isoTime(untilMs).slice(0, 10);
      const all = transfers.daily(chain, key, GRAPH_LIMITS.recentTransfersPerAddress);
      const days = all.days.filter(({ day }) => day <= last);
      return { days: days.slice(0, limitDays), isComplete: all.isComplete || days.length >= limitDays };
    },
    graph: graphOf,
    blocks: (chain) => transfers.blocks(chain),
    coverage(chain) {
      const now = transfers.coverage(chain);
      const isLater = now.asOf !== null && Date.parse(now.asOf) > untilMs;
      return isLater ? { ...now, asOf: isoTime(untilMs) } : now;
    },
    close: () => transfers.close(),
  };
}

interface Times {
  firstSeenMs: number;
  lastSeenMs: number;
}
