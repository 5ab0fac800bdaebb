/**
 * The price book combines all price sources by precedence: a price of the day, then a peg, then live sources, and finally the newest
 * earlier price.
 */
import type { AssetFacts } from '../assets.ts';
import { CHAINS, chainOf } from '../registry.ts';
import {
  isNativeCoin,
  type MaybePromise,
  type PricedAsset,
  type PriceSource,
  type PriceTable,
  type UsdPrice,
} from './price.ts';
import type { Peg, Pegs } from './table.ts';

export interface PriceBookOptions {
  /** If several tables have a price of the day, the first table wins. */
  readonly tables: readonly PriceTable[];
  readonly pegs: Pegs;
  /** Sources that make network requests; they are asked in order, and only if no table and no peg has a price of the day. */
  readonly live?: readonly PriceSource[];
}

export interface PriceBook extends PriceSource, Pick<AssetFacts, 'priceStatusAt' | 'lastPriceAt'> {
  /** Returns the price from tables and pegs only, without network requests. */
  known(asset: PricedAsset, timestampMs: number): UsdPrice | null;
  /** Returns another text after one of the tables was replaced. */
  version(): string;
}

/** For each symbol, a native coin with that symbol as the asset in tables. */
const coinBySymbol = new Map<string, PricedAsset>(
  CHAINS.map(({ id, symbol }) => [symbol, { chain: id, asset: symbol }] as const).reverse(),
);

/** Returns the better of two prices: a price of the day, else the newer one; of two prices with the same time the first. */
function better(first: UsdPrice | null, second: UsdPrice | null): UsdPrice | null {
  if (first === null || second === null) return first ?? second;
  if (first.status !== 'LAST_KNOWN') return first;
  return second.status !== 'LAST_KNOWN' || second.atMs > first.atMs ? second : first;
}

/** Combines the sources; makes no request before the first price. */
export function createPriceBook({ tables, pegs, live = [] }: PriceBookOptions): PriceBook {
  function fromTables(asset: PricedAsset, timestampMs: number): UsdPrice | null {
    let best: UsdPrice | null = null;
    for (const table of tables) {
      best = better(best, table.usdAt(asset, timestampMs));
      if (best?.status === 'EXACT') break;
    }
    return best;
  }

  /** Returns the price of a pegged asset from the price of its coin. A peg to the dollar needs no coin price. */
  const peggedTo = (peg: Peg, coin: UsdPrice | null): UsdPrice | null =>
    coin && {
      usd: coin.usd,
      atMs: coin.atMs,
      status: 'PEG',
      source: 'peg',
      decimals: peg.decimals,
      coin: { symbol: peg.of, status: coin.status, source: coin.source },
    };

  const dollar = (peg: Peg, timestampMs: number): UsdPrice => ({
    usd: 1,
    atMs: timestampMs,
    status: 'PEG',
    source: 'peg',
    decimals: peg.decimals,
  });

  function known(asset: PricedAsset, timestampMs: number): UsdPrice | null {
    const found = fromTables(asset, timestampMs);
    if (found?.status === 'EXACT') return found;
    const peg = pegs.at(asset, timestampMs);
    if (peg === null) return found;
    if (peg.of === 'USD') return dollar(peg, timestampMs);
    const coin = coinBySymbol.get(peg.of);
    return (coin && peggedTo(peg, known(coin, timestampMs))) ?? found;
  }

  /** Returns the time of the newest price that has reached its maximum age: of the asset, or of the coin that it wraps. */
  function ended(asset: PricedAsset, timestampMs: number): number | null {
    const times = tables.map((table) => table.lastAt(asset, timestampMs)).filter((time) => time !== null);
    if (times.length > 0) return Math.max(...times);
    const coin = coinBySymbol.get(pegs.at(asset, timestampMs)?.of ?? '');
    return coin === undefined ? null : ended(coin, timestampMs);
  }

  function liveFrom(
    at: number,
    best: UsdPrice | null,
    asset: PricedAsset,
    timestampMs: number,
    signal?: AbortSignal,
  ): MaybePromise<UsdPrice | null> {
    let found = best;
    for (let next = at; next < live.length && (found === null || found.status === 'LAST_KNOWN'); next++) {
      const answer = (live[next] as PriceSource).usdAt(asset, timestampMs, signal);
      if (answer instanceof Promise)
        return answer.then((price) => liveFrom(next + 1, better(found, price), asset, timestampMs, signal));
      found = better(found, answer);
    }
    return found;
  }

  function usdAt(
    asset: PricedAsset,
    timestampMs: number,
    signal?: AbortSignal,
  ): MaybePromise<UsdPrice | null> {
    const found = fromTables(asset, timestampMs);
    if (found?.status === 'EXACT' || live.length === 0) return known(asset, timestampMs);
    const peg = pegs.at(asset, timestampMs);
    if (peg === null) return liveFrom(0, found, asset, timestampMs, signal);
    if (peg.of === 'USD') return dollar(peg, timestampMs);
    const coin = coinBySymbol.get(peg.of);
    const price = coin === undefined ? null : usdAt(coin, timestampMs, signal);
    return price instanceof Promise
      ? price.then((ofCoin) => peggedTo(peg, ofCoin) ?? found)
      : (peggedTo(peg, price) ?? found);
  }

  return {
    usdAt,
    known,
    version: () => tables.map((table) => table.version?.() ?? '').join(' '),
    priceStatusAt: (chain, asset, timestampMs) => known({ chain, asset }, timestampMs)?.status ?? 'NONE',
    lastPriceAt(chain, asset, timestampMs) {
      const price = known({ chain, asset }, timestampMs);
      if (price === null) return ended({ chain, asset }, timestampMs);
      return (price.coin?.status ?? price.status) === 'LAST_KNOWN' ? price.atMs : null;
    },
  };
}

/**
 * Returns the display name of an asset: the symbol of a native coin, or the symbol of the peg next to the contract.
 *
 * @returns for example `ETH`, `WETH 0xC02a…`, or only the contract
 */
export function assetName(asset: PricedAsset, pegs: Pegs): string {
  if (isNativeCoin(asset)) return chainOf(asset.chain).symbol;
  const peg = pegs.of(asset);
  return peg === null ? asset.asset : `${peg.symbol} ${asset.asset}`;
}
