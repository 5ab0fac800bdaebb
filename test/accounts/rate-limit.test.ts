import { describe, expect, it } from 'vitest';
import { createRateLimiter } from '../../src/accounts/rate-limit.ts';
import { rateLimiterConformance } from '../conformance/rate-limit.ts';

const WALL_MS = Date.UTC(2026, 10, 21);

function world(limit: number, windowsMax?: number) {
  let current = limit;
  let generation = 0;
  const limiter = createRateLimiter(windowsMax === undefined ? {} : { windowsMax }, {
    clock: { now: () => WALL_MS, monotonic: () => 0 },
    limitOf: () => current,
    generation: () => generation,
  });
  return {
    limiter,
    setLimit(next: number) {
      current = next;
      generation++;
    },
  };
}

rateLimiterConformance('memory', (limit) => world(limit));

describe('the limiter in memory', () => {
  it('returns the epoch second at which the oldest request expires', () => {
    const { limiter } = world(2);
    expect(limiter.check('a', 'intel', 4_250)).toEqual({
      allowed: true,
      limit: 2,
      remaining: 1,
      // Counted until the end of its second (5.0 s), 60 seconds later: 60.75 s from now.
      resetEpochSeconds: WALL_MS / 1000 + 61,
      retryAfterSeconds: 0,
      countedSecond: 4,
    });
  });

  it('allows nothing extra if the clock steps back', () => {
    const { limiter } = world(2);
    limiter.check('a', 'intel', 100_000);
    limiter.check('a', 'intel', 90_000);
    expect(limiter.check('a', 'intel', 95_000).allowed).toBe(false);
    expect(limiter.check('a', 'intel', 160_999).allowed).toBe(false);
    expect(limiter.check('a', 'intel', 161_000).allowed).toBe(true);
  });

  it('tracks a bounded number of keys: idle ones are evicted, and none within its minute', () => {
    const { limiter } = world(1, 10);
    for (let key = 0; key < 10; key++) expect(limiter.check(`k${key}`, 'intel', 0).allowed).toBe(true);
    expect(limiter.check('late', 'intel', 30_000)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    for (let key = 0; key < 10; key++) expect(limiter.check(`k${key}`, 'intel', 30_000).allowed).toBe(false);
    expect(limiter.check('late', 'intel', 61_000).allowed).toBe(true);
    expect(limiter.check('k0', 'oracle', 61_000).allowed).toBe(true);
  });

  it('removes idle keys long before the table is full', () => {
    const { limiter } = world(1);
    // A hundred new keys per second for ten minutes: 6,100 of them sent requests within the last minute.
    for (let key = 0; key < 60_000; key++) limiter.check(`k${key}`, 'intel', key * 10);
    expect(limiter.tracked).toBeLessThanOrEqual(2 * 6_200);
    // No key is dropped within its minute.
    expect(limiter.check('k59999', 'intel', 600_000).allowed).toBe(false);
    expect(limiter.check('k54100', 'intel', 600_000).allowed).toBe(false);
  });

  it('forgets exactly the seconds that have expired, if the removal of idle keys finds a key in use', () => {
    const { limiter } = world(3, 10);
    for (const second of [10, 10, 50]) limiter.check('a', 'intel', second * 1000);
    for (let key = 0; key < 9; key++) limiter.check(`k${key}`, 'intel', 50_000);
    // The table is full: this key removes the idle ones.
    limiter.check('late', 'intel', 75_000);
    expect(limiter.check('a', 'intel', 75_000)).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('answers a key that was in use at two removals of idle keys', () => {
    const { limiter } = world(3, 10);
    for (const second of [10, 10, 50]) limiter.check('a', 'intel', second * 1000);
    for (let key = 0; key < 9; key++) limiter.check(`k${key}`, 'intel', 50_000);
    limiter.check('late', 'intel', 75_000);
    for (let second = 75; second <= 110; second++) limiter.check('a', 'intel', second * 1000);
    for (let key = 0; key < 12; key++) limiter.check(`l${key}`, 'intel', 112_000);
    // Only the request of second 50 has expired since.
    expect(limiter.check('a', 'intel', 112_000)).toMatchObject({ allowed: true, remaining: 0 });
  });
});
