/** Several nodes over one Redis: what they share, what a step costs, and the effect of steps that are sent twice or too late. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../../src/accounts/access.ts';
import type { GateRequest } from '../../../src/accounts/gate.ts';
import { answerSlot, hashBody } from '../../../src/accounts/idempotency.ts';
import { EMPTY_HEAD, encodeEntry, follow } from '../../../src/accounts/ledger-entry.ts';
import { ACCOUNT_LIMITS } from '../../../src/accounts/limits.ts';
import { OUTCOME } from '../../../src/accounts/redis/account-lua.ts';
import { numberAt } from '../../../src/accounts/redis/account-steps.ts';
import { joined, partsOf } from '../../../src/accounts/redis/answer-parts.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { LIMITS } from '../../../src/base/limits.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { RedisStore } from '../../../src/state/redis.ts';
import { chargeOf } from '../../conformance/ledger.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { type TempFolder, tempFolder } from '../temp-folder.ts';
import { accountsAt, openAt } from './world.ts';

const NOTHING: GateRequest = { rate: null, accountId: 'a', slot: null, quota: null, credits: null };
const bodyHash = hashBody(Buffer.from('body'));

describe.skipIf(!hasRedis)('two nodes', () => {
  let server: RedisServer;
  let folder: TempFolder;
  let stores: readonly [RedisStore, RedisStore];
  let nodes: readonly [Access, Access];
  let made = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(() => {
    folder = tempFolder();
    const prefix = `nodes${made++}`;
    const parts = { clock: systemClock, random: systemRandom, log: silentLogger, freeCredits: () => 100 };
    const [one, two] = [openAt(server.url, prefix), openAt(server.url, prefix)];
    stores = [one, two];
    nodes = [
      createAccess({ folder: folder.path }, { ...parts, redis: one }),
      createAccess({ folder: folder.path }, { ...parts, redis: two }),
    ];
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await Promise.all(stores.map((store) => store.close()));
    folder.remove();
  });
  const nodeOf = (number: number): Access => nodes[number % 2] as Access;

  it('make exactly 100 of 1,000 concurrent charges on a balance of 100', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 1_000 }, async (_, number) => {
        const { gate, ledger } = nodeOf(number);
        const { reservation, refused } = await gate.admit(
          { ...NOTHING, credits: 1 },
          systemClock.monotonic(),
        );
        if (reservation === null) throw refused;
        for (let turn = 0; turn < number % 5; turn++) await new Promise((r) => setImmediate(r));
        return ledger().commit(reservation, chargeOf(1));
      }),
    );
    const done = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(done).toHaveLength(100);
    expect(new Set(done.map(({ value }) => value.remaining)).size).toBe(100);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    expect(await nodes[1].ledger().balance('a')).toMatchObject({ balance: 0, held: 0 });
    expect(await nodes[0].ledger().verify()).toMatchObject({ entries: 101, balance: 0, faults: [] });
  });

  it('share a rate limit of 60, and cache a rejection of Redis', async () => {
    const { record } = await nodes[0].keys.create({ name: 'k', rateLimits: { screening: 60 } });
    const rate = { subject: record.id, rateClass: 'screening' } as const;
    const now = (): number => systemClock.monotonic();
    const admissions = await Promise.all(
      Array.from({ length: 200 }, (_, number) =>
        nodeOf(number).gate.admit({ ...NOTHING, accountId: record.accountId, rate }, now()),
      ),
    );
    expect(admissions.filter(({ rate: decision }) => decision?.allowed)).toHaveLength(60);
    const before = stores[0].roundTrips;
    expect(nodes[0].gate.refuses(record.id, 'screening', now())).toMatchObject({ allowed: false, limit: 60 });
    expect(nodes[0].gate.refuses(record.id, 'kyt', now())).toBeNull();
    expect(stores[0].roundTrips).toBe(before);
    await nodes[0].keys.create({ name: 'another changes the generation of limits' });
    expect(nodes[0].gate.refuses(record.id, 'screening', now())).toBeNull();
  });

  it('need at most two round trips for a request', async () => {
    const { record } = await nodes[0].keys.create({ name: 'k' });
    const [{ gate, ledger }] = nodes;
    const slot = answerSlot('local', 'POST', '/screening', 'one');
    const asked: GateRequest = {
      rate: { subject: record.id, rateClass: 'screening' },
      accountId: record.accountId,
      slot,
      quota: { meter: 'intel', units: 1 },
      credits: 1,
    };
    const trips = async (work: () => Promise<unknown>): Promise<number> => {
      const before = stores[0].roundTrips;
      await work();
      return stores[0].roundTrips - before;
    };
    const charged = async () => {
      const { reservation } = await gate.admit(asked, systemClock.monotonic());
      if (reservation === null) throw new Error('not admitted');
      await ledger().commit(reservation, chargeOf(1, { keep: { slot, bodyHash } }));
      ledger().release(reservation);
    };
    expect(await trips(charged)).toBe(2);
    expect(await trips(async () => gate.admit(asked, systemClock.monotonic()))).toBe(1);
    expect(await trips(async () => gate.admit({ ...asked, slot: null, credits: null }, 0))).toBe(1);
    expect(await trips(async () => gate.admit(NOTHING, 0))).toBe(0);
  });
});

describe.skipIf(!hasRedis)('steps on an account in Redis', () => {
  let server: RedisServer;
  let world: ReturnType<typeof accountsAt>;
  let node: ReturnType<(typeof world)['node']>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(() => {
    world = accountsAt(server.url);
    node = world.node();
  });
  afterEach(async () => {
    expect((await node.ledger.verify()).faults).toEqual([]);
    await node.close();
  });

  it('frees the holds of a dead node', async () => {
    const dead = world.node();
    await dead.ledger.reserve('a', 10);
    await expect(node.ledger.reserve('a', 1)).rejects.toThrow('10 more reserved');
    world.now += ACCOUNT_LIMITS.ledgerHoldMs;
    const reservation = await node.ledger.reserve('a', 10);
    expect(await node.ledger.balance('a')).toMatchObject({ held: 10 });
    node.ledger.release(reservation);
    await dead.close();
  });

  it('charges a request that outlived its hold, if there are enough credits', async () => {
    const [slow, slower] = [await node.ledger.reserve('a', 6), await node.ledger.reserve('a', 4)];
    world.now += ACCOUNT_LIMITS.ledgerHoldMs;
    await node.ledger.commit(await node.ledger.reserve('a', 5), chargeOf(5));
    await expect(node.ledger.commit(slow, chargeOf(6))).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    expect((await node.ledger.commit(slower, chargeOf(4))).remaining).toBe(1);
  });

  it('charges by the log if an earlier release wrote entries after the copy of the head', async () => {
    const { connection, key } = node.redis;
    const charge = async () => node.ledger.commit(await node.ledger.reserve('a', 1), chargeOf(1));
    const purchase = (amount: number) =>
      node.ledger.book({ accountId: 'a', type: 'ADJUSTMENT', amount, reference: null });
    /** Runs a step as an earlier release would: it writes entries, and leaves the copy as it was. */
    const withOldCopy = async (step: () => Promise<unknown>): Promise<void> => {
      const copy = await connection.hgetBuffer(key('a', 'state'), 'head');
      expect(copy).not.toBeNull();
      await step();
      await connection.hset(key('a', 'state'), 'head', copy ?? '');
    };
    expect((await charge()).remaining).toBe(9);
    await withOldCopy(() => purchase(90));
    expect((await charge()).remaining).toBe(98);
    await withOldCopy(() => purchase(100));
    // The copy has too few credits, so the log decides.
    node.ledger.release(await node.ledger.reserve('a', 150));
    expect((await charge()).remaining).toBe(197);
    await withOldCopy(() => purchase(-197));
    // The copy has too many credits, so the charge is refused when it is committed, and the next one before.
    const tooMany = await node.ledger.reserve('a', 5);
    await expect(node.ledger.commit(tooMany, chargeOf(5))).rejects.toMatchObject({
      code: 'CREDITS_EXHAUSTED',
    });
    await expect(node.ledger.reserve('a', 5)).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    expect(await node.ledger.balance('a')).toMatchObject({ balance: 0, held: 0 });
  });

  it('charges by the log if the copy of the head is of another release', async () => {
    const charge = async () => node.ledger.commit(await node.ledger.reserve('a', 1), chargeOf(1));
    for (const copy of ['', 'x', 'x'.repeat(111), 'x'.repeat(120)]) {
      const { remaining } = await charge();
      await node.redis.connection.hset(node.redis.key('a', 'state'), 'head', copy);
      expect((await charge()).remaining).toBe(remaining - 1);
    }
  });

  it('returns the entry of a charge as the log has it', async () => {
    const { entry } = await node.ledger.commit(await node.ledger.reserve('a', 3), chargeOf(2));
    const { entry: next } = await node.ledger.commit(await node.ledger.reserve('a', 3), chargeOf(3));
    expect((await node.ledger.usage('a', { limit: 2 })).history).toEqual([next, entry]);
  });

  const commitArgs = (nonce: string, keep: readonly (string | number | Uint8Array | null)[] = [null]) => [
    ...[nonce, 1, 1, 0, '1', 'twice', 10, world.now],
    ...keep,
  ];

  it('writes one entry for a repeated charge, with the first response', async () => {
    const nonce = node.steps.nonce();
    node.ledger.addHold('a', 1, nonce, world.now);
    const first = await node.steps.run('commit', 'a', commitArgs(nonce), { mark: nonce });
    expect(await node.steps.run('commit', 'a', commitArgs(nonce), { mark: nonce })).toEqual(first);
    await node.ledger.commit(await node.ledger.reserve('a', 1), chargeOf(1));
    expect(await node.steps.run('commit', 'a', commitArgs(nonce), { mark: nonce })).toEqual(first);
    expect(await node.ledger.balance('a')).toMatchObject({ balance: 8 });
  });

  it('writes one entry for a repeated charge with an Idempotency-Key', async () => {
    const nonce = node.steps.nonce();
    const slot = answerSlot('a', 'POST', '/p', 'k');
    const args = commitArgs(nonce, [LIMITS.idempotencyMs, bodyHash, 'left: ', '.']);
    const first = await node.steps.run('commit', 'a', args, { mark: nonce, slot });
    expect(await node.steps.run('commit', 'a', args, { mark: nonce, slot })).toEqual(first);
    const kept = await node.ledger.storedAnswer('a', slot);
    expect(Buffer.from(kept?.body ?? []).toString()).toBe('left: 9.');
    const key = node.redis.key('a', `kept:${Buffer.from(slot).toString('hex')}`);
    const lifeMs = await node.redis.connection.pttl(key);
    expect(lifeMs).toBeGreaterThan(LIMITS.idempotencyMs - 60_000);
    expect(lifeMs).toBeLessThanOrEqual(LIMITS.idempotencyMs);
  });

  it('holds credits once if the step is repeated, also the last ones, and not after their release', async () => {
    const admit = async (nonce: string, credits: number): Promise<number> => {
      const holds = [credits, nonce, ACCOUNT_LIMITS.ledgerHoldMs, world.freeCredits];
      const args = [null, null, null, null, null, null, ...holds, null];
      return numberAt(await node.steps.run('admit', 'a', args, { mark: nonce }), 0);
    };
    const held = async (): Promise<number> => (await node.ledger.balance('a')).held;
    const [last, late] = [node.steps.nonce(), node.steps.nonce()];
    // The reply was lost, and the connection sends the step again: its own hold leaves no credits.
    expect([await admit(last, 10), await admit(last, 10), await held()]).toEqual([
      ...[OUTCOME.done, OUTCOME.done, 10],
    ]);
    expect(await admit(node.steps.nonce(), 1)).toBe(OUTCOME.creditsExhausted);
    await node.steps.run('release', 'a', [last, 10, ACCOUNT_LIMITS.ledgerMarkMs], { mark: last });
    // The node gave up before the step reached the server: no request would ever end this hold.
    await node.steps.run('release', 'a', [late, 1, ACCOUNT_LIMITS.ledgerMarkMs], { mark: late });
    expect([await admit(late, 1), await held()]).toEqual([OUTCOME.creditsExhausted, 0]);
  });

  it('does not make a charge that was undone before, and refunds one that was made', async () => {
    const undo = (nonce: string) =>
      node.steps.run(
        'undo',
        'a',
        [nonce, 1, 10, world.now, node.steps.nonce(), ACCOUNT_LIMITS.ledgerMarkMs],
        {
          mark: nonce,
        },
      );
    const [late, early] = [node.steps.nonce(), node.steps.nonce()];
    await undo(late);
    await node.steps.run('commit', 'a', commitArgs(late), { mark: late });
    expect((await node.ledger.usage('a', { limit: 10 })).history.map(({ type }) => type)).toEqual(['GRANT']);
    await node.steps.run('commit', 'a', commitArgs(early), { mark: early });
    await undo(early);
    await undo(early);
    const { history, balance } = await node.ledger.usage('a', { limit: 10 });
    expect(history.map(({ type }) => type)).toEqual(['REFUND', 'SCREENING', 'GRANT']);
    expect(balance).toBe(10);
  });

  it('holds nothing for a step that was released before it arrived', async () => {
    const nonce = node.steps.nonce();
    node.ledger.releaseUncertain('a', 3, nonce);
    await expect.poll(() => node.redis.connection.hexists(node.redis.key('a', 'state'), 'voided')).toBe(1);
    await node.steps.run('admit', 'a', [null, null, null, null, null, null, 3, nonce, 60_000, 10], {
      mark: nonce,
    });
    expect(await node.ledger.balance('a')).toMatchObject({ held: 0 });
  });

  it('reports a server without memory, and charges nothing', async () => {
    await node.ledger.commit(await node.ledger.reserve('a', 1), chargeOf(1));
    server.run('config', 'set', 'maxmemory', '1');
    const asked = { ...NOTHING, accountId: 'a', credits: 2 };
    const refusals = await Promise.allSettled([
      node.gate.admit(asked, world.now),
      node.ledger.book({ accountId: 'a', type: 'GRANT', amount: 1, reference: null }),
      node.quota.take('a', 'intel', 1),
    ]);
    server.run('config', 'set', 'maxmemory', '0');
    for (const refusal of refusals)
      expect((refusal as PromiseRejectedResult).reason).toMatchObject({
        code: 'LEDGER_UNAVAILABLE',
        message: expect.stringMatching(/OOM/),
        retryAfterSeconds: 1,
      });
    expect(await node.ledger.balance('a')).toMatchObject({ balance: 9, held: 0 });
  });

  it('reports an unknown outcome for a booking without a name', async () => {
    const booking = { accountId: 'a', type: 'GRANT', amount: 1, reference: null } as const;
    await node.ledger.book(booking);
    server.freeze();
    const [unnamed, named] = await Promise.allSettled([
      node.ledger.book(booking),
      node.ledger.book({ ...booking, once: 'one' }),
    ]);
    server.thaw();
    expect(unnamed).toMatchObject({
      reason: { code: 'NOT_READY', message: expect.stringMatching(/^It is unknown whether/) },
    });
    expect(named).toMatchObject({
      reason: { code: 'NOT_READY', message: expect.stringMatching(/^Redis cannot be reached/) },
    });
  });

  it('undoes charges of other accounts while one cannot be reached', async () => {
    const [state, holds] = [node.redis.key('b', 'state'), node.redis.key('b', 'holds')];
    await node.redis.connection.set(holds, 'of another type');
    node.ledger.releaseUncertain('b', 1, node.steps.nonce());
    const nonce = node.steps.nonce();
    await node.steps.run('admit', 'a', [null, null, null, null, null, null, 3, nonce, 60_000, 10], {
      mark: nonce,
    });
    expect(await node.ledger.balance('a')).toMatchObject({ held: 3 });
    node.ledger.releaseUncertain('a', 3, nonce);
    await expect.poll(async () => (await node.ledger.balance('a')).held).toBe(0);
    await node.redis.connection.del(state, holds);
  });

  it('counts credits exactly up to 2^53', async () => {
    world.freeCredits = 0;
    const amount = Number.MAX_SAFE_INTEGER - 5;
    const entry = follow(EMPTY_HEAD, {
      sequence: 1,
      accountId: 'a',
      at: world.now,
      type: 'PURCHASE',
      amount,
      after: { balance: amount, free: 0, granted: 0, month: 0 },
      reference: null,
    });
    await node.redis.connection.xadd(
      node.steps.logOf('a'),
      '1-0',
      'e',
      encodeEntry(entry),
      'n',
      '0'.repeat(16),
    );
    for (let left = amount - 1; left > amount - 8; left--)
      expect((await node.ledger.commit(await node.ledger.reserve('a', 1), chargeOf(1))).remaining).toBe(left);
    for (let more = amount - 6; more < Number.MAX_SAFE_INTEGER; more++) {
      const { entry: booked } = await node.ledger.book({
        accountId: 'a',
        type: 'GRANT',
        amount: 1,
        reference: null,
      });
      expect(booked.balance).toBe(more);
    }
    const keep = { slot: answerSlot('a', 'POST', '/p', 'big'), bodyHash };
    await node.ledger.commit(await node.ledger.reserve('a', 2), chargeOf(2, { keep }));
    expect(
      JSON.parse(String(Buffer.from((await node.ledger.storedAnswer('a', keep.slot))?.body ?? []))),
    ).toEqual({
      remaining: Number.MAX_SAFE_INTEGER - 3,
    });
  });

  it('counts units exactly up to 2^53', async () => {
    world.limit = null;
    await node.quota.take('a', 'intel', Number.MAX_SAFE_INTEGER - 3);
    for (let more = 2; more >= 0; more--) await node.quota.take('a', 'intel', 1);
    expect(await node.quota.used('a', 'intel')).toBe(Number.MAX_SAFE_INTEGER);
    node.quota.give('a', 'intel', 2);
    expect(await node.quota.used('a', 'intel')).toBe(Number.MAX_SAFE_INTEGER - 2);
  });

  it('stores all data of an account in one slot, and nothing else', async () => {
    await node.gate.admit(
      {
        rate: { subject: 'key', rateClass: 'intel' },
        accountId: 'a',
        slot: null,
        quota: { meter: 'intel', units: 1 },
        credits: 1,
      },
      world.now,
    );
    await node.ledger.book({ accountId: 'a', type: 'GRANT', amount: 1, reference: null, once: 'x' });
    await node.quota.settle('a', 'intel', 'job', 5);
    const keys = (await node.redis.connection.keys(`${world.prefix}:*`)).sort();
    expect(keys).toEqual(
      ['events', 'holds', 'log', 'mark:units:job', 'rate:key:intel', 'state'].map((name) =>
        node.redis.key('a', name),
      ),
    );
  });
});

describe('a response in parts', () => {
  it('equals the response after the balance is inserted, at any position', () => {
    const answers = [
      (remaining: number) => `{"a":"8123456789012345","credits":{"remaining":${remaining}}}`,
      (remaining: number) => `${remaining} of ${remaining}`,
      () => 'none',
      () => '',
    ];
    for (const text of answers) {
      const answer = (remaining: number) => Buffer.from(text(remaining));
      const parts = partsOf(answer, 8_999_999_999_999_999);
      for (const remaining of [0, 7, -13, Number.MAX_SAFE_INTEGER])
        expect(joined(parts, remaining).toString()).toBe(text(remaining));
    }
  });
});
