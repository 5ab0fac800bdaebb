/** The facts about assets that screening needs, from lists and tables in memory. */
import type { AssetFacts } from './assets.ts';
import { createPriceBook, type PriceBook } from './prices/book.ts';
import { loadPegs, loadShippedPrices, type Pegs } from './prices/table.ts';
import { chainOf } from './registry.ts';

export interface AssetFactsOptions {
  /** Prices of the installation (`openInstalledPrices`). Default: closes and pegs that ship. */
  readonly prices?: { readonly book: Pick<PriceBook, 'priceStatusAt'>; readonly pegs: Pegs };
  /** The curated list of tokens. Default: the tokens that have a peg, whether it still holds or not. */
  readonly tokens?: Pick<AssetFacts, 'isKnown'>;
}

/** Combines lists and tables; answers without asking another machine. */
export function loadAssetFacts(options: AssetFactsOptions = {}): AssetFacts {
  const pegs = options.prices?.pegs ?? loadPegs();
  const book = options.prices?.book ?? createPriceBook({ tables: [loadShippedPrices()], pegs });
  const { tokens } = options;
  return {
    isKnown: (chain, asset) =>
      asset === chainOf(chain).symbol ||
      (tokens === undefined ? pegs.of({ chain, asset }) !== null : tokens.isKnown(chain, asset)),
    priceStatusAt: book.priceStatusAt,
  };
}
