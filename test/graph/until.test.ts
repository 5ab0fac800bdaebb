import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNeighbourColumns, type TransferGraph } from '../../src/graph/graph.ts';
import { graphUntil } from '../../src/graph/until.ts';
import { randomGraph } from './kernels/random-graphs.ts';
import { day, memoryGraph } from './memory-graph.ts';

/** All that a graph says about the neighbours of a node. */
function rowsOf(graph: TransferGraph, node: number, direction: 'in' | 'out', limit: number) {
  const columns = createNeighbourColumns(limit);
  const count = graph.neighbours(node, direction, limit, columns);
  return Array.from({ length: count }, (_, at) =>
    Object.entries(columns).map(([name, column]) => [name, column[at]]),
  );
}

describe('a graph as of a time', () => {
  it('is the graph of the edges that were first seen by then', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: -1, max: 7 }), (seed, last) => {
        const { edges, nodeCount } = randomGraph(seed, 8);
        const untilMs = day(last);
        const seen = edges.filter(({ firstSeenMs = 0 }) => firstSeenMs <= untilMs);
        const then = memoryGraph(seen);
        const view = graphUntil(memoryGraph(edges), untilMs);
        for (let node = 1; node <= nodeCount; node++) {
          for (const direction of ['in', 'out'] as const)
            expect(rowsOf(view, node, direction, nodeCount)).toEqual(
              rowsOf(then, node, direction, nodeCount),
            );
          for (let to = 1; to <= nodeCount; to++) expect(view.edge(node, to)).toEqual(then.edge(node, to));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('shows an edge whole if it was used before and after', () => {
    const graph = memoryGraph([
      { from: 1, to: 2, valueUsd: 100, firstSeenMs: day(0), lastSeenMs: day(9) },
      { from: 1, to: 3, valueUsd: 50, firstSeenMs: day(5) },
    ]);
    const view = graphUntil(graph, day(4));
    expect(rowsOf(view, 1, 'out', 5)).toHaveLength(1);
    expect(view.edge(1, 2)).toMatchObject([{ valueUsd: 100 }]);
    expect(view.edge(1, 3)).toEqual([]);
    expect(view.degree(1, 'out')).toBe(2);
  });
});
