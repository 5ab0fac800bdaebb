/** Amounts that cannot be: more of an asset than anything is worth, or than was ever issued. A row that says so is in another unit. */
import { type ChainId, chainOf } from '../registry.ts';
import type { TokenList } from '../tokens.ts';
import { isNativeCoin, VALUE_USD_MAX } from './price.ts';
import { newestCloses, type Pegs } from './table.ts';

/** Whole units of a token without a peg. The greatest supplies of listed tokens are about 10^18 units. */
const TOKEN_UNITS_MAX = 10n ** 20n;

/**
 * Returns the greatest amount of an asset that a transfer can have, in its smallest unit: for native coins and pegged tokens
 * `VALUE_USD_MAX` at the newest close that ships, for other listed tokens 10^20 whole units; null for a token that no list knows, or
 * that has no decimals.
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
    if (decimals === null) return null;
    // The numbers of pieces that have none are read as amounts by some exports.
    if (decimals === null || decimals === 0) return null;
    const usd = coin === 'USD' ? 1 : coin === undefined ? undefined : closes.get(coin);
    return usd === undefined ? TOKEN_UNITS_MAX * 10n ** BigInt(decimals) : inUsd(usd, decimals);
  }
  return (asset) => {
    let limit = known.get(asset);
    if (limit === undefined) {
      limit = limitOf(asset);
      // Tokens without a list entry are unlimited in number: they are not remembered.
      if (limit !== null) known.set(asset, limit);
    }
    return limit;
  };
}
