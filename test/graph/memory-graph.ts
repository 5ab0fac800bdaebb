/** A transfer graph in memory, for tests of code that walks graphs. */
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { EdgeDay } from '../../src/graph/edge-days.ts';
import type { Direction } from '../../src/graph/flow.ts';
import type { AssetSums, NodeId, RowQuery, RowScan, TransferGraph } from '../../src/graph/graph.ts';

/** All transfers of one asset from one node to another. */
export interface MemoryEdge {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly valueUsd?: number;
  readonly transfers?: number;
  readonly unpriced?: number;
  /** Default: ETH. */
  readonly asset?: string;
  /** In smallest units. Default: one unit per cent, plus 10,000 per transfer without a price; 1 if neither is given. */
  readonly amount?: number;
  /** The part of the amount of which `valueUsd` is the value. Default: one unit per cent; all of it if every transfer has a price. */
  readonly pricedAmount?: number;
  readonly firstSeenMs?: number;
  readonly lastSeenMs?: number;
  /** Amounts by day, newest first. Default: not kept. */
  readonly days?: readonly EdgeDay[];
}

/** The same edges with an amount of at least 1, so that every counterparty counts towards the limit if no value is dust. */
export const withAmounts = (edges: readonly MemoryEdge[]): MemoryEdge[] =>
  edges.map((edge) => ({ ...edge, amount: Math.max(1, amountOf(edge)) }));

interface Row {
  readonly id: NodeId;
  readonly weight: number;
  readonly valueUsd: number;
  readonly transfers: number;
  readonly unpriced: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Date.UTC(2024, 0, 1);

/** The n-th day of the test calendar, in milliseconds. */
export const day = (number: number): number => FIRST_DAY_MS + number * DAY_MS;

export const amountOf = ({ amount, valueUsd, unpriced }: MemoryEdge): number =>
  amount ??
  (valueUsd === undefined && unpriced === undefined
    ? 1
    : Math.round((valueUsd ?? 0) * 100) + (unpriced ?? 0) * 10_000);

export const pricedAmountOf = (edge: MemoryEdge): number =>
  edge.pricedAmount ??
  ((edge.unpriced ?? 0) === 0
    ? amountOf(edge)
    : Math.min(amountOf(edge), Math.round((edge.valueUsd ?? 0) * 100)));

const filled = (edge: MemoryEdge): Required<MemoryEdge> => {
  const firstSeenMs = edge.firstSeenMs ?? day(0);
  return {
    from: edge.from,
    to: edge.to,
    valueUsd: edge.valueUsd ?? 0,
    transfers: edge.transfers ?? 1,
    unpriced: edge.unpriced ?? 0,
    asset: edge.asset ?? 'ETH',
    amount: amountOf(edge),
    pricedAmount: pricedAmountOf(edge),
    firstSeenMs,
    lastSeenMs: edge.lastSeenMs ?? firstSeenMs,
    days: edge.days ?? [],
  };
};

/**
 * Builds a graph of edges. A pair may occur once for each asset, greatest value first. Self-transfers are allowed and left out. Nodes have
 * the EVM addresses of their numbers.
 */
export function memoryGraph(edges: readonly MemoryEdge[], chain: ChainId = 'ETH'): TransferGraph {
  const nodeCount = edges.reduce((most, { from, to }) => Math.max(most, from, to), 0);
  const lists: Readonly<Record<Direction, Map<NodeId, Required<MemoryEdge>[]>>> = {
    in: new Map(),
    out: new Map(),
  };
  const otherOf = (edge: MemoryEdge, direction: Direction): NodeId =>
    direction === 'out' ? edge.to : edge.from;
  const add = (direction: Direction, node: NodeId, edge: Required<MemoryEdge>): void => {
    const list = lists[direction].get(node) ?? [];
    list.push(edge);
    lists[direction].set(node, list);
  };
  for (const edge of edges.map(filled)) {
    if (edge.from === edge.to) continue;
    add('out', edge.from, edge);
    add('in', edge.to, edge);
  }
  for (const direction of ['in', 'out'] as const)
    for (const list of lists[direction].values())
      list.sort(
        (a, b) =>
          b.valueUsd - a.valueUsd || b.unpriced - a.unpriced || otherOf(a, direction) - otherOf(b, direction),
      );

  const addressOf = (node: NodeId): string => `0x${node.toString(16).padStart(40, '0')}`;
  const assets = [...new Set(edges.map((edge) => edge.asset ?? 'ETH'))];
  const numberOf = (asset: string): number => 1 + assets.indexOf(asset);
  const others = (node: NodeId, direction: Direction): NodeId[] => [
    ...new Set((lists[direction].get(node) ?? []).map((edge) => otherOf(edge, direction))),
  ];
  const sumsOf = (node: NodeId, direction: Direction): AssetSums[] =>
    assets.flatMap((asset) => {
      const list = (lists[direction].get(node) ?? []).filter((edge) => edge.asset === asset);
      const sum = (of: (edge: Required<MemoryEdge>) => number): number =>
        list.reduce((total, edge) => total + of(edge), 0);
      if (list.length === 0) return [];
      return [
        {
          asset: numberOf(asset),
          transfers: sum((edge) => edge.transfers),
          unpriced: sum((edge) => edge.unpriced),
          cents: sum((edge) => Math.round(edge.valueUsd * 100)),
          amount: sum((edge) => edge.amount),
          pricedAmount: sum((edge) => edge.pricedAmount),
        },
      ];
    });

  /** Reads one row, straight from the definition. */
  function row(node: NodeId, direction: Direction, query: RowQuery): { scan: RowScan; rows: Row[] } {
    const light = { edges: 0, transfers: 0, weight: 0, valueUsd: 0 };
    let hiddenWeight = 0;
    const rows: Row[] = [];
    for (const other of others(node, direction)) {
      const known = (lists[direction].get(node) ?? []).filter(
        (edge) =>
          otherOf(edge, direction) === other &&
          query.evidence.has(numberOf(edge.asset)) &&
          !(query.without?.counterparty === other && query.without.asset === numberOf(edge.asset)) &&
          (query.rates === null || edge.amount > 0),
      );
      const weightOf = (edge: Required<MemoryEdge>): number =>
        (query.rates?.get(numberOf(edge.asset)) ?? 0) * edge.amount;
      const shown = known.filter((edge) => edge.firstSeenMs <= query.seenUntilMs);
      for (const edge of known) if (!shown.includes(edge)) hiddenWeight += weightOf(edge);
      if (shown.length === 0) continue;
      const sum = (of: (edge: Required<MemoryEdge>) => number): number =>
        shown.reduce((total, edge) => total + of(edge), 0);
      const valueUsd = sum((edge) => Math.round(edge.valueUsd * 100)) / 100;
      const ranked = valueUsd > 0 ? valueUsd : -1 / (1 + sum((edge) => edge.amount));
      const found: Row = {
        id: other,
        weight: query.rates === null ? ranked : sum(weightOf),
        valueUsd,
        transfers: sum((edge) => edge.transfers),
        unpriced: sum((edge) => edge.unpriced),
        firstSeenMs: Math.min(...shown.map((edge) => edge.firstSeenMs)),
        lastSeenMs: Math.max(...shown.map((edge) => edge.lastSeenMs)),
      };
      if (found.weight >= query.least) rows.push(found);
      if (found.weight < (query.lightBelow ?? query.least)) {
        light.edges++;
        light.transfers += found.transfers;
        light.weight += found.weight;
        light.valueUsd = Math.round(100 * (light.valueUsd + found.valueUsd)) / 100;
      }
    }
    rows.sort((a, b) => b.weight - a.weight || a.id - b.id);
    const count = Math.min(query.limit, rows.length);
    const heavy = rows.filter(({ weight }) => weight >= (query.lightBelow ?? query.least)).length;
    return { scan: { count, heavy, light, hiddenWeight, isPartial: false }, rows };
  }

  return {
    chain,
    nodeCount,
    idOf: (key) => {
      const node = Buffer.from(key).readUInt32BE(key.length - 4);
      return node > 0 && node <= nodeCount ? node : null;
    },
    keyOf: (node) => parseAddress(chain, addressOf(node)).key,
    addressOf,
    degree: (node, direction) => others(node, direction).length,
    sums: (node) => ({ in: sumsOf(node, 'in'), out: sumsOf(node, 'out') }),
    assetName: (asset) => assets[asset - 1] as string,
    row(node, direction, query, into) {
      const { scan, rows } = row(node, direction, query);
      for (const [at, found] of rows.slice(0, scan.count).entries()) {
        const { id, ...columns } = found;
        into.ids[at] = id;
        for (const [name, value] of Object.entries(columns)) into[name as keyof typeof columns][at] = value;
      }
      return scan;
    },
    neighbours(node, direction, limit, into) {
      const list = (lists[direction].get(node) ?? []).slice(0, limit);
      for (const [at, edge] of list.entries()) {
        into.ids[at] = otherOf(edge, direction);
        into.valueUsd[at] = edge.valueUsd;
        into.transfers[at] = edge.transfers;
        into.unpriced[at] = edge.unpriced;
        into.firstSeenMs[at] = edge.firstSeenMs;
        into.lastSeenMs[at] = edge.lastSeenMs;
      }
      return list.length;
    },
    edge: (from, to) =>
      (lists.out.get(from) ?? [])
        .filter((edge) => edge.to === to)
        .map(({ asset, amount, transfers, valueUsd, unpriced, firstSeenMs, lastSeenMs, days }) => ({
          asset,
          decimals: 18,
          transfers,
          amount: BigInt(amount),
          valueUsd: valueUsd === 0 && unpriced > 0 ? null : valueUsd,
          unpricedTransfers: unpriced,
          firstSeenMs,
          lastSeenMs,
          days,
        })),
  };
}
