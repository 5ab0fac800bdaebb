/** Bounds of the accounts in Redis that a real server reaches too seldom or too slowly to test. */
import { describe, expect, it, vi } from 'vitest';
import { ACCOUNT_LIMITS } from '../../../src/accounts/limits.ts';
import { OUTCOME } from '../../../src/accounts/redis/account-lua.ts';
import type { AccountSteps, Reply } from '../../../src/accounts/redis/account-steps.ts';
import { createRedisAccounting } from '../../../src/accounts/redis/accounting.ts';
import { createRedisAttempts } from '../../../src/accounts/redis/attempts.ts';
import { createRedisGate } from '../../../src/accounts/redis/gate.ts';
import type { RedisLedger } from '../../../src/accounts/redis/ledger.ts';
import { type PendingStep, PendingSteps } from '../../../src/accounts/redis/pending-steps.ts';
import { createRateWindows } from '../../../src/accounts/redis/rate-limit.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { RedisStore } from '../../../src/state/redis.ts';

const stepsThat = (run: AccountSteps['run']): AccountSteps => ({
  run,
  runSafely: run,
  nonce: () => '0123456789abcdef',
  time: undefined,
  redis: {} as RedisStore,
  logOf: (accountId) => accountId,
});

describe('a step that reaches Redis after its deadline', () => {
  it('is tried once more, and then reported as not charged', async () => {
    const releaseUncertain = vi.fn();
    const run = vi.fn(async (): Promise<Reply> => [OUTCOME.expired, Date.now()]);
    const steps = stepsThat(run);
    const allowances = { rateOf: () => 1, quotaOf: () => null, freeCredits: () => 0, generation: () => 0 };
    const windows = createRateWindows({
      ...{ steps, ...allowances, limitOf: allowances.rateOf, accountOf: () => 'a' },
      clock: systemClock,
    } as unknown as Parameters<typeof createRateWindows>[0]);
    const gate = createRedisGate({
      ...{ steps, windows, clock: systemClock, ...allowances },
      ledger: () => ({ releaseUncertain }) as unknown as RedisLedger,
    });
    const late = gate.admit({ rate: null, accountId: 'a', slot: null, quota: null, credits: 1 }, 0);
    await expect(late).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('nothing was charged'),
    });
    expect(run).toHaveBeenCalledTimes(2);
    expect(releaseUncertain).toHaveBeenCalledExactlyOnceWith('a', 1, '0123456789abcdef');
  });
});

describe('charges to undo', () => {
  const step = (nonce: number): PendingStep => ({
    operation: 'undo',
    accountId: 'a',
    nonce: String(nonce),
    amount: 1,
    since: 0,
  });

  it('are queued up to the limit; the next one is logged and dropped', () => {
    const error = vi.fn();
    const steps = stepsThat(() => new Promise(() => {}));
    const pending = new PendingSteps({ steps, log: { ...silentLogger, error }, freeCredits: () => 0 });
    for (let at = 0; at < ACCOUNT_LIMITS.pendingStepsMax; at++) pending.add(step(at));
    expect(error).not.toHaveBeenCalled();
    pending.add(step(ACCOUNT_LIMITS.pendingStepsMax));
    expect(error).toHaveBeenCalledExactlyOnceWith(
      { account: 'a', nonce: String(ACCOUNT_LIMITS.pendingStepsMax) },
      'ledger: undo queue full, charge not undone',
    );
  });
});

describe('charges to undo at the end', () => {
  const step = (accountId: string): PendingStep => ({
    operation: 'undo',
    accountId,
    nonce: accountId,
    amount: 1,
    since: 0,
  });

  it('are not tried again after a failure, and each is logged', async () => {
    const error = vi.fn();
    const run = vi.fn(async (): Promise<Reply> => {
      throw new Error('connection lost');
    });
    const log = { ...silentLogger, error };
    const pending = new PendingSteps({ steps: stepsThat(run), log, freeCredits: () => 0 });
    pending.stopRetrying();
    pending.add(step('a'));
    pending.add(step('b'));
    await pending.close();
    expect(run).toHaveBeenCalledOnce();
    expect(error.mock.calls.map(([{ account }]) => account)).toEqual(['a', 'b']);
  });
});

describe('accounting in Redis', () => {
  it('closes only after its units have been returned', async () => {
    const replies: ((reply: Reply) => void)[] = [];
    const redis = {
      ...{ place: { kind: 'single' }, replicas: 0 },
      key: (...names: string[]) => names.join(':'),
      script: () => () => new Promise<Reply>((resolve) => replies.push(resolve)),
    } as unknown as RedisStore;
    const accounting = createRedisAccounting({
      ...{ redis, clock: systemClock, random: systemRandom, log: silentLogger, accountOf: () => 'a' },
      ...{ rateOf: () => 1, quotaOf: () => null, freeCredits: () => 0, generation: () => 0 },
    });
    accounting.quota.give('a', 'intel', 1);
    const events: string[] = [];
    const closed = accounting.close().then(() => events.push('closed'));
    await new Promise(setImmediate);
    events.push('replied');
    for (const reply of replies) reply([[]]);
    await closed;
    expect(events).toEqual(['replied', 'closed']);
  });
});

describe('an attempt that succeeded', () => {
  it('is reported as failed if Redis could not delete its count', async () => {
    const redis = {
      key: (...names: string[]) => names.join(':'),
      script: (name: string) => async () => {
        if (name === 'attempts_succeeded') throw new Error('connection lost');
        return [0, 1];
      },
    } as unknown as RedisStore;
    const attempts = createRedisAttempts({ redis });
    await attempts.begin('a', '192.0.2.1');
    await expect(attempts.succeeded('a', '192.0.2.1')).rejects.toThrow('connection lost');
  });
});
