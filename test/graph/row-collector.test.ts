/** The edges of one row: their sums, their order, and those that a query leaves out. */
import { expect, it } from 'vitest';
import { createNeighbourColumns, type RowQuery } from '../../src/graph/graph.ts';
import { RowCollector } from '../../src/graph/row-collector.ts';

const ETH = 1;
const USDT = 2;
const ALL: RowQuery = {
  evidence: new Set([ETH, USDT]),
  rates: null,
  least: Number.NEGATIVE_INFINITY,
  limit: 1_000,
  seenUntilMs: 100,
};

interface Sum {
  readonly to: number;
  readonly asset?: number;
  readonly transfers?: number;
  readonly unpriced?: number;
  readonly cents?: number;
  readonly amount?: number;
  readonly first?: number;
  readonly last?: number;
}

/** Collects sums, of which those in a row with one counterparty are one edge. */
function collected(sums: readonly Sum[], query: Partial<RowQuery> = {}) {
  const collector = new RowCollector().open({ ...ALL, ...query });
  for (const [at, sum] of sums.entries()) {
    const { to, asset = ETH, transfers = 1, unpriced = 0, cents = 0, amount = 1, first = 1, last = 1 } = sum;
    if (sums[at - 1]?.to !== to) collector.begin(to);
    if (collector.counts(asset)) collector.add(transfers, unpriced, cents, amount, first, last);
    if (sums[at + 1]?.to !== to) collector.end();
  }
  const columns = createNeighbourColumns(sums.length);
  const scan = collector.finish(columns, false);
  const rows = Array.from({ length: scan.count }, (_, at) => ({
    to: columns.ids[at],
    weight: columns.weight[at],
    valueUsd: columns.valueUsd[at],
    transfers: columns.transfers[at],
    unpriced: columns.unpriced[at],
    seen: [columns.firstSeenMs[at], columns.lastSeenMs[at]],
  }));
  return { ...scan, rows, order: rows.map(({ to }) => to) };
}

it('has the edges with a price first, by their USD, then those without, by their amount', () => {
  const sums = [
    { to: 1, amount: 5 },
    { to: 2, cents: 1, amount: 1 },
    { to: 3, amount: 0 },
    { to: 4, cents: 90_000, amount: 2 },
    { to: 5, amount: 500 },
    { to: 6, cents: 200, amount: 900 },
  ];
  expect(collected(sums).order).toEqual([4, 6, 2, 5, 1, 3]);
  expect(collected(sums, { limit: 2 })).toMatchObject({ order: [4, 6], count: 2, heavy: 6 });
  expect(collected(sums, { limit: 0 })).toMatchObject({ order: [], count: 0, heavy: 6 });
});

it.each([3, 32, 33, 200])('orders equal edges by their number (%s edges)', (count) => {
  const sums = Array.from({ length: count }, (_, at) => ({
    to: count - at,
    cents: at % 3 === 0 ? 500 : 300,
  }));
  const byHand = [...sums].sort((a, b) => b.cents - a.cents || a.to - b.to);
  expect(collected(sums).order).toEqual(byHand.map(({ to }) => to));
  const equal = sums.map(({ to }) => ({ to, cents: 100 }));
  expect(collected(equal).order).toEqual(equal.map(({ to }) => to).reverse());
});

it('sums an edge over the assets of the query, and has no edge of other assets', () => {
  const sums = [
    { to: 1, asset: ETH, transfers: 2, cents: 150, first: 5, last: 9 },
    { to: 1, asset: USDT, transfers: 3, unpriced: 3, first: 2, last: 7 },
    { to: 2, asset: USDT, transfers: 1 },
  ];
  expect(collected(sums).rows).toMatchObject([
    { to: 1, valueUsd: 1.5, transfers: 5, unpriced: 3, seen: [2, 9] },
    { to: 2, transfers: 1 },
  ]);
  expect(collected(sums, { evidence: new Set([ETH]) }).rows).toMatchObject([
    { to: 1, transfers: 2, unpriced: 0, seen: [5, 9] },
  ]);
});

it('counts edges below the least weight apart, and keeps one of exactly that weight', () => {
  const sums = [
    { to: 1, cents: 999, transfers: 4 },
    { to: 2, cents: 1_000 },
    { to: 3, cents: 1, transfers: 2 },
  ];
  expect(collected(sums, { least: 10 })).toMatchObject({
    ...{ order: [2], heavy: 1 },
    light: { edges: 2, transfers: 6, weight: 10, valueUsd: 10 },
  });
});

it('weighs amounts by the rates, and passes over sums without an amount', () => {
  const sums = [
    { to: 1, asset: ETH, amount: 3, cents: 9_999 },
    { to: 2, asset: USDT, amount: 40 },
    { to: 3, asset: ETH, amount: 0, cents: 5 },
  ];
  const rates = new Map([[ETH, 20]]);
  expect(collected(sums, { rates }).rows).toMatchObject([
    { to: 1, weight: 60 },
    { to: 2, weight: 0 },
  ]);
});

it('hides sums that were first seen later, and counts their weight', () => {
  const sums = [
    { to: 1, amount: 1, first: 100, last: 500 },
    { to: 1, amount: 2, first: 101, last: 101 },
    { to: 2, amount: 4, first: 101 },
  ];
  const answer = collected(sums, { rates: new Map([[ETH, 1]]) });
  expect(answer).toMatchObject({ order: [1], hiddenWeight: 6 });
  expect(answer.rows).toMatchObject([{ weight: 1, seen: [100, 500] }]);
});

it('leaves out one asset of one edge only', () => {
  const sums = [
    { to: 1, asset: ETH, cents: 300 },
    { to: 1, asset: USDT, cents: 100 },
    { to: 2, asset: ETH, cents: 200 },
  ];
  const rows = (without: NonNullable<RowQuery['without']>) =>
    collected(sums, { without }).rows.map(({ to, valueUsd }) => [to, valueUsd]);
  expect(rows({ counterparty: 1, asset: ETH })).toEqual([
    [2, 2],
    [1, 1],
  ]);
  expect(rows({ counterparty: 2, asset: ETH })).toEqual([[1, 4]]);
  expect(rows({ counterparty: 2, asset: USDT })).toHaveLength(2);
});

it('has enough with one edge more than the query needs', () => {
  const collector = new RowCollector().open({ ...ALL, enough: 1 });
  const seen = [1, 2].map((to) => {
    collector.begin(to);
    collector.counts(ETH);
    collector.add(1, 0, 100, 1, 1, 1);
    collector.end();
    return collector.hasEnough;
  });
  expect(seen).toEqual([false, true]);
  expect(new RowCollector().open(ALL).hasEnough).toBe(false);
});
