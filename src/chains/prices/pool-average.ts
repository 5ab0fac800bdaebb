/** A pool of a token and a pegged token, and its time-weighted average price, for either version of Uniswap's interface. */
import type { ChainId } from '../registry.ts';
import { PRICE_LIMITS } from './limits.ts';
import type { Peg } from './table.ts';

/** Window of the average. Moving a price for half an hour costs more than the capital for one block. */
export const TWAP_SECONDS = 1_800;

export interface Pool {
  readonly chain: ChainId;
  readonly version: 2 | 3;
  readonly address: string;
  readonly quote: Peg;
  /** Whether the token is token0; the price is then token1 per token0. */
  readonly isToken0: boolean;
}

export interface PoolAverage {
  /** Quote tokens per token, both in smallest units. */
  readonly price: number;
  /** Quote tokens that the pool held at this price during the window, in smallest units. */
  readonly depth: number;
}

/**
 * Reads the average of the window that ends at a moment.
 *
 * @returns null if the pool has no average of the window
 * @throws SOURCE_UNAVAILABLE if no node answers
 */
export type ReadAverage = (pool: Pool, atMs: number, signal?: AbortSignal) => Promise<PoolAverage | null>;

/** Adds an entry to a price cache and evicts the oldest one if the cache is full. */
export function keepNewest<T>(cache: Map<string, T>, key: string, value: T): T {
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > PRICE_LIMITS.priceWindowsKept && oldest !== undefined) cache.delete(oldest);
  return value;
}
