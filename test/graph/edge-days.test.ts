import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addToDays, dayOf, type EdgeDay, partSince, startOfDay } from '../../src/graph/edge-days.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';

interface Moved {
  readonly timestampMs: number;
  readonly amount: bigint;
}

interface Sum {
  transfers: number;
  amount: bigint;
  firstSeenMs: number;
  lastSeenMs: number;
  days: EdgeDay[];
}

const emptySum = (): Sum => ({
  transfers: 0,
  amount: 0n,
  firstSeenMs: Number.POSITIVE_INFINITY,
  lastSeenMs: 0,
  days: [],
});

function add(sum: Sum, { timestampMs, amount }: Moved): void {
  addToDays(sum.days, sum, timestampMs, amount);
  sum.transfers++;
  sum.amount += amount;
  sum.firstSeenMs = Math.min(sum.firstSeenMs, timestampMs);
  sum.lastSeenMs = Math.max(sum.lastSeenMs, timestampMs);
}

const sumOf = (list: readonly Moved[]): Sum => {
  const sum = emptySum();
  for (const moved of list) add(sum, moved);
  return sum;
};

const anyMoved = (days: number): fc.Arbitrary<Moved> =>
  fc.record({
    timestampMs: fc.integer({ min: startOfDay(19_000), max: startOfDay(19_000 + days) }),
    amount: fc.bigInt({ min: 0n, max: 10n ** 30n }),
  });

/** Transfers on more days than are kept, in any order. */
const anyManyDays = fc
  .uniqueArray(fc.nat(400), {
    minLength: GRAPH_LIMITS.edgeDaysKept + 1,
    maxLength: 3 * GRAPH_LIMITS.edgeDaysKept,
    size: 'max',
  })
  .map((days) => days.map((day) => ({ timestampMs: startOfDay(19_000 + day), amount: BigInt(day) })));

/** The result of `partSince` if every transfer were kept. */
const exact = (list: readonly Moved[], day: number) => {
  const later = list.filter(({ timestampMs }) => dayOf(timestampMs) >= day);
  return { transfers: later.length, amount: later.reduce((sum, { amount }) => sum + amount, 0n) };
};

describe('amounts by day', () => {
  it('give exactly what moved since any day, in whatever order transfers came', () => {
    fc.assert(
      fc.property(fc.array(anyMoved(30), { minLength: 1, maxLength: 60 }), fc.nat(32), (list, at) => {
        const { amount, transfers } = partSince(sumOf(list), 19_000 + at);
        expect({ amount, transfers }).toEqual(exact(list, 19_000 + at));
      }),
    );
  });

  it('never give less than what moved since a day, and all of the whole, if days were joined', () => {
    fc.assert(
      fc.property(anyManyDays, fc.nat(402), (list, at) => {
        const sum = sumOf(list);
        const since = partSince(sum, 19_000 + at);
        const least = exact(list, 19_000 + at);
        expect(sum.days).toHaveLength(GRAPH_LIMITS.edgeDaysKept);
        expect(since.amount).toBeGreaterThanOrEqual(least.amount);
        expect(since.transfers).toBeGreaterThanOrEqual(least.transfers);
        const { amount, transfers } = partSince(sum, 18_999);
        expect({ amount, transfers }).toEqual(exact(list, 18_999));
      }),
      { numRuns: 50 },
    );
  });

  it('do not carry money over a date because of dust on any number of days', () => {
    const dust = fc.uniqueArray(fc.nat(2_000), { minLength: 1, maxLength: 3 * GRAPH_LIMITS.edgeDaysKept });
    const real = fc.uniqueArray(fc.nat(999), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(real, dust, (before, others) => {
        const sum = sumOf([
          ...before.map((day) => ({ timestampMs: startOfDay(19_000 + day), amount: 10n ** 20n })),
          ...others.map((day) => ({ timestampMs: startOfDay(19_000 + day), amount: 1n })),
        ]);
        expect(partSince(sum, 20_000).amount).toBeLessThan(10n ** 20n);
      }),
    );
  });

  it('keep nothing for one day, and join two only beyond the limit', () => {
    const sum = emptySum();
    for (let hour = 0; hour < 24; hour++)
      add(sum, { timestampMs: startOfDay(19_000) + hour * 3_600_000, amount: 1n });
    expect(sum.days).toEqual([]);
    for (let day = 1; day < GRAPH_LIMITS.edgeDaysKept; day++)
      add(sum, { timestampMs: startOfDay(19_000 + day), amount: 2n });
    expect(sum.days).toHaveLength(GRAPH_LIMITS.edgeDaysKept);
    expect(sum.days.at(-1)).toEqual({ day: 19_000, amount: 24n, transfers: 24 });
    add(sum, { timestampMs: startOfDay(19_000 + GRAPH_LIMITS.edgeDaysKept), amount: 2n });
    expect(sum.days).toHaveLength(GRAPH_LIMITS.edgeDaysKept);
    // Of equal amounts the oldest day is merged, and 19_000 has more.
    expect(sum.days.slice(-2)).toEqual([
      { day: 19_002, amount: 4n, transfers: 2 },
      { day: 19_000, amount: 24n, transfers: 24 },
    ]);
  });

  it('count the whole sum as after a day if a release without days wrote it', () => {
    const old: Sum = {
      ...sumOf([{ timestampMs: startOfDay(19_000), amount: 5n }]),
      lastSeenMs: startOfDay(19_010),
    };
    expect(partSince(old, 19_005).amount).toBe(5n);
    expect(partSince(old, 19_011).amount).toBe(0n);
    add(old, { timestampMs: startOfDay(19_020), amount: 1n });
    expect(old.days).toEqual([]);
    expect(partSince(old, 19_020).amount).toBe(6n);
  });
});
