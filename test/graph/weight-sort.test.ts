/** The order of long rows and the selection of the greatest numbers, against a plain sort. */
import { expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { nthGreatest } from '../../src/graph/greatest.ts';
import { WeightSort } from '../../src/graph/weight-sort.ts';

/** Weights as rows have them: cents, amounts without a price, many equal ones, and some that differ in their last bits only. */
const WEIGHTS: readonly ((next: () => number, at: number) => number)[] = [
  (next) => next() / 100,
  (next) => -1 / (1 + next() * 1e12),
  (next) => (next() % 7) - 3,
  (next) => 1 + (next() % 50) * Number.EPSILON,
  (next) => (next() % 2 === 0 ? 1e-300 : 1e300) * (next() % 1000),
  () => 5,
  (_, at) => at,
  (_, at) => -at,
];

function weightsOf(kind: number, count: number, next: () => number): Float64Array {
  const of = WEIGHTS[kind % WEIGHTS.length]!;
  return Float64Array.from({ length: count }, (_, at) => of(next, at));
}

it('orders edges by weight, then by id', () => {
  const next = seededUint32(1);
  const sort = new WeightSort();
  for (let round = 0; round < 160; round++) {
    const count = 1 + (next() % 400);
    const weight = weightsOf(round, count, next);
    const ids = Uint32Array.from({ length: count }, (_, at) => at);
    for (let at = count - 1; at > 0; at--) {
      const other = next() % (at + 1);
      [ids[at], ids[other]] = [ids[other]!, ids[at]!];
    }
    const order = new Uint32Array(count + 5);
    sort.sort({ ids, weight }, count, order);
    const expected = Array.from(ids.keys()).sort((a, b) => weight[b]! - weight[a]! || ids[a]! - ids[b]!);
    expect([...order.subarray(0, count)]).toEqual(expected);
    const needed = next() % (count + 1);
    sort.sort({ ids, weight }, count, order, needed);
    expect([...order.subarray(0, needed)]).toEqual(expected.slice(0, needed));
  }
});

it('selects the nth greatest number', () => {
  const next = seededUint32(2);
  for (let round = 0; round < 400; round++) {
    const count = 1 + (next() % 300);
    const numbers = weightsOf(round, count, next);
    const nth = 1 + (next() % count);
    const expected = Array.from(numbers).sort((a, b) => b - a)[nth - 1];
    expect(nthGreatest(numbers, count, nth)).toBe(expected);
  }
});

it('selects from an order that makes partitions uneven', () => {
  const count = 200_000;
  const numbers = Float64Array.from({ length: count }, (_, at) => Math.abs(at - count / 2));
  const sorted = numbers.slice().sort();
  expect(nthGreatest(numbers, count, count / 2)).toBe(sorted[count / 2]);
});
