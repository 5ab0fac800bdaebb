import { expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { BodyBudget } from '../../src/http/server/body-budget.ts';

const CHUNK = HTTP_LIMITS.heldChunkBytes;

it('bounds the bodies of one account, and leaves room for others', () => {
  const budget = new BodyBudget(10_000);
  const mine = budget.share('me', 3_000);
  expect(mine.take(3_000 - CHUNK)).toBe(true);
  const next = budget.share('me', 3_000);
  expect(next.take(1)).toBe(false);
  expect(next.isRefused).toBe(true);
  const other = budget.share('other', 3_000);
  expect(other.take(1_000)).toBe(true);
  expect(other.isRefused).toBe(false);
  mine.release();
  mine.release();
  expect(budget.held).toBe(1_000 + CHUNK);
  expect(budget.share('me', 3_000).take(3_000 - CHUNK)).toBe(true);
});

it('bounds all bodies together, and counts what a chunk takes besides its bytes', () => {
  const budget = new BodyBudget(4 * (CHUNK + 1));
  const shares = ['a', 'b', 'c', 'd', 'e'].map((subject) => budget.share(subject, 10_000));
  expect(shares.map((share) => share.take(1))).toEqual([true, true, true, true, false]);
  for (const share of shares) share.release();
  expect(budget.held).toBe(0);
});

it('refuses the rest of a body of which a chunk was refused', () => {
  const budget = new BodyBudget();
  const share = budget.share('me', 1_000);
  expect(share.take(2_000)).toBe(false);
  expect(share.take(1)).toBe(false);
  expect(budget.held).toBe(0);
});
