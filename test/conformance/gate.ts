/** The behaviour that every gate shares. The test of each implementation runs it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Gate, GateRequest } from '../../src/accounts/gate.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import type { QuotaMeter } from '../../src/accounts/quota.ts';
import { chargeOf } from './ledger.ts';

/** An account `a` with 10 free credits, 5 intel units a month, and 3 requests of class intel a minute. */
export interface GateWorld {
  readonly gate: Gate;
  readonly ledger: Ledger;
  readonly quota: QuotaMeter;
  /** The time of all clocks, in milliseconds. */
  now: number;
  dispose(): Promise<void>;
}

export function gateConformance(name: string, makeWorld: () => Promise<GateWorld>): void {
  describe(`the gate over ${name} accounts`, () => {
    let world: GateWorld;
    beforeEach(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      await world.dispose();
    });

    const all: GateRequest = {
      rate: { subject: 'key', rateClass: 'intel' },
      accountId: 'a',
      slot: null,
      quota: { meter: 'intel', units: 2 },
      credits: 4,
    };
    const admit = async (asked: Partial<GateRequest> = {}) =>
      world.gate.admit({ ...all, ...asked }, world.now);

    it('counts a request, and charges its quota and its credits', async () => {
      const admission = await admit();
      expect(admission).toMatchObject({
        rate: { allowed: true, limit: 3, remaining: 2 },
        storedAnswer: null,
        quota: { ok: true, limit: 5, remaining: 3 },
        reservation: { accountId: 'a', amount: 4 },
        refused: null,
      });
      expect(await world.ledger.balance('a')).toMatchObject({ balance: 10, held: 4 });
      expect(await world.quota.used('a', 'intel')).toBe(2);
    });
    it('charges only the requested resources', async () => {
      expect(await admit({ rate: null, quota: null, credits: null })).toEqual({
        rate: null,
        storedAnswer: null,
        quota: null,
        reservation: null,
        refused: null,
      });
      expect(await admit({ accountId: null, quota: null, credits: null })).toMatchObject({
        rate: { remaining: 2 },
        reservation: null,
      });
    });
    it('rejects by the rate limit first, without a charge', async () => {
      for (let sent = 0; sent < 3; sent++) await admit({ quota: null, credits: null });
      const admission = await admit();
      expect(admission).toMatchObject({
        rate: { allowed: false, remaining: 0 },
        quota: null,
        reservation: null,
      });
      expect(admission.refused).toMatchObject({ code: 'RATE_LIMITED' });
      expect(await world.quota.used('a', 'intel')).toBe(0);
      expect(await world.ledger.balance('a')).toMatchObject({ held: 0 });
    });
    it('predicts a rejection without counting, until the limit frees', async () => {
      expect(world.gate.refuses('key', 'intel', world.now)).toBeNull();
      for (let sent = 0; sent < 4; sent++) await admit({ quota: null, credits: null });
      const refusal = world.gate.refuses('key', 'intel', world.now);
      expect(refusal).toMatchObject({ allowed: false, limit: 3, remaining: 0 });
      expect(world.gate.refuses('other', 'intel', world.now)).toBeNull();
      expect(world.gate.refuses('key', 'oracle', world.now)).toBeNull();
      world.now += (refusal?.retryAfterSeconds ?? 0) * 1_000;
      expect(world.gate.refuses('key', 'intel', world.now)).toBeNull();
      expect(await admit({ quota: null, credits: null })).toMatchObject({ rate: { allowed: true } });
    });
    it('undoes the count of a request that could not be served, once', async () => {
      const counted: number[] = [];
      for (let sent = 0; sent < 3; sent++) {
        const { rate } = await admit({ quota: null, credits: null });
        counted.push(rate?.countedSecond as number);
      }
      const refused = await admit({ quota: null, credits: null });
      expect(refused.rate).toMatchObject({ allowed: false, countedSecond: null });
      for (const second of counted) await world.gate.uncount('key', 'intel', second);
      // All counts have been refunded already: these calls change nothing.
      await world.gate.uncount('key', 'intel', counted[0] as number);
      await world.gate.uncount('other', 'intel', counted[0] as number);
      expect(world.gate.refuses('key', 'intel', world.now)).toBeNull();
      for (const remaining of [2, 1, 0])
        expect((await admit({ quota: null, credits: null })).rate).toMatchObject({
          allowed: true,
          remaining,
        });
      expect((await admit({ quota: null, credits: null })).rate).toMatchObject({ allowed: false });
    });
    it('rejects by the quota before it holds credits', async () => {
      const admission = await admit({ quota: { meter: 'intel', units: 6 } });
      expect(admission).toMatchObject({ quota: { ok: false, remaining: 5 }, reservation: null });
      expect(admission.refused).toMatchObject({ code: 'QUOTA_EXHAUSTED' });
      expect(await world.ledger.balance('a')).toMatchObject({ held: 0 });
    });
    it('rejects by the credits', async () => {
      const admission = await admit({ credits: 11, quota: null });
      expect(admission).toMatchObject({ reservation: null });
      expect(admission.refused).toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    });
    it('returns a stored response without a charge', async () => {
      const slot = new Uint8Array(32).fill(7);
      const first = await admit({ slot });
      if (first.reservation === null) throw new Error('not admitted');
      const bodyHash = new Uint8Array(32).fill(1);
      await world.ledger.commit(
        first.reservation,
        chargeOf(4, { keep: { slot, bodyHash }, answer: () => Buffer.from('answer') }),
      );
      const second = await admit({ slot });
      expect(second).toMatchObject({ quota: null, reservation: null, refused: null, rate: { remaining: 1 } });
      expect(Buffer.from(second.storedAnswer?.body ?? []).toString()).toBe('answer');
      expect(Buffer.from(second.storedAnswer?.bodyHash ?? [])).toEqual(Buffer.from(bodyHash));
      expect(await world.ledger.balance('a')).toMatchObject({ balance: 6, held: 0 });
      expect(await world.quota.used('a', 'intel')).toBe(2);
    });
    it('takes the credits of a session from a balance of its own, and its quota from the account', async () => {
      const dashboard = balanceId('a', 'dashboard');
      const both = [await admit({ credits: 10 }), await admit({ pool: 'dashboard', credits: 10 })];
      expect(both.map(({ reservation }) => reservation)).toEqual([
        { accountId: 'a', amount: 10 },
        { accountId: dashboard, amount: 10 },
      ]);
      expect(await world.ledger.balance('a')).toMatchObject({ balance: 10, held: 10 });
      expect(await world.ledger.balance(dashboard)).toMatchObject({ balance: 10, held: 10 });
      expect(await world.quota.used('a', 'intel')).toBe(4);
      const more = await admit({ pool: 'dashboard', quota: null, credits: 1 });
      expect(more.refused).toMatchObject({ code: 'CREDITS_EXHAUSTED' });
      for (const { reservation } of both) if (reservation !== null) world.ledger.release(reservation);
    });
    it('finds the stored response of a session under the same slot, whichever balance paid', async () => {
      const slot = new Uint8Array(32).fill(8);
      const { reservation } = await admit({ pool: 'dashboard', quota: null, slot });
      if (reservation === null) throw new Error('not admitted');
      const bodyHash = new Uint8Array(32).fill(1);
      await world.ledger.commit(reservation, chargeOf(4, { keep: { slot, bodyHash } }));
      for (const pool of ['api', 'dashboard'] as const)
        expect(await admit({ pool, quota: null, slot })).toMatchObject({
          storedAnswer: { bodyHash: Buffer.from(bodyHash) },
          reservation: null,
        });
      expect((await world.ledger.balance(balanceId('a', 'dashboard'))).balance).toBe(6);
      expect((await world.ledger.balance('a')).balance).toBe(10);
    });
    it('admits exactly as many concurrent requests as there are credits', async () => {
      const admissions = await Promise.all(
        Array.from({ length: 30 }, () => admit({ rate: null, quota: null, credits: 1 })),
      );
      expect(admissions.filter(({ reservation }) => reservation !== null)).toHaveLength(10);
    });
  });
}
