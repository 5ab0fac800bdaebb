/** Prices that are read from contracts, against a real EVM node. */

import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { openAdapter } from '../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import { createPriceBook } from '../../../src/chains/prices/book.ts';
import { type ContractCalls, createContractCalls } from '../../../src/chains/prices/contract-calls.ts';
import { createChainlinkPrices, loadFeedsFile } from '../../../src/chains/prices/feeds.ts';
import { TWAP_SECONDS } from '../../../src/chains/prices/pool-average.ts';
import { createUniswapPrices, LIQUIDITY_FLOOR_USD } from '../../../src/chains/prices/pools.ts';
import { loadPegs } from '../../../src/chains/prices/table.ts';
import { CHAINS, type ChainId } from '../../../src/chains/registry.ts';
import { openFor } from '../../conformance/adapter.ts';
import { answeringContract, type FixedAnswer } from '../../setup/answering-contract.ts';
import { type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { hasSharedData, sharedData } from '../../setup/shared-data.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const NOW = Date.parse('2026-10-15T12:00:00Z');
const SECOND = 1_000;
const HOUR = 3_600_000;
const ETH = { chain: 'ETH', asset: 'ETH' } as const;
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
/** The feed ETH / USD on Ethereum, as shipped. */
const ETH_FEED = '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419';
const FACTORY = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const POOL = '0x1111111111111111111111111111111111111111';
const file = loadFeedsFile();

describe('the shipped feeds', () => {
  it('have contracts of supported chains, and the well-known feed of ETH', () => {
    const ids = new Set<string>(CHAINS.map(({ id }) => id));
    for (const { chain, proxy, decimals } of file.feeds) {
      expect(ids.has(chain)).toBe(true);
      expect(proxy).toMatch(/^0x[0-9a-fA-F]{40}$/);
      expect(decimals).toBe(8);
    }
    expect(file.feeds).toContainEqual(
      expect.objectContaining({ chain: 'ETH', symbol: 'ETH', proxy: ETH_FEED }),
    );
    for (const { seconds } of file.heartbeats)
      expect(seconds).toBeLessThanOrEqual(file.heartbeatDefaultSeconds);
  });

  it.skipIf(!hasSharedData || !existsSync(sharedData('prices', 'chainlink-feeds.csv')))(
    'are all in the list from which they were generated',
    () => {
      const listed = readFileSync(sharedData('prices', 'chainlink-feeds.csv'), 'utf8').toLowerCase();
      for (const { symbol, proxy } of file.feeds)
        expect(listed).toContain(`,${symbol},${proxy},`.toLowerCase());
      expect(file.feeds.length).toBeGreaterThan(200);
    },
  );
});

describe.skipIf(!hasAnvil)('prices read from the own node', () => {
  let anvil: Anvil;
  let adapter: ChainAdapter;
  let nowMs = NOW;
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
  beforeAll(async () => {
    anvil = await startAnvil();
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
  });
  beforeEach(() => {
    nowMs = NOW;
  });

  const put = (address: string, answers: readonly FixedAnswer[]): Promise<unknown> =>
    anvil.rpc('anvil_setCode', address, answers.length === 0 ? '0x' : answeringContract(answers));
  const calls = (chains: readonly ChainId[] = ['ETH']): ContractCalls =>
    createContractCalls({
      adapter: async () => adapter,
      chains: new Set(chains),
      clock,
      log: silentLogger,
    });

  describe('by Chainlink', () => {
    const ROUND = ['uint80', 'int256', 'uint256', 'uint256', 'uint80'];
    const round = (id: bigint, answer: bigint, updatedMs: number): readonly unknown[] => {
      const at = BigInt(Math.floor(updatedMs / SECOND));
      return [id, answer, at, at, id];
    };
    const latest = (answer: bigint, updatedMs: number): FixedAnswer => ({
      ...{ signature: 'latestRoundData()', returns: ROUND },
      values: round(10n, answer, updatedMs),
    });
    const past = (id: bigint, answer: bigint, updatedMs: number): FixedAnswer => ({
      ...{ signature: 'getRoundData(uint80)', args: [id], returns: ROUND },
      values: round(id, answer, updatedMs),
    });
    const feed = (description: string, decimals: number, ...rounds: FixedAnswer[]): FixedAnswer[] => [
      { signature: 'description()', returns: ['string'], values: [description] },
      { signature: 'decimals()', returns: ['uint8'], values: [decimals] },
      ...rounds,
    ];
    /** All other feeds of ETH on Ethereum have no code, so only this one can answer. */
    const prices = (chains?: readonly ChainId[]) =>
      createChainlinkPrices(file, { calls: calls(chains), clock });

    it('gives the newest answer with its time', async () => {
      await put(ETH_FEED, feed('ETH / USD', 8, latest(4_123_45000000n, NOW - 600 * SECOND)));
      expect(await prices().usdAt(ETH, NOW)).toEqual({
        ...{ usd: 4123.45, atMs: NOW - 600 * SECOND, status: 'EXACT', source: 'chainlink', decimals: 18 },
      });
    });

    it('gives no price past the heartbeat of the feed', async () => {
      await put(ETH_FEED, feed('ETH / USD', 8, latest(4_000_00000000n, NOW - HOUR)));
      expect(await prices().usdAt(ETH, NOW)).toMatchObject({ usd: 4000 });
      expect(await prices().usdAt(ETH, NOW + SECOND)).not.toBeNull();
      nowMs = NOW + SECOND;
      expect(await prices().usdAt(ETH, nowMs)).toBeNull();
    });

    it.each([
      ['another description', feed('BTC / USD', 8, latest(4_000_00000000n, NOW))],
      ['a price in another currency', feed('ETH / EUR', 8, latest(4_000_00000000n, NOW))],
      ['other decimals', feed('ETH / USD', 18, latest(4_000_00000000n, NOW))],
      ['an answer of zero', feed('ETH / USD', 8, latest(0n, NOW))],
      ['a negative answer', feed('ETH / USD', 8, latest(-1n, NOW))],
      ['an answer above anything', feed('ETH / USD', 8, latest(10n ** 30n, NOW))],
      ['a round without a time', feed('ETH / USD', 8, latest(4_000_00000000n, 0))],
      ['a call that reverts', feed('ETH / USD', 8)],
      ['no contract', []],
    ])('gives no price from a feed with %s', async (_, answers) => {
      await put(ETH_FEED, answers);
      expect(await prices().usdAt(ETH, NOW)).toBeNull();
    });

    it('uses the round of the time, and never a later price', async () => {
      const rounds = [
        latest(4_000_00000000n, NOW - 60 * SECOND),
        past(9n, 3_900_00000000n, NOW - 900 * SECOND),
        past(8n, 3_800_00000000n, NOW - 1_800 * SECOND),
      ];
      await put(ETH_FEED, feed('ETH / USD', 8, ...rounds));
      const source = prices();
      expect(await source.usdAt(ETH, NOW - 600 * SECOND)).toMatchObject({ usd: 3900 });
      expect(await source.usdAt(ETH, NOW - 1_000 * SECOND)).toMatchObject({ usd: 3800 });
      expect(await source.usdAt(ETH, NOW - 2_000 * SECOND)).toBeNull();
    });

    it('sends no request for history, for tokens, and for chains without an own node', () => {
      const source = prices();
      expect(source.usdAt(ETH, NOW - 30 * 24 * HOUR)).toBeNull();
      expect(source.usdAt({ chain: 'ETH', asset: UNI }, NOW)).toBeNull();
      expect(prices([]).usdAt(ETH, NOW)).toBeNull();
    });

    it('pauses a node for a minute after a failure', async () => {
      let requests = 0;
      const broken = createContractCalls({
        adapter: async () => ({
          head: adapter.head,
          callContract: async () => {
            requests++;
            throw new Error('down');
          },
        }),
        ...{ chains: new Set<ChainId>(['ETH']), clock, log: silentLogger },
      });
      const source = createChainlinkPrices(file, { calls: broken, clock });
      expect(await source.usdAt(ETH, NOW)).toBeNull();
      expect(await source.usdAt(ETH, NOW)).toBeNull();
      expect(requests).toBe(1);
      nowMs += 61 * SECOND;
      expect(await source.usdAt(ETH, NOW)).toBeNull();
      expect(requests).toBe(2);
    });

    it('lists the newest answer of each coin for the daily tables', async () => {
      await put(ETH_FEED, feed('ETH / USD', 8, latest(4_000_00000000n, NOW - 60 * SECOND)));
      expect(await prices().newest()).toEqual([{ symbol: 'ETH', atMs: NOW - 60 * SECOND, usd: 4000 }]);
    });
  });

  describe('by Uniswap', () => {
    const pegs = loadPegs();
    const book = createPriceBook({
      tables: [
        {
          lastAt: () => null,
          usdAt: ({ asset }, atMs) =>
            asset === 'ETH' ? { usd: 4000, atMs, status: 'EXACT', source: 'own', decimals: 18 } : null,
        },
      ],
      pegs,
    });
    const prices = (isListed = true) =>
      createUniswapPrices(
        { file, pegs, isListed: () => isListed },
        { calls: calls(), quotes: book.known, clock, log: silentLogger },
      );
    const token = { chain: 'ETH', asset: UNI } as const;
    const tickOf = (price: number): number => Math.round(Math.log(price) / Math.log(1.0001));

    interface PoolState {
      readonly quote?: string;
      /** Quote tokens in the pool, in their smallest unit. */
      readonly held: bigint;
      /** token1 for one token0, both in smallest units. */
      readonly ratio: number;
      readonly liquidity: number;
      readonly endSecondsAgo?: number;
    }

    /** Creates a pool of UNI and a quote token with observations of this average price and liquidity. */
    async function putPool(state: PoolState): Promise<void> {
      const { quote = WETH, held, ratio, liquidity, endSecondsAgo = 0 } = state;
      const tick = BigInt(tickOf(ratio)) * BigInt(TWAP_SECONDS);
      const spent = (BigInt(TWAP_SECONDS) << 128n) / BigInt(Math.max(1, Math.round(liquidity)));
      await put(FACTORY, [
        {
          ...{ signature: 'getPool(address,address,uint24)', args: [UNI, quote, 3_000] },
          ...{ returns: ['address'], values: [POOL] },
        },
        {
          ...{ signature: 'getPool(address,address,uint24)' },
          ...{ returns: ['address'], values: [`0x${'0'.repeat(40)}`] },
        },
      ]);
      await put(UNI, [{ signature: 'decimals()', returns: ['uint8'], values: [18] }]);
      await put(quote, [
        { signature: 'balanceOf(address)', args: [POOL], returns: ['uint256'], values: [held] },
      ]);
      // Both accumulators have wrapped around before.
      const start = 2n ** 160n - 5n;
      await put(POOL, [
        {
          signature: 'observe(uint32[])',
          args: [[endSecondsAgo + TWAP_SECONDS, endSecondsAgo]],
          returns: ['int56[]', 'uint160[]'],
          values: [
            [-(10n ** 12n), -(10n ** 12n) + tick],
            [start, BigInt.asUintN(160, start + spent)],
          ],
        },
      ]);
    }
    const DEEP = { held: 500n * 10n ** 18n, ratio: 0.0025, liquidity: 1e22 };

    it('gives the time-weighted average of a listed token, in dollars of its quote token', async () => {
      await putPool(DEEP);
      const found = await prices().usdAt(token, NOW);
      expect(found).toMatchObject({ status: 'EXACT', source: 'uniswap', decimals: 18, atMs: NOW });
      // 0.0025 ETH at 4,000 USD, within one tick of 0.01 %.
      expect(found?.usd).toBeCloseTo(10, 2);
    });

    it('reads a quote token with other decimals, and a token that is token0', async () => {
      // UNI (18 decimals) is token0 of UNI/USDC, because its address is lower than USDC's: the ratio is USDC units per unit of UNI.
      await putPool({ quote: USDC, held: 500_000n * 10n ** 6n, ratio: 7.5 / 1e12, liquidity: 1e18 });
      expect((await prices().usdAt(token, NOW))?.usd).toBeCloseTo(7.5, 2);
    });

    it('ends the average at the time of the transfer', async () => {
      await putPool({ ...DEEP, endSecondsAgo: 600 });
      expect((await prices().usdAt(token, NOW - 600 * SECOND))?.usd).toBeCloseTo(10, 2);
      expect(await prices().usdAt(token, NOW)).toBeNull();
    });

    it('never prices an unlisted token, with any pool', async () => {
      await putPool(DEEP);
      expect(prices(false).usdAt(token, NOW)).toBeNull();
    });

    it.each([
      ['holds less than the floor', { ...DEEP, held: 24n * 10n ** 18n }],
      ['had little liquidity during the window', { ...DEEP, liquidity: 1e15 }],
      ['has a price out of range', { ...DEEP, ratio: 1e45 }],
    ])('gives no price from a pool that %s', async (_, state) => {
      expect(24 * 4_000).toBeLessThan(LIQUIDITY_FLOOR_USD);
      await putPool(state);
      expect(await prices().usdAt(token, NOW)).toBeNull();
    });

    it('has no price if there is no pool, or its history does not cover the window', async () => {
      await putPool(DEEP);
      await put(POOL, []);
      expect(await prices().usdAt(token, NOW)).toBeNull();
      await put(FACTORY, []);
      expect(await prices().usdAt(token, NOW)).toBeNull();
    });

    it('sends no request for history', () => {
      expect(prices().usdAt(token, NOW - 2 * HOUR)).toBeNull();
    });
  });
});
