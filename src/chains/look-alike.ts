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

/**
 * Returns the digits that look-alike EVM addresses share (`lookAlikeKey`) as a number, without formatting the address.
 *
 * @param key - key of the address, which ends with its 20 bytes
 */
export function evmLookAlike(key: Uint8Array): number {
  const from = key.length - 20;
  const first = ((key[from] as number) << 4) | ((key[from + 1] as number) >> 4);
  return (first << 16) | ((key[from + 18] as number) << 8) | (key[from + 19] as number);
}

/** Returns the same number of an address as text. */
export const evmLookAlikeOfText = (address: string): number =>
  Number.parseInt(address.slice(2, 2 + FIRST) + address.slice(-LAST), 16);
