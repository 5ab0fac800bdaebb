/**
 * Prices of listed tokens from pools of Uniswap v2, its forks and Uniswap v3, read through the operator's own EVM nodes: the
 * time-weighted average over half an hour, in the pool with the most of a pegged token. Anyone can create a pool, so pools price only
 * listed tokens, and only above a liquidity floor.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { AssetFacts } from '../assets.ts';
import type { ChainId } from '../registry.ts';
import type { ContractCalls } from './contract-calls.ts';
import type { FeedsFile, PoolFactory } from './feeds.ts';
import { keepNewest, type Pool, type ReadAverage } from './pool-average.ts';
import {
  isNativeCoin,
  type MaybePromise,
  type PricedAsset,
  type PriceSource,
  type UsdPrice,
  usdOf,
} from './price.ts';
import type { Peg, Pegs } from './table.ts';
import { createV2Averages } from './v2-average.ts';
import { createV3Averages } from './v3-average.ts';

export interface UniswapOptions {
  readonly file: Pick<FeedsFile, 'uniswapFactories'>;
  readonly pegs: Pegs;
  /** Returns whether a token is in a curated list. */
  readonly isListed: AssetFacts['isKnown'];
}

export interface UniswapDeps {
  readonly calls: ContractCalls;
  /** Prices of the pegged tokens in which pools quote. */
  readonly quotes: (asset: PricedAsset, timestampMs: number) => MaybePromise<UsdPrice | null>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Minimum value of quote tokens, in USD, that a pool must hold now and must have held at the average price during the window. Below it,
 * a price can be moved for less than the gain.
 */
export const LIQUIDITY_FLOOR_USD = 100_000;
/** Maximum age of a moment to price from pools: observations of busy pools do not reach further back. */
const REACH_MS = 3_600_000;
/** Fee tiers of a version 3 factory, in hundredths of a basis point. */
const FEES = [500, 3_000, 100, 10_000] as const;
/** Time after which the pools of a token are looked up again. */
const POOLS_MS = 24 * 3_600_000;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** Symbols of pegs that pools quote in; bridged variants of the same dollar would only add lookups. */
const QUOTE_SYMBOLS = /^(?:WETH|USDC|USDCn|USDT|USDt|USDT0|WBNB|WPOL|WAVAX|CELO)$/;

interface PoolPrice {
  readonly usd: number;
  readonly version: 2 | 3;
}

/** Opens the source; makes no call before the first price. */
export function createUniswapPrices(options: UniswapOptions, deps: UniswapDeps): PriceSource {
  const { pegs, isListed } = options;
  const { calls, quotes, clock } = deps;
  const averages: Readonly<Record<2 | 3, ReadAverage>> = {
    2: createV2Averages(deps),
    3: createV3Averages(deps),
  };
  const factories = new Map<ChainId, PoolFactory[]>();
  for (const factory of options.file.uniswapFactories) {
    const known = factories.get(factory.chain);
    if (known === undefined) factories.set(factory.chain, [factory]);
    else known.push(factory);
  }
  const poolsOf = new Map<string, { readonly atMs: number; readonly pools: Promise<readonly Pool[]> }>();
  const answers = new Map<string, Promise<UsdPrice | null>>();
  const decimalsOf = new Map<string, number>();

  /** Returns the pools of one factory for a pair of tokens: one, or one per fee tier. */
  async function poolsAt(
    { chain, version, factory }: PoolFactory,
    asset: string,
    quote: Peg,
    signal?: AbortSignal,
  ): Promise<readonly Pool[]> {
    const tokens = [asset, quote.asset];
    const pending =
      version === 2
        ? [calls.call(chain, factory, 'getPair(address,address)', tokens, ['address'], signal)]
        : FEES.map((fee) =>
            calls.call(
              chain,
              factory,
              'getPool(address,address,uint24)',
              [...tokens, fee],
              ['address'],
              signal,
            ),
          );
    return (await Promise.all(pending)).flatMap((values) => {
      const address = values?.[0];
      if (typeof address !== 'string' || address === ZERO_ADDRESS) return [];
      return [{ chain, version, address, quote, isToken0: BigInt(asset) < BigInt(quote.asset) }];
    });
  }

  async function lookUpPools(chain: ChainId, asset: string, signal?: AbortSignal): Promise<readonly Pool[]> {
    const found: Pool[] = [];
    for (const quote of pegs.all) {
      if (quote.chain !== chain || quote.asset === asset || !QUOTE_SYMBOLS.test(quote.symbol)) continue;
      for (const factory of factories.get(chain) ?? [])
        found.push(...(await poolsAt(factory, asset, quote, signal)));
    }
    return found;
  }

  function pools(chain: ChainId, asset: string, signal?: AbortSignal): Promise<readonly Pool[]> {
    const key = `${chain} ${asset}`;
    const known = poolsOf.get(key);
    if (known !== undefined && clock.monotonic() - known.atMs < POOLS_MS) return known.pools;
    poolsOf.delete(key);
    const found = lookUpPools(chain, asset, signal);
    found.catch(() => poolsOf.delete(key));
    return keepNewest(poolsOf, key, { atMs: clock.monotonic(), pools: found }).pools;
  }

  async function decimals(chain: ChainId, asset: string, signal?: AbortSignal): Promise<number | null> {
    const key = `${chain} ${asset}`;
    const known = decimalsOf.get(key);
    if (known !== undefined) return known;
    const value = (await calls.call(chain, asset, 'decimals()', [], ['uint8'], signal))?.[0];
    if (typeof value !== 'bigint' || value > 77n) return null;
    return keepNewest(decimalsOf, key, Number(value));
  }

  /** Returns the pools above the floor with the prices of their quote tokens, deepest first. */
  async function deepPools(found: readonly Pool[], atMs: number, signal?: AbortSignal) {
    const deep: { readonly pool: Pool; readonly quoteUsd: number; readonly depthUsd: number }[] = [];
    for (const pool of found) {
      const { chain, address, quote } = pool;
      const quotePrice = await quotes(quote, atMs);
      if (quotePrice === null) continue;
      const balance = (
        await calls.call(chain, quote.asset, 'balanceOf(address)', [address], ['uint256'], signal)
      )?.[0];
      const depthUsd = typeof balance === 'bigint' ? (usdOf(balance, quote.decimals, quotePrice) ?? 0) : 0;
      if (depthUsd >= LIQUIDITY_FLOOR_USD) deep.push({ pool, quoteUsd: quotePrice.usd, depthUsd });
    }
    return deep.sort((first, second) => second.depthUsd - first.depthUsd);
  }

  /** Returns the price in the deepest pool that has an average of the window. */
  async function bestPrice(
    found: readonly Pool[],
    atMs: number,
    tokenDecimals: number,
    signal?: AbortSignal,
  ): Promise<PoolPrice | null> {
    for (const { pool, quoteUsd } of await deepPools(found, atMs, signal)) {
      const { version, quote } = pool;
      const average = await averages[version](pool, atMs, signal);
      if (average === null) continue;
      const windowUsd = (average.depth / 10 ** quote.decimals) * quoteUsd;
      const usd = average.price * 10 ** (tokenDecimals - quote.decimals) * quoteUsd;
      if (windowUsd >= LIQUIDITY_FLOOR_USD && Number.isFinite(usd) && usd > 0) return { usd, version };
    }
    return null;
  }

  async function ask(asset: PricedAsset, atMs: number, signal?: AbortSignal): Promise<UsdPrice | null> {
    try {
      const found = await pools(asset.chain, asset.asset, signal);
      if (found.length === 0) return null;
      const tokenDecimals = await decimals(asset.chain, asset.asset, signal);
      if (tokenDecimals === null) return null;
      const best = await bestPrice(found, atMs, tokenDecimals, signal);
      if (best === null) return null;
      const source = best.version === 2 ? 'uniswap-v2' : 'uniswap';
      return { usd: best.usd, atMs, status: 'EXACT', source, decimals: tokenDecimals };
    } catch {
      // The failure has been logged and the chain paused; the price is unknown.
      signal?.throwIfAborted();
      return null;
    }
  }

  return {
    usdAt(asset, timestampMs, signal) {
      const { chain } = asset;
      const nowMs = clock.now();
      const isPresent = timestampMs <= nowMs + 60_000 && nowMs - timestampMs <= REACH_MS;
      if (!isPresent || isNativeCoin(asset) || !factories.has(chain) || !calls.chains.has(chain)) return null;
      if (!isListed(chain, asset.asset) || !calls.isReachable(chain)) return null;
      const atMs = Math.min(nowMs, Math.floor(timestampMs / 60_000) * 60_000);
      const key = `${chain} ${asset.asset} ${atMs}`;
      const known = answers.get(key);
      if (known !== undefined) return known;
      const pending = ask(asset, atMs, signal);
      pending.then(
        (price) => price === null && answers.delete(key),
        () => answers.delete(key),
      );
      return keepNewest(answers, key, pending);
    },
  };
}
