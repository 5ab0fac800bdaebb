/** Which requests a payment pays for: over a store, with a chain and a ledger that answer at once. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPackages } from '../../../src/accounts/credits.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { X402_LIMITS } from '../../../src/billing/x402/limits.ts';
import { type PayableRequest, PayPerCall } from '../../../src/billing/x402/pay-per-call.ts';
import type { Authorization, CallPayment, Transfer } from '../../../src/billing/x402/records.ts';
import { AuthorizedPayments } from '../../../src/billing/x402/store.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { NETWORK, PAY_TO, PRICE, paymentHeader, USDC } from './world.ts';

const REQUEST: PayableRequest = {
  ...{ operation: 'screening', description: 'Screens', url: 'http://127.0.0.1/', credits: 1 },
  ...{ hash: 'a'.repeat(64), client: '192.0.2.1' },
};
const OTHER: PayableRequest = { ...REQUEST, hash: 'b'.repeat(64) };
const ID = 'order_0000000000000001';
const FAILED: Partial<Transfer> = { state: 'FAILED', reason: 'no balance', isFinal: true };
const SETTLED: Partial<Transfer> = {
  state: 'SETTLED',
  arrival: { transaction: '0xt', height: 1, blockHash: '0xb', settledAtMs: 1 },
};

let folder: TempFolder;
let store: AuthorizedPayments;
let nowMs: number;
/** Whether the ledger still has the answers of requests. */
let hasAnswers: boolean;
let booked: (string | undefined)[];
/** What happens while the ledger books. */
let meanwhile: () => Promise<unknown>;
let service: PayPerCall;
beforeEach(async () => {
  folder = tempFolder();
  store = new AuthorizedPayments(join(folder.path, 'authorized-payments.mdb'));
  await store.ready();
  nowMs = 1_000_000;
  hasAnswers = true;
  booked = [];
  meanwhile = async () => {};
  const token = {
    ...{ asset: USDC.toLowerCase(), node: { chain: 'BASE' } },
    domain: async () => ({ name: 'USD Coin', version: '2' }),
  };
  service = new PayPerCall(
    { payTo: PAY_TO, tokens: [{ chain: 'BASE', asset: USDC }] },
    {
      ...{ clock: { now: () => nowMs, monotonic: () => nowMs }, log: silentLogger, store: () => store },
      packages: readPackages(),
      settlement: {
        ...{ token: () => token, chainOfNetwork: (network: string) => (network === NETWORK ? 'BASE' : null) },
        check: async (_: unknown, authorization: Authorization) => ({ authorization, sinceHeight: 1 }),
        checkSignature: async (_: unknown, authorization: Authorization) => authorization,
        wait: async (key: string) => store.get(key),
      } as never,
      ledger: () =>
        ({
          async book({ once }: { once?: string }) {
            booked.push(once);
            const id = `entry_${booked.length}`;
            await meanwhile();
            return { entry: { id } };
          },
          storedAnswer: async () => (hasAnswers ? {} : null),
        }) as never,
    },
  );
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

let nonces = 0;
const header = (id?: string): string =>
  paymentHeader(
    {
      authorization: {
        ...{ from: `0x${'c'.repeat(40)}`, to: PAY_TO, value: String(PRICE), validAfter: '0' },
        ...{ validBefore: '2000', nonce: `0x${String(++nonces).padStart(64, '0')}` },
      },
      signature: `0x${'1'.repeat(130)}`,
    },
    id === undefined ? {} : { id },
  );
const change = (key: string, by: Partial<Transfer>) =>
  store.change(key, (one) => ({
    ...(one as CallPayment),
    transfer: { ...(one as CallPayment).transfer, ...by },
  }));
/** Stores a payment that has arrived. */
async function paid(text = header()) {
  const taken = await service.take(text, REQUEST);
  await change(taken.key, SETTLED);
  return taken;
}

it('takes another payment with the identifier of one that failed', async () => {
  const first = await service.take(header(ID), REQUEST);
  await change(first.key, FAILED);
  const second = await service.take(header(ID), REQUEST);
  expect(second.key).not.toBe(first.key);
  expect(store.byIdentifier(`0x${'c'.repeat(40)}`, ID)?.key).toBe(second.key);
});

it('answers a payment without an identifier again only for the client that sent it', async () => {
  const text = header();
  const taken = await paid(text);
  expect(await service.take(text, REQUEST)).toEqual(taken);
  await expect(service.take(text, { ...REQUEST, client: '192.0.2.2' })).rejects.toMatchObject({
    code: 'PAYMENT_REQUIRED',
  });
});

it('reserves a payment for one request, and for the next one after a while', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  nowMs += X402_LIMITS.servingMs;
  await expect(service.settle(taken, REQUEST)).rejects.toMatchObject({ code: 'PAYMENT_PENDING' });
  nowMs += 1;
  await service.settle(taken, REQUEST);
  expect(booked).toHaveLength(1);
});

it('is used up by one of two requests that were refused as invalid before', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  await service.unserved(taken, true);
  await service.settle(taken, OTHER);
  await service.served(taken, 'entry_2');
  await expect(service.settle(taken, REQUEST)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});

it('pays nothing further when the answer is not kept any more', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  await service.served(taken, 'entry_2');
  await service.settle(taken, REQUEST);
  hasAnswers = false;
  await expect(service.settle(taken, REQUEST)).rejects.toMatchObject({
    code: 'PAYMENT_REQUIRED',
    required: null,
  });
});

it('pays no dearer request of the operation after its own was refused as invalid', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  await service.unserved(taken, true);
  await expect(service.settle(taken, { ...OTHER, credits: 2 })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
  });
});

const purchaseOf = (key: string) => (store.get(key) as CallPayment).purchase;

it('takes credits back that a reorg removed, and books them again, each step under a name of its own', async () => {
  const { key } = await paid();
  await service.sweep();
  expect(purchaseOf(key)).toBe('entry_1');
  await change(key, { ...FAILED, arrival: null });
  await service.sweep();
  expect(purchaseOf(key)).toBeNull();
  await change(key, SETTLED);
  await service.sweep();
  expect(purchaseOf(key)).toBe('entry_3');
  expect(booked).toEqual([`x402 ${key} 0`, `x402 ${key} 1`, `x402 ${key} 2`]);
});

it('takes nothing back of a payment that was answered', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  await service.served(taken, 'entry_2');
  await change(taken.key, { ...FAILED, arrival: null });
  await service.sweep();
  expect([booked.length, purchaseOf(taken.key)]).toEqual([1, 'entry_1']);
});

it('does not store a booking that another node has taken back since', async () => {
  const { key } = await paid();
  meanwhile = () => store.change(key, (one) => ({ ...(one as CallPayment), purchase: null, bookings: 2 }));
  await service.sweep();
  expect(store.get(key)).toMatchObject({ purchase: null, bookings: 2 });
});

it('stays reserved while its request is answered, and is answered if nothing is known a day later', async () => {
  const taken = await paid();
  await service.settle(taken, REQUEST);
  hasAnswers = false;
  nowMs += X402_LIMITS.servingMs - 1;
  await service.sweep();
  expect(store.get(taken.key)).toMatchObject({ servingAtMs: expect.any(Number), served: null });
  nowMs += 1;
  await service.sweep();
  expect(store.get(taken.key)).toMatchObject({ servingAtMs: null, served: null });
  await service.settle(taken, REQUEST);
  nowMs += X402_LIMITS.answerMs + 1;
  await service.sweep();
  expect(store.get(taken.key)).toMatchObject({ servingAtMs: null, served: { entryId: null } });
});

it('is booked by the sweep also if it was answered before', async () => {
  const { key } = await paid();
  await store.change(key, (one) => ({ ...(one as CallPayment), served: { entryId: 'entry_9', atMs: 1 } }));
  await service.sweep();
  expect(purchaseOf(key)).toBe('entry_1');
});
