import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createNeighbourColumns, type TransferGraph } from '../../src/graph/graph.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { graphUntil } from '../../src/graph/until.ts';
import { randomGraph } from './kernels/random-graphs.ts';
import { day, memoryGraph } from './memory-graph.ts';

/** Reads all that a graph has about the neighbours of a node. */
function rowsOf(graph: TransferGraph, node: number, direction: 'in' | 'out', limit: number) {
  const columns = createNeighbourColumns(limit);
  const count = graph.neighbours(node, direction, limit, columns);
  return Array.from({ length: count }, (_, at) =>
    Object.entries(columns).map(([name, column]) => [name, column[at]]),
  );
}

const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

async function storeOf(transfers: readonly Transfer[]): Promise<TransferStore> {
  const path = mkdtempSync(join(tmpdir(), 'assay-until-'));
  folders.push(path);
  const store = openTransferStore({ path, readOnly: false });
  await store.ingest(transfers);
  return store;
}

/** Sorts sums by asset. */
const sorted = (
  sums: readonly { asset: string | number; amount: bigint | number; transfers: number }[],
): readonly string[] => sums.map(({ asset, amount, transfers }) => `${asset} ${amount} ${transfers}`).sort();

/** Reads a row by a query that gives tokens twice the weight. */
function weighed(graph: TransferGraph, node: number, direction: 'in' | 'out', least: number) {
  const rates = new Map<number, number>();
  for (const asset of [1, 2]) rates.set(asset, asset);
  const columns = createNeighbourColumns(10);
  const query = { evidence: rates, rates, least, limit: 10, seenUntilMs: Number.POSITIVE_INFINITY };
  const { count, heavy, light } = graph.row(node, direction, query, columns);
  const rows = Array.from({ length: count }, (_, at) => [
    columns.ids[at],
    columns.weight[at],
    columns.transfers[at],
    columns.firstSeenMs[at],
  ]);
  return { rows, heavy, edges: light.edges, transfers: light.transfers, weight: light.weight };
}

describe('a graph as of a time', () => {
  it('contains the edges that were first seen by then', () => {
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

  it('contains the transfers by the end of a day, including edges that continued after it', async () => {
    const next = seededUint32(71);
    for (let round = 0; round < 20; round++) {
      const lastDay = 1 + (next() % 9);
      const transfers = Array.from({ length: 60 }, (_, number): Transfer => {
        const [from, to] = [1 + (next() % 6), 1 + (next() % 6)];
        return {
          chain: 'ETH',
          txHash: `0x${number.toString(16).padStart(64, '0')}`,
          position: 'value',
          blockNumber: number,
          timestampMs: day(Math.floor(number / 6)) + (next() % 86_400_000),
          from: addressOf(from),
          to: addressOf(to),
          asset: next() % 3 === 0 ? TOKEN : 'ETH',
          amount: BigInt(next() % 5 === 0 ? 0 : 1 + (next() % 1_000_000)),
          decimals: 18,
          valueUsd: null,
        };
      });
      const untilMs = day(lastDay) + 86_399_999;
      const early = transfers.filter(({ timestampMs }) => timestampMs <= untilMs);
      const [whole, then] = await Promise.all([storeOf(transfers), storeOf(early)]);
      try {
        const graph = whole.graph('ETH') as TransferGraph;
        const expected = then.graph('ETH') as TransferGraph;
        const nodes = Array.from({ length: expected.nodeCount }, (_, at) => at + 1);
        const view = graphUntil(graph, untilMs);
        for (const node of nodes) {
          // Ids follow the order of transfers, so both views have the same.
          expect(view.addressOf(node)).toBe(expected.addressOf(node));
          for (const other of nodes)
            expect(sorted(view.edge(node, other))).toEqual(sorted(expected.edge(node, other)));
          for (const direction of ['in', 'out'] as const) {
            expect(sorted(graphUntil(graph, untilMs, node).sums(node)[direction])).toEqual(
              sorted(expected.sums(node)[direction]),
            );
            expect(sorted(view.sums(node)[direction])).toEqual(sorted(expected.sums(node)[direction]));
            for (const least of [0, 400_000])
              expect(weighed(view, node, direction, least)).toEqual(
                weighed(expected, node, direction, least),
              );
          }
        }
      } finally {
        await Promise.all([whole.close(), then.close()]);
      }
    }
  });

  it('keeps the digits of a sum that is little beside what moved later, and transfers without a counterparty', async () => {
    const sent = (number: number, from: number | null, to: number, amount: bigint): Transfer => ({
      chain: 'ETH',
      txHash: `0x${number.toString(16).padStart(64, '0')}`,
      position: 'value',
      blockNumber: number,
      timestampMs: day(number),
      from: from === null ? null : addressOf(from),
      to: addressOf(to),
      asset: TOKEN,
      amount,
      decimals: 18,
      valueUsd: null,
    });
    const early = [sent(0, 1, 2, 7n)];
    const stores = await Promise.all([
      storeOf([...early, sent(5, 3, 2, 10n ** 30n)]),
      storeOf([...early, sent(1, null, 2, 5n), sent(5, 3, 2, 1_000n)]),
    ]);
    try {
      const sums = stores.map((store) => {
        const graph = store.graph('ETH') as TransferGraph;
        const node = (number: number) =>
          [1, 2, 3].find((id) => graph.addressOf(id).toLowerCase() === addressOf(number)) as number;
        const view = graphUntil(graph, day(2));
        return [view.sums(node(2)).in, view.sums(node(3)).out];
      });
      expect(sums).toMatchObject([
        [[{ transfers: 1, unpriced: 1, cents: 0, amount: 7 }], []],
        [[{ transfers: 2, unpriced: 2, cents: 0, amount: 12 }], []],
      ]);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it('shows a full edge if it was used before and after and has no days', () => {
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
