import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareEdges, decodeChunk, type Edge, encodeChunk, mergeEdges } from '../../src/graph/edges.ts';

const anyEdge: fc.Arbitrary<Edge> = fc
  .record({
    counterparty: fc.integer({ min: 0, max: 0xffff_ffff }),
    asset: fc.integer({ min: 1, max: 70_000 }),
    transfers: fc.integer({ min: 1, max: 2 ** 40 }),
    unpriced: fc.integer({ min: 0, max: 1000 }),
    amount: fc.bigInt({ min: 0n, max: 1n << 300n }),
    cents: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    firstSeenMs: fc.integer({ min: 0, max: 2 ** 42 }),
    span: fc.integer({ min: 0, max: 2 ** 40 }),
  })
  .map(({ span, ...edge }) => ({ ...edge, lastSeenMs: edge.firstSeenMs + span }));

const ordered = (edges: readonly Edge[]): Edge[] => [...edges].sort(compareEdges);
const place = (edge: Edge): string => `${edge.counterparty}:${edge.asset}`;

describe('packed neighbours', () => {
  it('come back as they went in', () => {
    fc.assert(
      fc.property(fc.array(anyEdge, { maxLength: 20 }), fc.option(anyEdge, { nil: null }), (edges, end) => {
        const next = end && { counterparty: end.counterparty, asset: end.asset };
        expect(decodeChunk(encodeChunk(edges, next))).toEqual({ edges, next });
      }),
    );
  });

  it('take about 25 bytes for a single transfer', () => {
    const edge: Edge = {
      counterparty: 12_000_000,
      asset: 3,
      transfers: 1,
      unpriced: 1,
      amount: 1_500_000_000_000_000_000n,
      cents: 0,
      firstSeenMs: 1_683_029_999_000,
      lastSeenMs: 1_683_029_999_000,
    };
    expect(encodeChunk([edge], null).length - encodeChunk([], null).length).toBeLessThanOrEqual(26);
  });

  it('are refused where the bytes end inside an edge', () => {
    fc.assert(
      fc.property(anyEdge, fc.nat(), (edge, at) => {
        const bytes = encodeChunk([edge], null);
        const cut = 10 + (at % (bytes.length - 10));
        expect(() => decodeChunk(bytes.subarray(0, cut))).toThrow('middle of an edge');
      }),
    );
  });

  it('merge into one ordered run whose sums are those of both', () => {
    const run = fc
      .uniqueArray(
        anyEdge.map((edge) => ({ ...edge, counterparty: edge.counterparty % 5, asset: edge.asset % 3 })),
        {
          selector: place,
          maxLength: 15,
        },
      )
      .map(ordered);
    fc.assert(
      fc.property(run, run, (left, right) => {
        const amounts = (edges: readonly Edge[]): bigint =>
          edges.reduce((sum, edge) => sum + edge.amount, 0n);
        const expected = amounts(left) + amounts(right);
        const merged = mergeEdges(structuredClone(left), structuredClone(right));
        expect(merged).toEqual(ordered(merged));
        expect(new Set(merged.map(place)).size).toBe(merged.length);
        expect(amounts(merged)).toBe(expected);
      }),
    );
  });
});
