/** The words that every answer about transfers shares: the direction, and how much of one asset moved. */

/** `in`: value came to the address asked about; `out`: it left. */
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
  /** USD of the priced transfers; null where none is priced. */
  readonly valueUsd: number | null;
  /** Transfers that moved an amount nobody could price. */
  readonly unpricedTransfers: number;
}
