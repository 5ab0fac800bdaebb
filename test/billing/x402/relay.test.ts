/** How often the relay looks at payments: new ones each time, and settled ones at an interval. */
import { expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { X402_LIMITS } from '../../../src/billing/x402/limits.ts';
import type { Transfer } from '../../../src/billing/x402/records.ts';
import { Relay } from '../../../src/billing/x402/relay.ts';

/** A relay whose node does not answer: each look ends with the first request. */
function unanswered(states: readonly Transfer['state'][]) {
  const world = { nowMs: 1_000, requests: 0 };
  const relay = new Relay(
    'ETH',
    { privateKey: `0x${'1'.repeat(64)}`, confirmations: 1, feeMax: 1n, balanceMax: 1n },
    {
      clock: { now: () => 0, monotonic: () => world.nowMs },
      log: silentLogger,
      store: { open: () => states.map((state) => ({ asset: 'USDC', transfer: { state } })) } as never,
      token: () =>
        ({
          height: () => {
            world.requests++;
            return Promise.reject(new Error('the node does not answer'));
          },
        }) as never,
    },
  );
  /** Returns whether the relay looked. */
  const looks = async (afterMs: number): Promise<boolean> => {
    world.nowMs += afterMs;
    const before = world.requests;
    await relay.step(null).catch(() => {});
    return world.requests > before;
  };
  return looks;
}

it('looks at settled payments at once, and then at the interval', async () => {
  const looks = unanswered(['SETTLED', 'FAILED']);
  const { deepPollMs } = X402_LIMITS;
  expect(await looks(0)).toBe(true);
  expect(await looks(1)).toBe(false);
  expect(await looks(deepPollMs - 2)).toBe(false);
  expect(await looks(1)).toBe(true);
  expect(await looks(deepPollMs - 1)).toBe(false);
  expect(await looks(1)).toBe(true);
});

it.each(['QUEUED', 'SENT'] as const)('looks each time if a payment is %s', async (state) => {
  const looks = unanswered(['SETTLED', state]);
  expect([await looks(0), await looks(1), await looks(1)]).toEqual([true, true, true]);
});

it('requests nothing if no payment is open', async () => {
  const looks = unanswered([]);
  expect([await looks(0), await looks(X402_LIMITS.deepPollMs)]).toEqual([false, false]);
});

it('leaves a payment aside that cannot be read, and looks at the others', async () => {
  const looked: string[] = [];
  const open = ['first', 'second'].map((key) => ({
    ...{ key, asset: 'USDC', authorization: { validBefore: '0' }, transfer: { state: 'QUEUED' } },
  }));
  let nowMs = 0;
  let code = 'CHAIN_BAD_ANSWER';
  const relay = new Relay(
    'ETH',
    { privateKey: `0x${'1'.repeat(64)}`, confirmations: 1, feeMax: 1n, balanceMax: 1n },
    {
      clock: { now: () => 0, monotonic: () => nowMs },
      log: silentLogger,
      store: {
        open: () => open,
        async change(key: string) {
          looked.push(key);
          if (key === 'first') throw new AssayError(code as 'CHAIN_BAD_ANSWER', 'The receipt is no receipt.');
          return null;
        },
      } as never,
      token: () =>
        ({ height: async () => 1, timestamp: async () => 1, node: { rpc: async () => 0 } }) as never,
    },
  );
  await expect(relay.step(null)).rejects.toThrow('no receipt');
  await relay.step(null);
  expect(looked).toEqual(['first', 'second', 'second']);
  nowMs = X402_LIMITS.deepPollMs;
  code = 'CHAIN_UNREACHABLE';
  await expect(relay.step(null)).rejects.toThrow('no receipt');
  expect(looked.slice(3)).toEqual(['first']);
});
