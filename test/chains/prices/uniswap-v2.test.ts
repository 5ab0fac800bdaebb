/** Prices of pools with the interface of Uniswap v2, read at past blocks of a real EVM node. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../../src/base/log.ts';
import { openAdapter } from '../../../src/chains/families/evm/adapter.ts';
import type { BlockHeader, ChainAdapter } from '../../../src/chains/families/port.ts';
import { createPriceBook } from '../../../src/chains/prices/book.ts';
import { type ContractCalls, createContractCalls } from '../../../src/chains/prices/contract-calls.ts';
import { loadFeedsFile } from '../../../src/chains/prices/feeds.ts';
import { blockAt } from '../../../src/chains/prices/past-blocks.ts';
import { TWAP_SECONDS } from '../../../src/chains/prices/pool-average.ts';
import { createUniswapPrices } from '../../../src/chains/prices/pools.ts';
import type { PriceSource } from '../../../src/chains/prices/price.ts';
import { loadPegs } from '../../../src/chains/prices/table.ts';
import { cumulativePricesAt } from '../../../src/chains/prices/v2-average.ts';
import { openFor } from '../../conformance/adapter.ts';
import { answeringContract } from '../../setup/answering-contract.ts';
import { type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { deployPairs, type Pair, type Pairs } from '../../setup/pairs.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const START = Date.parse('2026-10-15T12:00:00Z') / 1000;
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
/** Lower than the addresses of both quotes: token0. */
const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
/** Higher than the addresses of both quotes: token1. */
const CRV = '0xD533a949740bb3306d119CC777fa900bA034cd52';
const V3_FACTORY = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const file = loadFeedsFile();
const pegs = loadPegs();
const ETH_USD = 4_000;

const factoryOf = (name: string): string => {
  const row = file.uniswapFactories.find(
    (factory) => factory.chain === 'ETH' && factory.version === 2 && factory.name === name,
  );
  if (row === undefined) throw new Error(`No factory of ${name}.`);
  return row.factory;
};
const UNISWAP = factoryOf('Uniswap');
const unit = (decimals: number, amount: number): bigint => BigInt(amount) * 10n ** BigInt(decimals);
const uni = { address: UNI, decimals: 18, amount: unit(18, 400_000) };
const crv = { address: CRV, decimals: 18, amount: unit(18, 400_000) };
const weth = { address: WETH, decimals: 18, amount: unit(18, 1_000) };
const usdc = { address: USDC, decimals: 6, amount: unit(6, 4_000_000) };

describe('the shipped factories', () => {
  it('include Uniswap v2, SushiSwap and PancakeSwap beside Uniswap v3, each contract once', () => {
    const names = (version: 2 | 3) =>
      new Set(file.uniswapFactories.filter((row) => row.version === version).map(({ name }) => name));
    expect(names(3)).toEqual(new Set(['Uniswap']));
    expect(names(2)).toEqual(new Set(['Uniswap', 'SushiSwap', 'PancakeSwap']));
    const keys = file.uniswapFactories.map(({ chain, factory }) => `${chain} ${factory.toLowerCase()}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { factory } of file.uniswapFactories) expect(factory).toMatch(/^0x[0-9a-fA-F]{40}$/);
  });
});

describe('the search for the block at a time', () => {
  const ask = async (times: readonly number[], atMs: number) => {
    let requests = 0;
    const header = (height: number): BlockHeader => ({
      ...{ height, hash: `0x${height}`, timestampMs: times[height] as number },
    });
    const calls = {
      header: async (_: string, height: number) => {
        requests++;
        return header(height);
      },
    } as unknown as ContractCalls;
    const found = await blockAt(calls, 'ETH', atMs, header(times.length - 1));
    return { height: found?.height ?? null, requests };
  };

  it('finds the newest block that is not later, for any block times', async () => {
    const gaps = fc.array(fc.oneof(fc.constant(0), fc.constant(12_000), fc.nat(10_000_000)), {
      minLength: 1,
      maxLength: 600,
    });
    await fc.assert(
      fc.asyncProperty(gaps, fc.double({ min: -0.1, max: 1.1, noNaN: true }), async (blocks, share) => {
        let time = 1_700_000_000_000;
        const times = blocks.map((gap) => (time += gap));
        const [first] = times as [number];
        const atMs = Math.floor(first + share * (time - first));
        const expected = times.findLastIndex((each) => each <= atMs);
        expect((await ask(times, atMs)).height).toBe(expected === -1 ? null : expected);
      }),
      { numRuns: 300 },
    );
  });

  it('requests few headers if block times are even', async () => {
    const times = Array.from({ length: 200_000 }, (_, height) => 1_700_000_000_000 + height * 250);
    const { height, requests } = await ask(times, 1_700_000_000_000 + 150_000 * 250 + 17);
    expect(height).toBe(150_000);
    expect(requests).toBeLessThanOrEqual(12);
  });
});

describe.skipIf(!hasAnvil)('prices of Uniswap v2 pools', () => {
  let anvil: Anvil;
  let adapter: ChainAdapter;
  let pairs: Pairs;
  let nowMs = 0;
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
  const warnings: Record<string, unknown>[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (fields: unknown) => void warnings.push(fields as Record<string, unknown>),
  };
  let calls: ContractCalls;

  async function start(
    options: { factory?: string; seconds?: number; args?: readonly string[] } = {},
  ): Promise<void> {
    anvil = await startAnvil({
      args: ['--timestamp', String(options.seconds ?? START), ...(options.args ?? [])],
    });
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
    pairs = await deployPairs(anvil, options.factory ?? UNISWAP);
    calls = createContractCalls({
      ...{ adapter: async () => adapter, chains: new Set(['ETH'] as const), clock, log },
    });
    warnings.length = 0;
  }
  afterEach(async () => {
    await adapter?.close();
    await anvil?.stop();
  });

  const prices = (): PriceSource =>
    createUniswapPrices(
      { file, pegs, isListed: () => true },
      {
        ...{ calls, clock, log },
        quotes: createPriceBook({
          tables: [
            {
              lastAt: () => null,
              usdAt: ({ asset }, atMs) =>
                asset === 'ETH' ? { usd: ETH_USD, atMs, status: 'EXACT', source: 'own', decimals: 18 } : null,
            },
          ],
          pegs,
        }).known,
      },
    );
  /** Returns the price at a moment, with the clock at the newest block. */
  async function priceOf(asset: string, secondsAgo = 0) {
    nowMs = (await pairs.seconds()) * 1000;
    return prices().usdAt({ chain: 'ETH', asset }, nowMs - secondsAgo * 1000);
  }

  /** Quote tokens per token in the pool now. Anyone can move this price within one block. */
  async function spot({ reserves }: Pair): Promise<number> {
    const { token, quote } = await reserves();
    return Number(quote) / Number(token);
  }

  /** Records the price after each block and averages it over time without the pair's cumulative prices. */
  function recorder(pair: Pair) {
    const points: { readonly seconds: number; readonly price: number }[] = [];
    return {
      /** Records the newest block; a block without a trade has the price of the one before. */
      async record(isTraded: boolean): Promise<void> {
        const price = isTraded ? await spot(pair) : points.at(-1)!.price;
        points.push({ seconds: await pairs.seconds(), price });
      },
      average(atSeconds: number): number {
        const newest = (limit: number): number => points.findLastIndex(({ seconds }) => seconds <= limit);
        const end = newest(atSeconds);
        const first = newest((points[end]?.seconds ?? 0) - TWAP_SECONDS);
        let sum = 0;
        for (let at = first; at < end; at++)
          sum += points[at]!.price * (points[at + 1]!.seconds - points[at]!.seconds);
        return sum / (points[end]!.seconds - points[first]!.seconds);
      },
    };
  }

  const orders = [
    ['token0 against 18 decimals', uni, weth, ETH_USD],
    ['token1 against 18 decimals', crv, weth, ETH_USD],
    ['token0 against 6 decimals', uni, usdc, 1],
    ['token1 against 6 decimals', crv, usdc, 1],
    ['a token of 6 decimals', { ...crv, decimals: 6, amount: unit(6, 400_000) }, weth, ETH_USD],
  ] as const;

  it.each(orders)('are the average over time of all trades: %s', async (_, token, quote, quoteUsd) => {
    await start();
    const pair = await pairs.createPair(token, quote);
    const { record, average } = recorder(pair);
    await record(true);
    // 220 blocks of 6 to 18 seconds, with a trade in every third one, one way more often than the other.
    for (let at = 0; at < 220; at++) {
      if (at % 3 === 0)
        await (at % 9 === 0
          ? pair.trade('token', token.amount / 40n)
          : pair.trade('quote', quote.amount / 50n));
      await pairs.block(6 + ((at * 7) % 13));
      await record(at % 3 === 0);
    }
    const scale = 10 ** (token.decimals - quote.decimals) * quoteUsd;
    const found = await priceOf(token.address);
    const minute = Math.floor((await pairs.seconds()) / 60) * 60;
    expect(found).toMatchObject({
      ...{ status: 'EXACT', source: 'uniswap-v2', decimals: token.decimals, atMs: minute * 1000 },
    });
    expect(found!.usd / (average(minute) * scale)).toBeCloseTo(1, 9);
    // The spot price differs, so the average does not match by chance.
    expect(Math.abs(found!.usd / ((await spot(pair)) * scale) - 1)).toBeGreaterThan(0.01);
    const earlier = await priceOf(token.address, 300);
    expect(earlier!.usd / (average(minute - 300) * scale)).toBeCloseTo(1, 9);
    expect(Math.abs(earlier!.usd / found!.usd - 1)).toBeGreaterThan(0.001);
  });

  it('are known if nothing was traded during the window', async () => {
    await start();
    await pairs.createPair(uni, weth);
    await pairs.idle(200);
    expect((await priceOf(UNI))?.usd).toBeCloseTo(10, 9);
  });

  /** Makes empty blocks of 12 seconds until the next one falls on a full minute. */
  async function untilMinute(): Promise<void> {
    while (((await pairs.seconds()) + 12) % 60 !== 0) await pairs.block(12 - ((await pairs.seconds()) % 12));
  }

  it('follow a price that is moved for one block by its share of the time', async () => {
    await start();
    const pair = await pairs.createPair(uni, weth);
    await pairs.idle(160);
    await untilMinute();
    const before = await spot(pair);
    await pair.trade('quote', weth.amount);
    await pairs.block();
    const moved = (await spot(pair)) / before;
    expect(moved).toBeGreaterThan(3.9);
    // In the block of the trade, no time has passed at the new price.
    expect((await priceOf(UNI))!.usd).toBeCloseTo(10, 9);
    await pair.trade('token', uni.amount - (await pair.stored()).reserve0);
    await pairs.block();
    await pairs.idle(4);
    const found = await priceOf(UNI);
    expect(found!.usd / 10).toBeCloseTo(1 + ((moved - 1) * 12) / TWAP_SECONDS, 3);
    // Half an hour later, the trade no longer affects the price.
    await pairs.idle(150);
    expect((await priceOf(UNI))!.usd / 10).toBeCloseTo((await spot(pair)) / before, 9);
  });

  it('are rejected if one block moved the average too far', async () => {
    await start();
    const pair = await pairs.createPair(uni, weth);
    await pairs.idle(160);
    await pair.trade('quote', 9n * weth.amount);
    await pairs.block();
    await pair.trade('token', uni.amount - (await pair.stored()).reserve0);
    await pairs.block();
    await pairs.idle(20);
    expect(await priceOf(UNI)).toBeNull();
    await pairs.idle(150);
    expect(await priceOf(UNI)).not.toBeNull();
  });

  it('are rejected for a pool below the minimum, now or at any time in the window', async () => {
    await start();
    const thin = { ...weth, amount: unit(18, 24) };
    const pair = await pairs.createPair({ ...uni, amount: unit(18, 9_600) }, thin);
    await pairs.idle(160);
    expect(await priceOf(UNI)).toBeNull();
    await pair.add(unit(18, 400_000), unit(18, 1_000));
    await pairs.block();
    await pairs.idle(20);
    // The pool is deep now, but was thin when the window began.
    expect(await priceOf(UNI)).toBeNull();
    await pairs.idle(140);
    expect((await priceOf(UNI))!.usd).toBeCloseTo(10, 6);
    // Almost all liquidity is withdrawn, and put back half an hour later at the same price.
    await pair.drain();
    await pair.add(unit(18, 400), unit(18, 1));
    await pairs.block();
    await pairs.idle(140);
    await pair.add(unit(18, 400_000), unit(18, 1_000));
    await pairs.block();
    await pairs.idle(4);
    expect(await priceOf(UNI)).toBeNull();
    await pairs.idle(160);
    expect((await priceOf(UNI))!.usd).toBeCloseTo(10, 6);
  });

  it('are correct if the sums of the pair overflow 2^256 within the window', async () => {
    await start();
    const pair = await pairs.createPair(uni, weth);
    await pair.sync();
    await pairs.block();
    const nearly = 2n ** 256n - 2n ** 112n;
    for (const name of ['sum0', 'sum1'] as const) await pair.setSum(name, nearly);
    await pairs.block();
    await pairs.idle(140);
    await pair.trade('quote', unit(18, 10));
    await pairs.block();
    await pairs.idle(10);
    const { sum0, sum1 } = await pair.stored();
    // 0.0025 WETH per UNI over 1,700 seconds, and 400 UNI per WETH: each adds more than 2^112, so both sums wrapped.
    expect(sum0 < nearly && sum1 < nearly).toBe(true);
    const found = await priceOf(UNI);
    expect(found!.usd).toBeGreaterThan(10);
    expect(found!.usd).toBeLessThan(10.1);
  });

  it('extrapolate the sums over the end of 32-bit time like the contract', async () => {
    const end = 2 ** 32;
    await start({ seconds: end - 1_000 });
    const pair = await pairs.createPair(uni, weth);
    await pair.trade('quote', unit(18, 7));
    await pairs.block();
    const before = await pair.stored();
    expect(before.updatedAt).toBe(BigInt(await pairs.seconds()));
    await pair.sync();
    await pairs.block(2_000);
    const after = await pair.stored();
    expect(await pairs.seconds()).toBeGreaterThan(end);
    expect(after.updatedAt).toBeLessThan(2_000n);
    const seconds = BigInt(await pairs.seconds());
    expect(cumulativePricesAt(before, seconds)).toEqual([after.sum0, after.sum1]);
    expect(after.sum0).not.toBe(before.sum0);
    await pair.sync();
    await pairs.block(2_000);
    const later = await pair.stored();
    expect(cumulativePricesAt(after, seconds + 2_000n)).toEqual([later.sum0, later.sum1]);
    expect(cumulativePricesAt({ ...before, reserve1: 0n }, seconds)).toBeNull();
  });

  it('are unknown, with the missing state in the log, if the node keeps no historical state', async () => {
    await start({ args: ['--prune-history', '20'] });
    await pairs.createPair(uni, weth);
    await pairs.idle(200);
    expect(await priceOf(UNI)).toBeNull();
    expect(warnings).toEqual([
      {
        chain: 'ETH',
        reason: expect.stringMatching(
          /^The node of ETH does not have the state of block \d+, .*ASSAY_RPC_ETH that keeps the states of the last 90 minutes \(an archive node/,
        ),
      },
    ]);
    // The node is healthy: feeds are still read from it.
    expect(calls.isReachable('ETH')).toBe(true);
  });

  it('are not requested from such a node again for ten minutes', async () => {
    await start({ args: ['--prune-history', '20'] });
    await pairs.createPair(uni, weth);
    await pairs.createPair(crv, usdc);
    await pairs.idle(200);
    nowMs = (await pairs.seconds()) * 1000;
    const source = prices();
    expect(await source.usdAt({ chain: 'ETH', asset: UNI }, nowMs)).toBeNull();
    expect(await source.usdAt({ chain: 'ETH', asset: CRV }, nowMs)).toBeNull();
    expect(warnings).toHaveLength(1);
    await pairs.idle(51);
    nowMs += 601_000;
    expect(await source.usdAt({ chain: 'ETH', asset: CRV }, nowMs)).toBeNull();
    expect(warnings).toHaveLength(2);
  });

  it('are unknown for a pair that is younger than the window, without a warning', async () => {
    await start();
    await pairs.idle(200);
    await pairs.createPair(uni, weth);
    await pairs.idle(100);
    expect(await priceOf(UNI)).toBeNull();
    await pairs.idle(60);
    expect(await priceOf(UNI)).not.toBeNull();
    expect(warnings).toEqual([]);
  });

  it.each([
    ['reverts', []],
    ['answers in another layout', [{ signature: 'getReserves()', returns: ['bool'], values: [true] }]],
  ])('are unknown for a pair that %s, without a failure of the node', async (_, answers) => {
    await start();
    await pairs.createPair(crv, weth);
    const pair = '0x1111111111111111111111111111111111111111';
    const getPair = { signature: 'getPair(address,address)', returns: ['address'], values: [pair] };
    const held = { signature: 'balanceOf(address)', returns: ['uint256'], values: [weth.amount] };
    const decimals = { signature: 'decimals()', returns: ['uint8'], values: [18] };
    for (const [address, given] of [
      [UNISWAP, [getPair]],
      [WETH, [held]],
      [UNI, [decimals]],
      [pair, answers],
    ] as const)
      await anvil.rpc('anvil_setCode', address, answeringContract(given));
    await pairs.block();
    await pairs.idle(200);
    expect(await priceOf(UNI)).toBeNull();
    expect(warnings).toEqual([]);
    expect(calls.isReachable('ETH')).toBe(true);
  });

  it('are unknown on a chain that is younger than the window, or from a lagging node', async () => {
    await start();
    await pairs.createPair(uni, weth);
    await pairs.idle(100);
    expect(await priceOf(UNI)).toBeNull();
    await pairs.idle(100);
    expect(await priceOf(UNI)).not.toBeNull();
    nowMs += 700_000;
    expect(await prices().usdAt({ chain: 'ETH', asset: UNI }, nowMs)).toBeNull();
    expect(warnings).toEqual([]);
  });

  it.each(['SushiSwap', 'PancakeSwap'])('are read from %s too', async (name) => {
    await start({ factory: factoryOf(name) });
    await pairs.createPair(uni, weth);
    await pairs.idle(160);
    expect((await priceOf(UNI))?.usd).toBeCloseTo(10, 9);
  });

  it('are from the deepest pool of any version that has an average', async () => {
    await start();
    await pairs.createPair(uni, weth);
    await pairs.idle(160);
    // A pool of version 3 with twice the dollars and a price of 12 USD.
    const pool = '0x1111111111111111111111111111111111111111';
    const getPool = { signature: 'getPool(address,address,uint24)', returns: ['address'] };
    const zero = `0x${'0'.repeat(40)}`;
    const put = (address: string, answers: Parameters<typeof answeringContract>[0]) =>
      anvil.rpc('anvil_setCode', address, answeringContract(answers));
    await put(V3_FACTORY, [
      { ...getPool, args: [UNI, USDC, 3_000], values: [pool] },
      { ...getPool, values: [zero] },
    ]);
    const held = { signature: 'balanceOf(address)', args: [pool], returns: ['uint256'] };
    await put(USDC, [{ ...held, values: [unit(6, 8_000_000)] }]);
    const tick = BigInt(Math.round(Math.log(12 / 1e12) / Math.log(1.0001))) * BigInt(TWAP_SECONDS);
    const spent = (BigInt(TWAP_SECONDS) << 128n) / 10n ** 18n;
    const observe = { signature: 'observe(uint32[])', returns: ['int56[]', 'uint160[]'] };
    await put(pool, [
      {
        ...observe,
        values: [
          [0n, tick],
          [0n, spent],
        ],
      },
    ]);
    await pairs.block();
    const deepest = await priceOf(UNI);
    expect(deepest).toMatchObject({ source: 'uniswap' });
    expect(deepest!.usd).toBeCloseTo(12, 1);
    await put(pool, []);
    expect(await priceOf(UNI)).toMatchObject({ source: 'uniswap-v2' });
  });
});
