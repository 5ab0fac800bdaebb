/**
 * Prices of native coins from Chainlink feeds (docs.chain.link/data-feeds), read through the operator's own EVM nodes. A feed is used
 * only if its contract confirms that it is the expected one; an answer that is older than the heartbeat of its feed is not a price.
 */
import { readFileSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { shippedData } from '../../base/paths.ts';
import { CHAINS, type ChainId, chainOf } from '../registry.ts';
import type { ContractCalls } from './contract-calls.ts';
import type { FeedPrice } from './daily.ts';
import { isNativeCoin, type PriceSource, type UsdPrice } from './price.ts';

interface Feed {
  readonly chain: ChainId;
  readonly symbol: string;
  readonly proxy: string;
  readonly decimals: number;
}

/** A factory of pools with the interface of Uniswap v2 or v3: of Uniswap itself, or of a fork. */
export interface PoolFactory {
  readonly chain: ChainId;
  readonly version: 2 | 3;
  readonly name: string;
  readonly factory: string;
}

export interface FeedsFile {
  readonly heartbeatDefaultSeconds: number;
  readonly heartbeats: readonly {
    readonly chain: ChainId;
    readonly symbol: string;
    readonly seconds: number;
  }[];
  readonly feeds: readonly Feed[];
  readonly uniswapFactories: readonly PoolFactory[];
}

/** Loads the built-in feeds and factories from data/price-feeds.json. */
export const loadFeedsFile = (): FeedsFile =>
  JSON.parse(readFileSync(shippedData('price-feeds.json'), 'utf8')) as FeedsFile;

export interface ChainlinkDeps {
  readonly calls: ContractCalls;
  readonly clock: Clock;
}

export interface ChainlinkPrices extends PriceSource {
  /** Returns the newest answer of one feed for each native coin that any node can read. */
  newest(signal?: AbortSignal): Promise<readonly FeedPrice[]>;
}

interface Round {
  readonly id: bigint;
  readonly updatedMs: number;
  readonly usd: number;
}

/** Cache time of the newest round of a feed. */
const FRESH_MS = 15_000;
/** How many rounds before the newest are searched for a moment that has just passed. */
const ROUNDS_BACK = 8;
/** Time after which a feed that failed its check is checked again: a node may have been behind. */
const RETRY_MS = 3_600_000;
/** Maximum plausible price of a coin; a larger answer is in another unit. */
const USD_MAX = 1e9;
const ROUND_TYPES = ['uint80', 'int256', 'uint256', 'uint256', 'uint80'];

const nativeSymbols = new Set<string>(CHAINS.map(({ symbol }) => symbol));

/** Reads a round from the result of a feed; null for a round that has no answer. */
function roundOf(values: readonly unknown[] | null, decimals: number): Round | null {
  if (values === null) return null;
  const [id, answer, , updatedAt] = values as [bigint, bigint, bigint, bigint];
  const usd = Number(answer) / 10 ** decimals;
  const updatedMs = Number(updatedAt) * 1000;
  if (!(usd > 0 && usd <= USD_MAX) || !(updatedMs > 0 && Number.isSafeInteger(updatedMs))) return null;
  return { id, updatedMs, usd };
}

/** Opens the source; makes no call before the first price. */
export function createChainlinkPrices(file: FeedsFile, { calls, clock }: ChainlinkDeps): ChainlinkPrices {
  const bySymbol = new Map<string, Feed[]>();
  for (const feed of file.feeds) {
    if (!nativeSymbols.has(feed.symbol) || !calls.chains.has(feed.chain)) continue;
    const known = bySymbol.get(feed.symbol);
    if (known === undefined) bySymbol.set(feed.symbol, [feed]);
    else known.push(feed);
  }
  const heartbeatMs = ({ chain, symbol }: Feed): number =>
    1000 *
    (file.heartbeats.find((row) => row.chain === chain && row.symbol === symbol)?.seconds ??
      file.heartbeatDefaultSeconds);
  /** Results of the on-chain check of feeds, with their expiry. */
  const checked = new Map<string, { readonly isRight: boolean; readonly untilMs: number }>();
  const rounds = new Map<string, { readonly atMs: number; readonly newest: Promise<Round | null> }>();
  const keyOf = ({ chain, proxy }: Feed): string => `${chain} ${proxy}`;

  /** Checks on chain that the contract is the feed of this symbol in USD, with these decimals. */
  async function isRight(feed: Feed, signal?: AbortSignal): Promise<boolean> {
    const key = keyOf(feed);
    const known = checked.get(key);
    if (known !== undefined && known.untilMs > clock.monotonic()) return known.isRight;
    const description = await calls.call(feed.chain, feed.proxy, 'description()', [], ['string'], signal);
    const decimals = await calls.call(feed.chain, feed.proxy, 'decimals()', [], ['uint8'], signal);
    const text = typeof description?.[0] === 'string' ? description[0].trim() : '';
    const found = text === `${feed.symbol} / USD` && decimals?.[0] === BigInt(feed.decimals);
    checked.set(key, {
      isRight: found,
      untilMs: found ? Number.POSITIVE_INFINITY : clock.monotonic() + RETRY_MS,
    });
    return found;
  }

  function newestRound(feed: Feed, signal?: AbortSignal): Promise<Round | null> {
    const key = keyOf(feed);
    const known = rounds.get(key);
    if (known !== undefined && clock.monotonic() - known.atMs < FRESH_MS) return known.newest;
    const newest = calls
      .call(feed.chain, feed.proxy, 'latestRoundData()', [], ROUND_TYPES, signal)
      .then((values) => roundOf(values, feed.decimals));
    rounds.set(key, { atMs: clock.monotonic(), newest });
    newest.catch(() => rounds.delete(key));
    return newest;
  }

  /** Returns the newest round that is not later than the moment; null if it is past the heartbeat, or too far back. */
  async function roundAt(feed: Feed, atMs: number, signal?: AbortSignal): Promise<Round | null> {
    let round = await newestRound(feed, signal);
    for (let back = 0; round !== null && round.updatedMs > atMs; back++) {
      if (back === ROUNDS_BACK || round.id === 0n) return null;
      round = roundOf(
        await calls.call(
          feed.chain,
          feed.proxy,
          'getRoundData(uint80)',
          [round.id - 1n],
          ROUND_TYPES,
          signal,
        ),
        feed.decimals,
      );
    }
    return round !== null && atMs - round.updatedMs <= heartbeatMs(feed) ? round : null;
  }

  async function ask(
    symbol: string,
    chain: ChainId,
    atMs: number,
    signal?: AbortSignal,
  ): Promise<Round | null> {
    const feeds = bySymbol.get(symbol) ?? [];
    // The chain's own feeds first, then those of any chain for which the operator has a node.
    const inOrder = [
      ...feeds.filter((feed) => feed.chain === chain),
      ...feeds.filter((feed) => feed.chain !== chain),
    ];
    for (const feed of inOrder) {
      if (!calls.isReachable(feed.chain)) continue;
      try {
        const round = (await isRight(feed, signal)) ? await roundAt(feed, atMs, signal) : null;
        if (round !== null) return round;
      } catch {
        signal?.throwIfAborted();
      }
    }
    return null;
  }

  return {
    usdAt(asset, timestampMs, signal) {
      const nowMs = clock.now();
      const { symbol, decimals } = chainOf(asset.chain);
      // Feeds are used only for current prices; historical prices come from tables.
      const isPresent = Math.abs(nowMs - timestampMs) <= file.heartbeatDefaultSeconds * 1000;
      if (!isPresent || !isNativeCoin(asset) || !bySymbol.has(symbol)) return null;
      return ask(symbol, asset.chain, Math.min(timestampMs, nowMs), signal).then(
        (round): UsdPrice | null =>
          round && { usd: round.usd, atMs: round.updatedMs, status: 'EXACT', source: 'chainlink', decimals },
      );
    },
    async newest(signal) {
      const found: FeedPrice[] = [];
      for (const symbol of bySymbol.keys()) {
        const round = await ask(symbol, 'ETH', clock.now(), signal);
        if (round !== null) found.push({ symbol, atMs: round.updatedMs, usd: round.usd });
      }
      return found;
    },
  };
}
