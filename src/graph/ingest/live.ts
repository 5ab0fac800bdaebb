/** Writes the blocks that an adapter delivers to the graph, and reverts them in a reorg. Each is counted exactly once. */
import { AssayError } from '../../base/errors.ts';
import type { Block } from '../../chains/block.ts';
import type { ChainEvent, FollowFrom } from '../../chains/families/port.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import type { TransferStore } from '../store.ts';
import {
  ingestUtxoBlock,
  type LiveUtxoDeps,
  type PriceTransfers,
  revertUtxoBlock,
} from '../utxo/ingest-utxo.ts';

export interface LiveIngest {
  /** Stores a block. Does nothing if it is already stored. Returns the number of new transfers. */
  append(block: Block): Promise<number>;
  /** Reverts a block. Does nothing if it is not stored or too old. */
  revert(chain: ChainId, height: number): Promise<void>;
  /**
   * Applies an event. For a reorg, it reverts all dropped blocks that can be reverted.
   *
   * @throws CHAIN_REORG_TOO_DEEP if older blocks are among them: their transfers are final in the store, and stay although the chain
   * dropped them
   */
  apply(chain: ChainId, event: ChainEvent): Promise<number>;
  /** Applies events in their order. Consecutive blocks are stored in one transaction, which costs a third less than one for each. */
  applyAll(chain: ChainId, events: readonly ChainEvent[]): Promise<void>;
  /**
   * The position from which to follow the chain: after the newest stored block. It is `fromHeight` if no block is stored or if `fromHeight`
   * is further ahead.
   */
  from(chain: ChainId, fromHeight: number | null): FollowFrom;
}

export interface LiveIngestDeps {
  readonly transfers: Pick<
    TransferStore,
    'ingest' | 'appendBlock' | 'appendBlocks' | 'revertBlock' | 'blocks' | 'finalHeight'
  >;
  /** Called when a UTXO chain delivers its first block. */
  readonly outputs: () => LiveUtxoDeps['outputs'];
  readonly price?: PriceTransfers;
}

/** Creates the writer of live blocks. Blocks of UTXO chains also go to the outputs store. */
export function createLiveIngest(deps: LiveIngestDeps): LiveIngest {
  const { transfers, price } = deps;
  const utxo = (): LiveUtxoDeps => ({
    transfers,
    outputs: deps.outputs(),
    ...(price === undefined ? {} : { price }),
  });

  async function append(block: Block): Promise<number> {
    if (block.transactions !== undefined) return (await ingestUtxoBlock(block, utxo())).stored;
    return (await transfers.appendBlock(await priced(block))).stored;
  }

  /** Returns the block with the values of its transfers. */
  async function priced(block: Block): Promise<Block> {
    if (price === undefined) return block;
    const worth: Transfer[] = [];
    for await (const transfer of price(block.transfers)) worth.push(transfer);
    return { ...block, transfers: worth };
  }

  const isStored = (chain: ChainId, height: number): boolean =>
    transfers.blocks(chain).some((block) => block.height === height);

  async function revert(chain: ChainId, height: number): Promise<void> {
    if (!isStored(chain, height)) return;
    if (chainOf(chain).family === 'utxo') await revertUtxoBlock(chain, height, utxo());
    else await transfers.revertBlock(chain, height);
  }

  async function applyAll(chain: ChainId, events: readonly ChainEvent[]): Promise<void> {
    for (let at = 0; at < events.length; ) {
      const blocks: Block[] = [];
      for (; at < events.length; at++) {
        const event = events[at] as ChainEvent;
        // Blocks with transactions are converted with the outputs of the ones before them.
        if (event.type !== 'block' || event.block.transactions !== undefined) break;
        blocks.push(await priced(event.block));
      }
      if (blocks.length > 0) await transfers.appendBlocks(blocks);
      else await apply(chain, events[at++] as ChainEvent);
    }
  }

  async function apply(chain: ChainId, event: ChainEvent): Promise<number> {
    if (event.type === 'block') return append(event.block);
    const finalHeight = transfers.finalHeight(chain);
    for (const { height } of event.dropped) await revert(chain, height);
    const stay = event.dropped.map(({ height }) => height).filter((height) => height <= finalHeight);
    if (stay.length === 0) return 0;
    throw new AssayError(
      'CHAIN_REORG_TOO_DEEP',
      `${chain} left ${event.dropped.length} blocks, of which ${Math.min(...stay)} to ${Math.max(...stay)} are final in the ` +
        'transfer store and cannot be reverted: move its file away and ingest the chain again.',
    );
  }

  return {
    append,
    revert,
    apply,
    applyAll,
    from(chain, fromHeight) {
      // Only consecutive blocks can be used to find a common ancestor.
      const known: { readonly height: number; readonly hash: string }[] = [];
      for (const { height, hash } of transfers.blocks(chain)) {
        const above = known[0];
        if (above !== undefined && above.height !== height + 1) break;
        known.unshift({ height, hash });
      }
      const newest = known.at(-1);
      if (newest === undefined || (fromHeight !== null && fromHeight > newest.height + 1))
        return { fromHeight, known: [] };
      return { fromHeight: newest.height + 1, known };
    },
  };
}
