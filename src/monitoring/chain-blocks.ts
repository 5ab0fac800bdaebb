/**
 * The blocks of each watched chain that were processed, as far back as a reorg may revert them. Methods that write are called inside a
 * transaction of the store.
 */
import { AssayError } from '../base/errors.ts';
import { CHAIN_LIMITS } from '../chains/limits.ts';
import type { LiveDatabase } from '../state/live-store.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoredTransaction, MonitoringChain } from './records.ts';
import type { BlockRef } from './store.ts';
import type { MonitoringTables } from './tables.ts';

/** Sorts after every address in a key: addresses are ASCII. */
const PAST_ADDRESSES = '~';

type BlockKey = [chain: string, height: number, walletId: string, number: number];

const firstHeightKey = (chain: MonitoringChain): string => `firstHeight ${chain}`;

export class ChainBlocks {
  readonly #tables: MonitoringTables;
  readonly #meta: LiveDatabase<number, string>;

  constructor(tables: MonitoringTables, meta: LiveDatabase<number, string>) {
    this.#tables = tables;
    this.#meta = meta;
  }

  /** Whether a wallet of the chain is watched. */
  isWatched(chain: MonitoringChain): boolean {
    const { watched } = this.#tables;
    return (
      [...watched.getKeys({ start: [chain, '', ''], end: [chain, PAST_ADDRESSES, ''], limit: 1 })].length > 0
    );
  }

  /** Returns the processed blocks of a chain that a reorg may still revert, the lowest first. */
  processed(chain: MonitoringChain): BlockRef[] {
    const range = {
      start: [chain, -1] as [string, number],
      end: [chain, Number.MAX_SAFE_INTEGER] as [string, number],
    };
    return [...this.#tables.blocks.getRange(range)].map(({ key, value }) => ({
      height: key[1],
      hash: value,
    }));
  }

  /** Returns the height at which a chain without processed blocks begins; null for its head. */
  firstHeight(chain: MonitoringChain): number | null {
    return this.#meta.get(firstHeightKey(chain)) ?? null;
  }

  /**
   * Begins a chain after `head`, before its first wallet is watched: earlier checkpoints are not valid for it. A chain that is watched
   * already continues.
   *
   * @param hash - of the block at `head`, to notice if the chain reverts it; null if it is not known
   */
  begin(chain: MonitoringChain, head: number | null, hash: string | null = null): void {
    if (this.isWatched(chain)) return;
    for (const { height } of this.processed(chain)) this.#tables.blocks.removeSync([chain, height]);
    if (head === null) this.#meta.removeSync(firstHeightKey(chain));
    else {
      this.#meta.putSync(firstHeightKey(chain), head + 1);
      if (hash !== null) this.#tables.blocks.putSync([chain, head], hash);
    }
  }

  /** Adds blocks before the first processed one, which tell where a reorg of that one began. */
  addEarlier(chain: MonitoringChain, earlier: readonly BlockRef[]): void {
    const first = this.processed(chain)[0];
    for (const { height, hash } of earlier)
      if (first !== undefined && height < first.height) this.#tables.blocks.putSync([chain, height], hash);
  }

  /** Returns the number of reverts of a chain since it was first watched. */
  revertCount(chain: MonitoringChain): number {
    return this.#tables.reverts.get(chain)?.count ?? 0;
  }

  #noteRevert(chain: MonitoringChain, height: number): void {
    const { count, last } = this.#tables.reverts.get(chain) ?? { count: 0, last: [] };
    const shallower = last.filter((earlier) => earlier.height < height);
    const number = count + 1;
    this.#tables.reverts.putSync(chain, {
      count: number,
      last: [...shallower, { number, height }].slice(-MONITORING_LIMITS.revertsKept),
    });
  }

  /**
   * Returns the processed blocks before a new one; null if it was already processed, by this process before a restart or by another one.
   *
   * @throws NOT_READY if another block was processed at this height
   */
  before(chain: MonitoringChain, block: BlockRef): readonly BlockRef[] | null {
    const stored = this.processed(chain);
    const last = stored.at(-1);
    if (last === undefined || block.height > last.height) return stored;
    const same = stored.find(({ height }) => height === block.height);
    // Another node has processed another block at this height: the chain was reorganised in between, and the caller must revert first.
    if (same !== undefined && same.hash !== block.hash)
      throw new AssayError(
        'NOT_READY',
        `Block ${block.height} of ${chain} was already processed with a different hash.`,
      );
    return null;
  }

  /**
   * Adds a processed block, and removes what no reorg can revert any more.
   *
   * @param earlier - result of `before`
   */
  add(chain: MonitoringChain, block: BlockRef, earlier: readonly BlockRef[]): void {
    const { blocks, transactionsOfBlock } = this.#tables;
    blocks.putSync([chain, block.height], block.hash);
    for (const { height } of earlier)
      if (height <= block.height - CHAIN_LIMITS.reorgBlocksMax) blocks.removeSync([chain, height]);
    const settled = {
      start: [chain, 0, '', 0] as BlockKey,
      end: [chain, block.height - CHAIN_LIMITS.reorgBlocksMax + 1, '', 0] as BlockKey,
    };
    for (const key of [...transactionsOfBlock.getKeys(settled)]) transactionsOfBlock.removeSync(key);
  }

  /** Removes the blocks above a height, and yields the stored transactions of them, each once it is no longer one of its block. */
  *revertAbove(chain: MonitoringChain, height: number): Generator<MonitoredTransaction, void, undefined> {
    const { blocks, transactionsOfBlock, transactions } = this.#tables;
    const above = {
      start: [chain, height + 1] as [string, number],
      end: [chain, Number.MAX_SAFE_INTEGER] as [string, number],
    };
    const reverted = [...blocks.getKeys(above)];
    for (const key of reverted) blocks.removeSync(key);
    const lowest = reverted[0]?.[1];
    if (lowest !== undefined) this.#noteRevert(chain, Math.max(height, lowest - 1));
    if (lowest !== undefined && this.processed(chain).length === 0)
      this.#meta.putSync(firstHeightKey(chain), lowest);
    const start: BlockKey = [chain, height + 1, '', 0];
    const end: BlockKey = [chain, Number.MAX_SAFE_INTEGER, '', 0];
    for (const { key } of [...transactionsOfBlock.getRange({ start, end })]) {
      const transaction = transactions.get([key[2], key[3]]);
      transactionsOfBlock.removeSync(key);
      if (transaction !== undefined) yield transaction;
    }
  }
}
