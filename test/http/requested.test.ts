/** What a request says reaches its use case: paths with a chain and an address, and the receipt that it asks for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../../src/http/operation.ts';
import { wantedReceipt } from '../../src/http/operations/support/receipts.ts';
import { openWorld, type World } from './world.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;

describe('a path with a chain and an address', () => {
  let world: World;
  let key: string;
  const asked: unknown[][] = [];
  const record = (chain: string, address: string): never => {
    asked.push([chain, address]);
    throw new Error('recorded');
  };
  beforeAll(async () => {
    world = await openWorld({ backend: 'node', useCases: { attribution: record } });
    key = await world.key({ accountId: 'acc' });
  });
  afterAll(() => world.close());

  it('names the chain first', async () => {
    const { status } = await fetch(`${world.url}/api/v1/address/ETH/${ADDRESS}/attribution`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect([status, asked]).toEqual([500, [['ETH', ADDRESS]]]);
  });
});

describe('the receipt of a request', () => {
  const verifier = `eip155:1:${ADDRESS}`;
  const callOf = (receipts?: string): Call =>
    ({ caller: receipts === undefined ? null : { receipts } }) as never;

  it('is the form that it names, or that of its key', () => {
    expect([
      wantedReceipt(callOf(), {}),
      wantedReceipt(callOf('none'), {}),
      wantedReceipt(callOf('jws'), {}),
      wantedReceipt(callOf('jws'), { receipt: 'none' }),
      wantedReceipt(callOf(), { receipt: 'jws' }),
    ]).toEqual([null, null, { target: null }, null, { target: null }]);
    expect(wantedReceipt(callOf('none'), { receipt: 'eip712', verifier })?.target).toMatchObject({
      chainId: 1,
    });
  });

  it('names a contract if and only if it is signed for one', () => {
    for (const receipt of ['none', 'jws'] as const)
      expect(() => wantedReceipt(callOf(), { receipt, verifier }), receipt).toThrow(
        'verifier: must be left out unless receipt is eip712.',
      );
    expect(() => wantedReceipt(callOf('jws'), { verifier })).toThrow('verifier: must be left out');
    expect(() => wantedReceipt(callOf(), { receipt: 'eip712' })).toThrow('verifier: is missing');
    expect(() => wantedReceipt(callOf('eip712'), {})).toThrow('verifier: is missing');
    expect(() => wantedReceipt(callOf(), { receipt: 'batch' })).toThrow('batch must be used alone');
  });
});
