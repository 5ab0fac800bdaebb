/**
 * Finds addresses that look alike when programs shorten them: the same first and last characters. Address poisoning plants such an
 * address in the history of a holder, so that the holder copies it instead of the real one.
 */
import { type ChainId, chainOf, isEvm } from './registry.ts';

/** Number of equal characters at the start, after the prefix that all addresses of the chain share. */
const FIRST = 3;
/** Number of equal characters at the end. Seven hex digits agree by chance once in 268 million pairs. */
const LAST = 4;

/** Length of the prefix that all addresses of a chain share: `0x`, `T`, `cosmos1`; 1 for other chains. */
const prefixLength = (chain: ChainId): number =>
  isEvm(chain) ? 2 : chainOf(chain).family === 'cosmos' ? 'cosmos1'.length : 1;

/** Returns true if holders use an address of the chain again and again: UTXO chains and some others use each address only once. */
export function hasLookAlikes(chain: ChainId): boolean {
  const { family } = chainOf(chain);
  return family !== 'utxo' && family !== 'monero' && family !== 'cardano';
}

/**
 * Returns a key that is equal for addresses that look alike; null on chains that have none (`hasLookAlikes`).
 *
 * @param address - canonical, or in lower case on EVM chains
 */
export function lookAlikeKey(chain: ChainId, address: string): string | null {
  if (!hasLookAlikes(chain)) return null;
  const start = prefixLength(chain);
  if (address.length < start + FIRST + LAST) return null;
  const key = `${address.slice(start, start + FIRST)}…${address.slice(-LAST)}`;
  return isEvm(chain) ? key.toLowerCase() : key;
}
