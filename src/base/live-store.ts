/**
 * Live state: what a store needs of the place it keeps its records in, and the embedded one, an LMDB environment of this machine.
 * Another lies in replicated-store.ts. A format version is checked before anything is read or written.
 */
import { AssayError, messageOf } from './errors.ts';
import { type Database, type Key, openEnvironment, type RootDatabase } from './lmdb.ts';

/** Who writes, where only one of many nodes may: the name of a lease, and the number its holder was given with it. */
export interface Fence {
  readonly name: string;
  readonly token: number;
}

export interface LiveRange<K> {
  readonly start?: K;
  /** Not in the range. */
  readonly end?: K;
  readonly limit?: number;
  readonly reverse?: boolean;
}

/** What stores use of one database. LMDB's own fits. `putSync` and `removeSync` are for use inside a transaction. */
export interface LiveDatabase<V, K extends Key> {
  get(key: K): V | undefined;
  getRange(range?: LiveRange<K>): Iterable<{ readonly key: K; readonly value: V }>;
  getKeys(range?: LiveRange<K>): Iterable<K>;
  getKeysCount(range?: LiveRange<K>): number;
  /** `entryCount` among them. */
  getStats(): object;
  putSync(key: K, value: V): unknown;
  removeSync(key: K): unknown;
  /** Durable when it resolves, as all that is promised here. */
  put(key: K, value: V): Promise<unknown>;
  remove(key: K): Promise<unknown>;
  transaction<T>(work: () => T): Promise<T>;
}

export interface LiveDatabaseOptions {
  readonly name: string;
  readonly encoding: 'json' | 'msgpack' | 'string' | 'binary';
  readonly keyEncoding?: 'binary';
}

/** What stores use of an environment. LMDB's own fits. */
export interface LiveRoot {
  openDB<V, K extends Key>(options: LiveDatabaseOptions): LiveDatabase<V, K>;
  /**
   * Runs `work`, which must be synchronous, as one atomic step; durable when it resolves. It may run several times before that, each
   * time on what is stored then: what it leaves behind outside the store has to bear that.
   */
  transaction<T>(work: () => T): Promise<T>;
  /** As `transaction`, and a work that throws changes nothing. Refused where another holds the lease that `fence` names. */
  childTransaction<T>(work: () => T, fence?: Fence | null): Promise<T>;
  resetReadTxn(): void;
  close(): Promise<void>;
}

/** A record that changed. */
export interface AppliedWrite {
  /** Name of its database. */
  readonly database: string;
  /** As it was put, a list of one as what it holds. */
  readonly key: Key;
  readonly isRemoved: boolean;
}

/** Why a store that nodes share is not current. */
export interface StoreProblem {
  /**
   * `away`: nothing was heard for a second; `full`: what was heard cannot be written to the replica, as its disk is full. All others last
   * until an operator repairs Redis.
   */
  readonly kind: 'away' | 'full' | 'lost' | 'other' | 'format' | 'filling' | 'upgrade';
  readonly message: string;
}

export interface LiveStore {
  readonly root: LiveRoot;
  /** `formatVersion`, and whatever small numbers the owner keeps. */
  readonly meta: LiveDatabase<number, string>;
  /** Resolves when everything that was there before can be read. Embedded: at once. */
  ready(): Promise<void>;
  /** Whether what is read here is what was true within the last second, on whatever node it was written. */
  isCurrent(): boolean;
  /** Why `isCurrent` is false; null while it is true. */
  problem(): StoreProblem | null;
  /** Throws NOT_READY where `isCurrent` is false. */
  requireCurrent(): void;
  /** Told, once it can be read, of what other nodes wrote. What this one writes is not told. */
  onApplied(listener: (writes: readonly AppliedWrite[]) => void): void;
  /** Changes the layout that an older version of the program left, before anything else is written. */
  upgrade(work: () => void): void;
  /** Number of the last write set; 0 where they are not numbered. */
  version(): number;
}

/** Opens the live state that a store is kept in. Throws STORE_VERSION, STORE_CORRUPT. */
export type OpenStore = (
  path: string,
  formatVersion: number,
  options: {
    /** Names the store among all of the installation. */
    readonly name: string;
    /** Databases it may have. */
    readonly maxDbs?: number;
  },
) => LiveStore;

/** The live state of this machine. */
export interface EmbeddedStore extends LiveStore {
  readonly root: RootDatabase;
  readonly meta: Database<number, string>;
}

/**
 * Opens (or makes) the environment at `path`, a file. Commits are durable when their promise resolves: the default of lmdb-js
 * resolves before the flush. Throws STORE_VERSION where another version of the program wrote it, STORE_CORRUPT where it is no
 * such environment.
 */
export function openLiveStore(
  path: string,
  formatVersion: number,
  {
    maxDbs = 8,
    isReplica = false,
  }: {
    readonly name?: string;
    readonly maxDbs?: number;
    /** What is lost of it comes back from elsewhere: commits are flushed in order, behind their promise. */
    readonly isReplica?: boolean;
  } = {},
): EmbeddedStore {
  let root: RootDatabase;
  try {
    root = openEnvironment(path, {
      maxDbs,
      noSubdir: true,
      overlappingSync: isReplica,
    });
  } catch (cause) {
    throw unopened(path, cause);
  }
  const names = [...root.getKeys({ limit: 100 })];
  const isKnown = names.length === 0 || names.includes('meta');
  const meta = isKnown ? root.openDB<number, string>({ name: 'meta', encoding: 'json' }) : null;
  // Another process that opens the store for the first time may have made this database, and not written the version yet.
  const isFresh = names.length === 0 || (names.length === 1 && meta?.getCount() === 0);
  const found = isFresh ? formatVersion : meta?.get('formatVersion');
  // The environment stays open: lmdb-js closes it in its own time, and whoever is refused here stops.
  if (meta === null || found !== formatVersion) {
    throw otherFormat(path, found, formatVersion);
  }
  if (isFresh) meta.putSync('formatVersion', formatVersion);
  return {
    root,
    meta,
    ready: () => Promise.resolve(),
    isCurrent: () => true,
    problem: () => null,
    requireCurrent: () => {},
    // Other processes of this machine write into the same files: there is nobody to be told of.
    onApplied: () => {},
    upgrade: (work) => root.transactionSync(work),
    version: () => 0,
  };
}

/** The refusal of a file that LMDB cannot open, or that was refused before. */
export const unopened = (path: string, cause: unknown): AssayError =>
  cause instanceof AssayError
    ? cause
    : new AssayError('STORE_CORRUPT', `${path} cannot be opened as a store: ${messageOf(cause)}.`, { cause });

/** The refusal of a store that another version wrote. */
export const otherFormat = (path: string, found: number | undefined, formatVersion: number): AssayError =>
  new AssayError(
    'STORE_VERSION',
    `${path} has format version ${found ?? 'unknown'}, and this version of Assay reads version ${formatVersion} only. It was left as it is.`,
  );
