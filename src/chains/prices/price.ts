/** Prices, their status, and how an amount becomes USD. No price is null: unknown is never zero. */
import type { PriceStatus } from '../assets.ts';
import { type ChainId, chainOf } from '../registry.ts';

/** An asset on its chain: the chain's native symbol, or the canonical address of a token contract, as in a Transfer. */
export interface PricedAsset {
  readonly chain: ChainId;
  readonly asset: string;
}

/** How a price is known; `NONE` is the absence of a price, which is null everywhere. */
export type KnownPriceStatus = Exclude<PriceStatus, 'NONE'>;

export interface UsdPrice {
  /** USD of one whole unit (one BTC, one USDC). Greater than zero. */
  readonly usd: number;
  /** The moment that the price is of, milliseconds since the epoch; not after the requested one. */
  readonly atMs: number;
  readonly status: KnownPriceStatus;
  /** Its source: `own`, `daily`, `shipped`, `peg`, `http`, `chainlink`, `uniswap`, `uniswap-v2`. */
  readonly source: string;
  /** Decimals of the asset if the source knows them. */
  readonly decimals?: number;
  /** The coin whose price a pegged token takes, and how that price is known; absent for pegs to the dollar. */
  readonly coin?: { readonly symbol: string; readonly status: KnownPriceStatus; readonly source: string };
}

const DAY_MS = 86_400_000;

/** A price is EXACT for a day: daily closes are the finest prices that every source has. */
export const EXACT_WITHIN_MS = DAY_MS;
/**
 * The greatest age of a LAST_KNOWN price. Native coins of the shipped table are liquid on many exchanges, and a year-old price still
 * gives the order of magnitude; a token can lose its worth within weeks.
 */
export const LAST_KNOWN_NATIVE_MS = 400 * DAY_MS;
export const LAST_KNOWN_TOKEN_MS = 31 * DAY_MS;

/** Returns true if the asset is the coin that its chain pays fees in. */
export const isNativeCoin = ({ chain, asset }: PricedAsset): boolean => asset === chainOf(chain).symbol;

/**
 * Classifies the age of a price.
 *
 * @param ageMs - requested moment minus the moment of the price, milliseconds
 * @returns null for a price that is later than the moment, or too old to say anything
 */
export function statusOfAge(ageMs: number, isNative: boolean): 'EXACT' | 'LAST_KNOWN' | null {
  if (ageMs < 0) return null;
  if (ageMs <= EXACT_WITHIN_MS) return 'EXACT';
  return ageMs <= (isNative ? LAST_KNOWN_NATIVE_MS : LAST_KNOWN_TOKEN_MS) ? 'LAST_KNOWN' : null;
}

/** Not a promise if the answer is at hand: millions of transfers are priced from a table. */
export type MaybePromise<T> = T | Promise<T>;

export interface PriceSource {
  /**
   * Returns the price of an asset at a moment, or the newest earlier price within its greatest age.
   *
   * @param timestampMs - milliseconds since the epoch
   * @returns null if no price is known, or the source cannot be reached
   * @throws only the signal's reason
   */
  usdAt(asset: PricedAsset, timestampMs: number, signal?: AbortSignal): MaybePromise<UsdPrice | null>;
}

/** A source that answers from memory. */
export interface PriceTable extends PriceSource {
  usdAt(asset: PricedAsset, timestampMs: number, signal?: AbortSignal): UsdPrice | null;
}

/** More is no worth of anything: an airdropped token of 10^60 units, or a price in another unit. */
export const VALUE_USD_MAX = 1e12;

/**
 * USD of an amount in the asset's smallest unit; null if it is more than anything is worth. Whole units and the rest are turned
 * into floats apart, so that an amount of 78 digits loses no more than a float must.
 */
export function usdOf(amount: bigint, decimals: number, price: Pick<UsdPrice, 'usd'>): number | null {
  const unit = 10n ** BigInt(decimals);
  const usd = (Number(amount / unit) + Number(amount % unit) / Number(unit)) * price.usd;
  return Number.isFinite(usd) && usd <= VALUE_USD_MAX ? usd : null;
}
