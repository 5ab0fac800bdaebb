/** The contracts that exchange a native coin for its wrapped form and back, one to one. */
import { parseAddress } from '../address/parse.ts';
import { type ChainId, chainOf, isEvm } from '../registry.ts';
import { loadPegs } from './table.ts';

export interface WrappedCoin {
  /** Address key of the contract. */
  readonly key: Uint8Array;
  /** Symbol of the native coin. */
  readonly coin: string;
}

let known: ReadonlyMap<ChainId, WrappedCoin> | null = null;

function load(): ReadonlyMap<ChainId, WrappedCoin> {
  return new Map(
    loadPegs().all.flatMap(({ chain, asset, symbol }): [ChainId, WrappedCoin][] => {
      const coin = chainOf(chain).symbol;
      if (!isEvm(chain) || symbol !== `W${coin}`) return [];
      return [[chain, { key: parseAddress(chain, asset).key, coin }]];
    }),
  );
}

/** Returns the contract of a chain's wrapped coin (WETH), from the built-in pegs; null if the chain has none. */
export function wrappedCoinOf(chain: ChainId): WrappedCoin | null {
  known ??= load();
  return known.get(chain) ?? null;
}
