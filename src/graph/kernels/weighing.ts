/** How the edges of an address are weighed: the units, and the USD of flows. */
import type { AssetSums } from '../graph.ts';

/** Which transfers have weight, and which are dust. */
export interface Weighing {
  /** Returns true if transfers of the asset are evidence. Others are ignored: anyone can forge them. */
  readonly isEvidence: (asset: string) => boolean;
  /** Edges below this are dust if the direction is weighed in USD. 0 keeps all. */
  readonly dustUsd: number;
  /** The same as a share of the asset's greater flow (in or out), if the direction is weighed by the amount of one asset. */
  readonly dustShare: number;
  /** Flows of an unpriced asset below this many smallest units are dust, whatever their share. Default: 0. */
  readonly dustAmount?: (asset: string) => number;
  /**
   * The contract of the wrapped native coin. Coins that an address sends it or gets from it are exchanged for themselves: as with transfers
   * to itself, they are no flow that shares refer to. Default: the chain has none.
   */
  readonly wrapped?: { readonly key: Uint8Array; readonly coin: string } | null;
}

/**
 * Unit of the weights of a direction. USD if more than dust in it has a price, otherwise ASSET: the amount of its only unpriced asset.
 * UNKNOWN: several assets moved and none has a price. NOTHING: no evidence moved.
 */
export type Basis = 'USD' | 'ASSET' | 'UNKNOWN' | 'NOTHING';

/** How a direction of an address is weighed. */
export interface RowBasis {
  readonly basis: Basis;
  /** The asset of basis ASSET. Null for any other basis. */
  readonly asset: string | null;
  /** Its number in the graph. */
  readonly assetId: number | null;
  /** Weight of the smallest unit, by number of the asset. */
  readonly rates: ReadonlyMap<number, number>;
  /** Weight of all that moved in the direction, including transfers without a counterparty. */
  readonly total: number;
  /** Edges below this weight are dust. */
  readonly dust: number;
}

/** The weighing of an unpriced asset by its amount, in a direction that is weighed by something else. */
export interface ApartBasis extends RowBasis {
  /** True if its whole flow is below `dustAmount`: addresses pass such an asset on, but no walk begins with it. */
  readonly isDust: boolean;
}

/**
 * Value that is weighed by an asset arrives at the next address as that asset, which passes it on by the amounts of the same asset. So an
 * address has one row for each asset that came to it. The row's tag is the asset's number plus 1, or 0 for no particular asset.
 */
export const tagOf = ({ assetId }: Pick<RowBasis, 'assetId'>): number => (assetId === null ? 0 : assetId + 1);
export const assetOf = (tag: number): number | null => (tag === 0 ? null : tag - 1);

/** A difference of less than this part of a flow is rounding of sums. */
export const REST_MIN = 1e-9;

/** Returns a flow minus a part of it, or 0 if the rest is only rounding. */
export const flowOf = (whole: number, part: number): number =>
  whole - part > whole * REST_MIN ? whole - part : 0;

/** Returns true if the flow has a rate, which is the USD of its priced amount. Unpriced amounts then count at the same rate. */
export const isPriced = ({ cents, unpriced, pricedAmount }: AssetSums): boolean =>
  unpriced === 0 || (cents > 0 && pricedAmount > 0);

/** Returns true unless only transfers without an amount moved. */
export const hasMoved = ({ amount }: AssetSums): boolean => amount > 0;

/** USD of the smallest unit. 0 without a price. */
export const usdRate = (flow: AssetSums): number =>
  isPriced(flow) && flow.cents > 0 ? flow.cents / 100 / flow.pricedAmount : 0;

/** USD of flows, at the rate of each. Fully priced flows count in cents, so that the sum does not depend on the order of addition. */
export function usdOf(flows: readonly AssetSums[]): number {
  let cents = 0;
  let atRate = 0;
  for (const flow of flows) {
    if (flow.unpriced === 0) cents += flow.cents;
    else atRate += usdRate(flow) * flow.amount;
  }
  return cents / 100 + atRate;
}
