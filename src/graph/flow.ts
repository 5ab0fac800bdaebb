/** Types shared by all results about transfers: the direction, and the flow of one asset. */

/** `in`: value came to the address; `out`: value left it. */
export type Direction = 'in' | 'out';

/** The opposite of each direction. */
export const OPPOSITE: Readonly<Record<Direction, Direction>> = { in: 'out', out: 'in' };

/** How much of one asset moved. Amounts are in the asset's smallest unit. */
export interface AssetFlow {
  /** The chain's native symbol, or the canonical address of a token contract. */
  readonly asset: string;
  readonly decimals: number | null;
  readonly transfers: number;
  readonly amount: bigint;
  /** USD of the priced transfers. Null if none is priced. */
  readonly valueUsd: number | null;
  /** Transfers of an amount without a known price. */
  readonly unpricedTransfers: number;
}
