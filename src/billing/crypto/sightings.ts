/** Finds the payments of invoices in blocks and in unconfirmed transactions. All functions are pure. */
import type { Block } from '../../chains/block.ts';
import type { BlockRef, UnconfirmedTransaction } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { chainOf } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import type { UtxoInput, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import type { Watched, WatchTable } from './watch-table.ts';

/** Money that arrived at the address of an invoice. */
export interface Sighting {
  readonly watched: Watched;
  readonly chain: ChainId;
  readonly txHash: string;
  /** As in a Transfer; on UTXO chains `out:` and the index of the output. */
  readonly position: string;
  readonly asset: string;
  readonly amount: bigint;
  /** All senders; null if some of them are unknown. */
  readonly payers: readonly string[] | null;
  /** Null while it is in no block. */
  readonly block: BlockRef | null;
  /** First sight in the pool of a node (UTXO chains), or the time of the block. */
  readonly seenAtMs: number;
}

const NONE: readonly Sighting[] = [];

/** Unique among all payments: the chain, the transaction, and the output or log. */
export const paymentIdOf = ({
  chain,
  txHash,
  position,
}: Pick<Sighting, 'chain' | 'txHash' | 'position'>): string => `${chain} ${txHash} ${position}`;

/** Returns the senders of a transfer: the account that sent the asset, and the one that signed the transaction. */
function sendersOf({ from, initiation }: Transfer): readonly string[] | null {
  const signer = initiation?.sender ?? null;
  if (from === null) return signer === null ? null : [signer];
  return signer === null || signer === from ? [from] : [from, signer];
}

/** Returns the owners of all inputs; null if some are unknown. A coinbase has no sender. */
export function ownersOf(inputs: readonly UtxoInput[], isCoinbase = false): readonly string[] | null {
  if (isCoinbase) return [];
  const owners = inputs.map(({ address }) => address);
  const known = owners.filter((owner) => owner !== null);
  return known.length === owners.length && known.length > 0 ? [...new Set(known)] : null;
}

/** Returns a transfer as the payment of an invoice. */
export const sightingOf = (transfer: Transfer, watched: Watched, block: BlockRef): Sighting => ({
  watched,
  chain: transfer.chain,
  txHash: transfer.txHash,
  position: transfer.position,
  asset: transfer.asset,
  amount: transfer.amount,
  payers: sendersOf(transfer),
  block,
  seenAtMs: transfer.timestampMs,
});

/** Returns the payments in a transaction of a UTXO chain. */
export function sightingsInTransaction(
  chain: ChainId,
  { txid, inputs, outputs }: Pick<UtxoTransaction, 'txid' | 'inputs' | 'outputs'>,
  table: WatchTable,
  { block, seenAtMs, isCoinbase }: Pick<Sighting, 'block' | 'seenAtMs'> & { readonly isCoinbase: boolean },
): readonly Sighting[] {
  const found: Sighting[] = [];
  for (const { address, n, value } of outputs) {
    const watched = table.find(address);
    if (watched === null || value === 0n) continue;
    found.push({
      ...{ watched, chain, txHash: txid, position: `out:${n}`, amount: value, block, seenAtMs },
      ...{ asset: chainOf(chain).symbol, payers: ownersOf(inputs, isCoinbase) },
    });
  }
  return found;
}

/**
 * Returns the payments in a block.
 *
 * @param nowMs - limits the time of a payment on UTXO chains, where a block may claim a time two hours ahead
 */
export function sightingsInBlock(block: Block, table: WatchTable, nowMs: number): readonly Sighting[] {
  const paid = table.found(block);
  // As nearly every block.
  if (paid.length === 0 && block.transactions === undefined) return NONE;
  const { chain, height, hash, timestampMs, transactions = [] } = block;
  const ref = { height, hash };
  const found: Sighting[] = [];
  for (const transfer of paid) {
    const watched = table.find(transfer.to);
    // A failed transaction and the imitation of a transfer move nothing.
    if (watched !== null && transfer.amount > 0n && transfer.from !== transfer.to)
      found.push(sightingOf(transfer, watched, ref));
  }
  const seenAtMs = Math.min(timestampMs, nowMs);
  for (const transaction of transactions) {
    const { isCoinbase } = transaction;
    found.push(...sightingsInTransaction(chain, transaction, table, { block: ref, seenAtMs, isCoinbase }));
  }
  return found;
}

/** Whether an unconfirmed transaction pays an invoice: its sources are requested only then. */
export const paysInvoice = ({ outputs }: UnconfirmedTransaction, table: WatchTable): boolean =>
  outputs.some(({ address }) => table.find(address) !== null);
