/** The behaviour that every quota meter shares. The test of each implementation runs it. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type QuotaMeter, quotaExhausted } from '../../src/accounts/quota.ts';

export interface QuotaWorld {
  /** Opens the meter over the same data. */
  open(): QuotaMeter;
  /** Milliseconds since the epoch of the world's clock. */
  now: number;
  /** Units per month of every account and meter; null is unlimited. */
  limit: number | null;
  dispose(): Promise<void>;
}

/**
 * Adds the suite.
 *
 * @param takes - number of small takes that are counted. A meter that leases units ahead needs many: most of them are of its memory
 */
export function quotaConformance(name: string, makeWorld: () => Promise<QuotaWorld>, takes = 30_000): void {
  describe(`${name} meters`, () => {
    let world: QuotaWorld;
    let meter: QuotaMeter;

    beforeEach(async () => {
      world = await makeWorld();
      world.now = Date.UTC(2026, 10, 21, 12);
      world.limit = 1000;
      meter = world.open();
    });

    afterEach(async () => {
      await meter.close();
      await world.dispose();
    });

    it('take all units or none, down to the last unit', async () => {
      expect(await meter.take('a', 'intel', 100)).toEqual({
        ok: true,
        limit: 1000,
        remaining: 900,
        resetAt: '2026-12-01T00:00:00.000Z',
      });
      expect((await meter.take('a', 'intel', 901)).ok).toBe(false);
      expect(await meter.take('a', 'intel', 900)).toMatchObject({ ok: true, remaining: 0 });
      const refused = await meter.take('a', 'intel', 1);
      expect(refused).toMatchObject({ ok: false, remaining: 0 });
      expect(quotaExhausted(refused, 'intel', 1).message).toBe(
        'Monthly intel quota exceeded: 0 of 1000 addresses left, and this request needs 1. The quota renews at 2026-12-01T00:00:00.000Z.',
      );
      expect((await meter.take('a', 'oracle', 1)).remaining).toBe(999);
      expect((await meter.take('b', 'intel', 1)).remaining).toBe(999);
    });

    it('count exactly the taken and returned units, over restarts', async () => {
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom('take', 'give', 'turn', 'restart'), fc.nat(120)), {
            maxLength: 60,
          }),
          async (steps) => {
            // A counter, not a random draw: if two runs drew the same account, each would see what the other used.
            const account = `account-${runs++}`;
            let used = 0;
            for (const [step, units] of steps) {
              if (step === 'take') {
                const { ok, remaining } = await meter.take(account, 'intel', units);
                expect(ok).toBe(used + units <= 1000);
                if (ok) used += units;
                expect(remaining).toBe(1000 - used);
              } else if (step === 'give') {
                await meter.give(account, 'intel', units);
                used = Math.max(0, used - units);
              } else if (step === 'turn') {
                await new Promise((resolve) => setImmediate(resolve));
              } else {
                await meter.close();
                meter = world.open();
              }
              expect(await meter.used(account, 'intel')).toBe(used);
            }
          },
        ),
        { numRuns: 25 },
      );
    });

    it('settle an event by its name once, also over repetitions and restarts', async () => {
      await meter.take('a', 'intel', 100);
      expect(await meter.settle('a', 'intel', 'job:1', 800)).toMatchObject({ ok: true, remaining: 100 });
      expect(await meter.settle('a', 'intel', 'job:1', 800)).toMatchObject({ ok: true, remaining: 100 });
      expect(await meter.settle('a', 'intel', 'job:2', 101)).toMatchObject({ ok: false, remaining: 100 });
      expect(await meter.settle('a', 'intel', 'job:2', 100)).toMatchObject({ ok: true, remaining: 0 });
      expect((await meter.take('a', 'intel', 1)).ok).toBe(false);
      await meter.close();
      meter = world.open();
      expect(await meter.settle('a', 'intel', 'job:1', 750)).toMatchObject({ ok: true, remaining: 50 });
      expect(await meter.settle('a', 'intel', 'job:1', 750)).toMatchObject({ ok: true, remaining: 50 });
      await meter.take('a', 'intel', 7);
      expect(await meter.settle('a', 'intel', 'job:1', 0)).toMatchObject({ ok: true, remaining: 793 });
      expect(await meter.used('a', 'intel')).toBe(207);
      expect(await meter.used('b', 'intel')).toBe(0);
    });

    it('return no more units of an event than are counted', async () => {
      await meter.settle('a', 'intel', 'job:1', 100);
      await meter.give('a', 'intel', 60);
      expect(await meter.settle('a', 'intel', 'job:1', 0)).toMatchObject({ ok: true, remaining: 1_000 });
      expect((await meter.take('a', 'intel', 1_000)).ok).toBe(true);
      expect((await meter.take('a', 'intel', 1)).ok).toBe(false);
    });

    it('return the units of an event to the month in which it took them', async () => {
      await meter.settle('a', 'intel', 'job:1', 800);
      world.now = Date.UTC(2026, 11, 2);
      await meter.take('a', 'intel', 500);
      expect(await meter.settle('a', 'intel', 'job:1', 300)).toMatchObject({ ok: true, remaining: 500 });
      expect(await meter.used('a', 'intel')).toBe(500);
      await meter.close();
      meter = world.open();
      expect(await meter.used('a', 'intel')).toBe(500);
    });

    it('renew with the UTC month, and not if the clock moves backwards', async () => {
      world.now = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
      await meter.take('a', 'intel', 1000);
      expect((await meter.take('a', 'intel', 1)).ok).toBe(false);
      world.now += 1;
      expect(await meter.take('a', 'intel', 1)).toMatchObject({
        ok: true,
        remaining: 999,
        resetAt: '2027-02-01T00:00:00.000Z',
      });
      world.now -= 5;
      expect((await meter.take('a', 'intel', 1)).remaining).toBe(998);
      expect(await meter.monthUse('a', 'intel')).toEqual({ used: 2, resetAt: '2027-02-01T00:00:00.000Z' });
      expect(await meter.monthUse('b', 'intel')).toMatchObject({ used: 0 });
    });

    it('count an unlimited quota too', async () => {
      world.limit = null;
      expect(await meter.take('a', 'intel', 5_000_000)).toMatchObject({
        ok: true,
        limit: null,
        remaining: null,
      });
      expect(await meter.used('a', 'intel')).toBe(5_000_000);
    });

    it('count many small takes one by one', async () => {
      world.limit = 1_000_000;
      for (let call = 0; call < takes; call++) {
        await meter.take(`a${call % 7}`, 'oracle', 1);
        if (call % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await meter.close();
      meter = world.open();
      let sum = 0;
      for (let account = 0; account < 7; account++) sum += await meter.used(`a${account}`, 'oracle');
      expect(sum).toBe(takes);
    });
  });
}
