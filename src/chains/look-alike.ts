/**
 * Addresses that look alike where programs shorten them: the same first and last characters. Address poisoning plants such an
 * address in the history of a holder, so that it is copied in place of the real one.
 */
import { type ChainId, chainOf, isEvm } from './registry.ts';

/** Characters that must agree in front, after what every address of the chain begins with. */
const FIRST = 3;
/** Characters that must agree at the end. Seven hex digits agree by chance once in 268 million pairs. */
const LAST = 4;

/** Length of what every address of a chain begins with: `0x`, `T`, `cosmos1`; 1 elsewhere. */
const prefixLength = (chain: ChainId): number =>
  isEvm(chain) ? 2 : chainOf(chain).family === 'cosmos' ? 'cosmos1'.length : 1;

/**
 * Returns what addresses that look like this one have in common; null on UTXO chains and others whose addresses are used once.
 *
 * @param address - canonical, or in lower case on EVM chains
 */
export function lookAlikeKey(chain: ChainId, address: string): string | null {
  const { family } = chainOf(chain);
  if (family === 'utxo' || family === 'monero' || family === 'cardano') return null;
  const start = prefixLength(chain);
  if (address.length < start + FIRST + LAST) return null;
  const key = `${address.slice(start, start + FIRST)}…${address.slice(-LAST)}`;
  return isEvm(chain) ? key.toLowerCase() : key;
}
