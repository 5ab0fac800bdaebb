/** Prices on the command line: their status and age, the sync of daily closes, feeds of the operator's node, and assets without a price. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answeringContract } from '../setup/answering-contract.ts';
import { hasAnvil, startAnvil } from '../setup/anvil.ts';
import { deployPairs } from '../setup/pairs.ts';
import { startPriceServer, type TestPriceServer } from '../setup/price-server.ts';
import { newWorld, type World } from './program.ts';

const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const ETH_FEED = '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419';
const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
const UNISWAP_V2_FACTORY = '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f';
const WORTHLESS = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('prices on the command line', () => {
  let world: World;
  beforeAll(() => {
    world = newWorld();
  });
  afterAll(() => world.end());

  const show = async (...args: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await world.here(['prices', 'show', ...args, '--json'])).out) as Record<string, unknown>;

  it('show the status and the age of a price', async () => {
    expect(await show('ETH', 'eth', '--at', '2026-10-15')).toEqual({
      ...{ chain: 'ETH', asset: 'ETH', at: '2026-10-15T00:00:00.000Z', usd: 2971.64 },
      ...{ priceStatus: 'LAST_KNOWN', priceAt: '2026-01-01T00:00:00.000Z', ageDays: 287 },
      ...{ source: 'shipped', coin: null, validUntil: null },
    });
    const text = await world.here(['prices', 'show', 'BTC', 'BTC', '--at', '2026-10-15']);
    expect(text.out).toBe(
      '1 BTC was worth 87648.22 USD at 2026-10-15T00:00:00.000Z: LAST_KNOWN, shipped, 287 days old, of 2026-01-01T00:00:00.000Z.\n',
    );
  });

  it('show the peg of a wrapped coin and of a dollar token, and its end', async () => {
    expect(await show('ETH', WETH.toLowerCase(), '--at', '2026-10-15')).toMatchObject({
      ...{ priceStatus: 'PEG', usd: 2971.64, coin: { symbol: 'ETH', status: 'LAST_KNOWN' } },
    });
    const busd = await world.here([
      ...['prices', 'show', 'ETH', '0x4Fabb145d64652a948d72533023f6E7A623C7C53', '--at', '2024-02-01'],
    ]);
    expect(busd.out).toMatch(/^1 BUSD 0x4Fabb\w+ was worth 1 USD at \S+: PEG, one US dollar\.\n$/);
    expect(
      await show('ETH', '0x4Fabb145d64652a948d72533023f6E7A623C7C53', '--at', '2026-10-15'),
    ).toMatchObject({ usd: null, priceStatus: 'NONE', validUntil: '2024-02-29' });
  });

  it('are unknown for an unknown token', async () => {
    const none = await world.here(['prices', 'show', 'ETH', WORTHLESS, '--at', '2026-10-15']);
    expect(none.out).toMatch(/^No price of 0x00000000219ab\w+ on ETH at \S+ is known \(NONE\)\.\n$/);
  });

  it('are imported from a saved response of a price server', async () => {
    const file = join(world.folder, 'uni.json');
    writeFileSync(file, JSON.stringify({ prices: [[Date.parse('2026-10-15T00:00:00Z'), 7.5]] }));
    const refused = await world.here(['prices', 'import', file, '--chain', 'ETH']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--chain and --asset') });
    const token = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
    const taken = await world.here(['prices', 'import', file, '--chain', 'ETH', '--asset', token]);
    expect(taken.out).toMatch(/^1 prices of 1 assets, 2026-10-15 to 2026-10-15, in the table 'uni'\./);
    expect(await show('ETH', token, '--at', '2026-10-20')).toMatchObject({
      ...{ usd: 7.5, priceStatus: 'LAST_KNOWN', ageDays: 5 },
    });
    expect(await show('ETH', token, '--at', '2026-11-15T00:00:01Z')).toMatchObject({ priceStatus: 'NONE' });
  });
});

describe('the stats of stored transfers', () => {
  let world: World;
  beforeAll(async () => {
    world = newWorld();
    const file = join(world.folder, 'transfers.ndjson');
    const row = (position: string, asset: string, amount: string, more: object = {}): string =>
      JSON.stringify({
        ...{ txHash: `0x${'1'.repeat(64)}`, position, blockNumber: 1, timestamp: '2026-10-15T12:00:00Z' },
        ...{ from: ALICE, to: BOB, asset, amount, decimals: 18 },
        ...more,
      });
    writeFileSync(
      file,
      [
        row('value', 'ETH', '2000000000000000000'),
        row('log:1', WORTHLESS, '5'),
        row('log:2', WORTHLESS, '6'),
        row('log:3', WORTHLESS, '0'),
        row('log:4', WETH, '1000000000000000000'),
      ].join('\n'),
    );
    const { code, err } = await world.here(['ingest', 'ndjson', file, '--chain', 'ETH']);
    expect({ code, err }).toMatchObject({ code: 0 });
  });
  afterAll(() => world.end());

  it('name the assets without a price, with their transfers', async () => {
    const { out } = await world.here(['stats', '--json']);
    expect(JSON.parse(out)).toEqual({
      chains: [
        {
          ...{ chain: 'ETH', transfers: 5, asOf: '2026-10-15T12:00:00.000Z', assets: 3 },
          ...{ unpricedTransfers: 2, unpricedAssets: 1 },
          unpriced: [
            {
              ...{ asset: WORTHLESS, name: WORTHLESS, transfers: 3, unpricedTransfers: 2 },
              priceStatus: 'NONE',
            },
          ],
        },
      ],
    });
    const { out: text } = await world.here(['stats', 'eth', '--limit', '0']);
    expect(text).toMatch(
      /^CHAIN +TRANSFERS +UNPRICED +ASSETS +UNPRICED ASSETS +AS OF\nETH +5 +2 +3 +1 +2026-10-15/,
    );
  });

  it('report a chain without transfers', async () => {
    expect(await world.here(['stats', 'BTC'])).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('No transfer of BTC is stored') },
    });
  });
});

describe('the sync of prices', () => {
  let world: World;
  let server: TestPriceServer;
  beforeEach(async () => {
    world = newWorld();
    server = await startPriceServer();
  });
  afterEach(async () => {
    await server.close();
    await world.end();
  });
  const table = (name: string): string => join(world.folder, 'store', 'prices', 'daily', `${name}.csv`);
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

  it('is off without a price server and without an own node', async () => {
    const { code, err } = await world.here(['sync', 'prices']);
    expect(code).toBe(1);
    expect(err).toMatch(/^assay: prices: no source is configured\. Set ASSAY_PRICE_URL/);
  });

  it('stores closes that later commands use without a network, and keeps them if the server is unreachable', async () => {
    server.answer = (_, response) =>
      response.end(JSON.stringify({ prices: [[Date.parse(yesterday), 4_001]] }));
    const environment = { ASSAY_PRICE_URL: server.url, ASSAY_PRICE_PER_MINUTE: '1000' };
    const first = JSON.parse((await world.here(['sync', 'prices', '--json'], { environment })).out);
    expect(first.sources).toEqual([
      expect.objectContaining({ source: 'prices', ok: true, coins: 29, closes: 29, newest: yesterday }),
    ]);
    const shown = await world.here(['prices', 'show', 'ETH', 'ETH', '--at', `${yesterday}T10:00:00Z`]);
    expect(shown.out).toContain('was worth 4001 USD');
    expect(shown.out).toContain('EXACT, daily');
    const before = readFileSync(table('coingecko'), 'utf8');
    await server.close();
    const away = await world.here(['sync', 'prices'], { environment });
    expect(away.code).toBe(1);
    expect(away.err).toMatch(
      /Not refreshed: prices \(BTC: connect ECONNREFUSED .+\)\. Earlier data stays in use\./,
    );
    expect(readFileSync(table('coingecko'), 'utf8')).toBe(before);
  });

  it.skipIf(!hasAnvil)('reads feeds through the own node into tables', async () => {
    const anvil = await startAnvil();
    try {
      const updatedAt = BigInt(Math.floor(Date.now() / 1000) - 60);
      const code = answeringContract([
        { signature: 'description()', returns: ['string'], values: ['ETH / USD'] },
        { signature: 'decimals()', returns: ['uint8'], values: [8] },
        {
          signature: 'latestRoundData()',
          returns: ['uint80', 'int256', 'uint256', 'uint256', 'uint80'],
          values: [7n, 4_321_00000000n, updatedAt, updatedAt, 7n],
        },
      ]);
      await anvil.rpc('anvil_setCode', ETH_FEED, code);
      const environment = { ASSAY_RPC_ETH: anvil.url };
      const synced = await world.here(['sync', 'prices'], { environment });
      expect(synced).toMatchObject({ code: 0, out: expect.stringContaining('1 new daily prices; 1 coins') });
      expect(existsSync(table('chainlink'))).toBe(true);
      const live = await world.here(['prices', 'show', 'ETH', 'ETH'], { environment });
      expect(live.out).toMatch(/was worth 4321 USD at \S+ EXACT, daily/);
    } finally {
      await anvil.stop();
    }
    const offline = await world.here(['prices', 'show', 'ETH', WETH]);
    expect(offline.out).toMatch(/was worth 4321 USD at \S+ PEG, one ETH, whose price is EXACT, daily/);
  });
});

describe.skipIf(!hasAnvil)('prices of pools of the own node', () => {
  let world: World;
  beforeAll(() => {
    world = newWorld();
  });
  afterAll(() => world.end());

  /** Shows UNI from a node on which one pair has had 0.0025 WETH per UNI for 40 minutes. */
  async function showFrom(args: readonly string[]) {
    const start = Math.floor(Date.now() / 1000) - 2_640;
    const anvil = await startAnvil({ args: ['--timestamp', String(start), ...args] });
    try {
      const pairs = await deployPairs(anvil, UNISWAP_V2_FACTORY);
      await pairs.createPair(
        { address: UNI, decimals: 18, amount: 400_000n * 10n ** 18n },
        { address: WETH, decimals: 18, amount: 1_000n * 10n ** 18n },
      );
      await pairs.idle(210);
      // A process of its own, for its log.
      return await world.run(['prices', 'show', 'ETH', UNI], { environment: { ASSAY_RPC_ETH: anvil.url } });
    } finally {
      await anvil.stop();
    }
  }

  it('are averages of a Uniswap v2 pair', async () => {
    const { code, out } = await showFrom([]);
    // 0.0025 ETH at the newest shipped close, 2,971.64 USD.
    expect(code).toBe(0);
    expect(out).toMatch(/was worth 7\.429\d+ USD at \S+ EXACT, uniswap-v2/);
  });

  it('are unknown if the node keeps no historical state, and the error names the missing state', async () => {
    const { out, err } = await showFrom(['--prune-history', '20']);
    expect(out).toContain('is known (NONE)');
    expect(err).toMatch(/no price from Uniswap v2 pools/);
    expect(err).toMatch(/The node of ETH does not have the state of block \d+/);
    expect(err).toContain('an archive node, or a longer history of states');
  });
});
