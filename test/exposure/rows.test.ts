/** The rows of an exposure index, of small graphs: shares, flags, dust, and dealings before a designation. */
import { describe, expect, it } from 'vitest';
import { HUB, NEUTRAL, type NodeKinds, PASSES } from '../../src/exposure/kinds.ts';
import { type DirectionRows, IS_BEFORE, nodeAt, ROW, readRows, rowKinds } from '../../src/exposure/rows.ts';
import { day, type MemoryEdge, memoryGraph } from '../graph/memory-graph.ts';

const weighing = { isEvidence: (asset: string) => asset !== 'SPAM', dustUsd: 10, dustShare: 0 };

interface Kinds {
  readonly kinds?: Readonly<Record<number, number>>;
  readonly before?: Readonly<Record<number, { readonly fromMs: number; readonly kind: number }>>;
  readonly suspected?: readonly number[];
}

function kindsOf(nodeCount: number, { kinds = {}, before = {}, suspected = [] }: Kinds): NodeKinds<string> {
  return {
    kinds: Int16Array.from({ length: nodeCount + 1 }, (_, node) => kinds[node] ?? PASSES),
    before: new Map(Object.entries(before).map(([node, until]) => [Number(node), until])),
    ...{ columns: ['A', 'B'], hubs: [], suspected: new Set(suspected), attributed: 0 },
  };
}

/** Reads the rows of received value. */
function received(edges: readonly MemoryEdge[], kinds: Kinds = {}): DirectionRows {
  const graph = memoryGraph(edges);
  return readRows({ graph, direction: 'in', weighing, kinds: kindsOf(graph.nodeCount, kinds) });
}

/** Returns the edges of a row: the other side, whether the part moved before its attribution, and the share. */
const edgesOf = ({ start, other, share }: DirectionRows, row: number) =>
  Array.from({ length: (start[row + 1] as number) - (start[row] as number) }, (_, at) => {
    const place = (start[row] as number) + at;
    const to = other[place] as number;
    return [(to & ~IS_BEFORE) >>> 0, (to & IS_BEFORE) !== 0, share[place]] as const;
  });
const lightOf = ({ lightStart, light }: DirectionRows, node: number): number[] => [
  ...light.subarray(lightStart[node], lightStart[node + 1]),
];

const pay = (from: number, valueUsd: number, change: Partial<MemoryEdge> = {}): MemoryEdge => ({
  ...{ from, to: 9, valueUsd },
  ...change,
});

describe('a row', () => {
  it('has the shares of the value, and the shares of labelled addresses', () => {
    const rows = received([pay(1, 100), pay(2, 60), pay(3, 40)], { kinds: { 1: 0, 2: NEUTRAL } });
    expect(edgesOf(rows, 9)).toEqual([
      [1, false, 0.5],
      [2, false, 0.3],
      [3, false, 0.2],
    ]);
    expect([rows.total[9], rows.attributed[9], rows.flags[9]]).toEqual([200, 0.8, ROW.RISKY]);
    expect(received([pay(1, 100)], { kinds: { 1: NEUTRAL } }).flags[9]).toBe(0);
    expect(received([pay(1, 100)], { kinds: { 1: 1 } }).flags[9]).toBe(ROW.RISKY);
  });

  it('has no dust, whose neutral part is kept, and whose risks are marked', () => {
    const dusty = [pay(1, 990), pay(2, 9.99), pay(3, 9.98), pay(4, 10)];
    const rows = received(dusty, { kinds: { 2: 0, 3: NEUTRAL } });
    expect(edgesOf(rows, 9).map(([other]) => other)).toEqual([1, 4]);
    expect(rows.total[9]).toBeCloseTo(1_000);
    expect(rows.neutralDust[9]).toBeCloseTo(9.98);
    expect([rows.attributed[9], rows.flags[9]]).toEqual([0, ROW.RISKY]);
    // Transfers that may be worth less than dust by asset: less than four times the limit.
    expect(lightOf(rows, 9)).toEqual([4, 2, 3]);
    expect(lightOf(received([pay(1, 40), pay(2, 39.99)]), 9)).toEqual([2]);
  });

  it('is of a hub that has an attribution, but not of one that has none', () => {
    const hub = received([pay(1, 100)], { kinds: { 9: HUB } });
    expect([edgesOf(hub, 9), hub.flags[9], hub.total[9]]).toEqual([[], ROW.ALONE, 0]);
  });

  it('says that there are other counterparties, with which no evidence moved', () => {
    expect(received([pay(1, 100)]).flags[9]).toBe(0);
    expect(received([pay(1, 100), pay(2, 5, { asset: 'SPAM' })]).flags[9]).toBe(ROW.OTHERS);
    const spam = received([pay(2, 5, { asset: 'SPAM' })]);
    expect([edgesOf(spam, 9), spam.flags[9], spam.flags[2]]).toEqual([[], ROW.OTHERS, 0]);
  });

  it('marks suspected counterparties, also for dust', () => {
    expect(received([pay(1, 100), pay(2, 1)], { suspected: [2] }).flags[9]).toBe(ROW.SUSPECTED);
    expect(received([pay(1, 100)], { suspected: [9] }).flags[9]).toBe(0);
  });
});

describe('an attribution since a time', () => {
  const fromMs = day(10);
  const paid = (first: number, last: number, kind: number, now = 1) =>
    received([pay(1, 100, { firstSeenMs: first, lastSeenMs: last })], {
      kinds: { 1: now },
      before: { 1: { fromMs, kind } },
    });

  it('does not apply to what moved before it, from its first millisecond on it does', () => {
    for (const first of [fromMs, fromMs + 1]) {
      const since = paid(first, first, PASSES);
      expect([edgesOf(since, 9), since.flags[9]]).toEqual([[[1, false, 1]], ROW.RISKY]);
    }
    const earlier = paid(fromMs - 2, fromMs - 1, PASSES);
    expect([edgesOf(earlier, 9), earlier.flags[9]]).toEqual([[[1, true, 1]], ROW.EARLIER]);
  });

  it('leaves the kind before it to what moved earlier, whatever its number', () => {
    expect(paid(1, 2, 0, NEUTRAL).flags[9]).toBe(ROW.EARLIER | ROW.RISKY);
    expect(paid(1, 2, 1, NEUTRAL).flags[9]).toBe(ROW.EARLIER | ROW.RISKY);
    const neutral = paid(1, 2, NEUTRAL);
    expect([neutral.flags[9], neutral.attributed[9]]).toEqual([ROW.EARLIER, 1]);
    const none = paid(1, 2, PASSES);
    expect([none.flags[9], none.attributed[9]]).toEqual([ROW.EARLIER, 0]);
  });

  it('divides an edge with transfers on both sides of it', () => {
    const both = [
      pay(1, 100, {
        ...{ firstSeenMs: day(5), lastSeenMs: day(20), transfers: 2, amount: 10_000 },
        days: [
          { day: day(20), amount: 7_500n, transfers: 1 },
          { day: day(5), amount: 2_500n, transfers: 1 },
        ] as unknown as NonNullable<MemoryEdge['days']>,
      }),
    ];
    const rows = received(both, { kinds: { 1: 0 }, before: { 1: { fromMs, kind: PASSES } } });
    const shares = edgesOf(rows, 9);
    expect(shares.map(([other, isBefore]) => [other, isBefore])).toContainEqual([1, false]);
    expect(shares.reduce((sum, [, , share]) => sum + (share as number), 0)).toBeCloseTo(1);
    expect(rows.flags[9]).toBe(ROW.EARLIER | ROW.RISKY);
  });
});

describe('a row of an asset without a price', () => {
  const edges = [
    pay(1, 100),
    pay(2, 0, { asset: 'T', amount: 30, unpriced: 1 }),
    pay(3, 0, { asset: 'T', amount: 10, unpriced: 1 }),
    { from: 8, to: 2, valueUsd: 0, asset: 'T', amount: 5, unpriced: 1 },
  ];

  it('is beside that of priced value, and leads to the row of its asset where the other side has one', () => {
    const rows = received([...edges, { from: 7, to: 2, valueUsd: 50 }]);
    const { apart } = rows;
    expect([...apart.node]).toEqual([2, 9]);
    expect([apart.start[9], apart.start[10]]).toEqual([1, 2]);
    const [ofTwo, ofNine] = [10, 11];
    expect(edgesOf(rows, 9)).toEqual([[1, false, 1]]);
    expect(edgesOf(rows, ofNine)).toEqual([
      [ofTwo, false, 0.75],
      [3, false, 0.25],
    ]);
    expect([nodeAt(rows, ofTwo), nodeAt(rows, ofNine), nodeAt(rows, 9), nodeAt(rows, 3)]).toEqual([
      2, 9, 9, 3,
    ]);
    expect(nodeAt(rows, (ofTwo | IS_BEFORE) >>> 0)).toBe(2);
  });

  it('is the own row of an address that moved nothing else', () => {
    const rows = received(edges);
    expect(edgesOf(rows, 2)).toEqual([[8, false, 1]]);
    expect([rows.flags[2], rows.flags[9]]).toEqual([ROW.IS_ASSET, 0]);
    expect([...rows.apart.node]).toEqual([9]);
  });

  it('has the kind of its node, but passes nothing on if it is a hub for its asset', () => {
    const rows = received(edges);
    const hubs = { ...rows, apart: { ...rows.apart, isHub: Uint8Array.of(1) } };
    const kindsWith = (kind: number, before: Kinds['before'] = {}) =>
      kindsOf(9, { kinds: { 9: kind }, before });
    expect(rowKinds(rows, kindsWith(PASSES)).kinds[10]).toBe(PASSES);
    expect(rowKinds(hubs, kindsWith(PASSES)).kinds[10]).toBe(HUB);
    for (const kind of [0, 1, NEUTRAL]) {
      expect(rowKinds(rows, kindsWith(kind)).kinds[10]).toBe(kind);
      expect(rowKinds(hubs, kindsWith(kind)).kinds[10]).toBe(kind);
    }
    const until = { 9: { fromMs: 5, kind: PASSES } };
    expect(rowKinds(rows, kindsWith(0, until)).before.get(10)).toEqual({ fromMs: 5, kind: PASSES });
    expect(rowKinds(hubs, kindsWith(0, until)).before.get(10)).toEqual({ fromMs: 5, kind: HUB });
    expect(rowKinds(hubs, kindsWith(0)).before.size).toBe(0);
  });
});
