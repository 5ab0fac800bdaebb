/**
 * Transfers that anyone can add to the history of an address, and the look-alike addresses that they place there (address
 * poisoning). Used by screening and by monitoring. See docs/decisions/evidence.md.
 */
import type { AddressKey } from '../chains/address/address.ts';
import { shownAddress } from '../chains/address/parse.ts';
import type { AssetFacts } from '../chains/assets.ts';
import { evmLookAlike, evmLookAlikeOfText, hasLookAlikes, lookAlikeKey } from '../chains/look-alike.ts';
import { type ChainId, chainOf, isEvm } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Counterparty, TransferReader } from '../graph/transfers.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { shownKey } from './subject.ts';

/**
 * Why a transfer proves nothing.
 *
 * - `UNKNOWN_TOKEN`: the token is on no curated list, so its contract may log any transfer.
 * - `ZERO_VALUE_TOKEN`: a token moved no amount; anyone may call `transferFrom` with 0 in the name of others.
 */
export type SpoofKind = 'UNKNOWN_TOKEN' | 'ZERO_VALUE_TOKEN';

/** Returns why a transfer proves nothing; null for a transfer that is evidence. */
export function spoofKindOf(
  chain: ChainId,
  { asset, amount }: Pick<Transfer, 'asset' | 'amount'>,
  assets: Pick<AssetFacts, 'isKnown'>,
): SpoofKind | null {
  if (!assets.isKnown(chain, asset)) return 'UNKNOWN_TOKEN';
  return amount === 0n && asset !== chainOf(chain).symbol ? 'ZERO_VALUE_TOKEN' : null;
}

/** The counterparties with which an address really dealt. */
export interface RealCounterparties {
  /**
   * Returns the real counterparty that an address imitates; null if it imitates none, or is one itself.
   *
   * @param address - canonical, or in lower case on EVM chains
   * @returns canonical
   */
  imitatedBy(address: string): string | null;
}

type Party = Pick<Counterparty, 'key' | 'address'>;

const NONE: RealCounterparties = { imitatedBy: () => null };

/**
 * Returns a filter of counterparties: true for those that look like one of the addresses, or for all if these are not known. Hundreds of
 * counterparties are compared, so the shape of a key is a number if the chain allows it.
 */
function createLookFilter(
  chain: ChainId,
  addresses: readonly string[] | undefined,
): (key: AddressKey) => boolean {
  if (addresses === undefined) return () => true;
  const shapes = new Set(addresses.map((address) => lookAlikeKey(chain, address)));
  if (!isEvm(chain)) return (key) => shapes.has(lookAlikeKey(chain, shownKey(chain, key)));
  const numbers = new Set(addresses.map(evmLookAlikeOfText));
  return (key) => numbers.has(evmLookAlike(key));
}

/**
 * Returns the counterparties with which value of known assets moved: the greatest of each direction, and those of the newest
 * transfers.
 *
 * @param subject.key - the address that the history belongs to
 * @param deps.dustUsd - a counterparty with less value is not a real one: a poisoner may send dust as well
 * @param addresses - those that `imitatedBy` will be asked about, if they are known: counterparties that look like none of them are then not
 * read
 */
export function realCounterparties(
  subject: { readonly chain: ChainId; readonly key: AddressKey },
  deps: {
    readonly transfers: Pick<TransferReader, 'counterparties' | 'recent'>;
    readonly assets: Pick<AssetFacts, 'isKnown'>;
    readonly dustUsd: number;
  },
  addresses?: readonly string[],
): RealCounterparties {
  const { chain, key } = subject;
  const { transfers, assets, dustUsd } = deps;
  // Before hundreds of counterparties are read.
  if (!hasLookAlikes(chain)) return NONE;
  const looksWanted = createLookFilter(chain, addresses);
  const byShape = new Map<string, Party>();
  const real = new Set<string>();
  const add = (party: Party): void => {
    // Not `party.address`: hundreds of counterparties are compared, and few are ever shown.
    const shown = shownKey(chain, party.key);
    const shape = lookAlikeKey(chain, shown);
    if (shape === null) return;
    real.add(shown);
    if (!byShape.has(shape)) byShape.set(shape, party);
  };
  const isWorth = (asset: string, amount: bigint, valueUsd: number | null): boolean =>
    assets.isKnown(chain, asset) && amount > 0n && (valueUsd === null || valueUsd >= dustUsd);
  for (const direction of ['out', 'in'] as const)
    for (const party of transfers.counterparties(chain, key, {
      direction,
      limit: SCREENING_LIMITS.realCounterpartiesRead,
      isWanted: looksWanted,
    }))
      if (party.assets.some(({ asset, amount, valueUsd }) => isWorth(asset, amount, valueUsd))) add(party);
  for (const { counterparty, asset, amount, valueUsd } of transfers.recent(
    chain,
    key,
    GRAPH_LIMITS.recentTransfersPerAddress,
    ({ asset, amount, valueUsd }, other) => {
      if (!isWorth(asset, amount, valueUsd)) return false;
      const otherKey = other();
      return otherKey !== null && looksWanted(otherKey);
    },
  ))
    if (counterparty !== null && isWorth(asset, amount, valueUsd)) add(counterparty);
  if (real.size === 0) return NONE;
  return {
    imitatedBy(address) {
      if (real.has(shownAddress({ chain, canonical: address }))) return null;
      const shape = lookAlikeKey(chain, address);
      return shape === null ? null : (byShape.get(shape)?.address ?? null);
    },
  };
}
