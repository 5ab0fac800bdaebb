import { id, zeroPadValue } from 'ethers';
import { expect, test } from 'vitest';
import { type ChainNode, Eip3009Token } from '../../../src/billing/x402/token.ts';

const ASSET = `0x${'aa'.repeat(20)}`;
const PAYER = `0x${'11'.repeat(20)}`;
const RECEIVER = `0x${'22'.repeat(20)}`;
const OTHER = `0x${'33'.repeat(20)}`;
const NONCE = `0x${'44'.repeat(32)}`;
const VALUE = 5_000_000n;
const authorization = {
  ...{ from: PAYER, to: RECEIVER, nonce: NONCE, value: String(VALUE) },
  ...{ validAfter: '0', validBefore: '9999999999' },
} as unknown as Parameters<Eip3009Token['receipt']>[1];

const used = (payer = PAYER, nonce = NONCE, address = ASSET) => ({
  address,
  topics: [id('AuthorizationUsed(address,bytes32)'), zeroPadValue(payer, 32), nonce],
  data: '0x',
});
const moved = (payer = PAYER, receiver = RECEIVER, value = VALUE, address = ASSET) => ({
  address,
  topics: [id('Transfer(address,address,uint256)'), zeroPadValue(payer, 32), zeroPadValue(receiver, 32)],
  data: `0x${value.toString(16).padStart(64, '0')}`,
});

/** Whether a transaction with these logs counts as the transfer of the authorization. */
async function hasTransfer(...logs: readonly object[]): Promise<boolean | undefined> {
  const receipt = { transactionHash: '0x01', blockNumber: '0x5', blockHash: '0x02', status: '0x1', logs };
  const node = {
    rpc: async (_method: string, _params: unknown, read: (result: unknown) => unknown) => read(receipt),
  } as unknown as ChainNode;
  return (await new Eip3009Token(node, ASSET).receipt('0x01', authorization))?.hasTransfer;
}

test('a transaction is the transfer of an authorization if the token says that it was used and moved', async () => {
  expect(await hasTransfer(used(), moved())).toBe(true);
  expect(await hasTransfer(used())).toBe(false);
  expect(await hasTransfer(moved())).toBe(false);
  expect(await hasTransfer()).toBe(false);
});

test.each([
  ['of another payer', used(OTHER), moved()],
  ['with another nonce', used(PAYER, `0x${'45'.repeat(32)}`), moved()],
  ['of another token', used(PAYER, NONCE, OTHER), moved()],
  ['from another payer', used(), moved(OTHER)],
  ['to another receiver', used(), moved(PAYER, OTHER)],
  ['of less', used(), moved(PAYER, RECEIVER, VALUE - 1n)],
  ['in another token', used(), moved(PAYER, RECEIVER, VALUE, OTHER)],
])('a use or a transfer %s is not that of the authorization', async (_, use, move) => {
  expect(await hasTransfer(use, move)).toBe(false);
});

test('one transfer is that of one authorization, however many were used in its transaction', async () => {
  const [second, toItself] = [`0x${'45'.repeat(32)}`, moved(PAYER, PAYER)];
  expect(await hasTransfer(used(), toItself, used(PAYER, second), moved())).toBe(false);
  expect(await hasTransfer(used(), toItself, moved())).toBe(false);
  expect(await hasTransfer(moved(), used(), toItself)).toBe(false);
  expect(await hasTransfer(used(PAYER, second), toItself, used(), moved())).toBe(true);
  // Logs of other contracts are no part of it.
  expect(await hasTransfer(used(), moved(PAYER, RECEIVER, VALUE, OTHER), moved())).toBe(true);
});
