/** Small random graphs with the features of real ones: cycles, self-transfers, zero values, dust, unpriced transfers, equal values. */
import { seededUint32 } from '../../../src/base/random.ts';
import type { NodeId } from '../../../src/graph/graph.ts';
import { day, type MemoryEdge } from '../memory-graph.ts';

export interface RandomGraph {
  readonly nodeCount: number;
  readonly edges: readonly MemoryEdge[];
  /** Nodes with a known owner: about every third. */
  readonly attributed: ReadonlySet<NodeId>;
  /** Returns a random number below `bound`. */
  readonly pick: (bound: number) => number;
}

/** There are few values, so that ties are common. */
const VALUES = [0, 0.4, 0.4, 3, 3, 10, 50, 1_000];
/** Amounts of assets without a price. */
const AMOUNTS = [1, 1, 40, 300, 300, 5_000];

/** ETH has a price, for some or all transfers; the other assets never have one. */
const ASSETS = ['ETH', 'ODD', 'EVEN', 'PRIME'];

/** The graph of a seed: 2 to `nodesMax` nodes, from sparse to complete, with at most `assetsMax` assets (default: 1). */
export function randomGraph(seed: number, nodesMax: number, assetsMax = 1): RandomGraph {
  const next = seededUint32(seed);
  const pick = (bound: number): number => next() % bound;
  const nodeCount = 2 + pick(nodesMax - 1);
  const density = 1 + pick(100);
  const edges: MemoryEdge[] = [];
  for (let from = 1; from <= nodeCount; from++)
    for (let to = 1; to <= nodeCount; to++) {
      if (pick(100) >= density) continue;
      const first = pick(6);
      const times = { firstSeenMs: day(first), lastSeenMs: day(first + pick(4)) };
      // Sometimes the edge has other assets too, with ETH or instead of it.
      for (const asset of ASSETS.slice(1, assetsMax))
        if (pick(3) === 0)
          edges.push({
            from,
            to,
            asset,
            unpriced: 1,
            amount: AMOUNTS[pick(AMOUNTS.length)] as number,
            transfers: 4,
            ...times,
          });
      if (assetsMax > 1 && pick(2) === 0) continue;
      edges.push({
        from,
        to,
        valueUsd: VALUES[pick(VALUES.length)] as number,
        unpriced: pick(8) === 0 ? 1 + pick(3) : 0,
        transfers: 4 + pick(3),
        ...times,
      });
    }
  const attributed = new Set<NodeId>();
  for (let node = 1; node <= nodeCount; node++) if (pick(3) === 0) attributed.add(node);
  return { nodeCount, edges, attributed, pick };
}
