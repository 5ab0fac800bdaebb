import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/adapters/polkadot/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, jsonRpc, makeChain, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'substrate', history: 'subscan' } };
const [alice, bob, unused] = [1, 2, 9].map((n) => accountOf('DOT', n)) as [string, string, string];
const RELAY = '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3';
const ASSET_HUB = '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f';
const PREFIX = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9';

interface Move {
  readonly from: string;
  readonly to: string;
  readonly amount: string;
  readonly more?: Readonly<Record<string, unknown>>;
}
const contents: readonly (readonly Move[])[] = [
  [{ from: bob, to: alice, amount: '1.5' }],
  [
    { from: alice, to: bob, amount: '0.0000000001' },
    { from: alice, to: bob, amount: '9', more: { success: false } },
    {
      from: bob,
      to: alice,
      amount: '2',
      more: { asset_symbol: 'USDT', amount_v2: '2000000', asset_unique_id: 'asset_hub/1984' },
    },
  ],
  [],
  [{ from: bob, to: alice, amount: '3', more: { hash: '' } }],
  [{ from: alice, to: bob, amount: '4' }],
];

const littleEndian = (value: bigint, bytes: number): string => {
  const buffer = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i++) buffer[i] = Number((value >> BigInt(8 * i)) & 255n);
  return buffer.toString('hex');
};

async function makeWorld(genesis = ASSET_HUB) {
  const chain = makeChain<Move>({
    first: 11_000_000,
    hash: (h, b) => `0x${hex32(`dot ${h} ${b}`)}`,
    contents,
    secondsApart: 6,
  });
  const header = (block: ReturnType<typeof chain.head>) => ({
    number: `0x${block.height.toString(16)}`,
    parentHash: block.parentHash,
  });
  const byHash = (hash: string) => chain.blocks.find((block) => block.hash === hash)!;
  // timestamp.set: version 4, pallet 3, call 0, a compact of six bytes.
  const inherent = (block: { timeS: number }): string =>
    `0x280403000b${littleEndian(BigInt(block.timeS) * 1000n, 6)}`;
  const stored = `0x${littleEndian(17n, 4)}${'01000000'.repeat(3)}${littleEndian(12_345_678_901_234_567_890n, 16)}${littleEndian(10n, 16)}${'00'.repeat(32)}`;
  const node = jsonRpc({
    chain_getBlockHash: ([height]: [number]) => (height === 0 ? genesis : (chain.at(height)?.hash ?? null)),
    chain_getFinalizedHead: () => chain.head().hash,
    chain_getHeader: ([hash]: [string]) => header(byHash(hash)),
    chain_getBlock: ([hash]: [string]) => ({
      block: { header: header(byHash(hash)), extrinsics: [inherent(byHash(hash)), `0x${'ab'.repeat(200)}`] },
    }),
    // The key holds the account's own bytes at its end, behind 16 bytes of their hash.
    state_getStorage: ([key]: [string]) =>
      key.startsWith(PREFIX) && key.length === PREFIX.length + 32 + 64 && key.endsWith('01'.repeat(32))
        ? stored
        : null,
  });
  const standIn = await startStandIn((asked) => {
    if (asked.path !== '/api/v2/scan/transfers') return node(asked);
    const { address, row, page, block_range: range } = asked.body;
    const [min, max] = range === undefined ? [0, Infinity] : (range as string).split('-').map(Number);
    const all = chain
      .newestFirst()
      .filter(
        ({ block, item }) =>
          block.height >= min! &&
          block.height <= max! &&
          (address === undefined || item.from === address || item.to === address),
      );
    const transfers = all.slice(page * row, (page + 1) * row).map(({ block, item }) => ({
      from: item.from,
      to: item.to,
      amount: item.amount,
      asset_symbol: 'DOT',
      success: true,
      hash: `0x${hex32(`${block.hash} extrinsic`)}`,
      block_num: block.height,
      block_timestamp: block.timeS,
      event_idx: block.items.indexOf(item),
      ...item.more,
    }));
    return answer({
      code: 0,
      message: 'Success',
      data: { count: all.length, transfers: transfers.length === 0 ? null : transfers },
    });
  });
  return {
    standIn,
    chain: 'DOT' as const,
    rpc: standIn.url,
    history: standIn.url,
    address: alice,
    unused,
    balance: () => Promise.resolve(12_345_678_901_234_567_900n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 11_000_001, items: 2 }),
    mine: chain.mine,
    // What is told is final.
    reorg: null,
    ofAnotherChain: (body: string) => body.replace(ASSET_HUB, `0x${hex32('westend')}`),
    dispose: standIn.close,
  };
}

adapterConformance('DOT over a node and Subscan', family, makeWorld);

describe('what Polkadot moves', () => {
  it('is told by Subscan; without it a block says that its transfers are missing', async () => {
    const world = await makeWorld();
    const whole = openFor(family, 'DOT', { rpc: [world.rpc], history: [world.history] });
    const page = await whole.history(alice, { cursor: null, limit: 50, from: null, to: null }, within(5_000));
    expect(page.transfers).toMatchObject([
      { from: alice, to: bob, amount: 40_000_000_000n, asset: 'DOT', decimals: 10 },
      { from: bob, to: alice, txHash: '11000003-0' },
      { asset: 'asset_hub/1984', amount: 2_000_000n, decimals: null, position: 'event:2' },
      { amount: 1n, position: 'event:0' },
      { amount: 15_000_000_000n },
    ]);
    expect(await whole.transactionCount(alice, within(5_000))).toMatchObject({ count: 17 });
    const node = openFor(family, 'DOT', { rpc: [world.rpc] });
    expect(await node.block(11_000_001, within(5_000))).toMatchObject({
      completeness: 'PARTIAL',
      note: expect.stringContaining('events'),
      block: { transfers: [], timestampMs: 1_760_000_006_000 },
    });
    await Promise.all([whole.close(), node.close()]);
    await world.dispose();
  });

  it('says of a balance from the relay chain that others hold the rest', async () => {
    const world = await makeWorld(RELAY);
    const adapter = openFor(family, 'DOT', { rpc: [world.rpc] });
    expect(await adapter.balance(unused, within(5_000))).toMatchObject({
      balance: 0n,
      completeness: 'PARTIAL',
      note: expect.stringContaining('Asset Hub'),
    });
    await adapter.close();
    await world.dispose();
  });
});
