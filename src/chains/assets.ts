/** Facts about assets that decide whether a transfer is evidence and how reliable its USD value is. */
import type { ChainId } from './registry.ts';

/**
 * How the USD value of an asset at a moment is known.
 *
 * - `EXACT`: a price of that day, or a value given with the transfer.
 * - `PEG`: the contract is redeemed for a currency or is a wrapped coin.
 * - `LAST_KNOWN`: the newest earlier price within its maximum age.
 * - `NONE`: no price; the value is unknown, never zero.
 */
export const PRICE_STATUSES = ['EXACT', 'PEG', 'LAST_KNOWN', 'NONE'] as const;

export type PriceStatus = (typeof PRICE_STATUSES)[number];

export interface AssetFacts {
  /**
   * Returns true if transfers of the asset are evidence: it is the native coin of the chain, or a token with its (chain, contract) in a
   * curated list. Anyone can deploy a contract that emits transfer events in the name of others.
   *
   * @param asset - the native symbol, or the canonical address of a token contract, as in a Transfer
   */
  isKnown(chain: ChainId, asset: string): boolean;
  /** Returns the decimals of an asset that is evidence; null if its list does not include them. */
  decimalsOf(chain: ChainId, asset: string): number | null;
  /** Returns how the price of the asset at a moment is known, from tables in memory. */
  priceStatusAt(chain: ChainId, asset: string, timestampMs: number): PriceStatus;
  /**
   * Returns the time of the price that applies at a moment, if that is an earlier price: LAST_KNOWN, or the price of a wrapped coin
   * whose coin has a LAST_KNOWN price. If no price applies any more, because the newest one has reached its maximum age, returns the time of
   * that. Null otherwise. Milliseconds since the epoch.
   */
  lastPriceAt(chain: ChainId, asset: string, timestampMs: number): number | null;
  /** Returns another text after price tables were replaced. Absent if they are never replaced. */
  pricesVersion?(): string;
}
