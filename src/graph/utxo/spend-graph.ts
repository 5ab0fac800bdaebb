/** Outputs and their spends as the taint kernels read them. Implemented by outputs-store.ts, and in memory by tests. */
import type { AddressKey } from '../../chains/address/address.ts';
import type { ScriptKind } from '../../chains/utxo-transaction.ts';

/** A dense number of a transaction. Says nothing about its age. */
export type TxNumber = number;

export interface SpendOutput {
  readonly n: number;
  /** In satoshi; null where the output is known only because something spends it. */
  readonly value: bigint | null;
  readonly script: ScriptKind;
  /** A dense number of the address; 0 where there is none, or where it is not known. */
  readonly address: number;
  /** The transaction that spends it; null while none is known. */
  readonly spentBy: TxNumber | null;
}

export interface SpendTransaction {
  readonly number: TxNumber;
  /** As shown: byte-reversed hex. */
  readonly txid: string;
  /** False where only some outputs are known, because other transactions spend them. */
  readonly isKnown: boolean;
  readonly isCoinbase: boolean;
  /** Height; -1 where the transaction is not known. */
  readonly block: number;
  readonly indexInBlock: number;
  /** Milliseconds since the epoch; 0 where the transaction is not known. */
  readonly timestampMs: number;
  readonly inputs: readonly { readonly tx: TxNumber; readonly n: number }[];
  /** In the order of their index; not all of them where the transaction is not known. */
  readonly outputs: readonly SpendOutput[];
  /** Satoshi that came out of a shielded pool into this transaction, and that left into it. */
  readonly shieldedIn: bigint;
  readonly shieldedOut: bigint;
}

/** A view of one chain that does not change while a kernel runs. */
export interface SpendGraph {
  /** Null for a transaction nothing is known of. `txid` as shown. */
  numberOf(txid: string): TxNumber | null;
  /** Throws STORE_CORRUPT for a number that was never given. */
  transaction(number: TxNumber): SpendTransaction;
  /** The key of an address number above 0. */
  keyOf(address: number): AddressKey;
}

export function outputOf(transaction: SpendTransaction, n: number): SpendOutput | null {
  const direct = transaction.outputs[n];
  if (direct?.n === n) return direct;
  return transaction.outputs.find((output) => output.n === n) ?? null;
}
