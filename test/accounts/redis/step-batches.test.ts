/** Steps that are sent as one script: their order, their groups, and the failure of one of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_LIMITS } from '../../../src/accounts/limits.ts';
import { StepBatches } from '../../../src/accounts/redis/step-batches.ts';
import { packSteps } from '../../../src/accounts/redis/step-codec.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { accountsAt } from './world.ts';

type Sent = readonly [keys: readonly string[], packed: unknown];

const step = (name: string) => ({ keys: [`key ${name}`], values: [name, 1] });

/** Batches over a script that replies to each step with its key. */
function echoing() {
  const sent: Sent[] = [];
  const batches = new StepBatches(async (keys, [packed]) => {
    sent.push([keys, packed]);
    return keys.map((key) => [key]);
  });
  return { sent, run: (group: string, name: string) => batches.run(group, step(name)) };
}

const repliesTo = (names: readonly string[]) => names.map((name) => [`key ${name}`]);
const packed = (...names: string[]) => packSteps(names.map((name) => step(name).values));

describe('steps of one turn of the event loop', () => {
  it('are sent in their order as one script, and each gets its own reply', async () => {
    const { sent, run } = echoing();
    const replies = Promise.all(['a', 'b', 'c'].map((name) => run('', name)));
    expect(sent).toEqual([]);
    expect(await replies).toEqual(repliesTo(['a', 'b', 'c']));
    expect(sent).toEqual([[['key a', 'key b', 'key c'], packed('a', 'b', 'c')]]);
    await run('', 'd');
    expect(sent[1]).toEqual([['key d'], packed('d')]);
  });

  it('are sent as one script for each group', async () => {
    const { sent, run } = echoing();
    expect(await Promise.all([run('x', 'a'), run('y', 'b'), run('x', 'c')])).toEqual(
      repliesTo(['a', 'b', 'c']),
    );
    expect(sent.map(([keys]) => keys)).toEqual([['key a', 'key c'], ['key b']]);
  });

  it('are sent at once when a script is full', async () => {
    const { sent, run } = echoing();
    const count = ACCOUNT_LIMITS.stepsPerScriptMax + 1;
    const replies = Promise.all(Array.from({ length: count }, (_, number) => run('', String(number))));
    expect(sent.map(([keys]) => keys.length)).toEqual([ACCOUNT_LIMITS.stepsPerScriptMax]);
    expect(await replies).toEqual(repliesTo(Array.from({ length: count }, (_, number) => String(number))));
    expect(sent.map(([keys]) => keys.length)).toEqual([ACCOUNT_LIMITS.stepsPerScriptMax, 1]);
  });

  it('all reject with the error of their script', async () => {
    const batches = new StepBatches(async () => {
      throw new Error('connection lost');
    });
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => batches.run('', step(name))));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { message: 'connection lost' } });
  });
});

describe.skipIf(!hasRedis)('steps of one script in Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it('succeed although one of them fails, which reports its error and changes nothing', async () => {
    const { node } = accountsAt(server.url);
    const { ledger, redis, close } = node();
    const grant = (accountId: string) =>
      ledger.book({ accountId, type: 'GRANT', amount: 5, reference: null });
    await redis.connection.set(redis.key('damaged', 'log'), 'not a stream');
    const before = redis.roundTrips;
    const outcomes = await Promise.allSettled(['a', 'damaged', 'b'].map(grant));
    expect(redis.roundTrips - before).toBe(1);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({
      reason: { code: 'LEDGER_UNAVAILABLE', message: expect.stringContaining('WRONGTYPE') },
    });
    expect(await ledger.balance('a')).toMatchObject({ balance: 15 });
    expect(await redis.connection.exists(redis.key('damaged', 'state'))).toBe(0);
    await close();
  });
});
