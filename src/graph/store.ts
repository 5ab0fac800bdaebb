/**
 * The store of transfers: one LMDB environment per chain. Each batch is written completely or not at all, and each (transaction, position)
 * counts once. docs/decisions/transfer-store.md describes the layout.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { Block } from '../chains/block.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import type { AssetUse } from './asset-uses.ts';
import { checkTransfer } from './check-transfer.ts';
import { GRAPH_LIMITS } from './limits.ts';
import { AccountScan } from './store/account-scan.ts';
import { Batch, revertTransfers } from './store/batch.ts';
import { BulkLoad, type LoadSource } from './store/bulk-load.ts';
import { recordsOf } from './store/chain-records.ts';
import {
  type ChainStore,
  isLoading,
  joinCoverage,
  openChainStore,
  readState,
  reservedFrom,
  type State,
  writeState,
} from './store/chain-store.ts';
import { findTransaction } from './store/find-transaction.ts';
import { type FreshLimits, FreshTransactions } from './store/fresh-transactions.ts';
import { IdCache } from './store/id-cache.ts';
import { KeyCache } from './store/key-cache.ts';
import { hasTransfer, type LoggedTransfer, loggedTransfers, transferAt } from './store/log.ts';
import { type LogColumns, scanLog } from './store/log-scan.ts';
import { type ChainReader, createChainReader, transferOf } from './store/reader.ts';
import type { RecentTransfer, TransactionTransfers, TransferReader } from './transfers.ts';

export interface IngestCounts {
  /** Transfers that were new. */
  readonly stored: number;
  /** Transfers that were already stored. */
  readonly duplicates: number;
}

export interface TransferStore extends TransferReader {
  /**
   * Stores transfers in batches. Each batch is stored completely or not at all, even after a crash, and is on disk when this resolves.
   *
   * @throws INVALID_ADDRESS or INVALID_REQUEST if a record breaks the contract of Transfer; earlier batches stay stored
   */
  ingest(transfers: AsyncIterable<Transfer> | Iterable<Transfer>): Promise<IngestCounts>;
  /**
   * Stores the transfers of a new block, completely or not at all. They are on disk when this resolves. If the block is already stored
   * (same height and hash), nothing changes. The newest `reorgBlocksKept` blocks can be reverted, and older ones are final. A block's
   * `transactions` are not read: the caller converts them into transfers.
   *
   * @throws INVALID_REQUEST if another block is stored at its height, or its parent is not the stored block below: revert that first
   */
  appendBlock(block: Block): Promise<IngestCounts>;
  /**
   * Does the same for consecutive blocks of one chain, in one transaction: they share the pages that they change and one write to disk.
   * If a block is refused, the ones before it are stored.
   *
   * @returns the counts of all blocks
   * @throws as `appendBlock`
   */
  appendBlocks(blocks: readonly Block[]): Promise<IngestCounts>;
  /**
   * Reverts the block at a height exactly: afterwards everything is as if it had never arrived.
   *
   * @returns the number of transfers removed
   * @throws NOT_FOUND if no block at that height can be reverted
   */
  revertBlock(chain: ChainId, height: number): Promise<number>;
  /** The highest block that can no longer be reverted, whether it is stored or not. -1 if all can be. */
  finalHeight(chain: ChainId): number;
  /**
   * Counts the transfers of each asset of a chain, most unpriced first. Reads every stored transfer: about a second per million.
   *
   * @param signal ends the count between two chunks of the log
   */
  assetUses(chain: ChainId, signal?: AbortSignal): readonly AssetUse[];
  /** The current position of a chain's log. Null if no transfer of the chain was ever stored here. */
  logPosition(chain: ChainId): LogPosition | null;
  /** The transfers with the numbers from `first` to `end - 1`, without reverted ones. */
  loggedParties(chain: ChainId, first: number, end: number): Iterable<LoggedParties>;
  /** The same in columns, in batches that share one buffer: for rules that read the whole log. */
  logColumns(chain: ChainId, first: number, end: number): Iterable<LogColumns>;
  /** Returns the number of an asset in the log; null if no transfer of it is stored. */
  assetNumber(chain: ChainId, asset: string): number | null;
  /** Returns the transfer with a number in the log. Null if it was reverted, or if no transfer has the number. */
  loggedAt(chain: ChainId, ordinal: number): LoggedTransfer | null;
  /** Returns whether a transfer has a number in the log: false if it was reverted. */
  isLogged(chain: ChainId, ordinal: number): boolean;
  /** Reads accounts for rules that judge many of them. Null if no transfer of the chain was ever stored here. */
  accounts(chain: ChainId): AccountScan | null;
  /** Returns the text of the hash of a logged transfer, as responses show it. */
  shownTransfer(chain: ChainId, logged: LoggedTransfer): RecentTransfer | null;
  /**
   * The keys of all addresses of a chain that were ever a party of a stored transfer, in no particular order. A key is valid until the
   * next one.
   */
  addresses(chain: ChainId): Iterable<Uint8Array>;
  /** Blocks that can still be reverted, with the numbers of their transfers. */
  pendingBlocks(chain: ChainId): readonly PendingBlock[];
  /** Starts a bulk load of a file, or resumes an interrupted one. */
  bulkLoad(chain: ChainId, source: LoadSource, runTransfers?: number): BulkLoad;
}

/** The position of a log. */
export interface LogPosition {
  /** Identifies the store: a new store, or one restored from elsewhere, has another name. */
  readonly store: string;
  /** Number of the next transfer. */
  readonly ordinal: number;
  /** Number of stored transfers. Reverting a block lowers it, but no number is assigned again. */
  readonly transfers: number;
}

/** A transfer in the log: dense ids, 0 for no address, and the number of the asset in the graph. */
export interface LoggedParties {
  readonly from: number;
  readonly to: number;
  readonly asset: number;
  /** Smallest units, as the nearest double. */
  readonly amount: number;
}

export interface PendingBlock {
  readonly height: number;
  readonly hash: string;
  readonly firstOrdinal: number;
  readonly count: number;
}

export interface TransferStoreOptions {
  /** Folder with one file per chain. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Limits for writing fresh transactions to the database. Smaller in tests. */
  readonly fresh?: FreshLimits;
  /** The most halves of recent transfers that wait for their move to the deltas. Smaller in tests. */
  readonly recentMax?: number;
}

interface OpenChain {
  /** Name of the store. It does not reveal the store's secret. */
  readonly name: string;
  readonly store: ChainStore;
  readonly reader: ChainReader;
  readonly cache: IdCache;
  readonly fresh: FreshTransactions;
}

async function* inBatches(
  transfers: AsyncIterable<Transfer> | Iterable<Transfer>,
): AsyncGenerator<{ chain: ChainId; batch: Transfer[] }> {
  let batch: Transfer[] = [];
  for await (const transfer of transfers) {
    checkTransfer(transfer);
    const first = batch[0];
    if (first && (first.chain !== transfer.chain || batch.length >= GRAPH_LIMITS.ingestBatchTransfers)) {
      yield { chain: first.chain, batch };
      batch = [];
    }
    batch.push(transfer);
  }
  const first = batch[0];
  if (first) yield { chain: first.chain, batch };
}

/** Writes transfers that cannot be reverted. */
function writeBatch({ store, cache, fresh }: OpenChain, transfers: readonly Transfer[]): IngestCounts {
  const batch = new Batch(store, cache, fresh, null);
  batch.addAll(transfers);
  const state = batch.write();
  if (batch.stored > 0) writeState(store, { ...state, settled: joinCoverage(state.settled, batch.coverage) });
  return { stored: batch.stored, duplicates: batch.duplicates };
}

/** Makes blocks final that are too old to be reverted. */
function settle(store: ChainStore, state: State, head: number): State {
  const settledHeight = Math.max(state.settledHeight, head - GRAPH_LIMITS.reorgBlocksKept);
  let { settled } = state;
  for (const { key, value } of [...store.blocks.getRange({ end: settledHeight + 1 })]) {
    settled = joinCoverage(settled, value.coverage);
    store.blocks.removeSync(key);
  }
  return { ...state, settled, settledHeight };
}

/** Returns true if the block is already stored. Throws if it does not build on the stored blocks. */
function isKnown({ blocks }: ChainStore, block: Block): boolean {
  const { chain, height, hash, parentHash } = block;
  const stored = blocks.get(height);
  if (stored?.hash === hash) return true;
  if (stored)
    throw new AssayError(
      'INVALID_REQUEST',
      `hash: block ${height} of ${chain} is stored as ${stored.hash}, not ${hash}. Revert that block first.`,
      { field: 'hash' },
    );
  const below = height > 0 ? blocks.get(height - 1) : undefined;
  if (below && parentHash !== null && below.hash !== parentHash)
    throw new AssayError(
      'INVALID_REQUEST',
      `parentHash: block ${height - 1} of ${chain} is stored as ${below.hash}, not ${parentHash}. Revert that block first.`,
      { field: 'parentHash' },
    );
  return false;
}

/** Number of transfers between two checks of the signal in a count. */
const COUNT_STEP = 65_536;

function countAssets(store: ChainStore, signal?: AbortSignal): AssetUse[] {
  const uses = new Map<number, { transfers: number; unpriced: number; newestMs: number }>();
  const end = readState(store).nextOrdinal;
  for (let first = 0; first < end; first += COUNT_STEP) {
    signal?.throwIfAborted();
    for (const transfer of loggedTransfers(store, first, Math.min(end, first + COUNT_STEP))) {
      const { asset, amount, cents, timestampMs } = transfer;
      let use = uses.get(asset);
      if (use === undefined) {
        use = { transfers: 0, unpriced: 0, newestMs: 0 };
        uses.set(asset, use);
      }
      use.transfers++;
      if (cents === null && amount > 0n) use.unpriced++;
      use.newestMs = Math.max(use.newestMs, timestampMs);
    }
  }
  return [...uses]
    .map(([id, { transfers, unpriced, newestMs }]) => {
      const { asset, decimals } = store.assets.get(id) ?? { asset: `#${id}`, decimals: null };
      return { asset, decimals, transfers, unpricedTransfers: unpriced, newestMs };
    })
    .sort((a, b) => b.unpricedTransfers - a.unpricedTransfers || b.transfers - a.transfers);
}

/** Moves all fresh transactions to the database, in which a bulk load looks for them. */
function drain({ fresh }: OpenChain): void {
  fresh.begin();
  while (!fresh.drain(Number.POSITIVE_INFINITY));
}

function writeBlock({ store, cache, fresh }: OpenChain, block: Block): IngestCounts {
  if (isKnown(store, block)) return { stored: 0, duplicates: block.transfers.length };
  const { height, hash, parentHash, timestampMs, transfers } = block;
  const isFinal = height <= readState(store).settledHeight;
  const batch = new Batch(store, cache, fresh, isFinal ? null : height);
  batch.addAll(transfers);
  const { firstOrdinal, stored, duplicates } = batch;
  const coverage = joinCoverage(batch.coverage, {
    firstBlock: height,
    lastBlock: height,
    newestMs: timestampMs,
  });
  const state = batch.write();
  if (isFinal) writeState(store, { ...state, settled: joinCoverage(state.settled, coverage) });
  else {
    store.blocks.putSync(height, { hash, parentHash, timestampMs, firstOrdinal, count: stored, coverage });
    writeState(store, settle(store, state, height));
  }
  return { stored, duplicates };
}

const sumOf = (counts: readonly IngestCounts[]): IngestCounts => ({
  stored: counts.reduce((sum, { stored }) => sum + stored, 0),
  duplicates: counts.reduce((sum, { duplicates }) => sum + duplicates, 0),
});

function checkBlock(block: Block): void {
  const { chain, height, hash, timestampMs, transfers } = block;
  const invalid = (field: string, expected: string): AssayError =>
    new AssayError('INVALID_REQUEST', `block.${field} must be ${expected}.`, { field });
  if (!Number.isSafeInteger(height) || height < 0 || height > 0xffff_fffe)
    throw invalid('height', 'a whole number from 0 to 2^32 - 2');
  if (hash === '' || Buffer.byteLength(hash) > GRAPH_LIMITS.txHashTextMax)
    throw invalid('hash', `1 to ${GRAPH_LIMITS.txHashTextMax} bytes of text`);
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0)
    throw invalid('timestampMs', 'whole milliseconds since the epoch, 0 or more');
  for (const transfer of transfers) {
    checkTransfer(transfer);
    if (transfer.chain !== chain || transfer.blockNumber !== height)
      throw invalid('transfers', `of block ${height} of ${chain}`);
  }
}

/** Returns the transfers of a transaction with the text of their parties. */
function readTransaction(
  store: ChainStore,
  txHashes: readonly string[],
  limit: number,
): TransactionTransfers {
  const { transfers, ...counts } = findTransaction(store, txHashes, limit);
  const records = recordsOf(store);
  return {
    ...counts,
    transfers: transfers.map((logged) => ({
      ...transferOf(records, logged),
      from: logged.from,
      to: logged.to,
    })),
  };
}

/**
 * Opens the folder of transfer stores. The environment of a chain is opened at its first use. A read-only store of a chain that was never
 * written behaves like an empty one.
 *
 * @throws STORE_VERSION, when a chain is first used, if its store has an unknown format
 */
export function openTransferStore(options: TransferStoreOptions): TransferStore {
  const open = new Map<ChainId, OpenChain>();

  const chainOf = (chain: ChainId): OpenChain | null => {
    const known = open.get(chain);
    if (known) return known;
    const path = join(options.path, `${chain.toLowerCase()}.mdb`);
    const store = openChainStore(path, chain, options.readOnly, options.recentMax);
    // Not cached: another process may create it at any moment.
    if (store === null) return null;
    const records = recordsOf(store);
    const opened = {
      name: createHash('sha256').update('store ').update(store.salt).digest('hex').slice(0, 16),
      store,
      reader: createChainReader(records, new KeyCache(records)),
      cache: new IdCache(),
      fresh: new FreshTransactions(store, options.fresh),
    };
    open.set(chain, opened);
    return opened;
  };
  const readerOf = (chain: ChainId): ChainReader | null => chainOf(chain)?.reader ?? null;

  /** Runs a write in one transaction. If it fails, the caches are discarded: the ids they added were never committed. */
  const write = <T>(chain: ChainId, work: (opened: OpenChain) => T): T => {
    const opened = chainOf(chain);
    if (!opened || options.readOnly)
      throw new AssayError('INTERNAL', `The transfer store of ${chain} was opened for reading only.`);
    try {
      const outcome = opened.store.root.transactionSync(() => {
        const answer = work(opened);
        // A bulk load looks for transactions only in the store.
        if (isLoading(opened.store)) drain(opened);
        return answer;
      });
      opened.fresh.commit();
      opened.store.recentHalves.expire();
      return outcome;
    } catch (error) {
      opened.cache.clear();
      opened.fresh.forget();
      opened.store.recentHalves.forget();
      throw error;
    }
  };

  const flushed = async (): Promise<void> => {
    for (const { store } of open.values()) await store.root.flushed;
  };

  async function append(blocks: readonly Block[]): Promise<IngestCounts> {
    for (const block of blocks) checkBlock(block);
    const chain = blocks[0]?.chain;
    if (chain === undefined) return sumOf([]);
    if (blocks.some((block) => block.chain !== chain))
      throw new AssayError('INTERNAL', 'The blocks of one call must be of one chain.');
    const counts = write(chain, (opened) => blocks.map((block) => writeBlock(opened, block)));
    await flushed();
    return sumOf(counts);
  }

  return {
    async ingest(transfers) {
      let stored = 0;
      let duplicates = 0;
      for await (const { chain, batch } of inBatches(transfers)) {
        const counts = write(chain, (opened) => writeBatch(opened, batch));
        stored += counts.stored;
        duplicates += counts.duplicates;
      }
      await flushed();
      return { stored, duplicates };
    },

    appendBlock: (block) => append([block]),

    async appendBlocks(blocks) {
      if (blocks.length < 2) return append(blocks);
      try {
        return await append(blocks);
      } catch {
        // One by one: those before the one that is refused are stored, and its error is thrown.
        const counts: IngestCounts[] = [];
        for (const block of blocks) counts.push(await append([block]));
        return sumOf(counts);
      }
    },

    async revertBlock(chain, height) {
      const count = write(chain, ({ store, fresh }) => {
        const block = store.blocks.get(height);
        if (!block)
          throw new AssayError(
            'NOT_FOUND',
            `Block ${height} of ${chain} is not one of the newest ${GRAPH_LIMITS.reorgBlocksKept} that were appended.`,
          );
        revertTransfers(store, fresh, block.firstOrdinal, block.count);
        store.blocks.removeSync(height);
        const state = readState(store);
        writeState(store, { ...state, transfers: state.transfers - block.count });
        return block.count;
      });
      await flushed();
      return count;
    },

    finalHeight(chain) {
      const opened = chainOf(chain);
      return opened === null ? -1 : readState(opened.store).settledHeight;
    },

    assetUses(chain, signal) {
      const opened = chainOf(chain);
      return opened === null ? [] : countAssets(opened.store, signal);
    },

    logPosition(chain) {
      const opened = chainOf(chain);
      if (opened === null) return null;
      const { nextOrdinal, transfers } = readState(opened.store);
      const ordinal = Math.min(nextOrdinal, reservedFrom(opened.store));
      return { store: opened.name, ordinal, transfers };
    },

    *loggedParties(chain, first, end) {
      const opened = chainOf(chain);
      if (opened === null) return;
      for (const { from, to, asset, amount } of loggedTransfers(opened.store, first, end))
        yield { from, to, asset, amount: Number(amount) };
    },

    *logColumns(chain, first, end) {
      const opened = chainOf(chain);
      if (opened !== null) yield* scanLog(opened.store, first, end);
    },

    assetNumber: (chain, asset) => chainOf(chain)?.store.assetIds.get(asset) ?? null,

    loggedAt(chain, ordinal) {
      const opened = chainOf(chain);
      return opened === null ? null : transferAt(recordsOf(opened.store), ordinal);
    },

    isLogged(chain, ordinal) {
      const opened = chainOf(chain);
      return opened !== null && hasTransfer(recordsOf(opened.store), ordinal);
    },

    accounts(chain) {
      const opened = chainOf(chain);
      return opened === null ? null : new AccountScan(recordsOf(opened.store));
    },

    shownTransfer(chain, logged) {
      const opened = chainOf(chain);
      return opened === null ? null : transferOf(recordsOf(opened.store), logged);
    },

    *addresses(chain) {
      const opened = chainOf(chain);
      if (opened === null) return;
      for (const { value } of opened.store.keys.getRange({})) yield value;
    },

    pendingBlocks(chain) {
      const opened = chainOf(chain);
      if (opened === null) return [];
      return [...opened.store.blocks.getRange({})].map(({ key: height, value }) => {
        const { hash, firstOrdinal, count } = value;
        return { height, hash, firstOrdinal, count };
      });
    },

    bulkLoad(chain, source, runTransfers = GRAPH_LIMITS.bulkRunTransfers) {
      const opened = chainOf(chain);
      if (!opened || options.readOnly)
        throw new AssayError('INTERNAL', `The transfer store of ${chain} was opened for reading only.`);
      write(chain, drain);
      return new BulkLoad(opened.store, source, runTransfers);
    },

    counterparties: (chain, key, which) => readerOf(chain)?.counterparties(key, which) ?? [],
    counterpartyCount: (chain, key, direction) => readerOf(chain)?.counterpartyCount(key, direction) ?? 0,
    totals: (chain, key) => readerOf(chain)?.totals(key) ?? null,
    newest: (chain, from, to, limit) => readerOf(chain)?.newest(from, to, limit) ?? [],
    recent: (chain, key, limit, isWanted) => readerOf(chain)?.recent(key, limit, isWanted) ?? [],
    transaction(chain, txHashes, limit) {
      const opened = chainOf(chain);
      if (opened === null) return { transfers: [], total: 0, unread: 0 };
      return readTransaction(opened.store, txHashes, limit);
    },
    daily: (chain, key, limitDays) =>
      readerOf(chain)?.daily(key, limitDays) ?? { days: [], isComplete: true },
    graph: (chain) => readerOf(chain)?.graph() ?? null,
    blocks: (chain) => readerOf(chain)?.blocks() ?? [],
    coverage: (chain) =>
      readerOf(chain)?.coverage() ?? { transfers: 0, firstBlock: null, lastBlock: null, asOf: null },

    async close() {
      for (const { store } of open.values()) await store.root.close();
      open.clear();
    },
  };
}
