/** Prices, their status, and the conversion of amounts to USD. A missing price is null: unknown is never zero. */
import type { PriceStatus } from '../assets.ts';
import { type ChainId, chainOf } from '../registry.ts';

/** An asset on its chain: the chain's native symbol, or the canonical address of a token contract, as in a Transfer. */
export interface PricedAsset {
  readonly chain: ChainId;
  readonly asset: string;
}

/** Status of an existing price; `NONE` means that there is no price, which is null everywhere. */
export type KnownPriceStatus = Exclude<PriceStatus, 'NONE'>;

export interface UsdPrice {
  /** USD of one whole unit (one BTC, one USDC). Greater than zero. */
  readonly usd: number;
  /** Time of the price, milliseconds since the epoch; not after the requested time. */
  readonly atMs: number;
  readonly status: KnownPriceStatus;
  /** Its source: `own`, `daily`, `shipped`, `peg`, `http`, `chainlink`, `uniswap`, `uniswap-v2`. */
  readonly source: string;
  /** Decimals of the asset if the source knows them. */
  readonly decimals?: number;
  /** The coin from which a pegged token has its price, and the status of that price; absent for pegs to the dollar. */
  readonly coin?: { readonly symbol: string; readonly status: KnownPriceStatus; readonly source: string };
}

const DAY_MS = 86_400_000;

/** A price is EXACT for a day: daily closes are the finest prices that every source has. */
export const EXACT_WITHIN_MS = DAY_MS;
/**
 * Maximum age of a LAST_KNOWN price. Native coins of the built-in table are liquid on many exchanges, and a year-old price still gives
 * the order of magnitude; a token can lose its value within weeks.
 */
export const LAST_KNOWN_NATIVE_MS = 400 * DAY_MS;
export const LAST_KNOWN_TOKEN_MS = 31 * DAY_MS;

/** Returns true if the asset is the coin in which its chain charges fees. */
export const isNativeCoin = ({ chain, asset }: PricedAsset): boolean => asset === chainOf(chain).symbol;

/**
 * Classifies the age of a price.
 *
 * @param ageMs - requested time minus the time of the price, milliseconds
 * @returns null for a price that is later than the requested time, or too old
 */
export function statusOfAge(ageMs: number, isNative: boolean): 'EXACT' | 'LAST_KNOWN' | null {
  if (ageMs < 0) return null;
  if (ageMs <= EXACT_WITHIN_MS) return 'EXACT';
  return ageMs <= (isNative ? LAST_KNOWN_NATIVE_MS : LAST_KNOWN_TOKEN_MS) ? 'LAST_KNOWN' : null;
}

/** A promise only if the value must be requested: millions of transfers are priced from a table. */
export type MaybePromise<T> = T | Promise<T>;

export interface PriceSource {
  /**
   * Returns the price of an asset at a moment, or the newest earlier price within its maximum age.
   *
   * @param timestampMs - milliseconds since the epoch
   * @returns null if no price is known, or the source cannot be reached
   * @throws only the reason of the signal
   */
  usdAt(asset: PricedAsset, timestampMs: number, signal?: AbortSignal): MaybePromise<UsdPrice | null>;
}

/** A source that reads from memory. */
export interface PriceTable extends PriceSource {
  usdAt(asset: PricedAsset, timestampMs: number, signal?: AbortSignal): UsdPrice | null;
  /** Returns the time of the newest price that is not later, whatever its age; null if there is none. */
  lastAt(asset: PricedAsset, timestampMs: number): number | null;
  /** Returns another text after the table was replaced. Absent if it never is. */
  version?(): string;
}

/** Maximum plausible value: a larger one comes from an airdropped token of 10^60 units, or from a price in another unit. */
export const VALUE_USD_MAX = 1e12;

/**
 * Returns the USD value of an amount in the smallest unit of the asset; null if it exceeds `VALUE_USD_MAX`. Whole units and the
 * fraction are converted to floats separately, so that an amount of 78 digits loses no more precision than necessary.
 */
export function usdOf(amount: bigint, decimals: number, price: Pick<UsdPrice, 'usd'>): number | null {
  const unit = 10n ** BigInt(decimals);
  const usd = (Number(amount / unit) + Number(amount % unit) / Number(unit)) * price.usd;
  return Number.isFinite(usd) && usd <= VALUE_USD_MAX ? usd : null;
}
