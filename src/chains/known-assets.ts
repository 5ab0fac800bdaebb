/** Combines the curated token list and the price tables: which assets are evidence, and how their prices are known. */
import type { AssetFacts } from './assets.ts';
import { createPriceBook, type PriceBook } from './prices/book.ts';
import { loadPegs, loadShippedPrices } from './prices/table.ts';
import { chainOf } from './registry.ts';
import { loadTokenList } from './tokens.ts';

export interface AssetFactsOptions {
  /** Prices of the installation (`openInstalledPrices`). Default: the built-in closes and pegs. */
  readonly prices?: { readonly book: Pick<PriceBook, 'priceStatusAt' | 'lastPriceAt' | 'version'> };
  /** The curated token list. Default: the built-in list. */
  readonly tokens?: Pick<AssetFacts, 'isKnown' | 'decimalsOf'>;
}

/** Creates the asset facts from lists and tables; they need no network access. */
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
    pricesVersion: book.version,
  };
}
