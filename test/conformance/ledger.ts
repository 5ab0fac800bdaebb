/** The behaviour that every ledger shares. The test of each implementation runs it. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Charge, Ledger, Reservation } from '../../src/accounts/ledger.ts';
import { balanceId } from '../../src/accounts/pools.ts';

export interface LedgerWorld {
  /** Opens the ledger over the same data. */
  open(): Ledger;
  /** Milliseconds since the epoch of the world's clock. */
  now: number;
  /** Free credits a month of every account. */
  freeCredits: number;
  /** The time in milliseconds after which a reservation expires; absent if only the end of its process ends it. */
  readonly holdMs?: number;
  dispose(): Promise<void>;
}

const NOVEMBER = Date.UTC(2026, 10, 21, 12);
const DECEMBER = Date.UTC(2026, 11, 1);

export const chargeOf = (amount: number, more: Partial<Charge> = {}): Charge => ({
  type: 'SCREENING',
  amount,
  reference: 'screening 0xabc ETH',
  answer: (remaining) => Buffer.from(`{"remaining":${remaining}}`),
  ...more,
});

/** Turns an error that another implementation throws synchronously into a rejection. */
const reserving = async (ledger: Ledger, accountId: string, amount: number) =>
  ledger.reserve(accountId, amount);

/** Reserves and commits credits and returns the balance after it. */
async function charge(ledger: Ledger, accountId: string, amount = 1): Promise<number> {
  return (await ledger.commit(await ledger.reserve(accountId, amount), chargeOf(amount))).remaining;
}

const grant = (ledger: Ledger, accountId: string, amount: number) =>
  ledger.book({ accountId, type: 'GRANT', amount, reference: null });

async function types(ledger: Ledger, accountId: string): Promise<string[]> {
  const { history } = await ledger.usage(accountId, { limit: 100 });
  return history.map((entry) => `${entry.type} ${entry.amount} ${entry.balance}`);
}

export function ledgerConformance(name: string, makeWorld: () => Promise<LedgerWorld>): void {
  describe(`${name} ledgers`, () => {
    let world: LedgerWorld;
    let ledger: Ledger;

    beforeEach(async () => {
      world = await makeWorld();
      world.now = NOVEMBER;
      world.freeCredits = 10;
      ledger = world.open();
    });

    afterEach(async () => {
      expect((await ledger.verify()).faults).toEqual([]);
      await ledger.close();
      await world.dispose();
    });

    it('record a charge with the balance after it and its reference', async () => {
      expect(await charge(ledger, 'a')).toBe(9);
      const { history, balance } = await ledger.usage('a', { limit: 1 });
      expect(balance).toBe(9);
      expect(history).toEqual([
        {
          id: expect.stringMatching(/^\d+$/),
          amount: -1,
          balance: 9,
          type: 'SCREENING',
          reference: 'screening 0xabc ETH',
          createdAt: '2026-11-21T12:00:00.000Z',
        },
      ]);
    });

    it('accept exactly 100 of 1,000 concurrent charges on a balance of 100', async () => {
      world.freeCredits = 0;
      await grant(ledger, 'a', 100);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 1000 }, async (_, position) => {
          const reservation = await ledger.reserve('a', 1);
          for (let turn = 0; turn < position % 5; turn++) await new Promise((r) => setImmediate(r));
          return ledger.commit(reservation, chargeOf(1));
        }),
      );
      const succeeded = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(succeeded).toHaveLength(100);
      expect(new Set(refused.map((outcome) => outcome.reason.code))).toEqual(new Set(['CREDITS_EXHAUSTED']));
      expect(await ledger.balance('a')).toMatchObject({ balance: 0, held: 0 });
      expect(new Set(succeeded.map((outcome) => outcome.value.remaining)).size).toBe(100);
    });

    it('hold credits for a reservation, and release them for later use', async () => {
      const all = await ledger.reserve('a', 10);
      expect(await ledger.balance('a')).toMatchObject({ balance: 10, held: 10 });
      await expect(reserving(ledger, 'a', 1)).rejects.toThrow('10 more reserved by running requests');
      ledger.release(all);
      ledger.release(all);
      expect((await ledger.balance('a')).held).toBe(0);
      expect(await charge(ledger, 'a', 10)).toBe(0);
      expect(await types(ledger, 'a')).toEqual(['SCREENING -10 0', 'GRANT 10 10']);
    });

    it('keep two balances of an account, each with its own free credits and entries', async () => {
      const dashboard = balanceId('a', 'dashboard');
      await grant(ledger, 'a', 5);
      await ledger.book({ accountId: dashboard, type: 'PURCHASE', amount: 100, reference: null, once: 'p' });
      expect(await charge(ledger, dashboard, 12)).toBe(98);
      expect(await charge(ledger, 'a', 1)).toBe(14);
      expect(await types(ledger, 'a')).toEqual(['SCREENING -1 14', 'GRANT 5 15', 'GRANT 10 10']);
      expect(await types(ledger, dashboard)).toEqual(['SCREENING -12 98', 'PURCHASE 100 110', 'GRANT 10 10']);
      world.now = DECEMBER;
      expect(await types(ledger, 'a')).toContain('EXPIRY -9 5');
      expect((await ledger.balance(dashboard)).balance).toBe(108);
      const [entry] = (await ledger.usage('a', { limit: 1 })).history;
      await expect(ledger.usage(dashboard, { limit: 1, cursor: `${entry?.id}` })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
      await ledger.usage(dashboard, { limit: 1 });
      const report = await ledger.verify();
      expect(report).toMatchObject({ accounts: 1, faults: [] });
      expect(report.balance).toBe(
        (await ledger.balance('a')).balance + (await ledger.balance(dashboard)).balance,
      );
    });

    it('reject a commit of an ended reservation, or of more than it holds', async () => {
      const reservation = await ledger.reserve('a', 1);
      await expect(ledger.commit(reservation, chargeOf(2))).rejects.toThrow('exceeds the reserved credits');
      ledger.release(reservation);
      await expect(ledger.commit(reservation, chargeOf(1))).rejects.toThrow('ended');
      expect((await ledger.balance('a')).balance).toBe(10);
    });

    it('charge less than was reserved if the work cost less, and write nothing for a cost of zero', async () => {
      const some = await ledger.commit(await ledger.reserve('a', 10), chargeOf(5));
      expect(some).toMatchObject({ remaining: 5, entry: { amount: -5 } });
      const none = await ledger.commit(await ledger.reserve('a', 5), chargeOf(0));
      expect(none).toMatchObject({ remaining: 5, entry: null });
      expect(await ledger.balance('a')).toMatchObject({ balance: 5, held: 0 });
    });

    it('charge nothing for a response that could not be created', async () => {
      const failing = chargeOf(1, {
        answer: () => {
          throw new Error('no answer');
        },
      });
      await expect(ledger.commit(await ledger.reserve('a', 1), failing)).rejects.toThrow();
      expect(await ledger.balance('a')).toMatchObject({ balance: 10, held: 0 });
      expect(await charge(ledger, 'a')).toBe(9);
    });

    it('settle an event at its cost once, also over repetitions and restarts', async () => {
      const settle = async (total: number, once = 'job:1') =>
        (
          await ledger.settle({
            accountId: 'a',
            type: 'SCREENING',
            once,
            total,
            reference: 'jobs/1 screening',
          })
        )?.amount ?? null;
      await grant(ledger, 'a', 5);
      await ledger.book({ accountId: 'a', type: 'PURCHASE', amount: 20, reference: null });
      expect(await settle(30)).toBe(-30);
      expect(await settle(30)).toBeNull();
      expect(await ledger.balance('a')).toMatchObject({ balance: 5, free: 0, granted: 0, bought: 5 });
      await expect(settle(6, 'job:2')).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
      const hold = await ledger.reserve('a', 2);
      await expect(settle(4, 'job:2')).rejects.toThrow('2 more reserved');
      ledger.release(hold);
      expect(await settle(5, 'job:2')).toBe(-5);
      await ledger.close();
      ledger = world.open();
      // Bought credits are refunded first, then granted ones, then free ones.
      expect(await settle(12)).toBe(18);
      expect(await ledger.balance('a')).toMatchObject({ balance: 18, free: 0, granted: 3, bought: 15 });
      expect(await settle(12)).toBeNull();
      expect(await settle(0)).toBe(12);
      expect(await settle(0)).toBeNull();
      expect(await ledger.balance('a')).toMatchObject({ balance: 30, free: 10, granted: 5, bought: 15 });
      expect(await types(ledger, 'a')).toEqual([
        'REFUND 12 30',
        'REFUND 18 18',
        'SCREENING -5 0',
        'SCREENING -30 5',
        'PURCHASE 20 35',
        'GRANT 5 15',
        'GRANT 10 10',
      ]);
      await expect(settle(-1)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    });

    it('report which credits ran out and when they renew, without the account id and commands of the operator', async () => {
      await charge(ledger, 'a', 10);
      await expect(reserving(ledger, 'a', 1)).rejects.toThrow(
        'Insufficient credits: this operation costs 1 credit, and the account has 0 available. 10 free credits will be added at 2026-12-01T00:00:00.000Z.',
      );
      world.freeCredits = 0;
      await expect(reserving(ledger, 'a', 5)).rejects.toThrow(
        'Insufficient credits: this operation costs 5 credits, and the account has 0 available.',
      );
    });

    it('grant the free credits of a month once, and expire unused ones with it', async () => {
      await charge(ledger, 'a', 4);
      world.now = DECEMBER - 1;
      expect(await ledger.balance('a')).toMatchObject({ balance: 6, renewsAt: '2026-12-01T00:00:00.000Z' });
      world.now = DECEMBER;
      expect(await ledger.balance('a')).toMatchObject({ balance: 10, free: 10 });
      expect(await charge(ledger, 'a')).toBe(9);
      expect(await types(ledger, 'a')).toEqual([
        'SCREENING -1 9',
        'GRANT 10 10',
        'EXPIRY -6 0',
        'SCREENING -4 6',
        'GRANT 10 10',
      ]);
    });

    it('hold no free credits of the month before', async () => {
      await charge(ledger, 'a');
      world.now = DECEMBER;
      await expect(async () => ledger.reserve('a', world.freeCredits + 1)).rejects.toMatchObject({
        code: 'CREDITS_EXHAUSTED',
      });
      await ledger.reserve('a', world.freeCredits);
    });

    it('add nothing for unused months', async () => {
      await charge(ledger, 'a', 10);
      world.now = Date.UTC(2027, 5, 1);
      expect((await ledger.usage('a', { limit: 10 })).balance).toBe(10);
      expect(await types(ledger, 'a')).toEqual(['GRANT 10 10', 'SCREENING -10 0', 'GRANT 10 10']);
    });

    it('grant nothing twice if the clock moves back over the turn of a month', async () => {
      world.now = DECEMBER;
      await charge(ledger, 'a', 10);
      world.now = DECEMBER - 1;
      expect(await ledger.balance('a')).toMatchObject({ free: 0, renewsAt: '2027-01-01T00:00:00.000Z' });
      await expect(reserving(ledger, 'a', 1)).rejects.toThrow('0 available');
      world.now = DECEMBER + 5;
      await expect(reserving(ledger, 'a', 1)).rejects.toThrow('0 available');
      expect((await ledger.balance('a')).balance).toBe(0);
    });

    it('grant free credits to an account as soon as it becomes eligible', async () => {
      world.freeCredits = 0;
      expect((await ledger.balance('a')).balance).toBe(0);
      expect(await types(ledger, 'a')).toEqual([]);
      world.freeCredits = 10;
      expect(await types(ledger, 'a')).toEqual(['GRANT 10 10']);
    });

    it('spend free credits first, then granted ones, then bought ones; only free ones expire', async () => {
      await ledger.book({ accountId: 'a', type: 'PURCHASE', amount: 100, reference: null });
      await grant(ledger, 'a', 5);
      expect(await ledger.balance('a')).toMatchObject({ balance: 115, free: 10, granted: 5, bought: 100 });
      await charge(ledger, 'a', 8);
      expect(await ledger.balance('a')).toMatchObject({ free: 2, granted: 5, bought: 100 });
      await charge(ledger, 'a', 4);
      expect(await ledger.balance('a')).toMatchObject({ free: 0, granted: 3, bought: 100 });
      await charge(ledger, 'a', 4);
      expect(await ledger.balance('a')).toMatchObject({ free: 0, granted: 0, bought: 99 });
      world.now = DECEMBER;
      expect(await ledger.balance('a')).toMatchObject({ balance: 109, free: 10, bought: 99 });
    });

    it('refund a charge once, to the source of its credits', async () => {
      await grant(ledger, 'a', 5);
      const { entry } = await ledger.commit(await ledger.reserve('a', 12), chargeOf(12));
      const refund = await ledger.refund('a', entry?.id ?? '');
      expect(refund).toMatchObject({
        type: 'REFUND',
        amount: 12,
        balance: 15,
        reference: 'screening 0xabc ETH',
      });
      expect(await ledger.refund('a', entry?.id ?? '')).toEqual(refund);
      expect(await ledger.balance('a')).toMatchObject({ balance: 15, free: 10, granted: 5, bought: 0 });
    });

    it('refund no entry of another account, and only charges', async () => {
      const { entry } = await ledger.commit(await ledger.reserve('a', 1), chargeOf(1));
      await charge(ledger, 'b');
      const granted = await grant(ledger, 'a', 5);
      for (const [account, id] of [
        ['b', entry?.id],
        ['a', granted.entry.id],
        ['a', '999999999999'],
        ['a', 'x'],
      ] as const)
        await expect(ledger.refund(account, id ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('book an event once, also concurrently', async () => {
      const booking = {
        accountId: 'a',
        type: 'PURCHASE',
        amount: 100,
        reference: null,
        once: 'evt_1',
      } as const;
      const both = await Promise.all([ledger.book(booking), ledger.book(booking)]);
      expect(both.map((each) => each.repeated)).toEqual([false, true]);
      expect(both[0].entry).toEqual(both[1].entry);
      expect((await ledger.balance('a')).bought).toBe(100);
    });

    it('reject invalid amounts, and an adjustment below 0 unless the account may owe', async () => {
      const adjust = (amount: number, mayOwe = false) =>
        ledger.book({ accountId: 'a', type: 'ADJUSTMENT', amount, reference: null, mayOwe });
      for (const amount of [0, 0.5, Number.NaN, 2e9])
        await expect(grant(ledger, 'a', amount)).rejects.toMatchObject({ field: 'amount' });
      await expect(grant(ledger, 'a', -1)).rejects.toMatchObject({ field: 'amount' });
      await expect(grant(ledger, '../x', 1)).rejects.toMatchObject({ field: 'accountId' });
      await expect(adjust(-11)).rejects.toThrow('at least -10');
      expect((await adjust(-3)).entry.balance).toBe(7);
      expect((await adjust(-20, true)).entry.balance).toBe(-13);
      await expect(reserving(ledger, 'a', 1)).rejects.toThrow('0 available');
    });

    it('page through the history, newest first, each entry once', async () => {
      await grant(ledger, 'a', 100);
      for (let position = 0; position < 20; position++) {
        await charge(ledger, 'a');
        await charge(ledger, 'b', position < 10 ? 1 : 0);
      }
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await ledger.usage('a', { limit: 6, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.history.map((entry) => entry.id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      expect(seen).toHaveLength(22);
      expect(seen).toEqual([...seen].sort().reverse());
      expect(new Set(seen).size).toBe(22);
    });

    it('page through the history from a day on, without the days after it', async () => {
      world.freeCredits = 0;
      for (const account of ['a', 'b']) await grant(ledger, account, 10);
      for (const days of [0, 0, 1, 3, 3, 400]) {
        world.now = NOVEMBER + days * 86_400_000;
        for (const account of ['a', 'b']) await charge(ledger, account);
      }
      const balancesUntil = async (days: number): Promise<readonly number[]> => {
        const untilMs = NOVEMBER + days * 86_400_000;
        const { history, nextCursor, balance } = await ledger.usage('a', { limit: 2, untilMs });
        expect(balance).toBe(4);
        if (nextCursor === null) return history.map((entry) => entry.balance);
        const rest = await ledger.usage('a', { limit: 100, cursor: nextCursor });
        return [...history, ...rest.history].map((entry) => entry.balance);
      };
      expect(await balancesUntil(-1)).toEqual([]);
      expect(await balancesUntil(0)).toEqual([8, 9, 10]);
      expect(await balancesUntil(2)).toEqual([7, 8, 9, 10]);
      expect(await balancesUntil(399)).toEqual([5, 6, 7, 8, 9, 10]);
      expect(await balancesUntil(400)).toEqual([4, 5, 6, 7, 8, 9, 10]);
    });

    it('accept only cursors of the account', async () => {
      await charge(ledger, 'a');
      await charge(ledger, 'b');
      const other = (await ledger.usage('b', { limit: 1 })).history[0]?.id ?? '';
      for (const cursor of [other, 'x', '000000000000', '999999999999'])
        await expect(ledger.usage('a', { limit: 1, cursor })).rejects.toMatchObject({ field: 'cursor' });
    });

    it('sum up by type, and by day', async () => {
      await charge(ledger, 'a', 3);
      world.now += 86_400_000;
      await charge(ledger, 'a', 2);
      await charge(ledger, 'a', 1);
      world.now += 3 * 86_400_000;
      const last = await ledger.commit(await ledger.reserve('a', 1), chargeOf(1, { type: 'DEDUCTION' }));
      await ledger.refund('a', last.entry?.id ?? '');
      const { totals, balance } = await ledger.usage('a', { limit: 1 });
      expect(balance).toBe(4);
      expect(totals.byType).toMatchObject({
        SCREENING: -6,
        DEDUCTION: -1,
        GRANT: 10,
        REFUND: 1,
        PURCHASE: 0,
      });
      expect(
        totals.byDay.map(({ day, byType }) => [day, byType.SCREENING, byType.DEDUCTION, byType.GRANT]),
      ).toEqual([
        ['2026-11-25', 0, -1, 0],
        ['2026-11-22', -3, 0, 0],
        ['2026-11-21', -3, 0, 10],
      ]);
    });

    it('sum up each day once, the newest first, if the clock was set back', async () => {
      await charge(ledger, 'a', 3);
      world.now += 2 * 86_400_000;
      await charge(ledger, 'a', 2);
      world.now -= 3 * 86_400_000;
      await charge(ledger, 'a', 1);
      world.now += 86_400_000;
      for (let round = 0; round < 2; round++) {
        await charge(ledger, 'a', 1);
        const { totals } = await ledger.usage('a', { limit: 1 });
        expect(totals.byDay.map(({ day, byType }) => [day, byType.SCREENING, byType.GRANT])).toEqual([
          ['2026-11-23', -2, 0],
          ['2026-11-21', -4 - round, 10],
          ['2026-11-20', -1, 0],
        ]);
      }
    });

    it('store a response for 24 hours, and charge nothing for a second commit of its slot', async () => {
      const keep = { slot: Buffer.alloc(32, 1), bodyHash: Buffer.alloc(32, 2) };
      expect(await ledger.storedAnswer('a', keep.slot)).toBeNull();
      const first = await ledger.commit(await ledger.reserve('a', 1), chargeOf(1, { keep }));
      expect(first.replayed).toBe(false);
      const kept = await ledger.storedAnswer('a', keep.slot);
      expect(Buffer.from(kept?.body ?? []).toString()).toBe('{"remaining":9}');
      expect(Buffer.from(kept?.bodyHash ?? [])).toEqual(keep.bodyHash);
      const second = await ledger.commit(await ledger.reserve('a', 1), chargeOf(1, { keep }));
      expect(second).toMatchObject({ replayed: true, entry: null, remaining: 9 });
      expect(Buffer.from(second.answer).toString()).toBe('{"remaining":9}');
      expect(await ledger.balance('a')).toMatchObject({ balance: 9, held: 0 });
      world.now += 86_400_000 - 1;
      expect(await ledger.storedAnswer('a', keep.slot)).not.toBeNull();
      world.now += 1;
      expect(await ledger.storedAnswer('a', keep.slot)).toBeNull();
      const third = await ledger.commit(await ledger.reserve('a', 1), chargeOf(1, { keep }));
      expect(third).toMatchObject({ replayed: false, remaining: 8 });
    });

    it('keep entries, responses and events over a restart, and end reservations', async () => {
      const keep = { slot: Buffer.alloc(32, 1), bodyHash: Buffer.alloc(32, 2) };
      await ledger.commit(await ledger.reserve('a', 1), chargeOf(1, { keep }));
      await ledger.book({ accountId: 'a', type: 'PURCHASE', amount: 5, reference: null, once: 'evt' });
      await ledger.reserve('a', 14);
      await ledger.close();
      ledger = world.open();
      expect(await ledger.balance('a')).toMatchObject({ balance: 14, held: 0, free: 9, bought: 5 });
      expect(await ledger.storedAnswer('a', keep.slot)).not.toBeNull();
      const again = await ledger.book({
        accountId: 'a',
        type: 'PURCHASE',
        amount: 5,
        reference: null,
        once: 'evt',
      });
      expect(again.repeated).toBe(true);
      expect(await charge(ledger, 'a', 14)).toBe(0);
    });

    it('agree with a slow exact model over any sequence of changes, months and restarts', async () => {
      const step = fc.record({
        kind: fc.constantFrom(
          'charge',
          'reserve',
          'release',
          'refund',
          'grant',
          'buy',
          'adjust',
          'month',
          'restart',
        ),
        account: fc.constantFrom('x', 'y'),
        amount: fc.integer({ min: 1, max: 15 }),
      });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const salt = run++;
          world.now = NOVEMBER;
          const model = new Map<string, { balance: number; free: number; month: number }>();
          const holds: { account: string; amount: number; reservation: Reservation }[] = [];
          const charges: { account: string; id: string; amount: number; free: number; refunded: boolean }[] =
            [];
          let month = 0;
          const of = (account: string) => {
            const found = model.get(account) ?? { balance: 10, free: 10, month };
            if (found.month < month) {
              found.balance += 10 - found.free;
              found.free = 10;
              found.month = month;
            }
            model.set(account, found);
            return found;
          };
          const heldBy = (account: string): number =>
            holds.filter((hold) => hold.account === account).reduce((sum, hold) => sum + hold.amount, 0);
          for (const { kind, account: letter, amount } of steps) {
            const account = `${letter}${salt}`;
            const state = of(account);
            const fits = state.balance - heldBy(account) >= amount;
            if (kind === 'charge') {
              if (!fits) await expect(reserving(ledger, account, amount)).rejects.toThrow('available');
              else {
                const done = await ledger.commit(await ledger.reserve(account, amount), chargeOf(amount));
                const free = Math.min(state.free, amount);
                state.free -= free;
                state.balance -= amount;
                expect(done.remaining).toBe(state.balance);
                charges.push({ account, id: done.entry?.id ?? '', amount, free, refunded: false });
              }
            } else if (kind === 'reserve' && fits) {
              holds.push({ account, amount, reservation: await ledger.reserve(account, amount) });
            } else if (kind === 'release') {
              const hold = holds.pop();
              if (hold) ledger.release(hold.reservation);
            } else if (kind === 'refund') {
              const done = charges.at(-1);
              if (done) {
                await ledger.refund(done.account, done.id);
                const owner = of(done.account);
                if (!done.refunded) {
                  owner.balance += done.amount;
                  owner.free += done.free;
                }
                done.refunded = true;
              }
            } else if (kind === 'grant' || kind === 'buy') {
              const type = kind === 'grant' ? 'GRANT' : 'PURCHASE';
              await ledger.book({ accountId: account, type, amount, reference: null });
              state.balance += amount;
            } else if (kind === 'adjust') {
              const done = ledger.book({
                accountId: account,
                type: 'ADJUSTMENT',
                amount: -amount,
                reference: null,
              });
              if (state.balance < amount) await expect(done).rejects.toThrow('amount');
              else {
                await done;
                state.free -= Math.min(state.free, amount);
                state.balance -= amount;
              }
            } else if (kind === 'month') {
              month++;
              world.now = Date.UTC(2026, 10 + month, 21);
              if (world.holdMs !== undefined) holds.length = 0;
            } else if (kind === 'restart') {
              await ledger.close();
              ledger = world.open();
              holds.length = 0;
            }
            for (const each of [`x${salt}`, `y${salt}`]) {
              const { balance, free } = of(each);
              expect(await ledger.balance(each)).toMatchObject({ balance, free, held: heldBy(each) });
            }
          }
          expect((await ledger.verify()).faults).toEqual([]);
        }),
        { numRuns: 40 },
      );
    });
  });
}
