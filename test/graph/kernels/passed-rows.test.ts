import { describe, expect, it } from 'vitest';
import type { Direction } from '../../../src/graph/flow.ts';
import { createNeighbourColumns, type NeighbourColumns, PASSED_ON } from '../../../src/graph/graph.ts';
import { exposureOf } from '../../../src/graph/kernels/exposure.ts';
import { PassedRows } from '../../../src/graph/kernels/passed-rows.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import type { TransferCoverage } from '../../../src/graph/transfers.ts';
import { createRememberedDegrees } from '../../../src/screening/remembered-degrees.ts';
import { day, memoryGraph } from '../memory-graph.ts';
import { randomGraph } from './random-graphs.ts';

const workspace = createKernelWorkspace();
const row = (count: number, total = 7) => ({ state: PASSED_ON, tag: 3, dust: 0.5, total, count }) as const;

/** Columns in which the edge at each position has other figures; wide ones have times in milliseconds. */
function columnsFrom(first: number, count: number, isWide = true): NeighbourColumns {
  const step = isWide ? 1 : 1_000;
  const columns = createNeighbourColumns(count);
  for (let at = 0; at < count; at++) {
    columns.ids[at] = first + at;
    columns.weight[at] = (count - at) / 3;
    columns.transfers[at] = 10 + at;
    columns.unpriced[at] = at;
    columns.firstSeenMs[at] = 1_700_000_000_000 + step * (first % 1_000_000);
    columns.lastSeenMs[at] = 1_700_000_000_000 + step * (1 + at);
  }
  return columns;
}

/** Everything that a row needs, as plain data; the USD of the columns is not part of it. */
const cachedOf = (columns: NeighbourColumns, count: number) =>
  Array.from({ length: count }, (_, at) => [
    columns.ids[at],
    columns.weight[at],
    columns.transfers[at],
    columns.unpriced[at],
    columns.firstSeenMs[at],
    columns.lastSeenMs[at],
  ]);

describe('cached rows', () => {
  it('return what was stored, for the same node, way and era only', () => {
    const rows = new PassedRows({ rows: 64, edgeBytes: 40 * 1_024 });
    const into = createNeighbourColumns(100);
    const name = { node: 4_000_000_000, way: 5, era: 1 };
    expect(rows.get(name, into)).toBeUndefined();
    rows.set(name, row(3), columnsFrom(4_000_000_000, 3));
    expect(rows.get(name, into)).toEqual(row(3));
    expect(cachedOf(into, 3)).toEqual(cachedOf(columnsFrom(4_000_000_000, 3), 3));
    expect(rows.get({ ...name, era: 2 }, into)).toBeUndefined();
    expect(rows.get({ ...name, way: 4 }, into)).toBeUndefined();
    expect(rows.get({ ...name, node: 1 }, into)).toBeUndefined();
  });

  it('keep times and counts exactly, whether they fit a compact edge or not', () => {
    const rows = new PassedRows({ rows: 64, edgeBytes: 40 * 1_024 });
    const into = createNeighbourColumns(100);
    const change: readonly ((columns: NeighbourColumns) => void)[] = [
      () => undefined,
      (columns) => columns.transfers.fill(65_535, 1, 2),
      (columns) => columns.transfers.fill(65_536, 1, 2),
      (columns) => columns.unpriced.fill(65_535, 2),
      (columns) => columns.unpriced.fill(65_536, 2),
      (columns) => columns.firstSeenMs.fill(0),
      (columns) => columns.lastSeenMs.fill((2 ** 32 - 1) * 1_000),
      (columns) => columns.lastSeenMs.fill(2 ** 32 * 1_000),
      (columns) => columns.firstSeenMs.fill(1_700_000_000_001, 2),
    ];
    for (const [at, changed] of change.entries()) {
      const columns = columnsFrom(4_000_000_000, 3, false);
      changed(columns);
      const name = { node: 1 + at, way: 0, era: 1 };
      rows.set(name, row(3), columns);
      expect(rows.get(name, into)).toEqual(row(3));
      expect(cachedOf(into, 3)).toEqual(cachedOf(columns, 3));
    }
  });

  it('leave out edges without weight', () => {
    const rows = new PassedRows({ rows: 64, edgeBytes: 40 * 1_024 });
    const columns = columnsFrom(1, 4);
    columns.weight[1] = 0;
    const name = { node: 1, way: 0, era: 1 };
    rows.set(name, row(4), columns);
    const into = createNeighbourColumns(4);
    expect(rows.get(name, into)?.count).toBe(3);
    expect([...into.ids.subarray(0, 3)]).toEqual([1, 3, 4]);
  });

  it('are either the last stored row or not cached, after the memory was overwritten many times', () => {
    const rows = new PassedRows({ rows: 16, edgeBytes: 40 * 64 });
    const into = createNeighbourColumns(100);
    const stored = new Map<number, number>();
    let hits = 0;
    for (let turn = 0; turn < 5_000; turn++) {
      const node = 1 + ((turn * 7_919) % 23);
      const count = (turn * 31) % 9;
      rows.set({ node, way: 0, era: 1 }, row(count, turn), columnsFrom(turn, count, turn % 3 === 0));
      stored.set(node, turn);
      const asked = 1 + ((turn * 104_729) % 23);
      const found = rows.get({ node: asked, way: 0, era: 1 }, into);
      if (found === undefined) continue;
      hits++;
      const last = stored.get(asked) as number;
      expect(found.total).toBe(last);
      expect(found.count).toBe((last * 31) % 9);
      const columns = columnsFrom(last, found.count, last % 3 === 0);
      expect(cachedOf(into, found.count)).toEqual(cachedOf(columns, found.count));
    }
    expect(hits).toBeGreaterThan(500);
  });

  it('do not displace each other while places of the table are free', () => {
    const rows = new PassedRows({ rows: 2 ** 12, edgeBytes: 2 ** 20 });
    const into = createNeighbourColumns(1);
    const stored = Math.floor((2 * 2 ** 12) / 3);
    for (let node = 1; node <= stored; node++)
      rows.set({ node, way: node % 2, era: 1 }, row(1), columnsFrom(node, 1));
    let kept = 0;
    for (let node = 1; node <= stored; node++)
      if (rows.get({ node, way: node % 2, era: 1 }, into) !== undefined) kept++;
    // With one place for each row it is seven tenths.
    expect(kept / stored).toBeGreaterThan(0.9);
  });

  it('are displaced by newer ones, the oldest first', () => {
    // All rows share their places.
    const rows = new PassedRows({ rows: 4, edgeBytes: 2 ** 12 });
    const into = createNeighbourColumns(1);
    for (let node = 1; node <= 6; node++) rows.set({ node, way: 0, era: 1 }, row(1), columnsFrom(node, 1));
    const kept = [1, 2, 3, 4, 5, 6].filter((node) => rows.get({ node, way: 0, era: 1 }, into) !== undefined);
    expect(kept).toEqual([3, 4, 5, 6]);
  });

  it('do not store a row that would displace many others', () => {
    const rows = new PassedRows({ rows: 16, edgeBytes: 40 * 64 });
    rows.set({ node: 1, way: 0, era: 1 }, row(9), columnsFrom(1, 9));
    expect(rows.get({ node: 1, way: 0, era: 1 }, createNeighbourColumns(9))).toBeUndefined();
  });
});

describe('walks over cached rows', () => {
  const coverage = (transfers: number) => ({ transfers, lastBlock: 1, asOf: 'x' }) as TransferCoverage;

  it('give the results of walks over the graph, with and without dust, assets and designations', () => {
    const remember = createRememberedDegrees();
    let reads = 0;
    let again = 0;
    for (let seed = 1; seed <= 80; seed++) {
      const { nodeCount, edges, attributed } = randomGraph(seed, 14, 1 + (seed % 4));
      const graph = memoryGraph(edges);
      const remembered = remember(
        {
          ...graph,
          row(node, direction, query, into) {
            reads++;
            return graph.row(node, direction, query, into);
          },
        },
        coverage(seed),
      );
      const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-6 };
      const attribution = (node: number) => {
        if (!attributed.has(node)) return null;
        const until = node % 2 === 0 ? { fromMs: day(4), before: null } : undefined;
        return { key: `owner ${node % 3}`, until };
      };
      const walk = (on: typeof graph, start: number, direction: Direction, nodesMax: number) =>
        exposureOf(
          { start, direction, maxHops: 4, degreeMax: 8, nodesMax, weighing },
          { graph: on, workspace, attribution },
        );
      for (let pass = 0; pass < 2; pass++) {
        const before = reads;
        for (let start = 1; start <= nodeCount; start++)
          for (const direction of ['in', 'out'] as const)
            for (const nodesMax of [3, 100])
              expect(walk(remembered, start, direction, nodesMax)).toEqual(
                walk(graph, start, direction, nodesMax),
              );
        if (pass === 1) again += reads - before;
      }
    }
    // The second time, only the rows of the starts are read.
    expect(again).toBeLessThan(0.8 * (reads - again));
  });

  it('read rows again when the transfers of the chain change', () => {
    const remember = createRememberedDegrees();
    const first = memoryGraph([
      { from: 1, to: 2, valueUsd: 100 },
      { from: 2, to: 3, valueUsd: 100 },
    ]);
    const later = memoryGraph([
      { from: 1, to: 2, valueUsd: 100 },
      { from: 2, to: 3, valueUsd: 100 },
      { from: 2, to: 4, valueUsd: 300 },
    ]);
    const owners = (graph: typeof first, transfers: number) =>
      exposureOf(
        {
          start: 1,
          direction: 'out',
          maxHops: 3,
          degreeMax: 10,
          nodesMax: 10,
          weighing: { isEvidence: () => true, dustUsd: 1, dustShare: 1e-6 },
        },
        {
          graph: remember(graph, coverage(transfers)),
          workspace,
          attribution: (node) => (node > 2 ? { key: `owner ${node}` } : null),
        },
      ).rows.map(({ attribution, share }) => [attribution.key, share]);
    expect(owners(first, 2)).toEqual([['owner 3', 1]]);
    expect(owners(later, 3)).toEqual([
      ['owner 4', 0.75],
      ['owner 3', 0.25],
    ]);
    expect(owners(first, 2)).toEqual([['owner 3', 1]]);
  });
});
