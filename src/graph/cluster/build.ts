/**
 * Builds the clusters of a chain on disk: links of its transactions (scan.ts), the sets they form (components.ts), and the members of each
 * set, sorted. Memory does not depend on the number of addresses, except for one bit each.
 */
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import { recordFileSums } from '../../state/sound-file.ts';
import { withLock } from '../../state/writer-lock.ts';
import { findComponents } from './components.ts';
import {
  type ClusterBuild,
  FORMAT,
  numberingOf,
  openBuild,
  readPointer,
  TABLES,
  TableWriter,
  writePointer,
} from './format.ts';
import { CLUSTER_LIMITS } from './limits.ts';
import type { LinkOptions } from './links.ts';
import { type ClusterSource, type Scanned, type ScanOptions, scanLinks } from './scan.ts';
import { Spill } from './spill.ts';

export interface BuildClustersOptions
  extends LinkOptions,
    Pick<ScanOptions, 'fresh' | 'bucketBits' | 'settledBlocks' | 'transactionsPerRecord'> {
  readonly chain: ChainId;
  /** The folder of all clusters. */
  readonly folder: string;
  /** Members that are sorted in memory at once. */
  readonly sortedMembersMax?: number;
  readonly signal?: AbortSignal;
  /** Called at most once per 10,000 transactions, and once per part of the work after them. `total` is null while it is unknown. */
  readonly onProgress?: (stage: ClusterStage, done: number, total: number | null) => void;
}

export type ClusterStage = 'read' | 'join' | 'sort';

export interface BuildClustersDeps {
  readonly source: ClusterSource;
  readonly clock: Clock;
}

/** A build, and what it did not have to do. */
export interface ClusterReport extends ClusterBuild {
  /** Transactions that an earlier run had read already. */
  readonly continuedAfter: number;
}

/** Yields to the event loop, and so to the abort signal. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Clusters the transactions of the source and publishes the result. Readers see no change before the end, and a crash leaves the current
 * build in place. The next run reads only later blocks. When aborted, it throws the signal's reason.
 *
 * @throws STORE_BUSY if another process builds the clusters of the chain
 * @throws STORAGE_FULL
 */
export async function buildClusters(
  options: BuildClustersOptions,
  deps: BuildClustersDeps,
): Promise<ClusterReport> {
  const folder = join(options.folder, options.chain);
  return withLock(join(folder, 'build.lock'), { waitMs: 0 }, () => buildLocked(folder, options, deps));
}

async function buildLocked(
  folder: string,
  options: BuildClustersOptions,
  deps: BuildClustersDeps,
): Promise<ClusterReport> {
  options.signal?.throwIfAborted();
  const scanned = await scanLinks(
    {
      ...options,
      folder: join(folder, BUILDING, 'links'),
      onProgress: (done) => step(options, 'read', done, null),
    },
    deps.source,
  );
  return publishLinks(options, deps, scanned);
}

/** The folder, below that of the chain, of everything that no reader uses. Backups leave it out. */
const BUILDING = 'building';

/** Reports progress, yields to the event loop, and throws if the build was aborted. */
async function step(
  { onProgress, signal }: BuildClustersOptions,
  stage: ClusterStage,
  done: number,
  total: number | null,
): Promise<void> {
  onProgress?.(stage, done, total);
  await pause();
  signal?.throwIfAborted();
}

/** Joins the addresses of all links, and publishes the clusters. `buildClusters` does so with the links of its source. */
export async function publishLinks(
  options: BuildClustersOptions,
  { source, clock }: BuildClustersDeps,
  scanned: Scanned,
): Promise<ClusterReport> {
  const { chain } = options;
  const folder = join(options.folder, chain);
  const { counts, highest, newestMs, continuedAfter } = scanned;
  const before = readPointerOrNone(folder);
  const builtAt = isoTime(clock.now());
  const build = freeName(folder, builtAt.replace(/[^0-9]/g, ''));
  const path = join(folder, `${build}.lmdb`);
  const scratch = join(folder, BUILDING, 'scratch');
  rmSync(scratch, { recursive: true, force: true });
  const environment = openBuild(path, false);
  try {
    const written = await writeTables(environment, {
      scanned,
      scratch,
      keyOf: (number) => requireKey(source, number),
      sortedMembersMax: options.sortedMembersMax ?? CLUSTER_LIMITS.sortedMembersMax,
      step: (stage, done, total) => step(options, stage, done, total),
    });
    await environment.close();
    syncFile(path);
    recordFileSums(path);
    const pointer: ClusterBuild = {
      format: FORMAT,
      chain,
      build,
      builtAt,
      ...counts,
      ...written,
      completeHistory: options.completeHistory,
      firstBlock: source.firstBlock,
      lastBlock: source.lastBlock,
      asOf: newestMs === null ? null : isoTime(newestMs),
      numbering: numberingOf(highest, source.keyOf) ?? '',
      highest,
    };
    writePointer(folder, pointer);
    // The previous build stays until the next one: readers that have not refreshed still use it.
    removeOthers(folder, [build, before?.build ?? build]);
    return { ...pointer, continuedAfter };
  } catch (error) {
    await environment.close();
    for (const file of [path, `${path}-lock`, `${path}-sums`]) rmSync(file, { force: true });
    throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function requireKey(source: ClusterSource, number: number): AddressKey {
  const key = source.keyOf(number);
  if (key) return key;
  throw new AssayError('STORE_CORRUPT', `The address ${number} is missing in the outputs store.`);
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
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

interface TablesInput {
  readonly scanned: Scanned;
  readonly scratch: string;
  readonly keyOf: (number: number) => AddressKey;
  readonly sortedMembersMax: number;
  readonly step: (stage: ClusterStage, done: number, total: number) => Promise<void>;
}

async function writeTables(root: RootDatabase, input: TablesInput): Promise<Written> {
  const { scanned, scratch, keyOf, sortedMembersMax, step } = input;
  const clusterOf = new TableWriter(root, TABLES.clusterOf);
  /** (size, attribute) of each cluster. */
  const sizes = new Spill(scratch, 'sizes', 2);
  /** (cluster, address, first bytes of its key) by batch: clusters that are sorted at once. */
  const places = new Spill(scratch, 'places', 4);
  const batches = new Batches(sortedMembersMax);
  let superClusters = 0;
  let largest = 0;
  await findComponents(
    {
      links: scanned.links,
      folder: scratch,
      count: scanned.highest + 1,
      onBucket: (done, total) => step('join', done, total),
    },
    {
      set(size, attribute) {
        sizes.add(0, size, attribute);
        batches.add(size);
        if (size > CLUSTER_LIMITS.superClusterSize) superClusters++;
        largest = Math.max(largest, size);
      },
      addresses(first, sets) {
        clusterOf.add(sets);
        for (let at = 0; at < sets.length; at++) {
          const cluster = sets[at] as number;
          if (cluster === 0) continue;
          const key = keyOf(first + at);
          places.add(batches.of(cluster), cluster, first + at, wordOf(key, 1), wordOf(key, 5));
        }
      },
    },
  );
  clusterOf.end();
  await writeMembers(root, { sizes, places, batches, keyOf, step });
  return { clusters: batches.clusters, clustered: batches.members, superClusters, largest };
}

/** Four bytes of a key from `at` on, as a number that orders like the bytes. All keys of a chain have the same first byte. */
const wordOf = (key: AddressKey, at: number): number =>
  (((key[at] ?? 0) << 24) | ((key[at + 1] ?? 0) << 16) | ((key[at + 2] ?? 0) << 8) | (key[at + 3] ?? 0)) >>>
  0;

/** Divides clusters, in order, into batches with a limited number of members. A larger cluster is a batch of its own. */
class Batches {
  readonly #membersMax: number;
  /** The first cluster of each batch. */
  readonly #firsts: number[] = [];
  readonly #members: number[] = [];
  clusters = 0;
  members = 0;

  constructor(membersMax: number) {
    this.#membersMax = membersMax;
  }

  get count(): number {
    return this.#firsts.length;
  }

  /** Adds the next cluster. */
  add(size: number): void {
    this.clusters++;
    this.members += size;
    const last = this.count - 1;
    if (last >= 0 && (this.#members[last] as number) + size <= this.#membersMax)
      this.#members[last] = (this.#members[last] as number) + size;
    else {
      this.#firsts.push(this.clusters);
      this.#members.push(size);
    }
  }

  /** The batch of a cluster. */
  of(cluster: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#firsts[middle] as number) <= cluster) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  bounds(batch: number): { readonly first: number; readonly clusters: number; readonly members: number } {
    const first = this.#firsts[batch] as number;
    const next = this.#firsts[batch + 1] ?? this.clusters + 1;
    return { first, clusters: next - first, members: this.#members[batch] as number };
  }
}

interface MembersInput extends Pick<TablesInput, 'keyOf' | 'step'> {
  readonly sizes: Spill;
  readonly places: Spill;
  readonly batches: Batches;
}

/** Writes the members and the record of each cluster, batch by batch. */
async function writeMembers(root: RootDatabase, input: MembersInput): Promise<void> {
  const { sizes, batches, step } = input;
  const members = new TableWriter(root, TABLES.members);
  const clusters = new TableWriter(root, TABLES.clusters);
  // Row 0 is no cluster.
  clusters.add(new Uint32Array(TABLES.clusters.words));
  const sizeChunks = sizes.read(0);
  const nextSize = rowsOf(sizeChunks);
  let start = 0;
  try {
    for (let batch = 0; batch < batches.count; batch++) {
      await step('sort', batch, batches.count);
      writeBatch(batch, start, input, { nextSize, members, clusters });
      start += batches.bounds(batch).members;
    }
    // Reads to the end of the file, where its checksum is compared.
    sizeChunks.next();
  } finally {
    sizeChunks.return?.();
  }
  members.end();
  clusters.end();
}

/** Sorts the members of a batch by cluster: by counting, as the sizes are known. Within a cluster they are in order already. */
function writeBatch(
  batch: number,
  start: number,
  { places, batches, keyOf }: MembersInput,
  to: {
    readonly nextSize: () => readonly [size: number, attribute: number];
    readonly members: TableWriter;
    readonly clusters: TableWriter;
  },
): void {
  const { first, clusters: count, members: total } = batches.bounds(batch);
  const smallest = new SmallestKeys(count, keyOf);
  const attributes = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const begins = new Uint32Array(count + 1);
  for (let at = 0; at < count; at++) {
    const [size, attribute] = to.nextSize();
    begins[at + 1] = (begins[at] as number) + size;
    ends[at] = begins[at] as number;
    attributes[at] = attribute;
  }
  // The members of a single cluster are in order, however many they are.
  const sorted = count > 1 ? new Uint32Array(total) : null;
  const single = new Uint32Array(1);
  for (const chunk of places.read(batch))
    for (let at = 0; at < chunk.length; at += 4) {
      const cluster = (chunk[at] as number) - first;
      const address = chunk[at + 1] as number;
      smallest.add(cluster, address, chunk[at + 2] as number, chunk[at + 3] as number);
      if (sorted) {
        const end = ends[cluster] as number;
        sorted[end] = address;
        ends[cluster] = end + 1;
        continue;
      }
      single[0] = address;
      to.members.add(single);
    }
  places.remove(batch);
  if (sorted) to.members.add(sorted);
  const tuple = new Uint32Array(TABLES.clusters.words);
  for (let at = 0; at < count; at++) {
    const place = start + (begins[at] as number);
    tuple[0] = place >>> 0;
    tuple[1] = Math.floor(place / 2 ** 32);
    tuple[2] = (begins[at + 1] as number) - (begins[at] as number);
    tuple[3] = attributes[at] as number;
    tuple[4] = smallest.addresses[at] as number;
    to.clusters.add(tuple);
  }
}

/** Returns a function that returns the next row of two words. */
function rowsOf(chunks: IterableIterator<Uint32Array>): () => readonly [number, number] {
  let chunk = new Uint32Array(0);
  let at = 0;
  return () => {
    if (at === chunk.length) {
      chunk = chunks.next().value ?? new Uint32Array(0);
      at = 0;
    }
    at += 2;
    return [chunk[at - 2] ?? 0, chunk[at - 1] ?? 0];
  };
}

/** The member with the smallest key of each cluster of a batch. */
class SmallestKeys {
  readonly addresses: Uint32Array;
  readonly #high: Uint32Array;
  readonly #low: Uint32Array;
  readonly #keyOf: (number: number) => AddressKey;

  constructor(clusters: number, keyOf: (number: number) => AddressKey) {
    this.addresses = new Uint32Array(clusters);
    this.#high = new Uint32Array(clusters);
    this.#low = new Uint32Array(clusters);
    this.#keyOf = keyOf;
  }

  /** `high` and `low` are the first bytes of the key; the whole keys are compared only if these are equal. */
  add(cluster: number, address: number, high: number, low: number): void {
    const known = this.addresses[cluster] as number;
    if (known !== 0) {
      const difference = high - (this.#high[cluster] as number) || low - (this.#low[cluster] as number);
      if (difference > 0) return;
      if (difference === 0) {
        // The store reuses its buffer.
        const key = Buffer.from(this.#keyOf(known));
        if (Buffer.compare(this.#keyOf(address), key) > 0) return;
      }
    }
    this.addresses[cluster] = address;
    this.#high[cluster] = high;
    this.#low[cluster] = low;
  }
}
