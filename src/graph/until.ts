/**
 * The transfer store as of an earlier time. Edges that were first seen later are hidden. An edge is an aggregate: one that was
 * seen before and after the time is shown whole, so an answer that is made of it is a part of the truth only.
 */
import { isoTime } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { AddressKey } from '../chains/address/address.ts';
import type { AssetFlow, Direction } from './flow.ts';
import {
  type AssetSums,
  createNeighbourColumns,
  type NeighbourColumns,
  type NodeId,
  type TransferGraph,
} from './graph.ts';
import type { AddressTotals, Flow, TransferReader } from './transfers.ts';

/** Moves the rows that were seen by `untilMs` to the front, and returns how many there are. */
function keepSeen(columns: NeighbourColumns, count: number, untilMs: number): number {
  const all: readonly (Uint32Array | Float64Array)[] = Object.values(columns);
  let kept = 0;
  for (let at = 0; at < count; at++) {
    if ((columns.firstSeenMs[at] as number) > untilMs) continue;
    if (kept < at) for (const column of all) column[kept] = column[at] as number;
    kept++;
  }
  return kept;
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

const addUsd = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : Math.round(((a ?? 0) + (b ?? 0)) * 100) / 100;

/** The asset sums of a node's visible edges in one direction. */
function visibleSums(graph: TransferGraph, node: NodeId, direction: Direction): readonly AssetFlow[] {
  const columns = createNeighbourColumns(Math.min(graph.degree(node, direction), LIMITS.counterpartiesMax));
  const count = graph.neighbours(node, direction, columns.ids.length, columns);
  const sum = new FlowSum();
  for (let at = 0; at < count; at++) {
    const other = columns.ids[at] as NodeId;
    for (const asset of direction === 'in' ? graph.edge(other, node) : graph.edge(node, other))
      sum.add(asset);
  }
  return sum.flow().byAsset;
}

/**
 * A graph without the edges that were first seen later.
 *
 * @param untilMs - Milliseconds since the epoch; edges first seen at this time or before are shown.
 * @param start - The address that the answer is about: its sums are those of its visible edges. The sums of other addresses are those
 * of the whole graph, and rows report the weight that is hidden.
 * @returns A view. `degree` is still that of the whole graph: an upper bound. `neighbours` reads the first `limit` rows of the
 * whole graph, so it may show fewer than there are.
 */
export function graphUntil(
  graph: TransferGraph,
  untilMs: number,
  start: NodeId | null = null,
): TransferGraph {
  let startSums: ReturnType<TransferGraph['sums']> | null = null;
  const view: TransferGraph = {
    chain: graph.chain,
    nodeCount: graph.nodeCount,
    idOf: (key) => graph.idOf(key),
    keyOf: (node) => graph.keyOf(node),
    addressOf: (node) => graph.addressOf(node),
    assetName: (asset) => graph.assetName(asset),
    degree: (node, direction) => graph.degree(node, direction),
    neighbours: (node, direction, limit, into) =>
      keepSeen(into, graph.neighbours(node, direction, limit, into), untilMs),
    edge: (from, to) => graph.edge(from, to).filter(({ firstSeenMs }) => firstSeenMs <= untilMs),
    sums(node) {
      if (node !== start) return graph.sums(node);
      startSums ??= sumsOfStart();
      return startSums;
    },
    row(node, direction, query, into) {
      const scan = graph.row(
        node,
        direction,
        { ...query, seenUntilMs: Math.min(query.seenUntilMs, untilMs) },
        into,
      );
      // The sums of the start have nothing hidden in them.
      return node === start ? { ...scan, hiddenWeight: 0 } : scan;
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
        // Nothing of this asset is hidden: then what has no counterparty counts as well.
        if (flow !== undefined && flow.transfers === all.get(name)?.transfers) return [sums];
        if (flow === undefined) return [];
        const amount = Number(flow.amount);
        const cents = Math.round((flow.valueUsd ?? 0) * 100);
        return [
          {
            asset: sums.asset,
            transfers: flow.transfers,
            unpriced: flow.unpricedTransfers,
            cents,
            amount,
            // Edges do not say which part of their amount has a price: the rate is that of all transfers of the address.
            pricedAmount:
              flow.unpricedTransfers === 0 || sums.cents === 0
                ? amount
                : Math.min(amount, (cents * sums.pricedAmount) / sums.cents),
          },
        ];
      });
    };
    return { in: visible('in'), out: visible('out') };
  }

  return view;
}

/**
 * The transfers of all chains as of an earlier time.
 *
 * @param untilMs - Milliseconds since the epoch.
 * @returns A reader. The totals of an address that was active later are added up from its visible edges: without coinbases, mints and
 * fees, without transfers to itself, and without a count of transactions.
 */
export function transfersUntil(transfers: TransferReader, untilMs: number): TransferReader {
  const graphOf: TransferReader['graph'] = (chain) => {
    const graph = transfers.graph(chain);
    return graph === null ? null : graphUntil(graph, untilMs);
  };

  function sumOf(graph: TransferGraph, node: NodeId, direction: Direction, seen: Times): Flow {
    const columns = createNeighbourColumns(Math.min(graph.degree(node, direction), LIMITS.counterpartiesMax));
    const count = graph.neighbours(node, direction, columns.ids.length, columns);
    const sum = new FlowSum();
    for (let at = 0; at < count; at++) {
      const other = columns.ids[at] as NodeId;
      const edge = direction === 'in' ? graph.edge(other, node) : graph.edge(node, other);
      for (const asset of edge) {
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
        .newest(chain, from, to, LIMITS.recentTransfersPerAddress)
        .filter(({ timestampMs }) => timestampMs <= untilMs)
        .slice(0, limit),
    recent: (chain, key, limit) =>
      transfers
        .recent(chain, key, LIMITS.recentTransfersPerAddress)
        .filter(({ timestampMs }) => timestampMs <= untilMs)
        .slice(0, limit),
    daily(chain, key, limitDays) {
      const last = isoTime(untilMs).slice(0, 10);
      const all = transfers.daily(chain, key, LIMITS.recentTransfersPerAddress);
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
