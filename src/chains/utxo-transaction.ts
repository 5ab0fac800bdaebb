/** A transaction of a UTXO chain with its inputs resolved, the same from every node, file and adapter. Amounts in satoshi. */
import type { ChainId } from './registry.ts';

export interface UtxoInput {
  /** The output that is spent: its transaction, as shown (byte-reversed hex), and its index there. */
  readonly txid: string;
  readonly vout: number;
  /** Canonical address of the spent output; null where its script has none, or where the output is not known. */
  readonly address: string | null;
  /** Null where the spent output is not known: never zero. */
  readonly value: bigint | null;
}

export type ScriptKind =
  | 'p2pk'
  | 'p2pkh'
  | 'p2sh'
  | 'p2wpkh'
  | 'p2wsh'
  | 'p2tr'
  | 'multisig'
  | 'op_return'
  | 'other';

export interface UtxoOutput {
  /** Index in the transaction. */
  readonly n: number;
  /** Canonical address; null where the script has none. */
  readonly address: string | null;
  readonly value: bigint;
  readonly script: ScriptKind;
}

export interface UtxoTransaction {
  readonly chain: ChainId;
  /** As shown: byte-reversed hex. */
  readonly txid: string;
  readonly blockNumber: number;
  /** Place in the block, from 0. */
  readonly indexInBlock: number;
  /** Milliseconds since the epoch, of the block. */
  readonly timestampMs: number;
  readonly isCoinbase: boolean;
  /** Empty for a coinbase. */
  readonly inputs: readonly UtxoInput[];
  readonly outputs: readonly UtxoOutput[];
  /** Value that entered from or left to a shielded pool (ZEC), in satoshi; absent where the chain has none. */
  readonly shielded?: { readonly in: bigint; readonly out: bigint };
}
