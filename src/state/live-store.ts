/**
 * Live state: the interface through which a store keeps its records, and its embedded implementation, an LMDB environment on this machine.
 * replicated-store.ts has the other implementation. The format version is checked before anything is read or written.
 */
import { AssayError, messageOf } from '../base/errors.ts';
import { wrongFormat } from './format-version.ts';
import { type Database, type Key, openEnvironment, type RootDatabase } from './lmdb.ts';

/** Identifies a writer if only one of many nodes may write: the name of a lease, and the fencing token of its holder. */
export interface Fence {
  readonly name: string;
  readonly token: number;
}

export interface LiveRange<K> {
  readonly start?: K;
  /** Exclusive. */
  readonly end?: K;
  readonly limit?: number;
  readonly reverse?: boolean;
}

/**
 * The part of a database that stores use. LMDB's own class implements it. `putSync` and `removeSync` must be called inside a transaction.
 */
export interface LiveDatabase<V, K extends Key> {
  get(key: K): V | undefined;
  getRange(range?: LiveRange<K>): Iterable<{ readonly key: K; readonly value: V }>;
  getKeys(range?: LiveRange<K>): Iterable<K>;
  getKeysCount(range?: LiveRange<K>): number;
  /** Includes `entryCount`. */
  getStats(): object;
  putSync(key: K, value: V): unknown;
  removeSync(key: K): unknown;
  /** Durable when the promise resolves, like all promises of this interface. */
  put(key: K, value: V): Promise<unknown>;
  remove(key: K): Promise<unknown>;
  transaction<T>(work: () => T): Promise<T>;
}

export interface LiveDatabaseOptions {
  readonly name: string;
  readonly encoding: 'json' | 'msgpack' | 'string' | 'binary';
  readonly keyEncoding?: 'binary';
}

/** The part of an environment that stores use. LMDB's own class implements it. */
export interface LiveRoot {
  openDB<V, K extends Key>(options: LiveDatabaseOptions): LiveDatabase<V, K>;
  /**
   * Runs `work`, which must be synchronous, as one atomic step; durable when it resolves. `work` may run several times before that, each
   * time on the current data, so its effects outside the store must be repeatable.
   */
  transaction<T>(work: () => T): Promise<T>;
  /** Like `transaction`, but if `work` throws, nothing changes. Rejected if another node holds the lease that `fence` names. */
  childTransaction<T>(work: () => T, fence?: Fence | null): Promise<T>;
  resetReadTxn(): void;
  close(): Promise<void>;
}

/** A changed record. */
export interface AppliedWrite {
  /** Name of its database. */
  readonly database: string;
  /** The key as it was put; a list of one element is returned as that element. */
  readonly key: Key;
  readonly isRemoved: boolean;
}

/** Why a store that nodes share is not current. */
export interface StoreProblem {
  /**
   * `away`: Redis was not heard for a second; `full`: write sets cannot be applied to the replica, because its disk is full. All others
   * last until an operator repairs Redis.
   */
  readonly kind: 'away' | 'full' | 'lost' | 'other' | 'format' | 'filling' | 'upgrade';
  readonly message: string;
  /** Why Redis is not heard, if that is known; only for `away`. */
  readonly reason?: string;
}

/** A state of a store that Redis has lost. */
export interface NewerState {
  /** Path of its file, which has the format of the store. */
  readonly path: string;
  readonly version: number;
  /** When it was kept, in ms since the epoch. */
  readonly keptAtMs: number;
}

export interface LiveStore {
  readonly root: LiveRoot;
  /** `formatVersion`, and other small numbers of the owner. */
  readonly meta: LiveDatabase<number, string>;
  /** Resolves when all existing records can be read. Embedded: at once. */
  ready(): Promise<void>;
  /** Returns true if reads return the state within the last second, whichever node wrote it. */
  isCurrent(): boolean;
  /** Returns why `isCurrent` is false; null while it is true. */
  problem(): StoreProblem | null;
  /** Throws NOT_READY if `isCurrent` is false. */
  requireCurrent(): void;
  /** Calls `listener` with the writes of other nodes, once they can be read. Writes of this node are not reported. */
  onApplied(listener: (writes: readonly AppliedWrite[]) => void): void;
  /**
   * Calls `listener` when the records were replaced by a copy of the store in Redis, before anything reads or writes them: they may be those
   * of an earlier state. `hasLost` is true if Redis has lost writes that this node had. Embedded: never.
   */
  onCopied(listener: (hasLost: boolean) => void): void;
  /** Returns the states of this store that Redis has lost and this node has kept, the oldest first. Embedded: none. */
  newerStates(): readonly NewerState[];
  /** Migrates the layout of an older version of the program, before anything else is written. */
  upgrade(work: () => void): void;
  /** Number of the last write set; 0 if write sets are not numbered. */
  version(): number;
}

/** Opens the live state of a store. Throws STORE_VERSION, STORE_CORRUPT. */
export type OpenStore = (
  path: string,
  formatVersion: number,
  options: {
    /** Name of the store, unique in the installation. */
    readonly name: string;
    /** Maximum number of databases. */
    readonly maxDbs?: number;
  },
) => LiveStore;

/** The live state of this machine. */
export interface EmbeddedStore extends LiveStore {
  readonly root: RootDatabase;
  readonly meta: Database<number, string>;
}

/**
 * Opens (or creates) the environment file at `path`. Commits are durable when their promise resolves; by default lmdb-js resolves before
 * the flush.
 *
 * @throws STORE_VERSION if another version of the program wrote the file, STORE_CORRUPT if it is not such an environment
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
    /** True for a replica: lost data is copied again, so commits are flushed in order after their promise has resolved. */
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
  // Another process that opens the store for the first time may have created this database, and not yet written the version.
  const isFresh = names.length === 0 || (names.length === 1 && meta?.getCount() === 0);
  const found = isFresh ? formatVersion : meta?.get('formatVersion');
  // The environment stays open: lmdb-js closes it later, and the caller stops after this error.
  if (meta === null || found !== formatVersion) {
    throw wrongFormat(path, found, formatVersion);
  }
  if (isFresh) meta.putSync('formatVersion', formatVersion);
  return {
    root,
    meta,
    ready: () => Promise.resolve(),
    isCurrent: () => true,
    problem: () => null,
    requireCurrent: () => {},
    // Other processes of this machine write to the same files, so there are no remote writes to report.
    onApplied: () => {},
    onCopied: () => {},
    newerStates: () => [],
    upgrade: (work) => root.transactionSync(work),
    version: () => 0,
  };
}

/** Returns the error for a file that LMDB cannot open, or the original error if it is an AssayError. */
export const unopened = (path: string, cause: unknown): AssayError =>
  cause instanceof AssayError
    ? cause
    : new AssayError('STORE_CORRUPT', `${path} cannot be opened as a store: ${messageOf(cause)}.`, { cause });
