/** How often the relay looks at payments: new ones each time, and settled ones at an interval. */
import { expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { X402_LIMITS } from '../../../src/billing/x402/limits.ts';
import { type CallPayment, queued, type Transfer } from '../../../src/billing/x402/records.ts';
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
        ({
          ...{ height: async () => 1, timestamp: async () => 1, isUsed: async () => false },
          node: { rpc: async () => 0 },
        }) as never,
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

/** Looks once at a queued payment, valid before the second 1,000, and returns what became of it. */
async function lookedAt(world: {
  readonly nowMs: number;
  readonly chainNow: number;
  readonly isUsed: boolean;
  /** Nonces of other payments that are being sent. Default: none. */
  readonly sent?: readonly number[];
}) {
  let transfer = queued(1);
  const payment = (): CallPayment =>
    ({
      ...{ key: 'k', kind: 'call', asset: 'USDC', transfer },
      authorization: { from: '0xb', nonce: '0x1', validBefore: '1000' },
    }) as CallPayment;
  // Left as they are: what the chain has of them cannot be read.
  const others = (world.sent ?? []).map((accountNonce) => ({
    ...{ key: `other ${accountNonce}`, asset: 'USDC', authorization: {} },
    transfer: { ...queued(1), state: 'SENT', sending: { accountNonce, attempts: [{ hash: '0x1' }] } },
  }));
  const relay = new Relay(
    'ETH',
    { privateKey: `0x${'1'.repeat(64)}`, confirmations: 1, feeMax: 1n, balanceMax: 1n },
    {
      clock: { now: () => world.nowMs, monotonic: () => 0 },
      log: silentLogger,
      store: {
        open: () => [payment(), ...others],
        async change(_: string, change: (stored: CallPayment) => CallPayment | null) {
          transfer = change(payment())?.transfer ?? transfer;
          return null;
        },
      } as never,
      token: () =>
        ({
          ...{
            height: async () => 7,
            timestamp: async () => world.chainNow,
            isUsed: async () => world.isUsed,
          },
          findUse: async () => ({ transaction: '0xt', height: 5, blockHash: '0xh' }),
          simulate: async () => (world.isUsed ? 'invalid_exact_evm_nonce_already_used' : null),
          receipt: async () => {
            throw new AssayError('CHAIN_BAD_ANSWER', 'The receipt is no receipt.');
          },
          node: { rpc: async () => 0 },
        }) as never,
    },
  );
  await relay.step(null).catch(() => {});
  return transfer;
}

it('settles an expired payment that is on the chain, although no transaction of it is stored', async () => {
  expect(await lookedAt({ nowMs: 9_000_000, chainNow: 9_000, isUsed: true })).toMatchObject({
    ...{ state: 'SETTLED', reason: null, arrival: { transaction: '0xt', height: 5 } },
  });
});

it('gives an unused payment up for good once the time of the chain is past its expiry', async () => {
  const reason = 'invalid_exact_evm_payload_authorization_valid_before';
  expect(await lookedAt({ nowMs: 1_000_000, chainNow: 999, isUsed: false })).toMatchObject({
    ...{ state: 'FAILED', reason, isFinal: false },
  });
  expect(await lookedAt({ nowMs: 999_000, chainNow: 1_000, isUsed: false })).toMatchObject({
    ...{ state: 'FAILED', reason, isFinal: true },
  });
});

it('settles a queued payment that another sender has brought into a block', async () => {
  expect(await lookedAt({ nowMs: 1_000, chainNow: 1, isUsed: true })).toMatchObject({
    ...{ state: 'SETTLED', sending: null, arrival: { transaction: '0xt' } },
  });
});

it('sends nothing while as many transactions of the account wait as a node keeps', async () => {
  const sent = Array.from({ length: X402_LIMITS.inFlightMax }, (_, at) => at);
  // One that is used would be settled, if it were looked at.
  const world = { nowMs: 1_000, chainNow: 1, isUsed: true };
  expect(await lookedAt({ ...world, sent })).toMatchObject({ state: 'QUEUED' });
  expect(await lookedAt({ ...world, sent: sent.slice(1) })).toMatchObject({ state: 'SETTLED' });
});
