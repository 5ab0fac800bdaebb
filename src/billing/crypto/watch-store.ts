/** State that the payment watcher keeps between starts: the addresses of invoices, and the last blocks of each followed chain. */
import type { BlockRef } from '../../chains/families/port.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import type { ChainId } from '../../chains/registry.ts';
import {
  type Fence,
  type LiveDatabase,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../../state/live-store.ts';
import type { Watched } from './watch-table.ts';

export const FORMAT_VERSION = 1;

type WatchedRecord = Omit<Watched, 'target'>;

export class WatchStore {
  readonly #live: LiveStore;
  readonly #watched: LiveDatabase<WatchedRecord, string>;
  readonly #blocks: LiveDatabase<string, [chain: string, height: number]>;
  #listener: ((targets: readonly string[]) => void) | null = null;

  /** @throws STORE_VERSION, STORE_CORRUPT */
  constructor(path: string, openStore: OpenStore = openLiveStore) {
    this.#live = openStore(path, FORMAT_VERSION, { name: 'payment-watch' });
    this.#watched = this.#live.root.openDB({ name: 'watched', encoding: 'json' });
    this.#blocks = this.#live.root.openDB({ name: 'blocks', encoding: 'string' });
    this.#live.onApplied((writes) => {
      const targets = writes.filter(({ database }) => database === 'watched').map(({ key }) => String(key));
      if (targets.length > 0) this.#listener?.(targets);
    });
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  /** Calls the listener with the addresses that another node has added or removed. */
  onChange(listener: (targets: readonly string[]) => void): void {
    this.#listener = listener;
  }

  /**
   * Watches an address from the block after `head` on. It is durable when it resolves: an address is given to a customer only then.
   *
   * @param head - the newest block, at which a chain without watched addresses begins
   */
  async add({ target, ...record }: Watched, head: BlockRef): Promise<void> {
    await this.#live.root.childTransaction(() => {
      this.#watched.putSync(target, record);
      const { chain } = record;
      if (this.#refs(chain, 1).length === 0) this.#blocks.putSync([chain, head.height], head.hash);
    });
  }

  async remove(targets: readonly string[]): Promise<void> {
    await this.#live.root.childTransaction(() => {
      for (const target of targets) this.#watched.removeSync(target);
    });
  }

  /** Returns what is known of an address; null if it is not watched. */
  get(target: string): Watched | null {
    this.#live.root.resetReadTxn();
    const record = this.#watched.get(target);
    return record === undefined ? null : { target, ...record };
  }

  *all(): Generator<Watched> {
    this.#live.root.resetReadTxn();
    for (const { key, value } of this.#watched.getRange()) yield { target: key, ...value };
  }

  #refs(chain: ChainId, limit: number): BlockRef[] {
    const range = this.#blocks.getRange({
      start: [chain, Number.MAX_SAFE_INTEGER],
      end: [chain, -1],
      reverse: true,
      limit,
    });
    return [...range].map(({ key, value }) => ({ height: key[1], hash: value }));
  }

  /** Returns the last processed blocks, oldest first. */
  blocks(chain: ChainId): readonly BlockRef[] {
    this.#live.root.resetReadTxn();
    return this.#refs(chain, CHAIN_LIMITS.reorgBlocksMax).reverse();
  }

  /** Returns the hash of the processed block at a height; null if it is not one of the last ones. */
  hashAt(chain: ChainId, height: number): string | null {
    this.#live.root.resetReadTxn();
    return this.#blocks.get([chain, height]) ?? null;
  }

  /** Stores that blocks are processed. */
  async advance(chain: ChainId, blocks: readonly BlockRef[], fence: Fence | null): Promise<void> {
    await this.#live.root.childTransaction(() => {
      for (const { height, hash } of blocks) {
        this.#blocks.putSync([chain, height], hash);
        this.#blocks.removeSync([chain, height - CHAIN_LIMITS.reorgBlocksMax]);
      }
    }, fence);
  }

  /** Removes blocks above a height, which the chain has reverted. */
  async revert(chain: ChainId, height: number, fence: Fence | null): Promise<void> {
    await this.#live.root.childTransaction(() => {
      const above = [
        ...this.#blocks.getKeys({ start: [chain, height + 1], end: [chain, Number.MAX_SAFE_INTEGER] }),
      ];
      for (const key of above) this.#blocks.removeSync(key);
    }, fence);
  }

  /** Forgets the position of a chain without watched addresses: the next address begins at the head. */
  async forget(chain: ChainId, fence: Fence | null): Promise<void> {
    await this.#live.root.childTransaction(() => {
      for (const { chain: watched } of [...this.#watched.getRange()].map(({ value }) => value))
        if (watched === chain) return;
      const all = [...this.#blocks.getKeys({ start: [chain, -1], end: [chain, Number.MAX_SAFE_INTEGER] })];
      for (const key of all) this.#blocks.removeSync(key);
    }, fence);
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }
}
