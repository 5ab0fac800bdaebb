/**
 * The store of outputs: one LMDB environment per UTXO chain, with every transaction, its outputs, and the transaction that spends each
 * output. Each write stores its blocks completely or not at all. Storing a block again changes nothing, and the newest block can be
 * reverted.
 */
import { join } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { UtxoBlock, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { UTXO_LIMITS } from './limits.ts';
import {
  addressOutputKey,
  type ChainOutputs,
  findNumber,
  isTxid,
  openChain,
  readAddress,
  readState,
  readTransaction,
  U32_MAX,
} from './output-tables.ts';
import { contradiction, OutputsChange } from './outputs-change.ts';
import type { SpendGraph, SpendTransaction, TxNumber } from './spend-graph.ts';
import type { OutputRef } from './taint.ts';

export interface StoredBlock {
  readonly height: number;
  readonly hash: string | null;
  readonly parentHash: string | null;
  readonly timestampMs: number;
}

export interface PutBlocks {
  /** Transactions that were new. */
  readonly stored: number;
  readonly duplicates: number;
  /** Transactions with all inputs known now, in chain order: those of the blocks, and earlier ones that waited for them. */
  readonly resolved: readonly UtxoTransaction[];
  /** Transactions of the blocks that have an input with an unknown value. */
  readonly unresolved: number;
}

export interface OutputsCoverage {
  readonly transactions: number;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Time of the newest block, ISO 8601. */
  readonly asOf: string | null;
}

export interface OutputsReader {
  /** A view for kernels, with a cache of its own. It is valid until the thread yields. Null if the chain was never written. */
  graph(chain: ChainId): SpendGraph | null;
  /** Numbers of the transactions of a block, in no order. Empty if no block is stored at that height. */
  transactionsAt(chain: ChainId, height: number): readonly TxNumber[];
  /** Number of an address. Null if no output of it is known. */
  addressNumber(chain: ChainId, key: AddressKey): number | null;
  /** Key of the address with a number. Null if the number was not assigned. */
  addressKey(chain: ChainId, number: number): AddressKey | null;
  /** Outputs that paid an address, newest block first. `limit` is capped by `addressOutputsMax`. */
  outputsOf(chain: ChainId, key: AddressKey, limit: number): readonly OutputRef[];
  /** Height, hash and time of a block. Null if no block is stored at that height. */
  block(chain: ChainId, height: number): StoredBlock | null;
  /** The stored block with this hash, or null. */
  blockOf(chain: ChainId, hash: string): StoredBlock | null;
  coverage(chain: ChainId): OutputsCoverage;
  close(): Promise<void>;
}

export interface OutputsStore extends OutputsReader {
  /**
   * Stores blocks in one transaction.
   *
   * @throws INVALID_FILE if they contradict the store: another block at a height, or an output spent twice
   * @throws INVALID_ADDRESS if an address is not valid
   */
  put(chain: ChainId, blocks: readonly UtxoBlock[]): PutBlocks;
  /** Stores one live block like `put`, and marks it as the one that `newestLive` returns. */
  putLive(chain: ChainId, block: UtxoBlock): PutBlocks;
  /** The live block that arrived last. Null if none arrived, or if it was reverted. */
  newestLive(chain: ChainId): StoredBlock | null;
  /**
   * Reverts a block and returns its transactions with what they spent. Does nothing if no block is stored at that height.
   *
   * @throws INVALID_REQUEST if a transaction of another block spends one of its outputs: newer blocks must be reverted first
   */
  revert(chain: ChainId, height: number): readonly UtxoTransaction[];
  /**
   * Stores the networks that the files can belong to: several if all of them are single blocks.
   *
   * @throws INVALID_FILE if the stored blocks are of none of them
   */
  setNetworks(chain: ChainId, networks: readonly string[]): void;
  /** Resolves when all writes are on disk. */
  flushed(): Promise<void>;
}

export interface OutputsStoreOptions {
  /** Folder with one file per chain. */
  readonly path: string;
  readonly readOnly: boolean;
}

/** The network of blocks that were not read from files of blocks. */
const MAIN_NETWORK = 'main';

/** Transactions that a view caches. The cache is cleared when this is reached. About 1 KB each. */
const VIEW_TRANSACTIONS_MAX = 50_000;

function viewOf(store: ChainOutputs): SpendGraph {
  const known = new Map<TxNumber, SpendTransaction>();
  return {
    numberOf: (txid) => (isTxid(txid) ? findNumber(store, txid) : null),
    transaction(number) {
      const remembered = known.get(number);
      if (remembered) return remembered;
      if (known.size >= VIEW_TRANSACTIONS_MAX) known.clear();
      const transaction = readTransaction(store, number);
      known.set(number, transaction);
      return transaction;
    },
    keyOf: (address) => readAddress(store, address),
  };
}

/**
 * Opens the folder of outputs stores. The environment of a chain is opened at its first use. A read-only store of a chain that was never
 * written behaves like an empty one.
 *
 * @throws STORE_VERSION, when a chain is first used, if its store has an unknown format
 */
export function openOutputsStore(options: OutputsStoreOptions): OutputsStore {
  const open = new Map<ChainId, ChainOutputs>();

  const storeOf = (chain: ChainId): ChainOutputs | null => {
    const known = open.get(chain);
    if (known) return known;
    if (chainOf(chain).family !== 'utxo') return null;
    const path = join(options.path, `${chain.toLowerCase()}-outputs.mdb`);
    const store = openChain(path, chain, options.readOnly);
    // Not cached: another process may create it at any moment.
    if (store === null) return null;
    open.set(chain, store);
    return store;
  };

  const writable = (chain: ChainId): ChainOutputs => {
    const store = options.readOnly ? null : storeOf(chain);
    if (store) return store;
    throw new AssayError('INVALID_REQUEST', `chain: the outputs store of ${chain} was opened read-only.`);
  };

  /** Runs a write in one transaction. If it fails, the address cache is cleared: the numbers it added were never committed. */
  const write = <T>(chain: ChainId, work: (change: OutputsChange) => T): T => {
    const store = writable(chain);
    try {
      return store.root.transactionSync(() => {
        const change = new OutputsChange(store);
        const result = work(change);
        change.write();
        return result;
      });
    } catch (error) {
      store.memory.clear();
      throw error;
    }
  };

  const addressNumber = (chain: ChainId, key: AddressKey): number | null =>
    storeOf(chain)?.addressNumbers.getBinary(key)?.readUInt32LE(0) ?? null;

  const blockAt = (chain: ChainId, height: number): StoredBlock | null => {
    const record = storeOf(chain)?.blocks.get(height);
    return record ? { height, hash: record[0], parentHash: record[1], timestampMs: record[2] } : null;
  };

  return {
    graph(chain) {
      const store = storeOf(chain);
      return store && viewOf(store);
    },

    transactionsAt: (chain, height) => storeOf(chain)?.blocks.get(height)?.[3] ?? [],

    addressNumber,

    addressKey: (chain, number) => storeOf(chain)?.addresses.getBinary(number) ?? null,

    outputsOf(chain, key, limit) {
      const store = storeOf(chain);
      const address = addressNumber(chain, key);
      if (!store || address === null) return [];
      const refs: OutputRef[] = [];
      const range = store.addressOutputs.getKeys({
        start: addressOutputKey(address, U32_MAX - 1, U32_MAX, U32_MAX),
        end: addressOutputKey(address, -1, 0, 0),
        reverse: true,
        limit: Math.min(Math.max(0, limit), UTXO_LIMITS.addressOutputsMax),
      });
      for (const key of range) {
        const bytes = Buffer.from(key);
        refs.push({ tx: bytes.readUInt32BE(8), n: bytes.readUInt32BE(12) });
      }
      return refs;
    },

    block: blockAt,

    blockOf(chain, hash) {
      const height = storeOf(chain)?.heights.get(hash);
      return height === undefined ? null : blockAt(chain, height);
    },

    coverage(chain) {
      const store = storeOf(chain);
      const state = store ? readState(store) : null;
      return {
        transactions: state?.transactions ?? 0,
        firstBlock: state?.firstBlock ?? null,
        lastBlock: state?.lastBlock ?? null,
        asOf: state?.newestMs == null ? null : isoTime(state.newestMs),
      };
    },

    put: (chain, blocks) =>
      write(chain, (change) => {
        for (const block of blocks) change.putBlock(block);
        return { stored: change.stored, duplicates: change.duplicates, ...change.resolved() };
      }),

    putLive: (chain, block) =>
      write(chain, (change) => {
        change.putBlock(block);
        writable(chain).meta.putSync('live', block.height);
        return { stored: change.stored, duplicates: change.duplicates, ...change.resolved() };
      }),

    newestLive(chain) {
      const height = storeOf(chain)?.meta.get('live');
      return typeof height === 'number' ? blockAt(chain, height) : null;
    },

    revert: (chain, height) => write(chain, (change) => change.revert(height)),

    setNetworks(chain, networks) {
      const store = writable(chain);
      const { meta } = store;
      const one = meta.get('network');
      // Rows of text name no network, and their addresses are those of the main one.
      const unnamed = readState(store).transactions === 0 ? undefined : [MAIN_NETWORK];
      const known = one === undefined ? (meta.get('networks') ?? unnamed) : [one];
      const common = Array.isArray(known) ? networks.filter((network) => known.includes(network)) : networks;
      if (common.length === 0)
        throw contradiction(
          `The file is of the network '${networks.join("' or '")}', but the store of ${chain} is of ` +
            `'${(known as string[]).join("' or '")}': networks cannot be mixed.`,
        );
      if (common.length > 1) meta.putSync('networks', common);
      else if (one === undefined) meta.putSync('network', common[0]);
    },

    async flushed() {
      for (const store of open.values()) await store.root.flushed;
    },

    async close() {
      for (const store of open.values()) await store.root.close();
      open.clear();
    },
  };
}
