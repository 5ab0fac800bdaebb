/** Lists of explorers, answered by a stub: the transfers, and the account that sent the transaction. */
import { describe, expect, it } from 'vitest';
import type { EndpointPool, EndpointRequest } from '../../../../src/chains/endpoints/endpoint-pool.ts';
import type { EndpointSpec } from '../../../../src/chains/endpoints/endpoints.ts';
import type { Json } from '../../../../src/chains/endpoints/exact-json.ts';
import { createAccountApi } from '../../../../src/chains/families/evm/account-api.ts';
import { within } from '../../../conformance/adapter.ts';

const HOLDER = '0xae2Fc483527B8EF99EB5D9B44875F005ba1FaE13';
const OTHER = '0x6b75d8AF000000e20B7a7DDf000Ba900b4009A80';
const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const ZERO = `0x${'0'.repeat(40)}`;
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const word = (text: string): string => text.replace('0x', '').toLowerCase().padStart(64, '0');

const spec = {
  layout: 'etherscan',
  url: 'https://explorer.example/api',
  source: 'etherscan explorer.example',
};

/** A pool of one explorer that answers with these lists. */
function poolOf(lists: Readonly<Record<string, readonly Json[]>>): EndpointPool {
  return {
    endpoints: [spec],
    async ask<T>({ url, read }: EndpointRequest<T>) {
      const asked = spec as unknown as EndpointSpec;
      const action = new URL(url?.(asked) ?? asked.url).searchParams.get('action') ?? '';
      const answer = { json: () => ({ status: '1', message: 'OK', result: [...(lists[action] ?? [])] }) };
      return { value: read(answer as never, asked), endpoint: spec };
    },
  } as unknown as EndpointPool;
}

const row = (digit: string, fields: Readonly<Record<string, Json>>): Json => ({
  blockNumber: '10',
  timeStamp: '1683029999',
  hash: hash(digit),
  from: HOLDER,
  to: OTHER,
  value: '0',
  contractAddress: '',
  ...fields,
});
const tokenRow = (digit: string, fields: Readonly<Record<string, Json>> = {}): Json =>
  row(digit, { contractAddress: TOKEN, value: '7', tokenDecimal: '6', logIndex: '3', ...fields });

async function transfersOf(lists: Readonly<Record<string, readonly Json[]>>) {
  const api = createAccountApi('ETH', poolOf(lists));
  const query = { cursor: null, limit: 100, from: null, to: null };
  const { transfers } = await api.page(HOLDER, query, within(1_000));
  return transfers.toSorted((a, b) => `${a.txHash}${a.position}`.localeCompare(`${b.txHash}${b.position}`));
}

describe('an explorer API', () => {
  it('shows how the transaction of a token transfer was started if the address took part in it', async () => {
    const input = `0xa9059cbb${word(OTHER)}${word('0x7')}`;
    const found = await transfersOf({
      txlist: [row('1', { to: TOKEN, input, isError: '0' })],
      tokentx: [tokenRow('1'), tokenRow('2', { from: OTHER, to: HOLDER, input: 'deprecated' })],
    });
    expect(found.map(({ txHash, position, initiation }) => [txHash, position, initiation ?? null])).toEqual([
      [hash('1'), 'log:3', { sender: HOLDER, callsAsset: true, decodes: true }],
      [hash('1'), 'value', { sender: HOLDER, callsAsset: null, decodes: null }],
      [hash('2'), 'log:3', null],
    ]);
  });

  it('has no transfers of a failed transaction, and no counterparty of a mint or burn', async () => {
    const found = await transfersOf({
      txlist: [row('1', { value: '5', isError: '1' })],
      txlistinternal: [row('2', { value: '5', isError: '1', type: 'call', traceId: '0' })],
      tokentx: [tokenRow('3', { from: ZERO, to: HOLDER }), tokenRow('4', { to: ZERO })],
    });
    expect(found.map(({ txHash, from, to, amount }) => [txHash, from, to, amount])).toEqual([
      [hash('1'), HOLDER, OTHER, 0n],
      [hash('3'), null, HOLDER, 7n],
      [hash('4'), HOLDER, null, 7n],
    ]);
  });

  it('includes value that moved inside transactions', async () => {
    const found = await transfersOf({
      txlistinternal: [
        row('2', { from: OTHER, to: HOLDER, value: '5', isError: '0', type: 'call', traceId: '0_1' }),
      ],
    });
    expect(found).toMatchObject([
      { position: 'trace:0_1', asset: 'ETH', amount: 5n, from: OTHER, to: HOLDER },
    ]);
  });
});
