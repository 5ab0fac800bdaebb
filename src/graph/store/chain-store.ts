/**
 * One chain's environment: its databases, their keys, and the counters that are written with every batch. docs/decisions/transfer-store.md
 * explains what the databases hold and why.
 */
import { systemRandom } from '../../base/random.ts';
import type { ChainId } from '../../chains/registry.ts';
import { isFormat, isLaterFormat, wrongFormat } from '../../state/format-version.ts';
import { type Database, hasEnvironment, openEnvironment, type RootDatabase } from '../../state/lmdb.ts';
import type { Direction } from '../flow.ts';
import { RecentHalves } from './recent-halves.ts';

/**
 * Changes when the meaning of any bytes in the databases below changes. A version is never reused. Version 1 had chunks in the order of ids
 * only, version 2 had no priced part of flows (node-record.ts), version 3 no numbers in the log behind positions (transactions.ts), version
 * 4 chunks with twice as many bytes per edge (edges.ts), and no places (places.ts), version 5 the time of each newest transfer and all digits
 * of amounts with the sums of an address (node-record.ts), whole keys in the index of addresses (address-ids.ts), ids of four bytes in all
 * chunks (edges.ts), references in the edges of all addresses (listed-transfers.ts), and no recent halves (recent-halves.ts).
 */
const FORMAT = { name: 'assay-transfers', version: 6 } as const;
/** Also readable. The first writer upgrades them to the current version, so that an older program does not misread new data. */
const FORMER_VERSIONS = [2, 3, 4, 5] as const;

/** Greatest dense id: an id and a direction share 32 bits. */
export const NODE_ID_MAX = 0x7fff_ffff;

export const DIRECTION_CODE: Readonly<Record<Direction, 0 | 1>> = { in: 0, out: 1 };

/** The range of blocks and time that a set of transfers covers. */
export interface Coverage {
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  readonly newestMs: number | null;
}

export const NO_COVERAGE: Coverage = { firstBlock: null, lastBlock: null, newestMs: null };

const pick = (a: number | null, b: number | null, choose: (a: number, b: number) => number): number | null =>
  a === null ? b : b === null ? a : choose(a, b);

/** Returns the coverage of two sets together. */
export const joinCoverage = (a: Coverage, b: Coverage): Coverage => ({
  firstBlock: pick(a.firstBlock, b.firstBlock, Math.min),
  lastBlock: pick(a.lastBlock, b.lastBlock, Math.max),
  newestMs: pick(a.newestMs, b.newestMs, Math.max),
});

/** Counters of a chain, written in the transaction of the batch that changed them. */
export interface State {
  readonly nextAddress: number;
  readonly nextAsset: number;
  /** Number of the next transfer in the log. */
  readonly nextOrdinal: number;
  readonly transfers: number;
  /** Coverage of everything except the blocks that can still be reverted. */
  readonly settled: Coverage;
  /** Blocks up to this height are final, and their transfers may be merged. -1 before the first block. */
  readonly settledHeight: number;
}

const FIRST_STATE: State = {
  nextAddress: 1,
  nextAsset: 1,
  nextOrdinal: 0,
  transfers: 0,
  settled: NO_COVERAGE,
  settledHeight: -1,
};

export interface AssetRecord {
  readonly asset: string;
  readonly decimals: number | null;
}

/** A block that can be reverted. */
export interface BlockRecord {
  readonly hash: string;
  readonly parentHash: string | null;
  readonly timestampMs: number;
  /** Number of its first transfer in the log. `count` is the number of transfers that the block added. */
  readonly firstOrdinal: number;
  readonly count: number;
  readonly coverage: Coverage;
}

export interface ChainStore {
  readonly chain: ChainId;
  readonly path: string;
  readonly root: RootDatabase;
  readonly meta: Database<unknown, string>;
  /** Bits of hashes of address keys → dense ids (address-ids.ts). Null in a store of an earlier version that is only read. */
  readonly addressPlaces: Database<Buffer, number> | null;
  /** The same as earlier versions stored it: address key → dense id. */
  readonly ids: Database<Buffer, Uint8Array>;
  /** Dense id → address key. */
  readonly keys: Database<Buffer, number>;
  /** Asset text → asset id. */
  readonly assetIds: Database<number, string>;
  readonly assets: Database<AssetRecord, number>;
  /** Dense id → sums of the address (node-record.ts). */
  readonly nodes: Database<Buffer, number>;
  /** (address, direction, first id) → chunk of edges (edges.ts). */
  readonly edges: Database<Buffer, Uint8Array>;
  /** Dense id → transfers that are not merged into nodes and edges yet (delta.ts). */
  readonly deltas: Database<Buffer, number>;
  /** Number of a batch → its transfers that are not in `deltas` yet (recent-halves.ts). Null as `places`. */
  readonly recent: Database<Buffer, number> | null;
  /** The same in memory, by address. */
  readonly recentHalves: RecentHalves;
  /** Bits of fingerprints → numbers in the log (places.ts). Null in a store of an earlier version that is only read. */
  readonly places: Database<Buffer, number> | null;
  /** The same as earlier versions stored it: fingerprint → positions, their parties and numbers in the log (transactions.ts). */
  readonly transactions: Database<Buffer, Uint8Array>;
  /** Number of a chunk → transfers in the order of arrival (log.ts). */
  readonly log: Database<Buffer, number>;
  /** Height → block that can be reverted. */
  readonly blocks: Database<BlockRecord, number>;
  /** Secret for transaction fingerprints: without it, an attacker cannot create two transactions that collide. */
  readonly salt: Uint8Array;
}

/**
 * Opens the environment of a chain at `path`. The databases are created before the format is written, so that a store with a format has all
 * of them.
 *
 * @param recentMax - the most halves of recent transfers that wait; default: `recentHalvesMax`
 * @returns null for a read-only store that its writer has not created yet: the file, its databases or its format do not exist. Nothing
 * stays open then, and a later call finds the store.
 * @throws STORE_VERSION for an unknown format; the file is left unchanged
 */
export function openChainStore(
  path: string,
  chain: ChainId,
  readOnly: boolean,
  recentMax?: number,
): ChainStore | null {
  if (readOnly && !hasEnvironment(path)) return null;
  const root = openEnvironment(path, { maxDbs: 16, readOnly, noSubdir: true });
  const db = <V, K extends number | string | Uint8Array>(
    name: string,
    encoding: 'binary' | 'msgpack',
    keyEncoding: 'binary' | 'ordered-binary' | 'uint32',
  ): Database<V, K> => root.openDB<V, K>({ name, encoding, keyEncoding });
  // The library returns undefined for a database that a read-only environment does not have.
  const meta: Database<unknown, string> | undefined = db('meta', 'msgpack', 'ordered-binary');
  const format = meta?.get('format');
  const isFresh = format === undefined && (meta === undefined || meta.getCount() === 0);
  const isFormer = FORMER_VERSIONS.some((version) => isFormat(format, { ...FORMAT, version }));
  if (!isFresh && !isFormer && !isFormat(format, FORMAT)) {
    void root.close();
    throw wrongFormat(
      `The transfer store ${path}`,
      format,
      FORMAT,
      isLaterFormat(format, FORMAT)
        ? undefined
        : 'The file was not changed. Move it away, and ingest its files again.',
    );
  }
  const databases = {
    meta,
    ids: db<Buffer, Uint8Array>('ids', 'binary', 'binary'),
    keys: db<Buffer, number>('keys', 'binary', 'uint32'),
    assetIds: db<number, string>('asset-ids', 'msgpack', 'ordered-binary'),
    assets: db<AssetRecord, number>('assets', 'msgpack', 'uint32'),
    nodes: db<Buffer, number>('nodes', 'binary', 'uint32'),
    edges: db<Buffer, Uint8Array>('edges', 'binary', 'binary'),
    deltas: db<Buffer, number>('deltas', 'binary', 'uint32'),
    transactions: db<Buffer, Uint8Array>('transactions', 'binary', 'binary'),
    log: db<Buffer, number>('log', 'binary', 'uint32'),
    blocks: db<BlockRecord, number>('blocks', 'msgpack', 'uint32'),
  };
  if (readOnly && (isFresh || Object.values<unknown>(databases).includes(undefined))) {
    void root.close();
    return null;
  }
  const openPlaces = (name: string): Database<Buffer, number> | undefined => db(name, 'binary', 'uint32');
  // A reader of an earlier version's store finds them once a writer has created them.
  let places = openPlaces('places');
  let addressPlaces = openPlaces('address-places');
  const openRecent = (): Database<Buffer, number> | undefined => db('recent', 'binary', 'uint32');
  let recent = openRecent();
  if (isFormer && !readOnly) root.transactionSync(() => meta.putSync('format', { ...FORMAT, chain }));
  if (isFresh)
    root.transactionSync(() => {
      meta.putSync('salt', systemRandom.bytes(8));
      meta.putSync('format', { ...FORMAT, chain });
    });
  const store = {
    chain,
    path,
    root,
    ...databases,
    get places() {
      places ??= openPlaces('places');
      return places ?? null;
    },
    get addressPlaces() {
      addressPlaces ??= openPlaces('address-places');
      return addressPlaces ?? null;
    },
    get recent() {
      recent ??= openRecent();
      return recent ?? null;
    },
    salt: Uint8Array.from(meta.get('salt') as Uint8Array),
  };
  // Not by spreading the store: that would replace its getters by what they return now.
  return Object.assign(store, { recentHalves: new RecentHalves(store, { max: recentMax }) });
}

/** Reads the counters of a chain. A new store returns their initial values. */
export const readState = (store: ChainStore): State =>
  (store.meta.get('state') as State | undefined) ?? FIRST_STATE;

/** Writes the counters of a chain. Runs inside a write transaction. */
export const writeState = (store: ChainStore, state: State): void => {
  store.meta.putSync('state', state);
};

/** Returns true if a bulk load is under way, here or in another process, or if an interrupted one can be resumed. */
export const isLoading = (store: ChainStore): boolean => store.meta.get('load') !== undefined;

/** The part of the state of a bulk load that other readers of its store need. */
interface ReservedNumbers {
  readonly pass: string;
  readonly firstOrdinal: number;
  readonly isNumbered?: boolean;
}

/**
 * Returns the first number of the log that an unfinished bulk load has reserved; infinity if none is under way. The transfers with that
 * number and the next ones are not all in the log and the edges yet, so a reader that follows the log must not step over them.
 */
export function reservedFrom(store: ChainStore): number {
  const load = store.meta.get('load') as ReservedNumbers | undefined;
  // A load that an older version began has reserved its numbers from the second pass on.
  const isNumbered = load?.isNumbered === true || load?.pass === 'log' || load?.pass === 'addresses';
  return load !== undefined && isNumbered ? load.firstOrdinal : Number.POSITIVE_INFINITY;
}

/** The first 5 bytes identify the address and direction. The rest orders its chunks. */
export function chunkKey(node: number, direction: number, firstId: number): Buffer {
  const key = Buffer.allocUnsafe(9);
  key.writeUInt32BE(node, 0);
  key[4] = direction;
  key.writeUInt32BE(firstId, 5);
  return key;
}

/** Packs a dense id as 4 bytes, big-endian. */
export const packId = (id: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(id, 0);
  return bytes;
};
