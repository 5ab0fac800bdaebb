/** The behaviour of responses under an Idempotency-Key, over any ledger. The test of each implementation runs it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answerSlot,
  createIdempotency,
  hashBody,
  type Idempotency,
  type IdempotentAnswer,
  replayed,
} from '../../src/accounts/idempotency.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { sleep } from '../support/wait.ts';
import { chargeOf, type LedgerWorld } from './ledger.ts';

/** `forgetsByOwnClock` is false if a server removes expired responses by its own clock. */
export function idempotencyConformance(
  name: string,
  makeWorld: () => Promise<LedgerWorld>,
  { forgetsByOwnClock = true }: { readonly forgetsByOwnClock?: boolean } = {},
): void {
  describe(`Idempotency-Key over ${name} ledgers`, () => {
    let world: LedgerWorld;
    let ledger: Ledger;
    let idempotency: Idempotency;
    let runs = 0;

    const reopen = (): void => {
      ledger = world.open();
      idempotency = createIdempotency();
    };

    beforeEach(async () => {
      world = await makeWorld();
      world.now = Date.UTC(2026, 10, 21);
      world.freeCredits = 10;
      runs = 0;
      reopen();
    });

    afterEach(async () => {
      expect((await ledger.verify()).faults).toEqual([]);
      await ledger.close();
      await world.dispose();
    });

    const slot = answerSlot('a', 'POST', '/api/v1/screening', 'key-1');

    /** As the pipeline does it: reserve, work, commit with the response. */
    async function work(bodyHash: Uint8Array, fails = false, at = slot): Promise<IdempotentAnswer> {
      const kept = await ledger.storedAnswer('a', at);
      if (kept !== null) return replayed(kept, bodyHash);
      const run = ++runs;
      const reservation = await ledger.reserve('a', 1);
      await sleep(5);
      if (fails) {
        ledger.release(reservation);
        throw new Error('the work failed');
      }
      const done = await ledger.commit(
        reservation,
        chargeOf(1, { keep: { slot: at, bodyHash }, answer: () => Buffer.from(`answer ${run}`) }),
      );
      return { body: done.answer, replayed: done.replayed };
    }

    async function send(body: string, options: { fails?: boolean; at?: Uint8Array } = {}): Promise<string> {
      const { fails = false, at = slot } = options;
      const bodyHash = hashBody(body);
      const answer = await idempotency.run(at, bodyHash, () => work(bodyHash, fails, at));
      return Buffer.from(answer.body).toString();
    }

    it('replays the response for the same key and body, and charges once', async () => {
      expect(await send('x')).toBe('answer 1');
      expect(await send('x')).toBe('answer 1');
      expect(runs).toBe(1);
      expect((await ledger.balance('a')).balance).toBe(9);
    });

    it('rejects the same key with another body, before and after the first completes', async () => {
      const first = send('x');
      await expect(send('y')).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'Idempotency-Key' });
      await first;
      await expect(send('y')).rejects.toThrow('different request body');
      expect((await ledger.balance('a')).balance).toBe(9);
    });

    it('runs concurrent duplicates once, and answers all of them', async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, () => send('x')));
      expect(new Set(answers)).toEqual(new Set(['answer 1']));
      expect(runs).toBe(1);
      expect((await ledger.balance('a')).balance).toBe(9);
    });

    it('shares a failure with concurrent duplicates, without a charge and without storing it', async () => {
      const outcomes = await Promise.allSettled([send('x', { fails: true }), send('x')]);
      expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
      expect(await ledger.balance('a')).toMatchObject({ balance: 10, held: 0 });
      expect(await send('x')).toBe('answer 2');
    });

    it('survives a restart, and expires after 24 hours', async () => {
      expect(await send('x')).toBe('answer 1');
      await ledger.close();
      reopen();
      world.now += 86_400_000 - 1;
      expect(await send('x')).toBe('answer 1');
      await expect(send('y')).rejects.toThrow('different request body');
      world.now += 1;
      expect(await send('y')).toBe('answer 2');
      expect((await ledger.balance('a')).balance).toBe(8);
    });

    it('charges nothing twice if the clock moves backwards', async () => {
      await send('x');
      world.now -= 3_600_000;
      expect(await send('x')).toBe('answer 1');
      expect((await ledger.balance('a')).balance).toBe(9);
    });

    it('rejects another body if another process has stored a response meanwhile', async () => {
      const other = world.open();
      const reservation = await ledger.reserve('a', 1);
      const charge = (body: string) =>
        chargeOf(1, { keep: { slot, bodyHash: hashBody(body) }, answer: () => Buffer.from(body) });
      await other.commit(await other.reserve('a', 1), charge('x'));
      await expect(ledger.commit(reservation, charge('y'))).rejects.toThrow('different request body');
      expect((await ledger.balance('a')).balance).toBe(9);
      await other.close();
    });

    it('charges once and returns one response over two processes', async () => {
      const other = world.open();
      const otherIdempotency = createIdempotency();
      const bodyHash = hashBody('x');
      const inOther = otherIdempotency.run(slot, bodyHash, async () => {
        const reservation = await other.reserve('a', 1);
        const keep = { slot, bodyHash };
        const done = await other.commit(
          reservation,
          chargeOf(1, { keep, answer: () => Buffer.from('other') }),
        );
        return { body: done.answer, replayed: done.replayed };
      });
      const [one, two] = await Promise.all([send('x'), inOther]);
      expect(one).toBe(Buffer.from(two.body).toString());
      await new Promise((resolve) => setImmediate(resolve));
      expect((await ledger.balance('a')).balance).toBe(9);
      await other.close();
    });

    it('separates keys of other accounts, methods and paths', async () => {
      const others = [
        answerSlot('b', 'POST', '/api/v1/screening', 'key-1'),
        answerSlot('a', 'PUT', '/api/v1/screening', 'key-1'),
        answerSlot('a', 'POST', '/api/v1/kyt', 'key-1'),
        answerSlot('a', 'POST', '/api/v1/screening', 'key-2'),
      ];
      await send('x');
      const answers: string[] = [];
      for (const at of others) answers.push(await send('y', { at }));
      expect(answers).toEqual(['answer 2', 'answer 3', 'answer 4', 'answer 5']);
    });

    it.runIf(forgetsByOwnClock)('removes expired keys while it stores new ones', async () => {
      const slots = Array.from({ length: 6 }, (_, at) => answerSlot('a', 'POST', '/p', `old-${at}`));
      for (const at of slots) await send('x', { at });
      world.now += 86_400_000;
      await send('new');
      world.now -= 43_200_000;
      // Twelve hours earlier they would still be valid if they had not been removed.
      for (const at of slots) expect(await ledger.storedAnswer('a', at)).toBeNull();
    });

    it.each(['with space', 'ümlaut', 'x'.repeat(256), 'line\nbreak'])('rejects the key %j', (key) => {
      expect(() => answerSlot('a', 'POST', '/p', key)).toThrow('Idempotency-Key');
    });
  });
}
