/** Unpriced transfers of each asset: counted from stored transfers, for `assay stats` and for responses. */
import type { AssetFlow, Direction } from './flow.ts';
import type { AddressTotals } from './transfers.ts';

/** The use of one asset on one chain. */
export interface AssetUse {
  /** The chain's native symbol, or the canonical address of a token contract. */
  readonly asset: string;
  readonly decimals: number | null;
  readonly transfers: number;
  /** Transfers that moved an amount and have no USD value. */
  readonly unpricedTransfers: number;
  /** Time of the newest transfer, milliseconds since the epoch. */
  readonly newestMs: number;
}

/** A flow of one asset, some or all of which has no USD value. */
export interface UnpricedFlow extends Pick<AssetFlow, 'asset' | 'decimals' | 'amount' | 'unpricedTransfers'> {
  readonly direction: Direction;
}

/**
 * Lists the assets of an address that moved without a USD value.
 *
 * @param totals - as `TransferReader.totals` returns them; null for an address without transfers
 * @returns incoming flows first, each direction in the order of `byAsset`; empty if everything is priced
 */
export function unpricedFlows(totals: AddressTotals | null): UnpricedFlow[] {
  if (totals === null) return [];
  return (['in', 'out'] as const).flatMap((direction) =>
    totals[direction].byAsset
      .filter(({ unpricedTransfers }) => unpricedTransfers > 0)
      .map(({ asset, decimals, amount, unpricedTransfers }) => ({
        direction,
        asset,
        decimals,
        amount,
        unpricedTransfers,
      })),
  );
}
