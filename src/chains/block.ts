/** A block from an adapter or a file: its position in the chain and all value that it moved. */
import type { ChainId } from './registry.ts';
import type { Transfer } from './transfer.ts';
import type { UtxoTransaction } from './utxo-transaction.ts';

export interface Block {
  readonly chain: ChainId;
  readonly height: number;
  /** In the canonical text form of the chain. */
  readonly hash: string;
  /** Hash of the previous block; null for the first block of a chain. */
  readonly parentHash: string | null;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  /** In block order. Empty on UTXO chains, which use `transactions`. */
  readonly transfers: readonly Transfer[];
  /** Only on UTXO chains: whole transactions, in block order. */
  readonly transactions?: readonly UtxoTransaction[];
}
