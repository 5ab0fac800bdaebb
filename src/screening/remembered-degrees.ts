/**
 * Caches the degrees of a graph across requests. Kernels read the degree of every address that they meet, twice, to recognise
 * super-nodes, and they meet the same addresses again and again.
 */
import { LIMITS } from '../base/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Direction, TransferCoverage } from '../graph/transfers.ts';

const SLOTS = LIMITS.rememberedDegrees;
const PLACE: Readonly<Record<Direction, number>> = { in: 0, out: 1 };

/**
 * Returns a function that adds the cache to a chain's graph. Cached degrees expire when the chain's coverage or the version of
 * the graph changes: as long as both stay, no transfer was added or removed.
 */
export function createRememberedDegrees(): (
  graph: TransferGraph,
  coverage: TransferCoverage,
) => TransferGraph {
  let nodes = new Uint32Array(0);
  let eras = new Uint32Array(0);
  let degrees = new Uint32Array(0);
  const known = new Map<ChainId, { readonly state: string; readonly era: number }>();
  // An empty slot has era 0, which no chain has.
  let newest = 0;

  function eraOf(
    { chain, version }: TransferGraph,
    { transfers, lastBlock, asOf }: TransferCoverage,
  ): number {
    const state = `${transfers} ${lastBlock} ${asOf} ${version ?? ''}`;
    const current = known.get(chain);
    if (current?.state === state) return current.era;
    known.set(chain, { state, era: ++newest });
    return newest;
  }

  return (graph, coverage) => {
    if (nodes.length === 0) {
      nodes = new Uint32Array(SLOTS);
      eras = new Uint32Array(SLOTS);
      degrees = new Uint32Array(SLOTS);
    }
    const era = eraOf(graph, coverage);
    return {
      chain: graph.chain,
      nodeCount: graph.nodeCount,
      idOf: (key) => graph.idOf(key),
      keyOf: (node) => graph.keyOf(node),
      addressOf: (node) => graph.addressOf(node),
      neighbours: (node, direction, limit, into) => graph.neighbours(node, direction, limit, into),
      sums: (node) => graph.sums(node),
      assetName: (asset) => graph.assetName(asset),
      row: (node, direction, query, into) => graph.row(node, direction, query, into),
      edge: (from, to, side) => graph.edge(from, to, side),
      ...(graph.prefetch && { prefetch: (next) => graph.prefetch?.(next) }),
      degree(node: NodeId, direction: Direction): number {
        const slot = (2 * node + PLACE[direction] + era * 0x9e3779b1) & (SLOTS - 1);
        if (nodes[slot] === node && eras[slot] === era) return degrees[slot] as number;
        const degree = graph.degree(node, direction);
        nodes[slot] = node;
        eras[slot] = era;
        degrees[slot] = degree;
        return degree;
      },
    };
  };
}
