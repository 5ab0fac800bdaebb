/** Which rows a hub test reads. Results of hub tests are compared in the tests of the walks. */
import { describe, expect, it } from 'vitest';
import type { NodeId, TransferGraph } from '../../../src/graph/graph.ts';
import { RowReader } from '../../../src/graph/kernels/rows.ts';
import { traverse } from '../../../src/graph/kernels/traverse.ts';
import type { Weighing } from '../../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../../../src/graph/limits.ts';
import type { Direction } from '../../../src/graph/transfers.ts';
import { memoryGraph } from '../memory-graph.ts';

const weighing: Weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };
const DEGREE_MAX = 3;
/** Sends to 5 addresses, and receives from 1. */
const NODE: NodeId = 1;

/** A graph that claims a number of counterparties of NODE in some directions. It also lists the rows that were read. */
function claiming(claimed: Partial<Record<Direction, number>>): { graph: TransferGraph; read: Direction[] } {
  const graph = memoryGraph([
    ...[10, 11, 12, 13, 14].map((to) => ({ from: NODE, to, valueUsd: 100 })),
    { from: 20, to: NODE, valueUsd: 100 },
  ]);
  const read: Direction[] = [];
  return {
    graph: {
      ...graph,
      degree: (node, direction) =>
        (node === NODE ? claimed[direction] : undefined) ?? graph.degree(node, direction),
      row(node, direction, query, into) {
        read.push(direction);
        return graph.row(node, direction, query, into);
      },
    },
    read,
  };
}

const isHub = (graph: TransferGraph): boolean => new RowReader(graph, weighing).isHub(NODE, DEGREE_MAX);

describe('a hub test', () => {
  it.each(['in', 'out'] as const)('reads no row if the %s direction is too large to scan', (direction) => {
    const { graph, read } = claiming({ [direction]: GRAPH_LIMITS.rowScanMax + 1 });
    expect(isHub(graph)).toBe(true);
    expect(read).toEqual([]);
  });

  it('scans the rows of an address with more counterparties than the limit', () => {
    const { graph, read } = claiming({ in: GRAPH_LIMITS.rowScanMax });
    expect(isHub(graph)).toBe(true);
    expect(read).toEqual(['out']);
  });

  it('reads no row of an address with few counterparties', () => {
    const { graph, read } = claiming({ out: DEGREE_MAX });
    expect(isHub(graph)).toBe(false);
    expect(read).toEqual([]);
  });

  it('of the start of a walk in one direction ignores the other direction', () => {
    const { graph } = claiming({ in: GRAPH_LIMITS.rowScanMax + 1, out: DEGREE_MAX });
    const options = { start: NODE, hops: 1, degreeMax: DEGREE_MAX, nodesMax: 100, edgesMax: 100 };
    const deps = { graph, workspace: createKernelWorkspace(), weighing, isService: () => false };
    expect(traverse({ ...options, direction: 'out' }, deps).isComplete).toBe(true);
    expect(traverse({ ...options, direction: 'in' }, deps).isComplete).toBe(false);
    expect(traverse({ ...options, direction: 'both' }, deps).isComplete).toBe(false);
  });
});
