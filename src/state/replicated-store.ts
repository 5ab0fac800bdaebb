/**
 * Live state that many nodes share. Redis holds the authoritative order of all writes; every node reads a replica in LMDB as if it were
 * alone. A transaction runs on trial on this node. Its write set is appended in Redis if no other write happened meanwhile, then applied on
 * this node and, through a stream, on every other node. docs/decisions/replicated-stores.md has the reasons.
 *
 * The parts are in replica/: the file of the replica, the log in Redis, catching up and copying, the queue of transactions, the follower,
 * and the health of the store.
 */
import { dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { type LiveFile, openLiveFile } from './live-file.ts';
import {
  type LiveDatabase,
  type LiveDatabaseOptions,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from './live-store.ts';
import { type Database, type Key, keyToBytes } from './lmdb.ts';
import type { RedisStore } from './redis.ts';
import type { Installation } from './redis-installation.ts';
import { AppliedWrites } from './replica/applied-writes.ts';
import { CatchUp } from './replica/catch-up.ts';
import { Follower } from './replica/follower.ts';
import { ReplicaHealth } from './replica/health.ts';
import { Lifecycle } from './replica/lifecycle.ts';
import { REPLICA_LIMITS } from './replica/limits.ts';
import { NewerReplicas } from './replica/newer-replicas.ts';
import { POSITION_DATABASE, type Position, ReplicaFile } from './replica/replica-file.ts';
import { WriteLog } from './replica/write-log.ts';
import { storeClosed, WriteQueue } from './replica/write-queue.ts';
import { createStateLog, type StateLog } from './state-log.ts';

export interface ReplicaDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The installation that owns the stores; if omitted, the stores belong to none. */
  readonly installation?: Installation;
  /** Shared by the stores of a node, because they see the same faults of one Redis. */
  readonly states?: StateLog;
}

const WRITER_BYTES = 9;
/** Polling interval of `ready`. */
const READY_POLL_MS = 10;

/**
 * Opens live state that all nodes of a Redis share. The replica has a file of its own, beside the state that only this machine holds. The
 * format version is part of the file name, so another format has another replica, copied again.
 */
export function openReplicated(deps: ReplicaDeps): OpenStore {
  const states = createStateLog();
  return (path, formatVersion, options) =>
    openReplicatedStore(replicaPath(path, formatVersion, options.name), formatVersion, options, {
      states,
      ...deps,
    });
}

/** Returns the path of the replica of the store whose standalone file is at `path`. */
export const replicaPath = (path: string, formatVersion: number, name: string): string =>
  join(dirname(path), 'replicas', `${name}-${formatVersion}.mdb`);

/** State of a replica that no process may have open: its position in the history, and the installation that it follows. */
export interface ReplicaState extends Position {
  /** Null if the replica is older than installation ids. */
  readonly installation: Installation | null;
}

/**
 * Reads the position of a replica from its file.
 *
 * @returns null if nothing was ever written to the replica.
 */
export function readReplica(file: LiveFile): ReplicaState | null {
  const own = file.open<unknown, string>({ name: POSITION_DATABASE, encoding: 'json' });
  const position = own?.get('place') as Position | undefined;
  if (position === undefined || position.version === 0) return null;
  return { ...position, installation: (own?.get('installation') as Installation | undefined) ?? null };
}

/**
 * Reads the state of the replica of the store at `path`.
 *
 * @returns null if there is no replica, or if nothing was ever written to it.
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export async function replicaState(
  path: string,
  formatVersion: number,
  name: string,
): Promise<ReplicaState | null> {
  const file = openLiveFile({ path: replicaPath(path, formatVersion, name), formatVersion });
  try {
    return file === null ? null : readReplica(file);
  } finally {
    await file?.close();
  }
}

/** The parts of one open store. */
class ReplicatedStore {
  readonly name: string;
  readonly lifecycle = new Lifecycle();
  readonly file: ReplicaFile;
  readonly applied: AppliedWrites;
  readonly health: ReplicaHealth;
  readonly newer: NewerReplicas;
  readonly catchUp: CatchUp;
  readonly queue: WriteQueue;
  readonly follower: Follower;
  readonly #clock: Clock;
  /** Number of migrations that are not yet complete. */
  #upgrades = 0;
  #following: Promise<void> = Promise.resolve();

  constructor(path: string, formatVersion: number, name: string, maxDbs: number, deps: ReplicaDeps) {
    const { redis, clock, log, random, installation = null, states = createStateLog() } = deps;
    const { lifecycle } = this;
    const installationId = installation?.id ?? '';
    this.name = name;
    this.#clock = clock;
    const local = openLiveStore(path, formatVersion, { maxDbs: maxDbs + 1, isReplica: true });
    const file = new ReplicaFile(local.root, path, installation);
    const writer = Buffer.from(random.bytes(WRITER_BYTES)).toString('base64url');
    const writeLog = new WriteLog({ name, formatVersion, installationId, writer }, redis);
    const applied = new AppliedWrites(file);
    const health = new ReplicaHealth({ name, path, formatVersion, installationId }, { clock, log, states });
    const shared = { writeLog, applied, health, lifecycle, clock, log };
    const newer = new NewerReplicas(path);
    const catchUp = new CatchUp({ name, path }, { ...shared, file, newer });
    this.newer = newer;
    this.file = file;
    this.applied = applied;
    this.health = health;
    this.catchUp = catchUp;
    this.queue = new WriteQueue({ name, writer }, { ...shared, file, catchUp });
    this.follower = new Follower({ name, installationId }, { ...shared, redis, catchUp, states, random });
  }

  /** Begins to follow the log. */
  start(): void {
    this.#following = this.follower.run();
  }

  openDB<V, K extends Key>(options: LiveDatabaseOptions): LiveDatabase<V, K> {
    const { queue, health } = this;
    const database: Database<V, K> = this.file.openDB<V, K>(options);
    const isBinary = options.keyEncoding === 'binary';
    if (isBinary) this.applied.reportKeysAsBytes(options.name);
    const touch = (key: K): void =>
      queue.touch(options.name, isBinary ? Buffer.from(key as Buffer) : keyToBytes(key));
    function putSync(key: K, value: V): void {
      touch(key);
      database.putSync(key, value);
    }
    function removeSync(key: K): void {
      touch(key);
      database.removeSync(key);
    }
    /** A store that was never synchronised must not be read as if it were empty. */
    const read = (): Database<V, K> => {
      if (health.isUnread && !queue.isOnTrial) throw health.unread();
      return database;
    };
    const transaction = <T>(work: () => T): Promise<T> => queue.run(work);
    return {
      get: (key) => read().get(key),
      getRange: (range) => read().getRange(range),
      getKeys: (range) => read().getKeys(range),
      getKeysCount: (range) => read().getKeysCount(range),
      getStats: () => read().getStats(),
      putSync,
      removeSync,
      put: (key, value) => transaction(() => putSync(key, value)),
      remove: (key) => transaction(() => removeSync(key)),
      transaction,
    };
  }

  async ready(): Promise<void> {
    const { health } = this;
    const untilMs = this.#clock.monotonic() + REPLICA_LIMITS.replicaReadyMs;
    while (health.isUnread || this.#upgrades > 0) {
      if (!this.lifecycle.isOpen) throw storeClosed(this.name);
      health.requireNoFault();
      if (this.#clock.monotonic() > untilMs) throw health.notCurrent();
      await sleep(READY_POLL_MS);
    }
  }

  upgrade(work: () => void): void {
    this.#upgrades++;
    this.queue.enqueue(work, null, this.#clock.monotonic() + REPLICA_LIMITS.replicaReadyMs).then(
      () => this.#upgrades--,
      (error: unknown) => this.health.upgradeFailed(error),
    );
  }

  /** Tries the waiting transactions once more, and closes the store. A further call returns at once. */
  async close(): Promise<void> {
    if (!this.lifecycle.isOpen) return;
    this.lifecycle.enter('closing');
    await this.queue.drained();
    this.lifecycle.enter('closed');
    this.follower.disconnect();
    await this.#following;
    await this.catchUp.running?.catch(() => undefined);
    await this.file.close();
  }
}

/**
 * Opens the replica file at `path` of the store `name`. The first node that writes creates the store in Redis. Reads throw NOT_READY until
 * `ready` resolves. Several processes of one machine may share the file.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openReplicatedStore(
  path: string,
  formatVersion: number,
  { name, maxDbs = 8 }: { readonly name: string; readonly maxDbs?: number },
  deps: ReplicaDeps,
): LiveStore {
  const store = new ReplicatedStore(path, formatVersion, name, maxDbs, deps);
  const { queue, health, applied, file } = store;
  const root: LiveRoot = {
    openDB: (options) => store.openDB(options),
    transaction: (work) => queue.run(work),
    childTransaction: (work, fence) => queue.run(work, fence),
    resetReadTxn: () => file.resetReadTxn(),
    close: () => store.close(),
  };
  const meta = store.openDB<number, string>({ name: 'meta', encoding: 'json' });
  store.start();
  return {
    root,
    meta,
    ready: () => store.ready(),
    isCurrent: () => health.isCurrent(),
    problem: () => health.problem(),
    requireCurrent: () => health.requireCurrent(),
    onApplied: (listener) => applied.listen(listener),
    onCopied: (listener) => applied.listenToCopies(listener),
    newerStates: () => store.newer.list(),
    upgrade: (work) => store.upgrade(work),
    version: () => applied.position.version,
  };
}
