import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { createNeighbourColumns, type TransferGraph } from '../../../src/graph/graph.ts';
import { type Attribution, type ExposureOptions, exposureOf } from '../../../src/graph/kernels/exposure.ts';
import { FollowedRows } from '../../../src/graph/kernels/followed-rows.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../../../src/graph/limits.ts';
import { day, memoryGraph } from '../memory-graph.ts';
import { randomGraph } from './random-graphs.ts';

const weighing: ExposureOptions['weighing'] = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };

/** Some owners are designated later, so that edges are split. */
function attributionOf(node: number): Attribution | null {
  if (node % 5 !== 0) return null;
  const key = `owner ${node % 3}`;
  return node % 2 === 0 ? { key } : { key, until: { fromMs: day(8), before: null } };
}

describe('kept rows of walks', () => {
  it('give the results of rows that were just read', () => {
    const kept = createKernelWorkspace();
    const next = seededUint32(9);
    let era = 0;
    let rowsOfKept = 0;
    let rowsOfFresh = 0;
    for (let round = 0; round < 30; round++) {
      const { edges, nodeCount } = randomGraph(round, 24, 3);
      const dated = edges.map((edge) => {
        const first = next() % 12;
        return { ...edge, firstSeenMs: day(first), lastSeenMs: day(first + (next() % 6)) };
      });
      const plain = memoryGraph(dated);
      const counted = (count: () => void): TransferGraph => ({
        ...plain,
        row: (...query) => {
          count();
          return plain.row(...query);
        },
      });
      const graph: TransferGraph = { ...counted(() => rowsOfKept++), era: ++era };
      for (let walk = 0; walk < 60; walk++) {
        const options: ExposureOptions = {
          start: 1 + (next() % nodeCount),
          direction: next() % 2 === 0 ? 'in' : 'out',
          maxHops: 2 + (next() % 4),
          // Walks with another limit do not use the kept rows.
          degreeMax: next() % 8 === 0 ? 2 : 1_000,
          nodesMax: next() % 3 === 0 ? 3 : 1_000,
          weighing: next() % 8 === 0 ? { ...weighing, dustUsd: 0 } : weighing,
          ...(next() % 4 === 0 ? { asset: next() % 2 } : {}),
        };
        const fresh = createKernelWorkspace();
        const expected = exposureOf(options, {
          graph: counted(() => rowsOfFresh++),
          workspace: fresh,
          attribution: attributionOf,
        });
        expect(exposureOf(options, { graph, workspace: kept, attribution: attributionOf })).toEqual(expected);
      }
    }
    expect(rowsOfKept).toBeLessThan(rowsOfFresh / 2);
  });

  it('are replaced by newer ones, and never by the edges of others', () => {
    const rows = new FollowedRows();
    const next = seededUint32(4);
    const columns = createNeighbourColumns(3_000);
    const head = { state: 1, tag: 0, total: 1, dust: 0 };
    const counts = new Map<number, number>();
    let edges = 0;
    let found = 0;
    for (let node = 1; edges < 2.5 * GRAPH_LIMITS.followedEdgesKept; node++) {
      const count = next() % 3_000;
      for (let at = 0; at < count; at++) {
        columns.ids[at] = node + at;
        columns.weight[at] = node * at;
      }
      if (next() % 3 === 0) {
        // The start of a walk: not kept, and no other row may show its edges.
        rows.put(
          { era: 0, node, direction: 'in', tag: 0 },
          head,
          createNeighbourColumns(3_000),
          next() % 3_000,
        );
        expect(rows.find(7, node, 'in', 0)).toBe(false);
      }
      rows.put({ era: 7, node, direction: 'in', tag: 0 }, head, columns, count);
      counts.set(node, count);
      edges += count;
      const other = 1 + (next() % node);
      if (!rows.find(7, other, 'in', 0)) continue;
      found++;
      expect(rows.count).toBe(counts.get(other));
      for (let at = 0; at < rows.count; at += 97) {
        expect(rows.columns.ids[rows.at + at]).toBe(other + at);
        expect(rows.columns.weight[rows.at + at]).toBe(other * at);
      }
      expect(
        rows.find(7, other, 'out', 0) || rows.find(8, other, 'in', 0) || rows.find(7, other, 'in', 1),
      ).toBe(false);
    }
    expect(found).toBeGreaterThan(100);
    expect(rows.columns.ids.length).toBe(GRAPH_LIMITS.followedEdgesKept);
    expect(rows.find(7, 1, 'in', 0)).toBe(false);
  });

  it('are kept for the limits of the first walk alone', () => {
    const rows = new FollowedRows();
    const limits = { degreeMax: 10, dustUsd: 1, dustShare: 0 };
    // Rows that are not kept take no further memory.
    const columns = createNeighbourColumns(3_000);
    for (let node = 1; node < 1_000; node++)
      rows.put(
        { era: 0, node, direction: 'in', tag: 0 },
        { state: 1, tag: 0, total: 1, dust: 0 },
        columns,
        3_000,
      );
    expect(rows.columns.ids.length).toBeLessThan(10_000);
    expect([
      rows.accepts(limits),
      rows.accepts({ ...limits, dustUsd: 0 }),
      rows.accepts({ ...limits }),
    ]).toEqual([true, false, true]);
  });
});
