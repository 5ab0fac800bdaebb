/** The behaviour that every rate limiter shares. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateLimiter } from '../../src/accounts/rate-limit.ts';

export interface LimiterWorld {
  readonly limiter: RateLimiter;
  setLimit(limit: number): void;
}

const MINUTE_MS = 60_000;

export function rateLimiterConformance(name: string, makeWorld: (limit: number) => LimiterWorld): void {
  describe(`${name} limits`, () => {
    const inWindow = (times: readonly number[], now: number, windowMs: number): number =>
      times.filter((time) => time > now - windowMs && time <= now).length;

    it('never allow more than N in any 60 seconds, and reject at most a second longer than an exact model', async () => {
      const gap = fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 999 }),
        fc.integer({ min: 900, max: 1100 }),
        fc.integer({ min: 58_000, max: 62_000 }),
        fc.integer({ min: 0, max: 200_000 }),
        fc.double({ min: 0, max: 5000, noNaN: true }),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 6 }),
          fc.double({ min: 0, max: 1e9, noNaN: true }),
          fc.array(gap, { minLength: 1, maxLength: 120 }),
          async (limit, start, gaps) => {
            const { limiter } = makeWorld(limit);
            const allowed: number[] = [];
            let now = start;
            for (const wait of gaps) {
              now += wait;
              const decision = await limiter.check('key', 'intel', now);
              if (decision.allowed) {
                expect(inWindow(allowed, now, MINUTE_MS)).toBeLessThan(limit);
                allowed.push(now);
              } else {
                expect(inWindow(allowed, now, MINUTE_MS + 1000)).toBeGreaterThanOrEqual(limit);
              }
              expect(decision.limit).toBe(limit);
              expect(decision.remaining).toBeLessThanOrEqual(limit - inWindow(allowed, now, MINUTE_MS));
              expect(decision.remaining).toBeGreaterThanOrEqual(
                limit - inWindow(allowed, now, MINUTE_MS + 1000),
              );
            }
          },
        ),
        { numRuns: 400 },
      );
    });

    it('allow a rested key all N at once, and all N again after a rest', async () => {
      const { limiter } = makeWorld(1000);
      for (const start of [5_500, 5_500 + 61_000]) {
        for (let request = 0; request < 1000; request++)
          expect((await limiter.check('key', 'intel', start)).allowed).toBe(true);
        expect((await limiter.check('key', 'intel', start)).allowed).toBe(false);
      }
    });

    it('allow a request once Retry-After has passed', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 40 }),
          async (limit, gaps) => {
            const { limiter } = makeWorld(limit);
            let now = 0;
            for (const wait of gaps) {
              now += wait;
              const decision = await limiter.check('key', 'intel', now);
              if (decision.allowed) {
                expect(decision.retryAfterSeconds).toBe(0);
                continue;
              }
              expect(decision.retryAfterSeconds).toBeGreaterThanOrEqual(1);
              expect(decision.retryAfterSeconds).toBeLessThanOrEqual(61);
              now += decision.retryAfterSeconds * 1000;
              expect((await limiter.check('key', 'intel', now)).allowed).toBe(true);
            }
          },
        ),
      );
    });

    it('are separate for keys and classes', async () => {
      const { limiter } = makeWorld(1);
      expect((await limiter.check('a', 'intel', 0)).allowed).toBe(true);
      expect((await limiter.check('a', 'intel', 0)).allowed).toBe(false);
      expect((await limiter.check('b', 'intel', 0)).allowed).toBe(true);
      expect((await limiter.check('a', 'oracle', 0)).allowed).toBe(true);
    });

    it('apply a raised or lowered limit from the next request on', async () => {
      const world = makeWorld(2);
      const check = async (at: number) => await world.limiter.check('a', 'intel', at);
      await check(0);
      await check(10_000);
      expect((await check(10_000)).allowed).toBe(false);
      world.setLimit(3);
      expect(await check(10_000)).toMatchObject({ allowed: true, limit: 3, remaining: 0 });
      world.setLimit(1);
      const refused = await check(20_000);
      expect(refused).toMatchObject({ allowed: false, limit: 1, remaining: 0 });
      expect((await check(20_000 + refused.retryAfterSeconds * 1000 - 1000)).allowed).toBe(false);
      expect((await check(20_000 + refused.retryAfterSeconds * 1000)).allowed).toBe(true);
    });
  });
}
