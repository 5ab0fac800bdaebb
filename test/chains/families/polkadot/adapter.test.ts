import { blake2b } from '@noble/hashes/blake2.js';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../../src/chains/families/polkadot/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, jsonRpc, makeChain, RpcFault, startStandIn } from '../stand-in.ts';
import { compact, events, littleEndian, METADATA, odd, place, record, success } from './runtime.ts';

const family = { openAdapter, layouts: { rpc: 'substrate', history: 'subscan' } };
const [alice, bob, unused] = [1, 2, 9].map((n) => accountOf('DOT', n)) as [string, string, string];
const RELAY = '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3';
const ASSET_HUB = '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f';
const PREFIX = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9';
const EVENTS_KEY = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7';
const ASSET_PREFIX = '0x682a59d51ab9e48a8c8cc418ff9708d2b5f3822e35ca2f31ce3526eab1363fd2';

interface Move {
  readonly from: string;
  readonly to: string;
  /** In the smallest unit. */
  readonly amount: bigint;
  readonly asset?: number;
  readonly failed?: true;
  /** A move by the runtime itself, without an extrinsic. */
  readonly byItself?: true;
}
const contents: readonly (readonly Move[])[] = [
  [{ from: bob, to: alice, amount: 15_000_000_000n }],
  [
    { from: alice, to: bob, amount: 1n },
    { from: alice, to: bob, amount: 90_000_000_000n, failed: true },
    { from: bob, to: alice, amount: 2_000_000n, asset: 1984 },
  ],
  [],
  [{ from: bob, to: alice, amount: 30_000_000_000n, byItself: true }],
  [{ from: alice, to: bob, amount: 40_000_000_000n }],
];

const keyOf = (address: string): Uint8Array => parseAddress('DOT', address).key.subarray(2);
const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
const hashOf = (extrinsic: string): string =>
  hexOf(blake2b(Buffer.from(extrinsic.slice(2), 'hex'), { dkLen: 32 }));
const decimalText = (amount: bigint, decimals: number): string => {
  const digits = amount.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};

interface WorldOptions {
  readonly genesis?: string;
  /** The events that the node can answer: all, none (its state is pruned), or all with metadata of a future version. */
  readonly node?: 'events' | 'pruned' | 'newer metadata';
  /** Events instead of those of the contents. */
  readonly events?: readonly Buffer[];
  /** The symbol that Subscan gives the asset 1984; default USDt. */
  readonly assetSymbol?: string;
}

async function makeWorld({ genesis = ASSET_HUB, node: kind = 'events', ...options }: WorldOptions = {}) {
  const chain = makeChain<Move>({
    first: 11_000_000,
    hash: (h, b) => `0x${hex32(`dot ${h} ${b}`)}`,
    contents,
    secondsApart: 6,
  });
  type Made = ReturnType<typeof chain.head>;
  const header = (block: Made) => ({
    number: `0x${block.height.toString(16)}`,
    parentHash: block.parentHash,
  });
  const byHash = (hash: string): Made => chain.blocks.find((block) => block.hash === hash)!;
  // timestamp.set: version 4, pallet 3, call 0, a compact integer of six bytes.
  const inherent = (block: Made): string =>
    `0x280403000b${littleEndian(BigInt(block.timeS) * 1000n, 6).toString('hex')}`;
  const extrinsicsOf = (block: Made): string[] => [
    inherent(block),
    ...block.items.flatMap((item, index) =>
      item.byItself ? [] : [`0x${compact(33).toString('hex')}84${hex32(`${block.hash} extrinsic ${index}`)}`],
    ),
  ];
  /** Returns every event of a block, and for each item the position of its own event; a failed item has no event. */
  function eventsOf(block: Made) {
    const records = [success(0), odd(0)];
    const places = new Map<Move, { readonly event: number; readonly extrinsic: string | null }>();
    const extrinsics = extrinsicsOf(block);
    let next = 1;
    for (const item of block.items) {
      const phase = item.byItself ? 'Initialization' : next++;
      const fee = record(phase, 'Balances', 8, keyOf(item.from), littleEndian(99n, 16));
      if (!item.byItself) records.push(fee);
      places.set(item, {
        event: records.length,
        extrinsic: phase === 'Initialization' ? null : hashOf(extrinsics[phase]!),
      });
      const parties = [keyOf(item.from), keyOf(item.to), littleEndian(item.amount, 16)];
      if (!item.failed)
        records.push(
          item.asset === undefined
            ? record(phase, 'Balances', 2, ...parties)
            : record(phase, 'Assets', 2, littleEndian(item.asset, 4), ...parties),
        );
      records.push(success(phase));
    }
    return { records: options.events ?? records, places };
  }
  const account = hexOf(
    Buffer.concat([
      littleEndian(17, 4),
      Buffer.from('01000000'.repeat(3), 'hex'),
      littleEndian(12_345_678_901_234_567_890n, 16),
      littleEndian(10n, 16),
      Buffer.alloc(32),
    ]),
  );
  const asset = hexOf(
    Buffer.concat([
      littleEndian(1n, 16),
      compact(10),
      Buffer.from('Tether USD'),
      compact(4),
      Buffer.from('USDt'),
      Uint8Array.of(6, 0),
    ]),
  );
  const requests: Record<string, number> = {};
  const counted = (name: string): void => {
    requests[name] = (requests[name] ?? 0) + 1;
  };
  const node = jsonRpc({
    chain_getBlockHash: ([height]: [number]) => (height === 0 ? genesis : (chain.at(height)?.hash ?? null)),
    chain_getFinalizedHead: () => chain.head().hash,
    chain_getHeader: ([hash]: [string]) => header(byHash(hash)),
    chain_getBlock: ([hash]: [string]) => ({
      block: { header: header(byHash(hash)), extrinsics: extrinsicsOf(byHash(hash)) },
    }),
    state_getRuntimeVersion: () => {
      if (kind === 'pruned') throw new RpcFault(4003, 'Client error: UnknownBlock: State already discarded');
      return { specName: 'statemint', specVersion: 2_000_004, implName: 'statemint' };
    },
    state_getMetadata: () => {
      counted('metadata');
      return kind === 'newer metadata' ? METADATA.replace('0x6d6574610e', '0x6d65746114') : METADATA;
    },
    // Keys end with the own bytes of the account (or the asset), behind 16 bytes of their hash.
    state_getStorage: ([key, hash]: [string, string]) => {
      if (key === EVENTS_KEY) return events(eventsOf(byHash(hash)).records);
      if (key.startsWith(ASSET_PREFIX)) {
        counted('asset');
        return key.endsWith('c0070000') && key.length === ASSET_PREFIX.length + 40 ? asset : null;
      }
      return key.startsWith(PREFIX) && key.length === PREFIX.length + 32 + 64 && key.endsWith('01'.repeat(32))
        ? account
        : null;
    },
  });
  const standIn = await startStandIn((question) => {
    if (question.path !== '/api/v2/scan/transfers') return node(question);
    const { address, row, page, block_range: range } = question.body;
    const [min, max] = range === undefined ? [0, Infinity] : (range as string).split('-').map(Number);
    const all = chain
      .newestFirst()
      .filter(
        ({ block, item }) =>
          block.height >= min! &&
          block.height <= max! &&
          (address === undefined || item.from === address || item.to === address),
      );
    const transfers = all.slice(page * row, (page + 1) * row).map(({ block, item }) => {
      const { event, extrinsic } = eventsOf(block).places.get(item)!;
      return {
        from: item.from,
        to: item.to,
        amount: decimalText(item.amount, item.asset === undefined ? 10 : 6),
        amount_v2: item.amount.toString(),
        asset_symbol: item.asset === undefined ? 'DOT' : (options.assetSymbol ?? 'USDt'),
        asset_unique_id: item.asset === undefined ? 'DOT' : `standard_assets/${item.asset}`,
        success: item.failed !== true,
        hash: extrinsic ?? '',
        block_num: block.height,
        block_timestamp: block.timeS,
        event_idx: event,
      };
    });
    return answer({
      code: 0,
      message: 'Success',
      data: { count: all.length, transfers: transfers.length === 0 ? null : transfers },
    });
  });
  return {
    standIn,
    requests,
    chain: 'DOT' as const,
    rpc: standIn.url,
    history: standIn.url,
    address: alice,
    unused,
    balance: () => Promise.resolve(12_345_678_901_234_567_900n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 11_000_001, items: 2 }),
    mine: chain.mine,
    // The node reports only final blocks.
    reorg: null,
    ofAnotherChain: (body: string) => body.replace(ASSET_HUB, `0x${hex32('westend')}`),
    dispose: standIn.close,
  };
}

adapterConformance('DOT over a node and Subscan', family, () => makeWorld());
adapterConformance('DOT over a node alone', family, async () => ({
  ...(await makeWorld()),
  history: null,
  historyKind: 'NONE' as const,
}));

describe('transfers on Polkadot', () => {
  it('are the same from the events of the node as from Subscan', async () => {
    const world = await makeWorld();
    const pruned = await makeWorld({ node: 'pruned' });
    const node = openFor(family, 'DOT', { rpc: [world.rpc] });
    const subscan = openFor(family, 'DOT', { rpc: [pruned.rpc], history: [pruned.history] });
    for (let n = 0; n < contents.length; n++) {
      const { block, completeness } = await node.block(11_000_000 + n, within(5_000));
      expect(completeness).toBe('COMPLETE');
      const fromSubscan = (await subscan.block(11_000_000 + n, within(5_000))).block;
      expect(block).toEqual(fromSubscan);
    }
    expect((await node.block(11_000_001, within(5_000))).block).toMatchObject({
      timestampMs: 1_760_000_006_000,
      transfers: [
        { from: alice, to: bob, amount: 1n, asset: 'DOT', decimals: 10, position: 'event:3' },
        { from: bob, to: alice, amount: 2_000_000n, asset: 'standard_assets/1984', decimals: 6 },
      ],
    });
    // The metadata of the runtime and the details of an asset are requested once.
    expect(world.requests).toEqual({ metadata: 1, asset: 1 });
    await Promise.all([node.close(), subscan.close(), world.dispose(), pruned.dispose()]);
  });

  it('of an address are empty without Subscan, and its history with it', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'DOT', { rpc: [world.rpc], history: [world.history] });
    const page = await adapter.history(
      alice,
      { cursor: null, limit: 50, from: null, to: null },
      within(5_000),
    );
    expect(page.transfers).toMatchObject([
      { from: alice, to: bob, amount: 40_000_000_000n, asset: 'DOT', decimals: 10 },
      { from: bob, to: alice, txHash: '11000003-2', position: 'event:2' },
      { asset: 'standard_assets/1984', amount: 2_000_000n, decimals: 6 },
      { amount: 1n, position: 'event:3' },
      { amount: 15_000_000_000n },
    ]);
    expect(await adapter.transactionCount(alice, within(5_000))).toMatchObject({ count: 17 });
    await Promise.all([adapter.close(), world.dispose()]);
  });

  it('do not count an asset with the symbol DOT as DOT', async () => {
    const world = await makeWorld({ assetSymbol: 'DOT' });
    const adapter = openFor(family, 'DOT', { rpc: [world.rpc], history: [world.history] });
    const query = { cursor: null, limit: 50, from: 11_000_001, to: 11_000_001 };
    const { transfers } = await adapter.history(alice, query, within(5_000));
    expect(transfers).toMatchObject([
      { asset: 'standard_assets/1984', amount: 2_000_000n, decimals: 6 },
      { asset: 'DOT', amount: 1n },
    ]);
    await Promise.all([adapter.close(), world.dispose()]);
  });

  it.each(['pruned', 'newer metadata'] as const)(
    'are reported as missing if a node cannot provide them: %s',
    async (kind) => {
      const world = await makeWorld({ node: kind });
      const adapter = openFor(family, 'DOT', { rpc: [world.rpc] });
      expect(await adapter.block(11_000_001, within(5_000))).toMatchObject({
        completeness: 'PARTIAL',
        note: expect.stringContaining('events'),
        block: { transfers: [], timestampMs: 1_760_000_006_000 },
      });
      await Promise.all([adapter.close(), world.dispose()]);
    },
  );

  it('include mints, burns and assets of other chains; swaps are reported as missing', async () => {
    const amount = littleEndian(5n, 16);
    const world = await makeWorld({
      events: [
        record(1, 'Balances', 10, keyOf(alice), amount),
        record(1, 'Assets', 5, littleEndian(7, 4), keyOf(bob), amount),
        record('Initialization', 'ForeignAssets', 2, place(2_000), keyOf(alice), keyOf(bob), amount),
        record(1, 'AssetConversion', 1, keyOf(alice)),
      ],
    });
    const adapter = openFor(family, 'DOT', { rpc: [world.rpc] });
    const { block, ...rest } = await adapter.block(11_000_001, within(5_000));
    expect(rest).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('Swaps') });
    expect(block?.transfers).toMatchObject([
      { from: null, to: alice, amount: 5n, asset: 'DOT', position: 'event:0' },
      { from: bob, to: null, asset: 'standard_assets/7', decimals: null },
      { from: alice, to: bob, asset: 'foreign_assets/0x01d007000000', txHash: '11000001-2' },
    ]);
    await Promise.all([adapter.close(), world.dispose()]);
  });

  it.each<[string, readonly Buffer[]]>([
    ['of a pallet that there is not', [Buffer.from([0, 1, 0, 0, 0, 99, 0, 0])]],
    ['of a variant that there is not', [Buffer.from([0, 1, 0, 0, 0, 10, 77, 0])]],
    ['that end before their end', [record(1, 'Balances', 2, keyOf(alice)).subarray(0, 20)]],
    ['with bytes behind their end', [Buffer.concat([success(0), Buffer.from([0])])]],
    ['of an extrinsic that there is not', [record(60, 'Balances', 10, keyOf(alice), littleEndian(1n, 16))]],
    ['with a text longer than all of them', [record(1, 'System', 9, Buffer.from([254, 255, 255, 255]))]],
  ])('refuses events %s', async (_, own) => {
    const world = await makeWorld({ events: own });
    const adapter = openFor(family, 'DOT', { rpc: [world.rpc] });
    await expect(adapter.block(11_000_001, within(5_000))).rejects.toMatchObject({
      code: 'CHAIN_BAD_ANSWER',
    });
    await Promise.all([adapter.close(), world.dispose()]);
  });

  it('report a relay chain balance as partial, because other chains hold the rest', async () => {
    const world = await makeWorld({ genesis: RELAY });
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
