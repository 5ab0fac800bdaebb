/** A transfer graph in memory, for tests of whatever walks graphs. */
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Direction } from '../../src/graph/flow.ts';
import type { NodeId, TransferGraph } from '../../src/graph/graph.ts';

/** All that went from one node to another. */
export interface MemoryEdge {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly valueUsd?: number;
  readonly transfers?: number;
  readonly unpriced?: number;
  readonly firstSeenMs?: number;
  readonly lastSeenMs?: number;
}

const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Date.UTC(2024, 0, 1);

/** The n-th day of the test calendar, in milliseconds. */
export const day = (number: number): number => FIRST_DAY_MS + number * DAY_MS;

const filled = (edge: MemoryEdge): Required<MemoryEdge> => {
  const firstSeenMs = edge.firstSeenMs ?? day(0);
  return {
    from: edge.from,
    to: edge.to,
    valueUsd: edge.valueUsd ?? 0,
    transfers: edge.transfers ?? 1,
    unpriced: edge.unpriced ?? 0,
    firstSeenMs,
    lastSeenMs: edge.lastSeenMs ?? firstSeenMs,
  };
};

/**
 * Edges of a pair that is named twice are two edges: name each once. Self-transfers may be named, and are left out. Nodes have the
 * EVM address of their number.
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
  return {
    chain,
    nodeCount,
    idOf: (key) => {
      const node = Buffer.from(key).readUInt32BE(key.length - 4);
      return node > 0 && node <= nodeCount ? node : null;
    },
    keyOf: (node) => parseAddress(chain, addressOf(node)).key,
    addressOf,
    degree: (node, direction) => lists[direction].get(node)?.length ?? 0,
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
    edge(from, to) {
      const found = lists.out.get(from)?.find((edge) => edge.to === to);
      if (!found) return [];
      const { transfers, valueUsd, unpriced, firstSeenMs, lastSeenMs } = found;
      return [
        {
          asset: chain,
          decimals: 18,
          transfers,
          amount: BigInt(transfers),
          valueUsd: valueUsd === 0 && unpriced > 0 ? null : valueUsd,
          unpricedTransfers: unpriced,
          firstSeenMs,
          lastSeenMs,
        },
      ];
    },
  };
}
