/**
 * Clusters on disk: one folder per chain, one LMDB environment per build, and a pointer to the current build. A new build is written beside
 * the current one and replaces it atomically. Readers keep their build until they refresh.
 *
 *   clusters/BTC/current.json   the current build, and its input
 *   clusters/BTC/<build>.lmdb   member → cluster; cluster → record; cluster and part → members
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import { CHAINS, type ChainId } from '../../chains/registry.ts';
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { wrongFormat } from '../../state/format-version.ts';
import { type Database, openEnvironment, type RootDatabase } from '../../state/lmdb.ts';
import { recordFileSums } from '../../state/sound-file.ts';
import {
  CLUSTER_HEURISTICS,
  type ClusterHeuristic,
  createClusterForest,
  type ForestCounts,
  type ForestOptions,
} from './forest.ts';
import { CLUSTER_LIMITS } from './limits.ts';

/** The cluster of an address, as responses show it. */
export interface Cluster {
  /** The chain and the member with the smallest key. Equal members give an equal id, in any reading order. */
  readonly clusterId: string;
  readonly size: number;
  readonly heuristics: readonly ClusterHeuristic[];
  /** 0 to 1: the confidence that the members have one owner. */
  readonly confidence: number;
  /** So large that it more likely joins unrelated owners than it is one owner. No conclusion should be drawn from it. */
  readonly isSuper: boolean;
  /** Canonical addresses in the order of their first appearance, at most `limit` of them. */
  members(limit: number): readonly string[];
  /** Keys of all members, in the same order. They are valid only while the reader is open. */
  memberKeys(): IterableIterator<AddressKey>;
}

/** The build of a chain's clusters, and its input. */
export interface ClusterBuild extends ForestCounts {
  readonly format: number;
  readonly chain: ChainId;
  readonly build: string;
  readonly builtAt: string;
  /** Clusters of at least two addresses. */
  readonly clusters: number;
  /** Addresses in them. */
  readonly clustered: number;
  readonly superClusters: number;
  readonly largest: number;
  readonly completeHistory: boolean;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Time of the newest block, ISO 8601. Null if no transaction was read. */
  readonly asOf: string | null;
}

export interface ClusterReader {
  /** Null for an address without a cluster of at least two addresses, and for chains without clusters. */
  clusterOf(key: AddressKey): Cluster | null;
  /** Clusters of a chain, in the order of their first member. */
  clusters(chain: ChainId): IterableIterator<Cluster>;
  /** Null if none were built. */
  build(chain: ChainId): ClusterBuild | null;
  /** Switches to newer builds. Returns true if there was one. */
  refresh(): boolean;
  close(): Promise<void>;
}

export interface BuildClustersOptions extends ForestOptions {
  /** The folder of all clusters. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  /** Called at most once per 10,000 transactions. */
  readonly onProgress?: (transactions: number) => void;
}

export interface BuildClustersDeps {
  /** All transactions of the chain, in chain order. */
  readonly transactions: Iterable<UtxoTransaction> | AsyncIterable<UtxoTransaction>;
  readonly clock: Clock;
}

/** The maximum confidence of a super-cluster, which more likely joins unrelated owners than it is one owner. */
const SUPER_CLUSTER_CONFIDENCE = 0.2;

const FORMAT = 1;
const POINTER = 'current.json';
const PROGRESS_EVERY = 10_000;
/** Members per stored part: 6 KB of keys, one or two pages. */
const PART_MEMBERS = 256;
/** Puts per transaction: enough that the cost of commits is negligible, and few enough that dirty pages stay below 100 MB. */
const BATCH_PUTS = 100_000;
/** The benchmark's 10 million members take 1.2 GB. This is enough for the largest allowed run. */
const MAP_BYTES = 64 * 1024 ** 3;

/** A stored cluster: smallest key, size, bits of CLUSTER_HEURISTICS, thousandths of confidence. */
type ClusterTuple = readonly [id: Uint8Array, size: number, heuristics: number, thousandths: number];

interface Environment {
  readonly root: RootDatabase;
  readonly members: Database<number, Uint8Array>;
  readonly records: Database<ClusterTuple, number>;
  readonly parts: Database<Uint8Array, [number, number]>;
}

/** Returns the folder of all clusters inside the program's state folder. */
export const clustersFolderOf = (dataDir: string): string => join(dataDir, 'clusters');

function openBuild(path: string, readOnly: boolean): Environment {
  const root = openEnvironment(path, {
    readOnly,
    noSubdir: true,
    maxDbs: 3,
    mapSize: MAP_BYTES,
    // No reader uses a build before its pointer is written. `flushed` is awaited once, at the end.
    ...(readOnly ? {} : { noSync: true }),
  });
  return {
    root,
    members: root.openDB({ name: 'members', keyEncoding: 'binary' }),
    records: root.openDB({ name: 'records', keyEncoding: 'uint32' }),
    parts: root.openDB({ name: 'parts', encoding: 'binary' }),
  };
}

function readPointer(folder: string): ClusterBuild | null {
  const path = join(folder, POINTER);
  if (!existsSync(path)) return null;
  let build: ClusterBuild;
  try {
    build = readJson(path) as ClusterBuild;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} cannot be read. Run 'assay cluster' again.`, { cause });
  }
  if (build.format === FORMAT) return build;
  throw wrongFormat(path, build.format, FORMAT, "Run 'assay cluster' again.");
}

/** Concatenates the keys of one part, each with a length of 16 bits in front, which a unified address of ZEC needs. */
function packKeys(keys: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.alloc(keys.reduce((sum, key) => sum + 2 + key.length, 0));
  let at = 0;
  for (const key of keys) {
    bytes.writeUInt16LE(key.length, at);
    bytes.set(key, at + 2);
    at += 2 + key.length;
  }
  return bytes;
}

function* unpackKeys(part: Uint8Array): IterableIterator<Uint8Array> {
  // The database reuses one buffer for all reads.
  const bytes = Buffer.from(part);
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    yield bytes.subarray(at + 2, at + 2 + length);
    at += 2 + length;
  }
}

/**
 * Clusters the transactions and publishes the result. Readers see no change before the end, and a crash leaves the current build in place.
 * When aborted, it throws the signal's reason.
 *
 * @throws INVALID_ADDRESS if an address is not one of the chain
 */
export async function buildClusters(
  options: BuildClustersOptions,
  deps: BuildClustersDeps,
): Promise<ClusterBuild> {
  const { chain, signal, onProgress } = options;
  const folder = join(options.folder, chain);
  const forest = createClusterForest(options);
  let firstBlock: number | null = null;
  let lastBlock: number | null = null;
  let newestMs: number | null = null;
  for await (const tx of deps.transactions) {
    forest.add(tx);
    firstBlock = Math.min(firstBlock ?? tx.blockNumber, tx.blockNumber);
    lastBlock = Math.max(lastBlock ?? tx.blockNumber, tx.blockNumber);
    newestMs = Math.max(newestMs ?? 0, tx.timestampMs);
    const { transactions } = forest.counts;
    if (transactions % PROGRESS_EVERY !== 0) continue;
    signal?.throwIfAborted();
    onProgress?.(transactions);
  }

  mkdirSync(folder, PRIVATE_FOLDER);
  const before = readPointerOrNone(folder);
  const builtAt = isoTime(deps.clock.now());
  const build = freeName(folder, builtAt.replace(/[^0-9]/g, ''));
  const path = join(folder, `${build}.lmdb`);
  const environment = openBuild(path, false);
  try {
    const written = await writeClusters(forest.clusters(), environment, signal);
    await environment.root.flushed;
    await environment.root.close();
    recordFileSums(path);
    const pointer: ClusterBuild = {
      format: FORMAT,
      chain,
      build,
      builtAt,
      ...forest.counts,
      ...written,
      completeHistory: options.completeHistory,
      firstBlock,
      lastBlock,
      asOf: newestMs === null ? null : isoTime(newestMs),
    };
    writeJsonAtomically(join(folder, POINTER), pointer);
    // The previous build stays until the next one: readers that have not refreshed still use it.
    removeOthers(folder, [build, before?.build ?? build]);
    return pointer;
  } catch (error) {
    await environment.root.close();
    for (const file of [path, `${path}-lock`, `${path}-sums`]) rmSync(file, { force: true });
    throw error;
  }
}

/** Returns null for a pointer that cannot be read: the new build replaces it. */
function readPointerOrNone(folder: string): ClusterBuild | null {
  try {
    return readPointer(folder);
  } catch (error) {
    if (error instanceof AssayError) return null;
    throw error;
  }
}

function freeName(folder: string, wanted: string): string {
  let name = wanted;
  for (let copy = 2; existsSync(join(folder, `${name}.lmdb`)); copy++) name = `${wanted}-${copy}`;
  return name;
}

function removeOthers(folder: string, keep: readonly string[]): void {
  for (const name of readdirSync(folder)) {
    const build = /^([\w-]+)\.lmdb(?:-lock|-sums)?$/.exec(name)?.[1];
    if (build !== undefined && !keep.includes(build)) rmSync(join(folder, name), { force: true });
  }
}

type Written = Pick<ClusterBuild, 'clusters' | 'clustered' | 'superClusters' | 'largest'>;

async function writeClusters(
  found: ReturnType<ReturnType<typeof createClusterForest>['clusters']>,
  { root, members, records, parts }: Environment,
  signal: AbortSignal | undefined,
): Promise<Written> {
  let clusters = 0;
  let clustered = 0;
  let superClusters = 0;
  let largest = 0;
  /** Yields after each put of a member, so that an LMDB transaction can end in the middle of a large cluster. */
  function* puts(): Generator<undefined> {
    for (const cluster of found) {
      clusters++;
      clustered += cluster.size;
      largest = Math.max(largest, cluster.size);
      if (cluster.size > CLUSTER_LIMITS.superClusterSize) superClusters++;
      const bits = cluster.heuristics.reduce((sum, name) => sum | (1 << CLUSTER_HEURISTICS.indexOf(name)), 0);
      const confidence = Math.round(cluster.confidence * 1000);
      void records.put(clusters, [Buffer.from(cluster.id), cluster.size, bits, confidence]);
      let part: Uint8Array[] = [];
      let partNumber = 0;
      for (const key of cluster.members()) {
        void members.put(key, clusters);
        part.push(key);
        if (part.length === PART_MEMBERS) {
          void parts.put([clusters, partNumber++], packKeys(part));
          part = [];
        }
        yield undefined;
      }
      if (part.length > 0) void parts.put([clusters, partNumber], packKeys(part));
    }
  }
  const steps = puts();
  let done = false;
  while (!done) {
    signal?.throwIfAborted();
    root.transactionSync(() => {
      for (let put = 0; put < BATCH_PUTS && !done; put++) done = steps.next().done === true;
    });
    // Yields to the event loop between two transactions, and so to the abort signal.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { clusters, clustered, superClusters, largest };
}

interface OpenChain {
  readonly build: ClusterBuild;
  readonly environment: Environment;
}

/**
 * Opens the clusters of all chains for reading. Chains without clusters return null.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openClusters(options: {
  readonly folder: string;
  /** Size above which a cluster is a super-cluster. Default: CLUSTER_LIMITS.superClusterSize. */
  readonly superClusterSize?: number;
}): ClusterReader {
  const { folder, superClusterSize = CLUSTER_LIMITS.superClusterSize } = options;
  const chainOfKeyByte = new Map(
    CHAINS.filter(({ family }) => family === 'utxo').map(({ id, keyByte }) => [
      keyByte as number,
      id as ChainId,
    ]),
  );
  let open = new Map<ChainId, OpenChain>();
  const closing: Promise<void>[] = [];

  function refresh(): boolean {
    let swapped = false;
    const after = new Map<ChainId, OpenChain>();
    for (const chain of chainOfKeyByte.values()) {
      const build = readPointer(join(folder, chain));
      const now = open.get(chain);
      if (build === null || now?.build.build === build.build) {
        if (now && build) after.set(chain, now);
        continue;
      }
      after.set(chain, { build, environment: openBuild(join(folder, chain, `${build.build}.lmdb`), true) });
      if (now) closing.push(now.environment.root.close());
      swapped = true;
    }
    open = after;
    return swapped;
  }

  function clusterAt({ environment, build }: OpenChain, number: number): Cluster {
    const tuple = environment.records.get(number);
    if (!tuple)
      throw new AssayError(
        'STORE_CORRUPT',
        `Cluster ${number} of ${build.chain} is missing. Run 'assay cluster' again.`,
      );
    const [id, size, bits, thousandths] = tuple;
    function* memberKeys(): IterableIterator<AddressKey> {
      for (let part = 0; part * PART_MEMBERS < size; part++) {
        const bytes = environment.parts.get([number, part]);
        if (bytes) yield* unpackKeys(bytes);
      }
    }
    const isSuper = size > superClusterSize;
    return {
      clusterId: `${build.chain}:${formatAddressKey(id, build.chain)}`,
      size,
      heuristics: CLUSTER_HEURISTICS.filter((_, at) => (bits & (1 << at)) !== 0),
      confidence: Math.min(thousandths / 1000, isSuper ? SUPER_CLUSTER_CONFIDENCE : 1),
      isSuper,
      memberKeys,
      members(limit) {
        const texts: string[] = [];
        if (limit < 1) return texts;
        for (const key of memberKeys()) {
          texts.push(formatAddressKey(key, build.chain));
          if (texts.length >= limit) break;
        }
        return texts;
      },
    };
  }

  refresh();
  return {
    clusterOf(key) {
      const chain = chainOfKeyByte.get(key[0] as number);
      const from = chain === undefined ? undefined : open.get(chain);
      if (!from) return null;
      const number = from.environment.members.get(key);
      return number === undefined ? null : clusterAt(from, number);
    },
    *clusters(chain) {
      const from = open.get(chain);
      if (!from) return;
      for (let number = 1; number <= from.build.clusters; number++) yield clusterAt(from, number);
    },
    build: (chain) => open.get(chain)?.build ?? null,
    refresh,
    async close() {
      for (const { environment } of open.values()) closing.push(environment.root.close());
      open = new Map();
      await Promise.all(closing);
    },
  };
}
