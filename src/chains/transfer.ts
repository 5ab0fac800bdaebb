/** The Transfer record: one movement of one asset, in the same form for every chain, adapter and file. */
import type { ChainId } from './registry.ts';

/** How the transaction of a transfer was started. */
export interface Initiation {
  /** Canonical address of the account that signed the transaction. */
  readonly sender: string;
  /**
   * Whether the transaction calls the contract of the asset; null if the source does not say, or the asset has no
   * contract.
   */
  readonly callsAsset: boolean | null;
  /** Whether the call decodes to this transfer; null if the source does not say, or there is nothing to decode. */
  readonly decodes: boolean | null;
}

export interface Transfer {
  readonly chain: ChainId;
  /** Transaction id in the canonical text form of the chain (EVM: 0x and lower-case hex). */
  readonly txHash: string;
  /** Unique within the transaction, and stable between reads: `value`, `log:12`, `trace:0_1`, `out:3`. */
  readonly position: string;
  readonly blockNumber: number;
  /** Time of the block, milliseconds since the epoch. */
  readonly timestampMs: number;
  /** Canonical address; null if there is no sender (coinbase, mint). */
  readonly from: string | null;
  /** Canonical address; null if there is no receiver (fee, burn without an address). */
  readonly to: string | null;
  /** The chain's native symbol, or the canonical address of a token contract. */
  readonly asset: string;
  /** In the asset's smallest unit. Never negative. */
  readonly amount: bigint;
  /** Decimals of the asset; null if unknown. */
  readonly decimals: number | null;
  /** USD at the time of the transfer; null if no price is known. Unknown is never zero. */
  readonly valueUsd: number | null;
  /** Null or omitted if the source does not say. For display only: it never makes a transfer evidence. */
  readonly initiation?: Initiation | null;
}
