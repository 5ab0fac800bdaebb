/**
 * Prices of listed tokens from Uniswap v3 pools, read through the operator's own EVM nodes: the time-weighted average of half an hour
 * (`observe`, Uniswap v3 whitepaper, section 5), in the pool with the most of a pegged token. Anybody can create a pool, so a pool
 * prices only tokens that are listed, and only above a liquidity floor.
 */
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import type { AssetFacts } from '../assets.ts';
import type { ChainId } from '../registry.ts';
import type { ContractCalls } from './contract-calls.ts';
import type { FeedsFile } from './feeds.ts';
import {
  isNativeCoin,
  type MaybePromise,
  type PricedAsset,
  type PriceSource,
  type UsdPrice,
  usdOf,
} from './price.ts';
import type { Peg, Pegs } from './table.ts';

export interface UniswapOptions {
  readonly file: Pick<FeedsFile, 'uniswapFactories'>;
  readonly pegs: Pegs;
  /** Whether a token is in a curated list. */
  readonly isListed: AssetFacts['isKnown'];
}

export interface UniswapDeps {
  readonly calls: ContractCalls;
  /** Prices of pegged tokens, which pools quote in. */
  readonly quotes: (asset: PricedAsset, timestampMs: number) => MaybePromise<UsdPrice | null>;
  readonly clock: Clock;
}

/** The window of the average. Moving a price for half an hour costs more than one block's worth of capital. */
export const TWAP_SECONDS = 1_800;
/**
 * The least value of quote tokens, in USD, that a pool must hold, and that its time-weighted liquidity must amount to at the average
 * price. Below it a price can be moved for less than it is worth.
 */
export const LIQUIDITY_FLOOR_USD = 100_000;
/** How far back a pool is asked: observations of busy pools do not reach further. */
const REACH_MS = 3_600_000;
/** Fee tiers of the factory, in hundredths of a basis point. */
const FEES = [500, 3_000, 100, 10_000] as const;
/** The pools of a token are looked up again after this. */
const POOLS_MS = 24 * 3_600_000;
/** Greatest tick of Uniswap v3. */
const TICK_MAX = 887_272;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** Symbols of pegs that pools quote in; bridged variants of the same dollar would only split the search. */
const QUOTE_SYMBOLS = /^(?:WETH|USDC|USDCn|USDT|USDt|USDT0|WBNB|WPOL|WAVAX|CELO)$/;

interface Pool {
  readonly address: string;
  readonly quote: Peg;
  /** Whether the token is token0, so that the price is token1 for token0. */
  readonly isToken0: boolean;
}

/** Opens the source; nothing is called before the first price. */
export function createUniswapPrices(options: UniswapOptions, deps: UniswapDeps): PriceSource {
  const { pegs, isListed } = options;
  const { calls, quotes, clock } = deps;
  const factories = new Map(options.file.uniswapFactories.map(({ chain, factory }) => [chain, factory]));
  const poolsOf = new Map<string, { readonly atMs: number; readonly pools: Promise<readonly Pool[]> }>();
  const answers = new Map<string, Promise<UsdPrice | null>>();
  const decimalsOf = new Map<string, number>();

  /** Keeps the newest entries of a cache: one a token and minute. */
  function keep<T>(cache: Map<string, T>, key: string, value: T): T {
    cache.set(key, value);
    const [oldest] = cache.keys();
    if (cache.size > LIMITS.priceWindowsKept && oldest !== undefined) cache.delete(oldest);
    return value;
  }

  async function lookUpPools(chain: ChainId, asset: string, signal?: AbortSignal): Promise<readonly Pool[]> {
    const factory = factories.get(chain) as string;
    const found: Pool[] = [];
    for (const quote of pegs.all) {
      if (quote.chain !== chain || quote.asset === asset || !QUOTE_SYMBOLS.test(quote.symbol)) continue;
      for (const fee of FEES) {
        const values = await calls.call(
          chain,
          factory,
          'getPool(address,address,uint24)',
          [asset, quote.asset, fee],
          ['address'],
          signal,
        );
        const address = values?.[0];
        if (typeof address !== 'string' || address === ZERO_ADDRESS) continue;
        found.push({ address, quote, isToken0: BigInt(asset) < BigInt(quote.asset) });
      }
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
    return keep(poolsOf, key, { atMs: clock.monotonic(), pools: found }).pools;
  }

  async function decimals(chain: ChainId, asset: string, signal?: AbortSignal): Promise<number | null> {
    const key = `${chain} ${asset}`;
    const known = decimalsOf.get(key);
    if (known !== undefined) return known;
    const value = (await calls.call(chain, asset, 'decimals()', [], ['uint8'], signal))?.[0];
    if (typeof value !== 'bigint' || value > 77n) return null;
    return keep(decimalsOf, key, Number(value));
  }

  /** The average tick and the harmonic mean of the liquidity over the window that ends at a moment; null if the pool forgot it. */
  async function average(
    chain: ChainId,
    pool: string,
    endSecondsAgo: number,
    signal?: AbortSignal,
  ): Promise<{ readonly tick: number; readonly liquidity: number } | null> {
    const values = await calls.call(
      chain,
      pool,
      'observe(uint32[])',
      [[endSecondsAgo + TWAP_SECONDS, endSecondsAgo]],
      ['int56[]', 'uint160[]'],
      signal,
    );
    if (values === null) return null;
    const [ticks, perLiquidity] = values as [readonly bigint[], readonly bigint[]];
    if (ticks.length !== 2 || perLiquidity.length !== 2) return null;
    const tick = Number((ticks[1] as bigint) - (ticks[0] as bigint)) / TWAP_SECONDS;
    // Both accumulators wrap around, as the contract's do.
    const spent = BigInt.asUintN(160, (perLiquidity[1] as bigint) - (perLiquidity[0] as bigint));
    if (spent === 0n || Math.abs(tick) > TICK_MAX) return null;
    return { tick, liquidity: Number((BigInt(TWAP_SECONDS) << 128n) / spent) };
  }

  async function poolPrice(
    chain: ChainId,
    { address, quote, isToken0 }: Pool,
    atMs: number,
    tokenDecimals: number,
    signal?: AbortSignal,
  ): Promise<{ readonly usd: number; readonly depthUsd: number } | null> {
    const quotePrice = await quotes(quote, atMs);
    if (quotePrice === null) return null;
    const held = (
      await calls.call(chain, quote.asset, 'balanceOf(address)', [address], ['uint256'], signal)
    )?.[0];
    const depthUsd = typeof held === 'bigint' ? (usdOf(held, quote.decimals, quotePrice) ?? 0) : 0;
    if (depthUsd < LIQUIDITY_FLOOR_USD) return null;
    const endSecondsAgo = Math.max(0, Math.floor((clock.now() - atMs) / 1000));
    const found = await average(chain, address, endSecondsAgo, signal);
    if (found === null) return null;
    // token1 for one token0, both in smallest units.
    const ratio = 1.0001 ** found.tick;
    const root = Math.sqrt(ratio);
    // Quote tokens that the mean liquidity amounts to around the average price.
    const virtualQuote = isToken0 ? found.liquidity * root : found.liquidity / root;
    const virtualUsd = (virtualQuote / 10 ** quote.decimals) * quotePrice.usd;
    if (!(virtualUsd >= LIQUIDITY_FLOOR_USD)) return null;
    const perUnit = isToken0 ? ratio : 1 / ratio;
    const usd = perUnit * 10 ** (tokenDecimals - quote.decimals) * quotePrice.usd;
    return Number.isFinite(usd) && usd > 0 ? { usd, depthUsd } : null;
  }

  async function ask(asset: PricedAsset, atMs: number, signal?: AbortSignal): Promise<UsdPrice | null> {
    try {
      const found = await pools(asset.chain, asset.asset, signal);
      if (found.length === 0) return null;
      const tokenDecimals = await decimals(asset.chain, asset.asset, signal);
      if (tokenDecimals === null) return null;
      let best: { readonly usd: number; readonly depthUsd: number } | null = null;
      for (const pool of found) {
        const price = await poolPrice(asset.chain, pool, atMs, tokenDecimals, signal);
        if (price !== null && (best === null || price.depthUsd > best.depthUsd)) best = price;
      }
      return best && { usd: best.usd, atMs, status: 'EXACT', source: 'uniswap', decimals: tokenDecimals };
    } catch {
      // The failure is logged, and the node left alone for a while; the price is unknown.
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
      const asked = ask(asset, atMs, signal);
      asked.then(
        (price) => price === null && answers.delete(key),
        () => answers.delete(key),
      );
      return keep(answers, key, asked);
    },
  };
}
