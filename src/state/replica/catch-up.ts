/** Reads the write sets that a replica lacks; if the log no longer has them, copies the whole store. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type Database, FLUSHED_LATER, openEnvironment } from '../lmdb.ts';
import { fieldOf } from '../write-set.ts';
import type { AppliedWrites } from './applied-writes.ts';
import type { ReplicaHealth } from './health.ts';
import type { Lifecycle } from './lifecycle.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { Position } from './replica-file.ts';
import type { WriteLog } from './write-log.ts';

export interface CatchUpDeps {
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
    await this.#logCopy();
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
        applied.replaceBy(staged, to);
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

  /** Logs why the store is copied: Redis lost changes that this replica has and will now lose, or this node was away. */
  async #logCopy(): Promise<void> {
    const { writeLog, applied, log } = this.#deps;
    const redis = await writeLog.position();
    const { version, last } = applied.position;
    const fields = { store: this.#name, version };
    if (redis !== null && (redis.version < version || (redis.version === version && redis.last !== last)))
      log.warn(
        { ...fields, redisVersion: redis.version },
        'Redis went back to an earlier state of this store; this node discards the changes after it',
      );
    else log.info(fields, 'copying store from Redis');
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
