import { describe, expect, it } from 'vitest';
import type { NodeId, RowQuery, TransferGraph } from '../../src/graph/graph.ts';
import { RowReader } from '../../src/graph/kernels/rows.ts';
import type { Weighing } from '../../src/graph/kernels/weighing.ts';
import type { Direction } from '../../src/graph/transfers.ts';
import { createRememberedDegrees } from '../../src/screening/remembered-degrees.ts';
import { type MemoryEdge, memoryGraph, withAmounts } from '../graph/memory-graph.ts';

const weighing: Weighing = {
  isEvidence: () => true,
  dustUsd: 1,
  dustShare: 1e-6,
  wrapped: null,
};
const DEGREE_MAX = 3;
const DIRECTIONS: readonly Direction[] = ['in', 'out'];
const coverage = (transfers: number) => ({ transfers, lastBlock: 1, asOf: 'x' }) as never;

/** A graph in which node 1 is a hub, node 2 has much dust and one counterparty, and node 3 has few counterparties. */
const edges = (): MemoryEdge[] => {
  const edge = (from: number, to: number, valueUsd: number): MemoryEdge => ({ from, to, valueUsd });
  return withAmounts([
    ...[10, 11, 12, 13, 14].map((to) => edge(1, to, 100)),
    edge(2, 10, 1_000),
    ...[20, 21, 22, 23, 24].map((to) => edge(2, to, 0.01)),
    edge(3, 10, 5),
    edge(3, 11, 5),
  ]);
};

/** The graph behind the cache, with a count of the rows that were read. */
function counted(): { graph: TransferGraph; rows: () => number } {
  const graph = memoryGraph(edges());
  let rows = 0;
  return {
    graph: {
      ...graph,
      row: (node: NodeId, direction: Direction, query: RowQuery, into) => {
        rows++;
        return graph.row(node, direction, query, into);
      },
    },
    rows: () => rows,
  };
}

const hubsOf = (graph: TransferGraph, by: Weighing = weighing, degreeMax = DEGREE_MAX): string[] =>
  [1, 2, 3, 10].flatMap((node) =>
    DIRECTIONS.filter((direction) => new RowReader(graph, by).isHubIn(node, direction, degreeMax)).map(
      (direction) => `${node} ${direction}`,
    ),
  );

describe('cached hub tests', () => {
  it('return the results of the graph, and read each row once', () => {
    const { graph, rows } = counted();
    const expected = hubsOf(memoryGraph(edges()));
    expect(expected).toEqual(['1 out']);
    const cached = createRememberedDegrees()(graph, coverage(1));
    expect(hubsOf(cached)).toEqual(expected);
    const once = rows();
    expect(once).toBe(2);
    expect(hubsOf(cached)).toEqual(expected);
    expect(rows()).toBe(once);
  });

  it('are shared by requests on one state of the graph, and recomputed after a change', () => {
    const { graph, rows } = counted();
    const remembered = createRememberedDegrees();
    hubsOf(remembered(graph, coverage(1)));
    hubsOf(remembered(graph, coverage(1)));
    expect(rows()).toBe(2);
    hubsOf(remembered(graph, coverage(2)));
    expect(rows()).toBe(4);
  });

  it('are not used for other limits of dust or degree', () => {
    const { graph } = counted();
    const cached = createRememberedDegrees()(graph, coverage(1));
    expect(hubsOf(cached)).toEqual(['1 out']);
    expect(hubsOf(cached, { ...weighing, dustUsd: 0 })).toEqual(['1 out', '2 out']);
    expect(hubsOf(cached, { ...weighing, dustUsd: 200 })).not.toContain('2 out');
    expect(hubsOf(cached, weighing, 5)).toEqual([]);
    expect(hubsOf(cached)).toEqual(['1 out']);
  });

  it('are not used for a row that is weighed differently, or as of a date', () => {
    const { graph, rows } = counted();
    const cached = createRememberedDegrees()(graph, coverage(1));
    hubsOf(cached);
    const before = rows();
    const reader = new RowReader(cached, weighing);
    reader.isHubIn(1, 'out', DEGREE_MAX, { ...reader.basisOf(1, 'out'), dust: 1_000 });
    expect(rows()).toBe(before + 1);
    new RowReader(cached, weighing, 0).isHubIn(1, 'out', DEGREE_MAX);
    expect(rows()).toBe(before + 2);
  });
});
