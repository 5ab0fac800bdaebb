/** A transaction of a UTXO chain with resolved inputs, in the same form for every node, file and adapter. Amounts are in satoshi. */
import type { ChainId } from './registry.ts';

export interface UtxoInput {
  /** The spent output: its transaction id in display form (byte-reversed hex), and its index there. */
  readonly txid: string;
  readonly vout: number;
  /** Canonical address of the spent output; null if its script has none, or if the output is unknown. */
  readonly address: string | null;
  /** Null if the spent output is unknown; never zero in that case. */
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
  /** Canonical address; null if the script has none. */
  readonly address: string | null;
  readonly value: bigint;
  readonly script: ScriptKind;
}

export interface UtxoTransaction {
  readonly chain: ChainId;
  /** In display form: byte-reversed hex. */
  readonly txid: string;
  readonly blockNumber: number;
  /** Index in the block, from 0. */
  readonly indexInBlock: number;
  /** Time of the block, milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly isCoinbase: boolean;
  /** Script of a coinbase in hex, if the source has it. */
  readonly coinbaseScript?: string;
  /** Empty for a coinbase. */
  readonly inputs: readonly UtxoInput[];
  readonly outputs: readonly UtxoOutput[];
  /** Value that entered from a shielded pool or left to one, in satoshi; absent if no pool is involved. */
  readonly shielded?: { readonly in: bigint; readonly out: bigint };
}

/** A block, or those of its transactions that a file contains. */
export interface UtxoBlock {
  readonly height: number;
  /** Null if the source does not give it. */
  readonly hash: string | null;
  readonly parentHash: string | null;
  readonly timestampMs: number;
  readonly transactions: readonly UtxoTransaction[];
}
