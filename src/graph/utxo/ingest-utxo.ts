/** Writes blocks of a UTXO chain to both stores: first the outputs with their spends, then the transfers derived from them. */
import { AssayError } from '../../base/errors.ts';
import type { Block } from '../../chains/block.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import type { UtxoBlock, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import type { TransferStore } from '../store.ts';
import { UTXO_LIMITS } from './limits.ts';
import type { OutputsStore } from './outputs-store.ts';
import { projectTransaction } from './project.ts';

/** Adds to each transfer its value at the time of the transfer (chains/prices). */
export type PriceTransfers = (transfers: Iterable<Transfer>) => Iterable<Transfer> | AsyncIterable<Transfer>;

export interface UtxoIngestDeps {
  readonly outputs: Pick<OutputsStore, 'put' | 'flushed'>;
  readonly transfers: Pick<TransferStore, 'ingest'>;
  /** If it is absent, the value of every transfer is unknown. */
  readonly price?: PriceTransfers;
}

export interface LiveUtxoDeps extends UtxoIngestDeps {
  readonly outputs: Pick<OutputsStore, 'put' | 'putLive' | 'newestLive' | 'revert' | 'flushed'>;
  readonly transfers: Pick<TransferStore, 'ingest' | 'appendBlock' | 'revertBlock' | 'blocks'>;
}

export interface UtxoIngestCounts {
  readonly blocks: number;
  /** Transactions that were new. */
  readonly transactions: number;
  /** Transactions that were already stored. */
  readonly known: number;
  /** Transactions that have an input with an unknown value. They are stored, and get transfers when that value becomes known. */
  readonly unresolved: number;
  /** Transfers that were new. */
  readonly stored: number;
  /** Transfers that were already stored. */
  readonly duplicates: number;
}

function* transfersOf(transactions: readonly UtxoTransaction[]): Generator<Transfer> {
  for (const transaction of transactions) yield* projectTransaction(transaction).transfers;
}

const pricedTransfers = (
  transactions: readonly UtxoTransaction[],
  { price }: UtxoIngestDeps,
): Iterable<Transfer> | AsyncIterable<Transfer> => {
  const transfers = transfersOf(transactions);
  return price ? price(transfers) : transfers;
};

/**
 * Stores blocks in batches. A crash between the two stores loses nothing: if the blocks are read again, their transfers are derived again,
 * and those already stored count once.
 *
 * @throws the errors of OutputsStore.put and TransferStore.ingest
 */
export async function ingestUtxoBlocks(
  chain: ChainId,
  blocks: AsyncIterable<UtxoBlock> | Iterable<UtxoBlock>,
  deps: UtxoIngestDeps,
): Promise<UtxoIngestCounts> {
  const counts = { blocks: 0, transactions: 0, known: 0, unresolved: 0, stored: 0, duplicates: 0 };
  let batch: UtxoBlock[] = [];
  let outputs = 0;

  const write = async (): Promise<void> => {
    const put = deps.outputs.put(chain, batch);
    // The transfers on disk must not be ahead of the outputs they are derived from.
    await deps.outputs.flushed();
    const { stored, duplicates } = await deps.transfers.ingest(pricedTransfers(put.resolved, deps));
    counts.blocks += batch.length;
    counts.transactions += put.stored;
    counts.known += put.duplicates;
    counts.unresolved += put.unresolved;
    counts.stored += stored;
    counts.duplicates += duplicates;
    batch = [];
    outputs = 0;
  };

  for await (const block of blocks) {
    batch.push(block);
    for (const transaction of block.transactions)
      outputs += transaction.outputs.length + transaction.inputs.length;
    if (outputs >= UTXO_LIMITS.utxoBatchOutputs) await write();
  }
  if (batch.length > 0) await write();
  return counts;
}

/** Reverts a block that a crash left in the outputs store without its transfers. Otherwise nothing would revert it in a reorg. */
function dropCutOff(chain: ChainId, { outputs, transfers }: LiveUtxoDeps): void {
  const last = outputs.newestLive(chain);
  if (last === null || transfers.blocks(chain).some(({ height }) => height === last.height)) return;
  outputs.revert(chain, last.height);
}

/**
 * Stores a live block as an adapter delivers it. Looks up inputs if the block does not give their value. After an interruption, delivering the
 * block again completes the work.
 *
 * @throws the errors of OutputsStore.put and TransferStore.appendBlock
 */
export async function ingestUtxoBlock(block: Block, deps: LiveUtxoDeps): Promise<UtxoIngestCounts> {
  const { chain, height, hash, parentHash, timestampMs, transactions = [] } = block;
  if (deps.outputs.newestLive(chain)?.hash !== hash) dropCutOff(chain, deps);
  const put = deps.outputs.putLive(chain, { height, hash, parentHash, timestampMs, transactions });
  await deps.outputs.flushed();
  const own = put.resolved.filter(({ blockNumber }) => blockNumber === height);
  const earlier = put.resolved.filter(({ blockNumber }) => blockNumber !== height);
  const transfers: Transfer[] = [];
  for await (const transfer of pricedTransfers(own, deps)) transfers.push(transfer);
  const appended = await deps.transfers.appendBlock({ ...block, transfers });
  // Transactions of earlier blocks that waited for an output of this block. They are not part of it, and stay if it is reverted.
  const waited = await deps.transfers.ingest(pricedTransfers(earlier, deps));
  return {
    blocks: 1,
    transactions: put.stored,
    known: put.duplicates,
    unresolved: put.unresolved,
    stored: appended.stored + waited.stored,
    duplicates: appended.duplicates + waited.duplicates,
  };
}

/**
 * Reverts the newest live block in both stores. Completes a revert that was interrupted.
 *
 * @returns the number of transfers removed
 * @throws NOT_FOUND if the block did not arrive live or is too old
 * @throws INVALID_REQUEST if newer blocks build on it
 */
export async function revertUtxoBlock(chain: ChainId, height: number, deps: LiveUtxoDeps): Promise<number> {
  if (!deps.transfers.blocks(chain).some((block) => block.height === height))
    throw new AssayError('NOT_FOUND', `Block ${height} of ${chain} cannot be reverted.`);
  dropCutOff(chain, deps);
  deps.outputs.revert(chain, height);
  await deps.outputs.flushed();
  return deps.transfers.revertBlock(chain, height);
}
