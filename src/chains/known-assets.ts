/** Which assets are evidence and how their prices are known, from what ships: native coins and the pegged tokens of data/prices.json. */
import type { AssetFacts } from './assets.ts';
import type { PriceSource } from './prices/price.ts';
import { loadShippedPrices } from './prices/table.ts';
import { chainOf } from './registry.ts';

const DAY_MS = 86_400_000;

/**
 * Returns the facts that the shipped tables give.
 *
 * @param prices - answers at once; a price that has to be waited for counts as none
 */
export function loadAssetFacts(prices: PriceSource = loadShippedPrices()): AssetFacts {
  const priceAt = (chain: Parameters<AssetFacts['isKnown']>[0], asset: string, timestampMs: number) => {
    const found = prices.usdAt({ chain, asset }, timestampMs);
    return found instanceof Promise ? null : found;
  };
  return {
    isKnown: (chain, asset) => asset === chainOf(chain).symbol || priceAt(chain, asset, 0)?.source === 'peg',
    priceStatusAt(chain, asset, timestampMs) {
      const price = priceAt(chain, asset, timestampMs);
      if (price === null) return 'NONE';
      if (price.source === 'peg') return 'PEG';
      return timestampMs - price.atMs < DAY_MS ? 'EXACT' : 'LAST_KNOWN';
    },
  };
}
