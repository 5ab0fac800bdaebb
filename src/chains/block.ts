/** A block as adapters and files deliver it: its place in the chain and all the value it moved. */
import type { ChainId } from './registry.ts';
import type { Transfer } from './transfer.ts';
import type { UtxoTransaction } from './utxo-transaction.ts';

export interface Block {
  readonly chain: ChainId;
  readonly height: number;
  /** In the chain's own canonical text. */
  readonly hash: string;
  /** Hash of the block below; null for the first block of a chain. */
  readonly parentHash: string | null;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  /** In the order of the block. Empty on UTXO chains, where `transactions` says more. */
  readonly transfers: readonly Transfer[];
  /** UTXO chains alone: whole transactions, in the order of the block. */
  readonly transactions?: readonly UtxoTransaction[];
}
