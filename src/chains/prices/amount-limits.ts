/** Maximum plausible amounts: a row with more of an asset than could have any value, or than was ever issued, uses another unit. */
import { type ChainId, chainOf } from '../registry.ts';
import type { TokenList } from '../tokens.ts';
import { isNativeCoin, VALUE_USD_MAX } from './price.ts';
import { newestCloses, type Pegs } from './table.ts';

/** Maximum whole units of a token without a peg. The largest supplies of listed tokens are about 10^18 units. */
const TOKEN_UNITS_MAX = 10n ** 20n;

/**
 * Creates a function that returns the maximum plausible amount of a transfer, in the smallest unit of the asset: for native coins and
 * pegged tokens `VALUE_USD_MAX` at the newest built-in close, for other listed tokens 10^20 whole units; null for a token that is in no
 * list, or that has no decimals.
 */
export function createAmountLimits(
  chain: ChainId,
  { pegs, tokens }: { readonly pegs: Pegs; readonly tokens: Pick<TokenList, 'decimalsOf'> },
): (asset: string) => bigint | null {
  const closes = newestCloses();
  const known = new Map<string, bigint | null>();
  const inUsd = (usd: number, decimals: number): bigint =>
    BigInt(Math.ceil(VALUE_USD_MAX / usd)) * 10n ** BigInt(decimals);
  function limitOf(asset: string): bigint | null {
    const peg = pegs.of({ chain, asset });
    const coin = isNativeCoin({ chain, asset }) && peg === null ? asset : peg?.of;
    const decimals =
      peg?.decimals ?? (coin === asset ? chainOf(chain).decimals : tokens.decimalsOf(chain, asset));
    // Some exports have the ids of NFTs as amounts; NFTs have no decimals.
    if (decimals === null || decimals === 0) return null;
    const usd = coin === 'USD' ? 1 : coin === undefined ? undefined : closes.get(coin);
    return usd === undefined ? TOKEN_UNITS_MAX * 10n ** BigInt(decimals) : inUsd(usd, decimals);
  }
  return (asset) => {
    let limit = known.get(asset);
    if (limit === undefined) {
      limit = limitOf(asset);
      // Unlisted tokens are not cached, because their number is unlimited.
      if (limit !== null) known.set(asset, limit);
    }
    return limit;
  };
}
