import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { newCounterMemo } from '../../src/accounts/counter-memo.ts';
import { openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { createRateLimiter } from '../../src/accounts/rate-limit.ts';
import { silentLogger } from '../../src/base/log.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-memo-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('finds a window again, and never counts in one of another key or class, or in a removed one', () => {
  let limit = 5;
  const limiter = createRateLimiter(
    { windowsMax: 3 },
    {
      clock: { now: () => 0, monotonic: () => 0 },
      limitOf: () => limit,
      generation: () => limit,
    },
  );
  const memo = newCounterMemo();
  const remaining = (key: string, rateClass: 'intel' | 'oracle', ms: number): number =>
    limiter.check(key, rateClass, ms, memo).remaining;
  expect(remaining('a', 'intel', 0)).toBe(4);
  expect(remaining('a', 'intel', 0)).toBe(3);
  expect(remaining('a', 'oracle', 0)).toBe(4);
  expect(remaining('b', 'oracle', 0)).toBe(4);
  expect(remaining('b', 'oracle', 0)).toBe(3);
  // Without the memo, and with it, the same window counts.
  expect(limiter.check('b', 'oracle', 0).remaining).toBe(2);
  limit = 9;
  expect(remaining('b', 'oracle', 0)).toBe(5);
  // A new key removes all windows, which are idle by then.
  limiter.check('c', 'intel', 100_000);
  expect(limiter.tracked).toBe(1);
  expect(remaining('b', 'oracle', 100_000)).toBe(8);
  expect(limiter.check('b', 'oracle', 100_000).remaining).toBe(7);
});

it('finds a counter again, and never takes from one of another account, meter or month', async () => {
  let now = Date.UTC(2026, 10, 30);
  const quota = openQuotaMeter(
    { path: join(folder, 'quotas.mdb') },
    {
      clock: { now: () => now, monotonic: () => 0 },
      log: silentLogger,
      limitOf: () => 10_000,
      generation: () => 0,
    },
  );
  const memo = newCounterMemo();
  const left = (account: string, meter: 'intel' | 'oracle'): number | null | undefined =>
    quota.takeLeased(account, meter, 1, memo)?.remaining;
  expect(left('a', 'oracle')).toBeUndefined();
  for (const [account, meter] of [
    ['a', 'oracle'],
    ['a', 'intel'],
    ['b', 'oracle'],
  ] as const)
    await quota.leased(account, meter, 1);
  expect(left('a', 'oracle')).toBe(9_999);
  expect(left('a', 'oracle')).toBe(9_998);
  expect(left('a', 'intel')).toBe(9_999);
  expect(left('b', 'oracle')).toBe(9_999);
  expect(left('a', 'oracle')).toBe(9_997);
  now = Date.UTC(2026, 11, 1);
  expect(left('a', 'oracle')).toBeUndefined();
  await quota.leased('a', 'oracle', 1);
  expect(left('a', 'oracle')).toBe(9_999);
  expect([quota.used('a', 'oracle'), quota.used('b', 'oracle')]).toEqual([1, 0]);
  await quota.close();
});
