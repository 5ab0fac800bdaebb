/** Outputs and their spends as the taint kernels read them. Implemented by outputs-store.ts, and in memory by tests. */
import type { AddressKey } from '../../chains/address/address.ts';
import type { ScriptKind } from '../../chains/utxo-transaction.ts';

/** A dense number of a transaction. It does not reflect the transaction's age. */
export type TxNumber = number;

export interface SpendOutput {
  readonly n: number;
  /** In satoshi. Null if the output is known only because a transaction spends it. */
  readonly value: bigint | null;
  readonly script: ScriptKind;
  /** A dense number of the address. 0 if there is no address or it is not known. */
  readonly address: number;
  /** The transaction that spends it. Null if none is known. */
  readonly spentBy: TxNumber | null;
}

export interface SpendTransaction {
  readonly number: TxNumber;
  /** As displayed: byte-reversed hex. */
  readonly txid: string;
  /** False if only some outputs are known, because other transactions spend them. */
  readonly isKnown: boolean;
  readonly isCoinbase: boolean;
  /** Height. -1 if the transaction is not known. */
  readonly block: number;
  readonly indexInBlock: number;
  /** Milliseconds since the epoch. 0 if the transaction is not known. */
  readonly timestampMs: number;
  readonly inputs: readonly { readonly tx: TxNumber; readonly n: number }[];
  /** In the order of their index. Incomplete if the transaction is not known. */
  readonly outputs: readonly SpendOutput[];
  /** Satoshi that came out of a shielded pool into this transaction (`shieldedIn`), and that left into it (`shieldedOut`). */
  readonly shieldedIn: bigint;
  readonly shieldedOut: bigint;
}

/** A view of one chain that does not change while a kernel runs. */
export interface SpendGraph {
  /** The number of a transaction, or null if the transaction is unknown. `txid` is as displayed. */
  numberOf(txid: string): TxNumber | null;
  /** Throws STORE_CORRUPT for a number that was never assigned. */
  transaction(number: TxNumber): SpendTransaction;
  /** The key of an address. `address` is above 0. */
  keyOf(address: number): AddressKey;
}

/** Returns the output with index `n`, or null if the transaction has no such output. */
export function outputOf(transaction: SpendTransaction, n: number): SpendOutput | null {
  const direct = transaction.outputs[n];
  if (direct?.n === n) return direct;
  return transaction.outputs.find((output) => output.n === n) ?? null;
}
