import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkBuilder } from '../../src/graph/edge-builder.ts';
import { ChunkView, edgesIn, valueRank } from '../../src/graph/edge-chunk.ts';
import { dayOf, type EdgeDay } from '../../src/graph/edge-days.ts';
import {
  addNewest,
  assetSumOf,
  byValue,
  type Edge,
  newestFirst,
  type TransferRef,
  totalsOf,
} from '../../src/graph/edges.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';

const anyRefs = (transfers: number, lastSeenMs: number): fc.Arbitrary<TransferRef[]> =>
  fc
    .array(fc.record({ back: fc.nat(1e9), ordinal: fc.nat(2 ** 31) }), {
      minLength: Math.min(transfers, GRAPH_LIMITS.recentTransfersPerEdge),
      maxLength: Math.min(transfers, GRAPH_LIMITS.recentTransfersPerEdge),
    })
    .map((list) => {
      const refs = list.map(({ back, ordinal }, index) => ({
        timestampMs: index === 0 ? lastSeenMs : Math.max(0, lastSeenMs - back),
        ordinal,
      }));
      return refs.sort(newestFirst);
    });

const anySum = fc
  .record({
    transfers: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 2 ** 50 })),
    unpriced: fc.oneof(fc.constant(0), fc.nat(1000)),
    amount: fc.bigInt({ min: 0n, max: 1n << 300n }),
    cents: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1e15 })),
    firstSeenMs: fc.oneof(
      fc.nat(2_000_000).map((s) => s * 1000),
      fc.integer({ min: 0, max: 2 ** 42 }),
    ),
    span: fc.integer({ min: 0, max: 2 ** 40 }),
  })
  .map(({ span, ...sum }) => ({ ...sum, lastSeenMs: sum.firstSeenMs + span }));

/** Newest first, none later than the last transfer. */
const anyDays = (lastSeenMs: number): fc.Arbitrary<EdgeDay[]> =>
  fc
    .array(
      fc.record({
        back: fc.nat(400),
        amount: fc.bigInt({ min: 0n, max: 1n << 300n }),
        transfers: fc.integer({ min: 1, max: 1000 }),
      }),
      { maxLength: 5 },
    )
    .map((list) => {
      let day = dayOf(lastSeenMs);
      return list.map(({ back, amount, transfers }, at) => {
        day -= at === 0 ? 0 : 1 + back;
        return { day, amount, transfers };
      });
    });

const edgeOf = (counterparty: number, hasRefs: boolean): fc.Arbitrary<Edge> =>
  fc
    .uniqueArray(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 3 })
    .chain((assets) =>
      fc
        .tuple(
          ...assets
            .sort((a, b) => a - b)
            .map((asset) =>
              anySum.chain((sum) =>
                fc
                  .tuple(
                    hasRefs ? anyRefs(sum.transfers, sum.lastSeenMs) : fc.constant<TransferRef[]>([]),
                    anyDays(sum.lastSeenMs),
                  )
                  .map(([newest, days]) => ({ asset, ...sum, newest, days })),
              ),
            ),
        )
        .map((sums) => ({ counterparty, assets: sums })),
    );

const anyEdges = fc
  .tuple(
    fc
      .constantFrom(0xff_ffff, 0x7fff_ffff)
      .chain((max) => fc.uniqueArray(fc.integer({ min: 1, max }), { minLength: 1, maxLength: 25 })),
    fc.boolean(),
  )
  .chain(([ids, hasRefs]) => fc.tuple(...ids.map((id) => edgeOf(id, hasRefs))));

const builderOf = (edges: readonly Edge[]): ChunkBuilder => {
  const builder = new ChunkBuilder();
  for (const edge of edges) builder.add(edge);
  return builder;
};

describe('packed neighbours', () => {
  it('are restored as written, largest value first', () => {
    fc.assert(
      fc.property(anyEdges, (edges) => {
        const packed = builderOf(edges).packSingle();
        if (!packed) return;
        const found = edgesIn(new ChunkView().open(packed.bytes));
        expect(found).toEqual([...edges].sort((a, b) => byValue(totalsOf(a), totalsOf(b))));
        const view = new ChunkView().open(packed.bytes);
        expect(found.map((_, index) => view.totals(index))).toEqual(found.map(totalsOf));
      }),
    );
  });

  it('are split into chunks of a hub in order of ids, each with a link to the next', () => {
    fc.assert(
      fc.property(anyEdges, fc.nat(0x7fff_ffff), (edges, next) => {
        const many = edges.flatMap((edge, index) =>
          Array.from({ length: 40 }, (_, copy) => ({ ...edge, counterparty: 1 + copy * 100 + index })),
        );
        const chunks = builderOf(many).packHub(7, next);
        const found = chunks.flatMap(({ bytes }) => edgesIn(new ChunkView().open(bytes)));
        expect(found).toEqual(many.sort((a, b) => a.counterparty - b.counterparty));
        expect(chunks[0]?.firstId).toBe(7);
        for (const [index, { bytes }] of chunks.entries()) {
          expect(bytes.length).toBeLessThanOrEqual(GRAPH_LIMITS.edgeChunkBytesMax);
          const view = new ChunkView().open(bytes);
          expect(view.isHub).toBe(true);
          expect(view.next).toBe(chunks[index + 1]?.firstId ?? next);
          expect(view.ids.every((id) => index === 0 || id >= (chunks[index]?.firstId ?? 0))).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('are copied from chunk to chunk without decoding', () => {
    fc.assert(
      fc.property(anyEdges, (edges) => {
        const packed = builderOf(edges).packSingle();
        if (!packed) return;
        const view = new ChunkView().open(packed.bytes);
        const builder = new ChunkBuilder();
        for (let index = 0; index < view.count; index++) builder.copy(view, index);
        expect(builder.packSingle()?.bytes.equals(packed.bytes)).toBe(true);
      }),
    );
  });

  it('take about 20 bytes for a single transfer', () => {
    const edge = (counterparty: number): Edge => ({
      counterparty,
      assets: [
        {
          asset: 3,
          transfers: 1,
          unpriced: 1,
          amount: 1_500_000_000_000_000_000n,
          cents: 0,
          firstSeenMs: 1_683_029_999_000,
          lastSeenMs: 1_683_029_999_000,
          newest: [{ timestampMs: 1_683_029_999_000, ordinal: 20_000_000 }],
          days: [],
        },
      ],
    });
    const one = builderOf([edge(1)]).packSingle()?.bytes.length ?? 0;
    const two = builderOf([edge(1), edge(2)]).packSingle()?.bytes.length ?? 0;
    expect(two - one).toBeLessThanOrEqual(20);
  });

  it('have ids of three bytes, unless one of them needs four', () => {
    const edge = (counterparty: number): Edge => {
      const made: Edge = { counterparty, assets: [] };
      Object.assign(assetSumOf(made, 1), {
        transfers: 1,
        amount: 5n,
        cents: 7,
        firstSeenMs: 0,
        lastSeenMs: 0,
      });
      return made;
    };
    const sizeOf = (ids: readonly number[]): number => {
      const { bytes } = builderOf(ids.map(edge)).packSingle() ?? { bytes: Buffer.alloc(0) };
      expect([...new ChunkView().open(bytes).ids]).toEqual(ids);
      return bytes.length;
    };
    const least = 2 ** 24 - 1;
    expect(
      sizeOf([1, 0xff00, least, least + 1, 0x7fff_ffff]) - sizeOf([1, 2, 0xff00, 0xff_0000, least]),
    ).toBe(5);
  });

  it('are rejected if the bytes end inside an edge', () => {
    fc.assert(
      fc.property(edgeOf(5, true), fc.nat(), (edge, at) => {
        const bytes = builderOf([edge]).packSingle()?.bytes as Buffer;
        const cut = 1 + (at % (bytes.length - 1));
        const read = (): Edge[] => edgesIn(new ChunkView().open(bytes.subarray(0, cut)));
        expect(read).toThrow('in the middle of');
      }),
    );
  });

  it('are ordered as stated, except for equal values in cents', () => {
    const any = fc.record({ cents: fc.oneof(fc.constant(0), fc.nat()), unpriced: fc.nat(2 ** 30) });
    fc.assert(
      fc.property(any, any, (a, b) => {
        if (a.cents === b.cents && a.cents > 0) return;
        const order = b.cents - a.cents || b.unpriced - a.unpriced;
        expect(Math.sign(valueRank(b.cents, b.unpriced) - valueRank(a.cents, a.unpriced))).toBe(
          Math.sign(order),
        );
      }),
    );
  });

  it('keep the newest transfers, in any order of insertion', () => {
    const anyRef = fc.record({ timestampMs: fc.nat(5), ordinal: fc.nat() });
    fc.assert(
      fc.property(fc.uniqueArray(anyRef, { selector: (ref) => ref.ordinal }), (refs) => {
        const newest: TransferRef[] = [];
        for (const ref of refs) addNewest(newest, ref, 4);
        expect(newest).toEqual([...refs].sort(newestFirst).slice(0, 4));
      }),
    );
  });
});
