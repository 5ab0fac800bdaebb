/** Which assets are evidence and how their prices are known: the curated list of tokens, and the tables of prices. */
import type { AssetFacts } from './assets.ts';
import { createPriceBook, type PriceBook } from './prices/book.ts';
import { loadPegs, loadShippedPrices } from './prices/table.ts';
import { chainOf } from './registry.ts';
import { loadTokenList } from './tokens.ts';

export interface AssetFactsOptions {
  /** Prices of the installation (`openInstalledPrices`). Default: closes and pegs that ship. */
  readonly prices?: { readonly book: Pick<PriceBook, 'priceStatusAt' | 'lastPriceAt'> };
  /** The curated list of tokens. Default: the list that ships. */
  readonly tokens?: Pick<AssetFacts, 'isKnown' | 'decimalsOf'>;
}

/** Combines lists and tables; answers without asking another machine. */
export function loadAssetFacts(options: AssetFactsOptions = {}): AssetFacts {
  const book = options.prices?.book ?? createPriceBook({ tables: [loadShippedPrices()], pegs: loadPegs() });
  const { tokens = loadTokenList() } = options;
  return {
    isKnown: (chain, asset) => asset === chainOf(chain).symbol || tokens.isKnown(chain, asset),
    decimalsOf(chain, asset) {
      const { symbol, decimals } = chainOf(chain);
      return asset === symbol ? decimals : tokens.decimalsOf(chain, asset);
    },
    priceStatusAt: book.priceStatusAt,
    lastPriceAt: book.lastPriceAt,
  };
}
