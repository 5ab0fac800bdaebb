/**
 * Turns a UTXO transaction into transfers between addresses: the value of its outputs is divided among its inputs in proportion. Change and
 * the fee are left out. Pure; the sums are exact.
 */
import { AssayError } from '../../base/errors.ts';
import { chainOf } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { type ChangeOutput, recogniseChange } from '../cluster/change.ts';
import { type CoinJoin, detectCoinJoin } from '../cluster/coinjoin.ts';
import { UTXO_LIMITS } from './limits.ts';

/** A wrong guess at change hides a payment. No single heuristic reaches this confidence; two that agree do. */
export const CHANGE_CONFIDENCE_MIN = 0.85;

export interface Projection {
  readonly transfers: readonly Transfer[];
  /** Outputs that came back to an address that paid. */
  readonly returned: readonly number[];
  /** The output that the heuristics identify as change. It is not a transfer. */
  readonly change: ChangeOutput | null;
  /** Set if the transaction mixes payers: it has no change, and each sender's share of a payment is only a proportion. */
  readonly coinJoin: CoinJoin | null;
  /** True if there are too many pairs of sender and receiver. Each transfer then names one side only. */
  readonly isUnpaired: boolean;
}

/** Divides an amount in proportion to weights. Units lost by rounding down go to the greatest remainders; equal remainders in order. */
export function apportion(amount: bigint, weights: readonly bigint[]): bigint[] {
  let total = 0n;
  for (const weight of weights) total += weight;
  if (total === 0n) return weights.map(() => 0n);
  const shares: bigint[] = [];
  const remainders: { readonly at: number; readonly rest: bigint }[] = [];
  let left = amount;
  for (const [at, weight] of weights.entries()) {
    const product = amount * weight;
    const share = product / total;
    shares.push(share);
    left -= share;
    const rest = product - share * total;
    if (rest > 0n) remainders.push({ at, rest });
  }
  if (left === 0n) return shares;
  remainders.sort((a, b) => (a.rest === b.rest ? a.at - b.at : a.rest > b.rest ? -1 : 1));
  for (const { at } of remainders) {
    if (left === 0n) break;
    shares[at] = (shares[at] as bigint) + 1n;
    left--;
  }
  return shares;
}

interface Sender {
  readonly address: string | null;
  value: bigint;
}

/** Inputs by address, in the order in which each first appears. Value that came out of a shielded pool has no address. */
function sendersOf(tx: UtxoTransaction): Sender[] {
  const senders = new Map<string | null, Sender>();
  const add = (address: string | null, value: bigint): void => {
    const sender = senders.get(address);
    if (sender) sender.value += value;
    else senders.set(address, { address, value });
  };
  for (const { txid, vout, address, value } of tx.inputs) {
    if (value === null)
      throw new AssayError(
        'INTERNAL',
        `${tx.txid} spends output ${vout} of ${txid}, whose value is not known.`,
      );
    add(address, value);
  }
  if (tx.shielded && tx.shielded.in > 0n) add(null, tx.shielded.in);
  return [...senders.values()];
}

interface Payment {
  /** `out:3` or `shielded`. */
  readonly name: string;
  readonly to: string | null;
  readonly value: bigint;
}

/** Returns everything that leaves except change and the fee. Throws INVALID_FILE if the transaction pays more than it takes. */
function paymentsOf(tx: UtxoTransaction, taken: bigint, isKept: (n: number) => boolean): Payment[] {
  const shieldedOut = tx.shielded?.out ?? 0n;
  let fee = taken - shieldedOut;
  const payments: Payment[] = [];
  for (const { n, address, value } of tx.outputs) {
    fee -= value;
    if (!isKept(n)) payments.push({ name: `out:${n}`, to: address, value });
  }
  payments.push({ name: 'shielded', to: null, value: shieldedOut });
  if (tx.isCoinbase) return payments;
  if (fee < 0n)
    throw new AssayError('INVALID_FILE', `Transaction ${tx.txid} pays ${-fee} satoshi more than it takes.`);
  return payments;
}

const NO_CHANGE = { returned: [], change: null, coinJoin: null, isUnpaired: false } as const;

/**
 * Divides a transaction with known inputs into transfers. Each input address pays each output, except change, in proportion to
 * what the address put in (greatest remainders, so that the parts add up to the output exactly). An output to an address of the inputs is
 * always change, except in a CoinJoin. Another output is change only if the heuristics are confident enough.
 *
 * The fee is not a transfer, as on all other chains: the sender does not choose who gets it, and it would lower the shares of the
 * receivers. Positions are `out:<n>` and `shielded`, followed by `:<sender>` if several addresses pay. A coinbase has no sender.
 *
 * @throws INVALID_FILE if the outputs exceed the inputs
 */
export function projectTransaction(tx: UtxoTransaction): Projection {
  const { symbol, decimals } = chainOf(tx.chain);
  const transfer = (position: string, from: string | null, to: string | null, amount: bigint): Transfer => ({
    chain: tx.chain,
    txHash: tx.txid,
    position,
    blockNumber: tx.blockNumber,
    timestampMs: tx.timestampMs,
    from,
    to,
    asset: symbol,
    amount,
    decimals,
    valueUsd: null,
  });
  const transfers: Transfer[] = [];
  const add = (position: string, from: string | null, to: string | null, amount: bigint): void => {
    if (amount > 0n && (from !== null || to !== null)) transfers.push(transfer(position, from, to, amount));
  };

  if (tx.isCoinbase) {
    for (const { name, to, value } of paymentsOf(tx, 0n, () => false)) add(name, null, to, value);
    return { transfers, ...NO_CHANGE };
  }

  const senders = sendersOf(tx);
  const taken = senders.reduce((sum, { value }) => sum + value, 0n);
  const coinJoin = detectCoinJoin(tx);
  const payers = new Set(senders.map(({ address }) => address));
  const returned = coinJoin
    ? []
    : tx.outputs.filter(({ address }) => address !== null && payers.has(address)).map(({ n }) => n);
  const guess = coinJoin || returned.length > 0 ? null : recogniseChange(tx);
  const change = guess && guess.confidence >= CHANGE_CONFIDENCE_MIN ? guess : null;
  const payments = paymentsOf(tx, taken, (n) => n === change?.n || returned.includes(n));

  const isUnpaired = senders.length * payments.length > UTXO_LIMITS.utxoPairsMax;
  if (isUnpaired) {
    const paid = payments.reduce((sum, { value }) => sum + value, 0n);
    const parts = apportion(
      paid,
      senders.map(({ value }) => value),
    );
    for (const [k, { address }] of senders.entries()) add(`in:${k}`, address, null, parts[k] as bigint);
    for (const { name, to, value } of payments) add(name, null, to, value);
    return { transfers, returned, change, coinJoin, isUnpaired };
  }

  const weights = senders.map(({ value }) => value);
  for (const { name, to, value } of payments) {
    const parts = apportion(value, weights);
    for (const [k, { address }] of senders.entries())
      add(senders.length === 1 ? name : `${name}:${k}`, address, to, parts[k] as bigint);
  }
  return { transfers, returned, change, coinJoin, isUnpaired };
}

/** Returns the transfers of the transactions with all inputs known. The others have no transfers yet. */
export function knownTransfers(transactions: readonly UtxoTransaction[]): Transfer[] {
  const isKnown = ({ inputs }: UtxoTransaction): boolean => inputs.every(({ value }) => value !== null);
  return transactions
    .filter(isKnown)
    .flatMap((transaction) => [...projectTransaction(transaction).transfers]);
}
