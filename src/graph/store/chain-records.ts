/**
 * Read access to one chain's records, stored in a local LMDB or in a server (remote/). All reads and walks use this port, so that both give
 * the same results.
 */
import { AssayError } from '../../base/errors.ts';
import { ReadingValue } from '../../base/reading.ts';
import type { ChainId } from '../../chains/registry.ts';
import { isHubChunk, NEXT_AT } from '../edge-chunk.ts';
import type { Upcoming } from '../graph.ts';
import { addressReader } from './address-ids.ts';
import {
  type AssetRecord,
  type BlockRecord,
  type ChainStore,
  chunkKey,
  readState,
  type State,
} from './chain-store.ts';

export interface StoredBlockRecord extends BlockRecord {
  readonly height: number;
}

/** Returned bytes are valid until the running code ends, or until the next read of the same kind. */
export interface ChainRecords {
  readonly chain: ChainId;
  state(): State;
  /** Names the store that assigned the ids. Absent if it stays the same. */
  source?(): string;
  /** Returns null for an unknown address. */
  idOf(key: Uint8Array): number | null;
  /** Throws STORE_CORRUPT for an id that was never assigned. */
  keyOf(node: number): Buffer;
  /** The same in memory that the next read overwrites, which may be longer than `length`. */
  peekKey?(node: number): Buffer;
  /** Throws STORE_CORRUPT for an id that was never assigned. */
  assetOf(id: number): AssetRecord;
  /** The sums of an address (node-record.ts). */
  node(node: number): Buffer | undefined;
  /** Its transfers that are not merged yet (delta.ts). */
  delta(node: number): Buffer | undefined;
  /** The chunk of neighbours with this first id (edges.ts). */
  chunk(node: number, direction: number, firstId: number): Buffer | undefined;
  /**
   * The chunk that holds an id if the address has that neighbour: the only chunk, or one of a hub's. Throws STORE_CORRUPT if it is missing.
   */
  chunkFor(node: number, direction: number, id: number): Buffer | undefined;
  /** Eight transfers of the log (log.ts). */
  logChunk(chunk: number): Buffer | undefined;
  /** Blocks that can still be reverted, highest first. */
  blocks(): readonly StoredBlockRecord[];
  /** Announces the next reads. Useful if single reads are slow. */
  prefetch?(next: Upcoming): void;
  /** Announces the next reads of log chunks. */
  prefetchLog?(chunks: readonly number[]): void;
}

/** Creates the error for a record that should exist but does not. */
export const lostRecord = (chain: ChainId, what: string): AssayError =>
  new AssayError('STORE_CORRUPT', `The transfer store of ${chain} is damaged: ${what} is missing.`);

/** The records of an environment as of its newest commit. */
export function recordsOf(store: ChainStore): ChainRecords {
  const { chain, keys, nodes, deltas, recentHalves, edges, log, blocks } = store;
  const addressIdOf = addressReader(store);
  const key = Buffer.alloc(9);
  /** Every edge and transfer of an answer names its asset, and most name the same few. */
  const assets = new ReadingValue<Map<number, AssetRecord>>();
  /** A screening reads the state several times. */
  const state = new ReadingValue<State>();
  const chunk = (node: number, direction: number, firstId: number): Buffer | undefined => {
    key.writeUInt32BE(node, 0);
    key[4] = direction;
    key.writeUInt32BE(firstId, 5);
    return edges.getBinaryFast(key);
  };
  return {
    chain,
    state() {
      state.value ??= readState(store);
      return state.value as State;
    },
    idOf: (address) => addressIdOf(address) || null,
    keyOf(node) {
      const address = keys.getBinary(node);
      if (!address) throw lostRecord(chain, `address ${node}`);
      return address;
    },
    peekKey(node) {
      const address = keys.getBinaryFast(node);
      if (!address) throw lostRecord(chain, `address ${node}`);
      return address;
    },
    assetOf(id) {
      assets.value ??= new Map();
      const known = assets.value?.get(id);
      if (known !== undefined) return known;
      const asset = store.assets.get(id);
      if (!asset) throw lostRecord(chain, `asset ${id}`);
      assets.value?.set(id, asset);
      return asset;
    },
    node: (node) => nodes.getBinaryFast(node),
    delta: (node) => recentHalves.current().join(node, deltas.getBinaryFast(node)),
    chunk,
    chunkFor(node, direction, id) {
      const first = chunk(node, direction, 0);
      if (!first || !isHubChunk(first)) return first;
      const next = first.readUInt32LE(NEXT_AT);
      if (next === 0 || id < next) return first;
      const start = chunkKey(node, direction, id);
      // At the latest the first chunk, which sorts before all others of the address and direction.
      for (const { value } of edges.getRange({ start, reverse: true, limit: 1 })) return value;
      throw lostRecord(chain, `neighbours of address ${node}`);
    },
    logChunk: (chunk) => log.getBinaryFast(chunk),
    blocks: () =>
      [...blocks.getRange({ reverse: true })].map(({ key: height, value }) => ({ height, ...value })),
  };
}
