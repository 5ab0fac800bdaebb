/** Reads the write sets that a replica lacks; if the log no longer has them, copies the whole store. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type Database, FLUSHED_LATER, openEnvironment } from '../lmdb.ts';
import { fieldOf } from '../write-set.ts';
import type { AppliedWrites } from './applied-writes.ts';
import type { ReplicaHealth } from './health.ts';
import type { Lifecycle } from './lifecycle.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { NewerReplicas } from './newer-replicas.ts';
import type { Position, ReplicaFile } from './replica-file.ts';
import type { WriteLog } from './write-log.ts';

export interface CatchUpDeps {
  readonly file: ReplicaFile;
  readonly newer: NewerReplicas;
  readonly writeLog: WriteLog;
  readonly applied: AppliedWrites;
  readonly health: ReplicaHealth;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Brings a replica up to date with Redis. */
export class CatchUp {
  readonly #name: string;
  readonly #path: string;
  readonly #deps: CatchUpDeps;
  #running: Promise<void> | null = null;

  /** @param path - path of the replica; copies are staged beside it */
  constructor({ name, path }: { readonly name: string; readonly path: string }, deps: CatchUpDeps) {
    this.#name = name;
    this.#path = path;
    this.#deps = deps;
  }

  /** The run in progress; null if missing. */
  get running(): Promise<void> | null {
    return this.#running;
  }

  /** Reads all missing write sets. Concurrent calls share one run. Rejects with NOT_READY, STORE_VERSION. */
  run(): Promise<void> {
    this.#running ??= this.#readMissing().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #readMissing(): Promise<void> {
    const { writeLog, applied, health, lifecycle, clock } = this.#deps;
    while (!lifecycle.isClosed) {
      const askedMs = clock.monotonic();
      const from = applied.position;
      const reply = await writeLog.look(from);
      if (reply.kind === 'same') return health.heard(askedMs);
      const fault = health.faultOf(reply, applied.position.version);
      if (fault !== null) throw fault;
      if (reply.kind === 'behind' && applied.apply(reply.sets)) continue;
      // The position may have changed during the request, because this node wrote meanwhile.
      if (from === applied.position) await this.#copy();
    }
  }

  /** Copies the whole store into a file beside the replica, then applies the differences to the replica in one transaction. */
  async #copy(): Promise<void> {
    const { applied, lifecycle } = this.#deps;
    const hasLost = await this.#beforeCopy();
    for (let copies = 0; copies < REPLICA_LIMITS.replicaCopiesMax && !lifecycle.isClosed; copies++) {
      this.#removeLeftCopies();
      const staged = openEnvironment(`${this.#path}.copy-${process.pid}`, {
        noSubdir: true,
        noSync: true,
        encoding: 'binary',
        keyEncoding: 'binary',
        eventTurnBatching: false,
      }) as unknown as Database<Buffer, Buffer>;
      try {
        const to = await this.#stage(staged);
        if (to === null) continue;
        applied.replaceBy(staged, to, hasLost);
        return;
      } finally {
        await staged.close();
        this.#removeLeftCopies();
      }
    }
    throw new AssayError('NOT_READY', `The store '${this.#name}' is being copied from Redis. Try again.`, {
      retryAfterSeconds: 1,
    });
  }

  /**
   * Logs why the store is copied. If Redis lost changes that this replica has, the replica is copied aside first: it may be the only one
   * that still has them. Returns true in this case.
   */
  async #beforeCopy(): Promise<boolean> {
    const { file, newer, log } = this.#deps;
    const at = file.position();
    const redisVersion = await this.#versionWithout(at);
    const fields = { store: this.#name, version: at.version };
    if (redisVersion === null) {
      log.info(fields, 'copying store from Redis');
      return false;
    }
    let kept: string | null = null;
    try {
      kept = await newer.keep(file, at);
    } catch (error) {
      log.error(
        { ...fields, error: messageOf(error) },
        'replica not kept: changes that Redis lost are discarded',
      );
    }
    log.warn(
      { ...fields, redisVersion, ...(kept === null ? {} : { kept }) },
      'Redis went back to an earlier state of this store; this node follows it, and discards the changes after it',
    );
    return true;
  }

  /** Returns the version in Redis if Redis has lost the write set at `at`; null if it has it, or if that is not known. */
  async #versionWithout(at: Position): Promise<number | null> {
    const { writeLog } = this.#deps;
    const redis = await writeLog.position();
    if (redis === null || at.version === 0) return null;
    const { version } = redis;
    if (version < at.version || (version === at.version && redis.last !== at.last)) return version;
    // Other nodes wrote since.
    const before = version === at.version ? null : await writeLog.idBefore(at.version + 1);
    return before === null || before === at.last ? null : version;
  }

  /** Fills the copy. Returns the position of the copy, or null if the copy must start again. */
  async #stage(staged: Database<Buffer, Buffer>): Promise<Position | null> {
    const { writeLog, applied, health, lifecycle } = this.#deps;
    const start = await writeLog.position();
    if (start === null) throw health.lost(applied.position.version);
    let cursor = '0';
    let server: string | null = null;
    do {
      const page = await writeLog.copyPage(cursor);
      if (server !== null && server !== page.server) return null;
      ({ server, cursor } = page);
      const { entries } = page;
      staged.transactionSync(() => {
        for (let i = 0; i + 1 < entries.length; i += 2)
          staged.putSync(entries[i] as Buffer, entries[i + 1] as Buffer);
      }, FLUSHED_LATER);
    } while (cursor !== '0' && !lifecycle.isClosed);
    // Writes since the begin of the copy may or may not be in it. After all of them are applied, the copy equals one position in the order.
    let to = start;
    while (!lifecycle.isClosed) {
      const reply = await writeLog.look(to);
      if (reply.kind === 'same') return to;
      if (reply.kind !== 'behind') return null;
      staged.transactionSync(() => {
        for (const { writes } of reply.sets)
          for (const { database, key, value } of writes) {
            if (value === null) staged.removeSync(fieldOf(database, key));
            else staged.putSync(fieldOf(database, key), value);
          }
      }, FLUSHED_LATER);
      for (const { version, id } of reply.sets) to = { version, last: id };
    }
    return null;
  }

  /** Removes files of copies that an ended process left behind. */
  #removeLeftCopies(): void {
    const folder = dirname(this.#path);
    const prefix = `${basename(this.#path)}.copy-`;
    for (const file of readdirSync(folder)) {
      const pid = Number(/^\d+/.exec(file.startsWith(prefix) ? file.slice(prefix.length) : '')?.[0] ?? 0);
      if (pid > 0 && (pid === process.pid || !isRunning(pid))) rmSync(join(folder, file), { force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
