/** A pool of a token and a pegged token, and its time-weighted average price, whichever version of the interface it has. */
import { LIMITS } from '../../base/limits.ts';
import type { ChainId } from '../registry.ts';
import type { Peg } from './table.ts';

/** The window of the average. Moving a price for half an hour costs more than one block's worth of capital. */
export const TWAP_SECONDS = 1_800;

export interface Pool {
  readonly chain: ChainId;
  readonly version: 2 | 3;
  readonly address: string;
  readonly quote: Peg;
  /** Whether the token is token0, so that the price is token1 for token0. */
  readonly isToken0: boolean;
}

export interface PoolAverage {
  /** Quote tokens for one token, both in smallest units. */
  readonly price: number;
  /** Quote tokens that the pool had at this price during the window, in smallest units. */
  readonly depth: number;
}

/**
 * Reads the average of the window that ends at a moment.
 *
 * @returns null if the pool has no average of the window
 * @throws SOURCE_UNAVAILABLE if no node answers
 */
export type ReadAverage = (pool: Pool, atMs: number, signal?: AbortSignal) => Promise<PoolAverage | null>;

/** Puts an entry into a cache of prices and drops the oldest one if the cache is full. */
export function keepNewest<T>(cache: Map<string, T>, key: string, value: T): T {
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > LIMITS.priceWindowsKept && oldest !== undefined) cache.delete(oldest);
  return value;
}
