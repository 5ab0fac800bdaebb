/** The chains to which rules apply. */
import { type ChainId, chainOf, isEvm } from '../chains/registry.ts';

/** The chain whose pools have known tags. */
export const COINBASE_CHAIN: ChainId = 'BTC';

/** Returns whether each customer of an exchange has an account on a chain. */
export const hasAccounts = (chain: ChainId): boolean => isEvm(chain) || chainOf(chain).family === 'tron';
