/** Removes the remnants of jobs: expired files and records, uploads of dead processes, and folders without a job. */
import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { JOB_LIMITS } from '../limits.ts';
import type { IndexingPlace, JobRecord, JobStore } from './job-store.ts';
import type { JobPlaces } from './places.ts';
import type { ResultIndexes } from './results.ts';

/** An upload on another node without a sign of life for this long is considered dead. */
const SILENT_UPLOAD_MS = 15 * 60_000;
/** An id starts with the time (12 hexadecimal digits), followed by random digits, so that ids sort by time. */
export const ID_SHAPE = /^[0-9a-f]{28}$/;

export interface CleanupDeps {
  readonly store: JobStore;
  readonly places: JobPlaces;
  readonly results: ResultIndexes;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether other nodes use the folder too. If so, apparent remnants may be uploads in progress on another node. */
  readonly isShared: boolean;
  /** Whether the upload is in progress on this node. */
  readonly isUploading: (id: string) => boolean;
  /** Removes all of a job and refunds its charge. */
  readonly remove: (job: JobRecord) => Promise<void>;
}

/** The last sign of life of an upload: its time, and the monotonic time at which it was first seen. */
interface SignOfLife {
  readonly atMs: number;
  readonly seenMs: number;
}

/** Removes remnants, on the node that schedules. */
export class Cleanup {
  readonly #deps: CleanupDeps;
  /** Of uploads on other nodes, by id. */
  #signs = new Map<string, SignOfLife>();
  /** Whether every claim and every ended job is in the indexes of what is removed. */
  #isIndexed = false;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  /** Removes all remnants. Failures are logged, and the next run tries again. */
  async run(): Promise<void> {
    const { store, clock, log } = this.#deps;
    try {
      await this.#removeDeadUploads();
      if (!this.#isIndexed) await this.#indexRemovals();
      await this.#removeExpired();
      const before = clock.now() - LIMITS.idempotencyMs;
      while (await store.transaction((writer) => writer.removeClaims(before)));
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'expired bulk jobs not removed');
    }
  }

  /** Adds records that an earlier version of the program stored, on this or another node, to the indexes of what is removed. */
  async #indexRemovals(): Promise<void> {
    const { store } = this.#deps;
    let place: IndexingPlace | null = null;
    do {
      const after: IndexingPlace | null = place;
      place = await store.transaction((writer) => writer.indexRemovals(after));
    } while (place !== null);
    this.#isIndexed = true;
  }

  /** Removes expired files, and jobs after their retention time. */
  async #removeExpired(): Promise<void> {
    const { store, places, results, clock, remove } = this.#deps;
    const now = clock.now();
    const nextDue = () => store.transaction((writer) => writer.due(now));
    for (let due = await nextDue(); due.length > 0; due = await nextDue()) {
      for (const job of due) {
        const { id, endedAt } = job;
        if (endedAt === null || now - endedAt >= JOB_LIMITS.jobKeptMs) await remove(job);
        else {
          results.delete(id);
          await store.transaction((writer) => {
            const latest = writer.job(id);
            if (latest === null) return;
            writer.removeChunks(id);
            writer.put({ ...latest, filesRemoved: true });
          });
          await rm(places.ofJob(id), { recursive: true, force: true });
        }
      }
    }
  }

  /** Removes uploads of dead processes, and folders without a job. */
  async #removeDeadUploads(): Promise<void> {
    const { store, places, clock, log, isUploading, remove } = this.#deps;
    const now = clock.now();
    const seenMs = clock.monotonic();
    const before = this.#signs;
    this.#signs = new Map();
    const isElsewhere = (id: string, atMs: number): boolean =>
      this.#mayArriveElsewhere(id, { atMs, seenMs }, before.get(id), now);
    for (const id of store.openIds()) {
      const job = store.job(id);
      if (job?.state !== 'RECEIVING' || isUploading(id) || isElsewhere(id, job.changedAt)) continue;
      log.info({ job: id }, 'interrupted upload of a bulk job removed');
      await remove(job);
    }
    if (!existsSync(places.folder)) return;
    for (const name of await readdir(places.folder)) {
      if (!ID_SHAPE.test(name) || store.job(name) !== null) continue;
      const path = join(places.folder, name);
      const { mtimeMs } = await stat(path);
      if (isElsewhere(name, mtimeMs)) continue;
      // A job that was accepted is deleted with its record. If Redis has lost the record, it may be restored.
      if (now - mtimeMs < JOB_LIMITS.jobFilesKeptMs && (await this.#hasWork(name))) continue;
      await rm(path, { recursive: true, force: true });
    }
  }

  /** Whether a folder is that of a job that was accepted: it has a plan, or results. */
  async #hasWork(id: string): Promise<boolean> {
    const { places, isShared } = this.#deps;
    if (!isShared) return false;
    if (existsSync(places.plan(id))) return true;
    return existsSync(places.answers(id)) && (await readdir(places.answers(id))).length > 0;
  }

  /** Whether another node may be receiving an upload, to judge by its last sign of life. */
  #mayArriveElsewhere(id: string, latest: SignOfLife, before: SignOfLife | undefined, now: number): boolean {
    // On a standalone node, all uploads in progress are known. The clock is not used, because it may have been set back.
    if (!this.#deps.isShared || now - latest.atMs >= SILENT_UPLOAD_MS) return false;
    const sign = before?.atMs === latest.atMs ? before : latest;
    this.#signs.set(id, sign);
    // A time in the future, because the clock was set back, is not a sign of life by itself; only a change of it is.
    return latest.seenMs - sign.seenMs < SILENT_UPLOAD_MS;
  }
}
