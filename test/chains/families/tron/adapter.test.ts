import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../../src/chains/families/tron/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, makeChain, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'trongrid', history: 'trongrid' } };
const [alice, bob, usdt, unused] = [1, 2, 3, 9].map((n) => accountOf('TRON', n)) as [
  string,
  string,
  string,
  string,
];
const GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
const hex41 = (address: string): string =>
  `41${Buffer.from(parseAddress('TRON', address).key.subarray(2)).toString('hex')}`;
const topic = (address: string): string => hex41(address).slice(2).padStart(64, '0');
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

interface Tx {
  readonly type: string;
  readonly value: Record<string, unknown>;
  readonly result?: string;
  readonly tokens?: readonly (readonly [from: string, to: string, amount: bigint])[];
  readonly inner?: readonly (readonly [from: string, to: string, amount: number, note?: string])[];
  /** Further logs, as the node writes them. */
  readonly logs?: readonly Record<string, unknown>[];
  readonly created?: string;
}
const trx = (from: string, to: string, amount: number | string, more: Partial<Tx> = {}): Tx => ({
  type: 'TransferContract',
  value: { owner_address: hex41(from), to_address: hex41(to), amount },
  ...more,
});
const calls = (from: string, to: string, more: Partial<Tx>): Tx => ({
  type: 'TriggerSmartContract',
  value: { owner_address: hex41(from), contract_address: hex41(to) },
  ...more,
});
const contents: readonly (readonly Tx[])[] = [
  [trx(bob, alice, 1_000_000)],
  [
    calls(bob, usdt, { tokens: [[bob, alice, 2_500_000n]] }),
    {
      type: 'TransferAssetContract',
      value: {
        owner_address: hex41(bob),
        to_address: hex41(alice),
        amount: 4,
        asset_name: Buffer.from('1002000').toString('hex'),
      },
    },
    trx(bob, alice, 8, { result: 'OUT_OF_ENERGY' }),
  ],
  [],
  [calls(alice, usdt, { inner: [[usdt, alice, 77]], tokens: [[alice, bob, 10n ** 30n]] })],
  [trx(alice, bob, 3)],
];

async function makeWorld(blocks = contents) {
  const chain = makeChain<Tx>({
    first: 70_000_000,
    hash: (h, b) => hex32(`tron ${h} ${b}`),
    contents: blocks,
    secondsApart: 3,
  });
  const idOf = (block: { hash: string }, index: number): string => hex32(`${block.hash} ${index}`);
  const wireTx = (block: ReturnType<typeof chain.head>, item: Tx, index: number) => ({
    txID: idOf(block, index),
    ret: [{ contractRet: item.result ?? 'SUCCESS' }],
    raw_data: { contract: [{ type: item.type, parameter: { value: item.value } }] },
  });
  const info = (block: ReturnType<typeof chain.head>, item: Tx, index: number) => ({
    id: idOf(block, index),
    blockNumber: block.height,
    blockTimeStamp: block.timeS * 1000,
    ...(item.created === undefined ? {} : { contract_address: hex41(item.created) }),
    log: [
      ...(item.tokens ?? []).map(([from, to, amount]) => ({
        address: hex41(usdt).slice(2),
        topics: [TRANSFER, topic(from), topic(to)],
        data: amount.toString(16).padStart(64, '0'),
      })),
      ...(item.logs ?? []),
    ],
    internal_transactions: (item.inner ?? []).map(([from, to, callValue, note = 'call']) => ({
      caller_address: hex41(from),
      transferTo_address: hex41(to),
      callValueInfo: [{ callValue }],
      note: Buffer.from(note).toString('hex'),
    })),
  });
  const wireBlock = (block: ReturnType<typeof chain.head>) => ({
    blockID: block.hash,
    block_header: {
      raw_data: { number: block.height, parentHash: block.parentHash, timestamp: block.timeS * 1000 },
    },
    ...(block.items.length === 0
      ? {}
      : { transactions: block.items.map((item, index) => wireTx(block, item, index)) }),
  });
  const all = () =>
    chain.blocks
      .toReversed()
      .flatMap((block) => block.items.map((item, index) => ({ block, item, index })).toReversed());
  const standIn = await startStandIn(({ path, query, body }) => {
    const method = path.split('/').at(-1)!;
    if (path.startsWith('/wallet/')) {
      if (method === 'getnowblock') return answer(wireBlock(chain.head()));
      if (method === 'getaccount')
        return answer(body.address === unused ? {} : { address: alice, balance: 4_000_000 });
      if (method === 'getblockbynum' && body.num === 0)
        return answer({ blockID: GENESIS, block_header: { raw_data: { parentHash: '0'.repeat(64) } } });
      if (method === 'getassetissuebyid')
        return answer(body.value === '1002000' ? { id: '1002000', name: '4254', precision: 6 } : {});
      if (method === 'triggerconstantcontract')
        return answer({
          result: { result: true },
          constant_result: body.contract_address === usdt ? [(6).toString(16).padStart(64, '0')] : [''],
        });
      const block = chain.at(body.num);
      if (method === 'getblockbynum') return answer(block === undefined ? {} : wireBlock(block));
      if (method === 'gettransactioninfobyblocknum')
        return answer(block === undefined ? [] : block.items.map((item, index) => info(block, item, index)));
      const found = all().find((each) => idOf(each.block, each.index) === body.value);
      return answer(found === undefined ? {} : info(found.block, found.item, found.index));
    }
    const address = path.split('/')[3]!;
    const own = hex41(address);
    const [min, max] = [query.get('min_timestamp'), query.get('max_timestamp')];
    const rows = all().filter(
      ({ block }) =>
        (min === null || block.timeS * 1000 >= Number(min)) &&
        (max === null || block.timeS * 1000 <= Number(max)),
    );
    const data =
      method === 'trc20'
        ? rows.flatMap(({ block, item, index }) =>
            (item.tokens ?? [])
              .filter(([from, to]) => from === address || to === address)
              .map(([from, to, value]) => ({
                transaction_id: idOf(block, index),
                block_timestamp: block.timeS * 1000,
                from,
                to,
                type: 'Transfer',
                value: value.toString(),
                token_info: { address: usdt, decimals: 6, symbol: 'USDT' },
              })),
          )
        : rows
            .filter(({ item }) => [item.value.owner_address, item.value.to_address].includes(own))
            .map(({ block, item, index }) => ({
              ...wireTx(block, item, index),
              blockNumber: block.height,
              block_timestamp: block.timeS * 1000,
            }));
    return answer({ data: data.slice(0, Number(query.get('limit'))), success: true, meta: {} });
  });
  return {
    standIn,
    chain: 'TRON' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(4_000_000n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 70_000_001, items: 3 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace(GENESIS, hex32('nile')),
    dispose: standIn.close,
  };
}

adapterConformance('TRON over TronGrid', family, makeWorld);

describe('transfers on TRON', () => {
  it('are TRX, TRC-10, TRC-20 and internal value, with the same positions from blocks and from lists', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'TRON', { history: [world.rpc] });
    const { transfers } = await adapter.history(
      alice,
      { cursor: null, limit: 50, from: null, to: null },
      within(5_000),
    );
    expect(transfers).toMatchObject([
      { from: alice, to: bob, amount: 3n, asset: 'TRX', position: 'value', decimals: 6 },
      { from: alice, to: usdt, amount: 0n, position: 'value' },
      { from: alice, to: bob, amount: 10n ** 30n, asset: usdt, position: 'log:0', decimals: 6 },
      { from: usdt, to: alice, amount: 77n, asset: 'TRX', position: 'internal:0:0' },
      { from: bob, to: alice, amount: 4n, asset: '1002000', decimals: 6 },
      { from: bob, to: alice, amount: 2_500_000n, asset: usdt, position: 'log:0' },
      { from: bob, to: alice, amount: 1_000_000n },
    ]);
    const { block } = await adapter.block(70_000_003, within(5_000));
    expect(block?.transfers.filter(({ asset }) => asset === usdt).map(({ decimals }) => decimals)).toEqual([
      6,
    ]);
    expect(block?.transfers.map(({ txHash, position }) => [txHash, position])).toEqual(
      transfers.slice(1, 4).map(({ txHash, position }) => [txHash, position]),
    );
    await adapter.close();
    await world.dispose();
  });

  it('exclude energy leases, stakes, votes and claims of contracts, although they have an amount', async () => {
    const world = await makeWorld([
      [
        calls(bob, usdt, {
          inner: [
            [usdt, alice, 1_000_000_000, 'delegateResourceOfEnergy'],
            [usdt, alice, 1_000_000_000, 'unDelegateResourceOfBandwidth'],
            [usdt, alice, 5, 'suicide'],
            [usdt, usdt, 6, 'freezeBalanceV2ForEnergy'],
            [usdt, usdt, 7, 'withdrawReward'],
          ],
        }),
      ],
    ]);
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc] });
    const { block } = await adapter.block(70_000_000, within(5_000));
    expect(block?.transfers.map(({ position, amount }) => [position, amount])).toEqual([
      ['value', 0n],
      ['internal:2:0', 5n],
    ]);
    await adapter.close();
    await world.dispose();
  });

  it('are read from logs with one number as data; other logs of any length are skipped', async () => {
    const log = (data: unknown) => ({
      address: hex41(usdt).slice(2),
      topics: [TRANSFER, topic(bob), topic(alice)],
      data,
    });
    const world = await makeWorld([
      [calls(bob, usdt, { logs: [log('ab'.repeat(100_000)), log(''), log(5), log(`${'0'.repeat(63)}9`)] })],
    ]);
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc] });
    const { block } = await adapter.block(70_000_000, within(5_000));
    expect(block?.transfers.map(({ position, amount }) => [position, amount])).toEqual([
      ['value', 0n],
      ['log:3', 9n],
    ]);
    await adapter.close();
    await world.dispose();
  });

  it('show the sender of the transaction, and whether its call is the transfer', async () => {
    const call = (owner: string, data: string | undefined): Tx => ({
      type: 'TriggerSmartContract',
      value: {
        owner_address: hex41(owner),
        contract_address: hex41(usdt),
        ...(data === undefined ? {} : { data }),
      },
      tokens: [[alice, bob, 7n]],
    });
    const toBob = hex41(bob).padStart(64, '0');
    const transfer = `a9059cbb${toBob}${'7'.padStart(64, '0')}`;
    const world = await makeWorld([
      [call(alice, transfer), call(bob, transfer), call(alice, undefined), call(alice, 'not hex')],
    ]);
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc] });
    const { block } = await adapter.block(70_000_000, within(5_000));
    const logs = block?.transfers.filter(({ position }) => position === 'log:0') ?? [];
    expect(logs.map(({ initiation }) => initiation)).toEqual([
      { sender: alice, callsAsset: true, decodes: true },
      { sender: bob, callsAsset: true, decodes: false },
      { sender: alice, callsAsset: true, decodes: null },
      { sender: alice, callsAsset: true, decodes: null },
    ]);
    await adapter.close();
    await world.dispose();
  });

  it('are empty for a failed transaction and for an approval', async () => {
    const approval = {
      address: hex41(usdt).slice(2),
      // keccak-256 of Approval(address,address,uint256)
      topics: ['8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925', topic(alice), topic(bob)],
      data: '9'.padStart(64, '0'),
    };
    const failed: Tx = { ...calls(alice, usdt, { tokens: [[alice, bob, 5n]] }), result: 'REVERT' };
    const world = await makeWorld([[failed, calls(alice, usdt, { logs: [approval] })]]);
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc] });
    const { block } = await adapter.block(70_000_000, within(5_000));
    expect(block?.transfers.map(({ position, amount }) => [position, amount])).toEqual([['value', 0n]]);
    await adapter.close();
    await world.dispose();
  });

  it('include the initial balance of a contract', async () => {
    const creation: Tx = {
      type: 'CreateSmartContract',
      value: { owner_address: hex41(alice), new_contract: { call_value: 40 } },
      created: usdt,
    };
    const world = await makeWorld([[creation]]);
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc] });
    const { block } = await adapter.block(70_000_000, within(5_000));
    expect(block?.transfers).toMatchObject([{ position: 'value', from: alice, to: usdt, amount: 40n }]);
    await adapter.close();
    await world.dispose();
  });

  it('are requested with the key in the header of TronGrid', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'TRON', { rpc: [world.rpc.replace('http://', 'http://key:abc-123@')] });
    await adapter.head(within(5_000));
    expect(world.standIn.requests.at(-1)?.headers['tron-pro-api-key']).toBe('abc-123');
    await adapter.close();
    await world.dispose();
  });
});
