/** What a price is, who is asked for one, and how an amount becomes USD. No price is null: unknown is never zero. */
import type { ChainId } from '../registry.ts';

/** An asset on its chain: the chain's native symbol, or the canonical address of a token contract, as in a Transfer. */
export interface PricedAsset {
  readonly chain: ChainId;
  readonly asset: string;
}

export interface UsdPrice {
  /** USD of one whole unit (one BTC, one USDC). Greater than zero. */
  readonly usd: number;
  /** The moment that the price is of, milliseconds since the epoch; not after the one that was asked about. */
  readonly atMs: number;
  /** Who says so: `own`, `shipped`, `peg`, `http`. */
  readonly source: string;
  /** Decimals of the asset where the source knows them. */
  readonly decimals?: number;
}

/** Answers at once where it can: millions of transfers are priced out of a table. */
export type MaybePromise<T> = T | Promise<T>;

export interface PriceSource {
  /**
   * The price of an asset at a moment, or the nearest earlier one that is not too old to say anything. Null where none is known,
   * also where the source cannot be reached. Throws only the signal's reason.
   */
  usdAt(asset: PricedAsset, timestampMs: number, signal?: AbortSignal): MaybePromise<UsdPrice | null>;
}

/** Asks sources in turn; the first that knows a price decides. */
export function firstPriceOf(sources: readonly PriceSource[]): PriceSource {
  const from = (
    at: number,
    asset: PricedAsset,
    timestampMs: number,
    signal?: AbortSignal,
  ): MaybePromise<UsdPrice | null> => {
    for (let next = at; next < sources.length; next++) {
      const found = (sources[next] as PriceSource).usdAt(asset, timestampMs, signal);
      if (found instanceof Promise)
        return found.then((price) => price ?? from(next + 1, asset, timestampMs, signal));
      if (found) return found;
    }
    return null;
  };
  return { usdAt: (asset, timestampMs, signal) => from(0, asset, timestampMs, signal) };
}

/** More is no worth of anything: an airdropped token of 10^60 units, or a price in another unit. */
const VALUE_USD_MAX = 1e12;

/**
 * USD of an amount in the asset's smallest unit; null where it is more than anything is worth. Whole units and the rest are turned
 * into floats apart, so that an amount of 78 digits loses no more than a float must.
 */
export function usdOf(amount: bigint, decimals: number, price: Pick<UsdPrice, 'usd'>): number | null {
  const unit = 10n ** BigInt(decimals);
  const usd = (Number(amount / unit) + Number(amount % unit) / Number(unit)) * price.usd;
  return Number.isFinite(usd) && usd <= VALUE_USD_MAX ? usd : null;
}
