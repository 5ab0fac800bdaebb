/** The greatest edges of a hub, against a sort of all its edges. */
import { expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { ChunkBuilder } from '../../../src/graph/edge-builder.ts';
import { ChunkView } from '../../../src/graph/edge-chunk.ts';
import { type AssetSum, byValue, type Edge, totalsOf } from '../../../src/graph/edges.ts';
import { createNeighbourColumns, type RowQuery } from '../../../src/graph/graph.ts';
import { RowCollector } from '../../../src/graph/row-collector.ts';
import { HubEdges } from '../../../src/graph/store/hub-edges.ts';

const QUERY: RowQuery = {
  evidence: new Set([1, 2, 3]),
  rates: null,
  least: Number.NEGATIVE_INFINITY,
  limit: 10_000,
  seenUntilMs: Number.POSITIVE_INFINITY,
};

/** Edges in the order of ids. Many have the same cents, or none. */
function randomEdges(seed: number, count: number): Edge[] {
  const next = seededUint32(seed);
  return Array.from({ length: count }, (_, at): Edge => {
    const assets = Array.from({ length: 1 + (next() % 8 === 0 ? 2 : 0) }, (_sum, asset): AssetSum => {
      const firstSeenMs = 1000 * next();
      return {
        asset: 1 + asset,
        transfers: 1 + (next() % 9),
        unpriced: next() % 3,
        cents: next() % 3 === 0 ? 0 : next() % (seed % 2 === 0 ? 20 : 1e9),
        amount: BigInt(next()) * BigInt(next()),
        firstSeenMs,
        lastSeenMs: firstSeenMs + 1000 * (next() % 99),
        newest: [],
        days: [],
      };
    });
    return { counterparty: 5 * at + 1, assets };
  });
}

function chunksOf(edges: readonly Edge[]): Buffer[] {
  const builder = new ChunkBuilder();
  for (const edge of edges) builder.add(edge);
  return builder.packHub(0, 0).map(({ bytes }) => bytes);
}

const collectorOf = (): RowCollector => new RowCollector().open(QUERY);

function rowOf(collector: RowCollector): readonly unknown[] {
  const columns = createNeighbourColumns(10_000);
  const { count, ...scan } = collector.finish(columns, false);
  return [scan, ...Object.values(columns).map((column) => [...column.subarray(0, count)])];
}

it.each([1, 2, 3, 4])('keeps the greatest edges with the sums of each asset (seed %d)', (seed) => {
  const edges = randomEdges(seed, 3_000);
  const chunks = chunksOf(edges);
  expect(chunks.length).toBeGreaterThan(5);
  for (const limit of [1, 7, 100, 1_400, 2_999, 3_000, 5_000]) {
    const kept = new HubEdges(limit);
    const view = new ChunkView();
    for (const bytes of chunks) kept.take(view.open(bytes));
    kept.finish();
    const expected = edges.map(totalsOf).sort(byValue).slice(0, limit);
    const places = Array.from(expected, (_, nth) => kept.placeOf(nth));
    expect(kept.count).toBe(expected.length);
    expect(places.map((place) => kept.valueAt(place))).toEqual(
      expected.map(({ counterparty, cents, unpriced }) => ({ counterparty, cents, unpriced })),
    );

    // Weighing them gives the same row as weighing the edges of the chunks.
    const wanted = new Set(expected.map(({ counterparty }) => counterparty));
    const [one, other] = [collectorOf(), collectorOf()];
    for (const place of places.sort((a, b) => a - b)) kept.weigh(place, one);
    for (const bytes of chunks) {
      view.open(bytes);
      for (let index = 0; index < view.count; index++)
        if (wanted.has(view.ids[index]!)) view.weigh(index, other);
        else view.skipTails(1);
    }
    expect(rowOf(one)).toEqual(rowOf(other));
  }
});
