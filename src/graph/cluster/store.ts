/** Reads clusters from disk (format.ts). Readers keep their build until they refresh. */
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import { CHAINS, type ChainId } from '../../chains/registry.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import type { OutputsReader } from '../utxo/outputs-store.ts';
import { type ClusterBuild, numberingOf, openBuild, readPointer, TABLES, TableReader } from './format.ts';
import { CLUSTER_LIMITS } from './limits.ts';
import { type ClusterHeuristic, confidenceOf, heuristicsOf } from './links.ts';

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
  /** Canonical addresses in the order in which they were stored, at most `limit` of them. */
  members(limit: number): readonly string[];
  /** Keys of all members, in the same order. They are valid only while the reader is open. */
  memberKeys(): IterableIterator<AddressKey>;
}

export interface ClusterReader {
  /** Null for an address without a cluster of at least two addresses, and for chains without clusters. */
  clusterOf(key: AddressKey): Cluster | null;
  /**
   * Clusters of a chain, in the order of their first member.
   *
   * @param hasWanted - limits the result to clusters with a member for which this returns true. It is called for each member once, in the order
   * of the store, which costs a fraction of reading the members by cluster.
   */
  clusters(chain: ChainId, hasWanted?: (key: AddressKey) => boolean): IterableIterator<Cluster>;
  /**
   * Null if none were built, if another version of the program built them in another format, or if the outputs store was ingested again since:
   * its addresses have other numbers.
   */
  build(chain: ChainId): ClusterBuild | null;
  /** Switches to newer builds. Returns true if there was one. */
  refresh(): boolean;
  close(): Promise<void>;
}

/** The store that numbers addresses. */
export type AddressNumbers = Pick<OutputsReader, 'addressNumber' | 'addressKey'>;

/** The maximum confidence of a super-cluster, which more likely joins unrelated owners than it is one owner. */
const SUPER_CLUSTER_CONFIDENCE = 0.2;

/** Returns the folder of all clusters inside the program's state folder. */
export const clustersFolderOf = (dataDir: string): string => join(dataDir, 'clusters');

/** One build of a chain. */
class OpenChain {
  readonly build: ClusterBuild;
  readonly clusterOf: TableReader;
  readonly clusters: TableReader;
  readonly members: TableReader;
  readonly #root: RootDatabase;
  #isNumbered = false;

  constructor(path: string, build: ClusterBuild) {
    this.build = build;
    this.#root = openBuild(path, true);
    this.clusterOf = new TableReader(this.#root, TABLES.clusterOf, path);
    this.clusters = new TableReader(this.#root, TABLES.clusters, path);
    this.members = new TableReader(this.#root, TABLES.members, path);
  }

  /** Returns true if the addresses of the build have the numbers of the outputs store. An open store keeps its numbers. */
  isNumberedBy(addresses: AddressNumbers): boolean {
    const { chain, numbering, highest } = this.build;
    this.#isNumbered ||= numbering === numberingOf(highest, (number) => addresses.addressKey(chain, number));
    return this.#isNumbered;
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}

/**
 * Opens the clusters of all chains for reading. Chains without clusters return null, and so do chains whose clusters have the format of
 * another version of the program: they are built from the stored transactions, so they must not prevent a start after an upgrade.
 *
 * @throws STORE_CORRUPT
 */
export function openClusters(
  options: {
    readonly folder: string;
    /** Size above which a cluster is a super-cluster. Default: CLUSTER_LIMITS.superClusterSize. */
    readonly superClusterSize?: number;
  },
  deps: {
    readonly addresses: AddressNumbers;
    /** Called once for each chain whose clusters have another format; the error has the command that builds them again. */
    readonly onOtherFormat?: (chain: ChainId, error: AssayError) => void;
  },
): ClusterReader {
  const { folder, superClusterSize = CLUSTER_LIMITS.superClusterSize } = options;
  const { addresses, onOtherFormat } = deps;
  const chainOfKeyByte = new Map(
    CHAINS.filter(({ family }) => family === 'utxo').map(({ id, keyByte }) => [
      keyByte as number,
      id as ChainId,
    ]),
  );
  let open = new Map<ChainId, OpenChain>();
  const closing: Promise<void>[] = [];
  const reported = new Set<ChainId>();

  function readableBuild(chain: ChainId): ClusterBuild | null {
    try {
      return readPointer(join(folder, chain));
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_VERSION') throw error;
      if (!reported.has(chain)) onOtherFormat?.(chain, error);
      reported.add(chain);
      return null;
    }
  }

  function refresh(): boolean {
    let swapped = false;
    const after = new Map<ChainId, OpenChain>();
    for (const chain of chainOfKeyByte.values()) {
      const build = readableBuild(chain);
      const now = open.get(chain);
      if (build !== null && now?.build.build === build.build) {
        after.set(chain, now);
        continue;
      }
      if (now) closing.push(now.close());
      if (now || build) swapped = true;
      if (build) after.set(chain, new OpenChain(join(folder, chain, `${build.build}.lmdb`), build));
    }
    open = after;
    return swapped;
  }

  /** The open build of a chain, if its numbers are those of the outputs store. */
  function chainAt(chain: ChainId): OpenChain | null {
    const from = open.get(chain);
    return from?.isNumberedBy(addresses) ? from : null;
  }

  function keyOf(chain: ChainId, number: number): AddressKey {
    const key = addresses.addressKey(chain, number);
    if (key) return key;
    throw new AssayError(
      'STORE_CORRUPT',
      `The address ${number} of a cluster of ${chain} is missing in the outputs store.`,
    );
  }

  /** The numbers of the clusters with a member that is wanted, ascending. */
  function wantedClusters(
    { build, clusterOf }: OpenChain,
    hasWanted: (key: AddressKey) => boolean,
  ): readonly number[] {
    const wanted = new Set<number>();
    for (let number = 1; number <= build.highest; number++) {
      const cluster = clusterOf.read(number);
      if (cluster === 0 || wanted.has(cluster)) continue;
      if (hasWanted(keyOf(build.chain, number))) wanted.add(cluster);
    }
    return [...wanted].sort((a, b) => a - b);
  }

  function clusterAt({ build, clusters, members }: OpenChain, cluster: number): Cluster {
    const { chain } = build;
    const [low, high, size, attribute, smallest] = [0, 1, 2, 3, 4].map((word) =>
      clusters.read(cluster, word),
    ) as [number, number, number, number, number];
    const start = low + high * 2 ** 32;
    function* memberKeys(): IterableIterator<AddressKey> {
      for (let at = 0; at < size; at++) yield keyOf(chain, members.read(start + at));
    }
    const isSuper = size > superClusterSize;
    return {
      clusterId: `${chain}:${formatAddressKey(keyOf(chain, smallest), chain)}`,
      size,
      heuristics: heuristicsOf(attribute),
      confidence: Math.min(confidenceOf(attribute), isSuper ? SUPER_CLUSTER_CONFIDENCE : 1),
      isSuper,
      memberKeys,
      members(limit) {
        const texts: string[] = [];
        if (limit < 1) return texts;
        for (const key of memberKeys()) {
          texts.push(formatAddressKey(key, chain));
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
      const from = chain === undefined ? null : chainAt(chain);
      if (chain === undefined || !from) return null;
      const number = addresses.addressNumber(chain, key);
      // An address of a later block has no cluster yet.
      if (number === null || number > from.build.highest) return null;
      const cluster = from.clusterOf.read(number);
      return cluster === 0 ? null : clusterAt(from, cluster);
    },
    *clusters(chain, hasWanted) {
      const from = chainAt(chain);
      if (!from) return;
      if (hasWanted) {
        for (const cluster of wantedClusters(from, hasWanted)) yield clusterAt(from, cluster);
        return;
      }
      for (let cluster = 1; cluster <= from.build.clusters; cluster++) yield clusterAt(from, cluster);
    },
    build: (chain) => chainAt(chain)?.build ?? null,
    refresh,
    async close() {
      for (const one of open.values()) closing.push(one.close());
      open = new Map();
      await Promise.all(closing);
    },
  };
}
