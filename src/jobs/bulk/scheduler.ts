/**
 * Decides which chunk is processed next. Accounts take turns chunk by chunk, and so do the jobs of one account, so that a job of
 * ten million lines does not starve one of a hundred. A chunk counts as answered when its file is durable and the store has
 * recorded it, in this order. Work that is lost in between is repeated into another file, so no line is answered twice.
 */
import { setMaxListeners } from 'node:events';
import { rm } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { sleep } from '../../base/retry.ts';
import type { Fence } from '../../state/live-store.ts';
import { isStorageFull } from '../../state/storage.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from '../chunks.ts';
import type { FolderCheck } from '../jobs-folder.ts';
import { JOB_LIMITS } from '../limits.ts';
import { ActiveJob, RoundRobin } from './active-job.ts';
import type { JobBilling } from './billing.ts';
import { jobAfter } from './job-state.ts';
import type { JobRecord, JobStore, JobWriter } from './job-store.ts';
import { linesOf } from './line-proofs.ts';
import { type JobPlaces, syncFolder } from './places.ts';
import { Plan } from './plan.ts';

export interface SchedulerDeps {
  readonly store: JobStore;
  readonly places: JobPlaces;
  readonly runner: ChunkRunner;
  readonly billing: JobBilling;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Whether the disk has space for more results. */
  readonly hasRoom: () => Promise<boolean>;
  /** Whether this node has the folder of the files: if not, no job lacks its files. */
  readonly checkFolder: FolderCheck;
}

/** Schedules the chunks of all nodes, on the node that holds the lease. */
export interface Scheduler {
  /** Adopts all jobs that have not ended, including those of an earlier process. All writes carry `fence`. */
  start(fence: Fence | null): void;
  /** Checks for work at once instead of at the next interval. */
  wake(): void;
  /** Resolves when the job has ended, or at once if it is not processed here. */
  whenEnded(id: string): Promise<void>;
  /** Starts no more chunks, and resolves when the results of the running ones are recorded. */
  stop(): Promise<void>;
  /** Number of jobs and chunks in progress. */
  readonly jobs: number;
  readonly chunks: number;
}

/**
 * - `stopped`: it has no jobs
 * - `running`: it adopts jobs and starts chunks
 * - `stopping`: it starts nothing, and waits until the running chunks are recorded
 */
type SchedulerState = 'stopped' | 'running' | 'stopping';

/** A chunk with durable results that is not recorded in the store yet. */
interface Finished {
  readonly job: ActiveJob;
  readonly chunk: number;
  readonly file: string;
  readonly done: ChunkDone;
}

/** Interval between checks of the store for writes of other processes, and of the disk for free space. */
const LOOK_MS = 1_000;
/** First and longest pause if the runner, the store or the billing was not ready. */
const PAUSE_MS = { min: 250, max: 15_000 };
/** Time that a stop waits for running chunks: most take less than a second. */
const STOP_MS = 5_000;
/** Number of finished chunks per running chunk that may wait to be recorded. */
const BACKLOG = 2;
const FILE_RANDOM_BYTES = 5;
/** Chunks of a restored job in one transaction: 150 KB. */
const RESTORED_CHUNKS = 1_000;

const isTemporary = (error: unknown): boolean =>
  isStorageFull(error) ||
  (error instanceof AssayError && (error.code === 'NOT_READY' || error.code === 'OVERLOADED'));

/** Resolves with the result of the work. If the signal is aborted, it rejects at once, whatever the work does then. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new AssayError('OVERLOADED', 'The chunk was aborted.'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}

/** Advances the job's prefix over all chunks that are answered without a gap. */
function withPrefix(job: JobRecord, writer: JobWriter): JobRecord {
  let { chunks, items, failed, bytes } = job.prefix;
  for (;;) {
    const next = writer.chunk(job.id, chunks);
    if (next === null) return { ...job, prefix: { chunks, items, failed, bytes } };
    chunks++;
    items += next.items;
    failed += next.failed;
    bytes += next.bytes;
  }
}

/** Creates the scheduler. It does nothing before `start`. */
export const createScheduler = (deps: SchedulerDeps): Scheduler => new ChunkScheduler(deps);

class ChunkScheduler implements Scheduler {
  readonly #deps: SchedulerDeps;
  #state: SchedulerState = 'stopped';
  /** Carried by all writes since the last start. */
  #fence: Fence | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Aborted when the scheduler stops, so that its pauses end. */
  #stopping = new AbortController();
  readonly #active = new Map<string, ActiveJob>();
  readonly #turns = new RoundRobin();
  /** Jobs that are being settled, by id. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #underway = new Set<Promise<void>>();
  readonly #finished: Finished[] = [];
  /** Records the finished chunks; null if there are none. */
  #recording: Promise<void> | null = null;
  #running = 0;
  #hasRoom = true;
  /** Monotonic time before which no chunk starts. */
  #pausedUntil = 0;
  #pauseMs = PAUSE_MS.min;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  get jobs(): number {
    return this.#active.size;
  }

  get chunks(): number {
    return this.#running;
  }

  start(fence: Fence | null): void {
    if (this.#state === 'running') return;
    this.#fence = fence;
    this.#become('running');
    this.wake();
  }

  async stop(): Promise<void> {
    this.#become('stopping');
    const late = setTimeout(() => {
      for (const job of this.#active.values()) job.become('released');
    }, STOP_MS);
    while (this.#underway.size > 0 || this.#recording !== null) {
      await Promise.all([...this.#underway]);
      await this.#recording;
    }
    clearTimeout(late);
    for (const job of [...this.#active.values()]) this.#release(job);
    if (this.#state === 'stopping') this.#become('stopped');
  }

  #become(state: SchedulerState): void {
    this.#state = state;
    if (state === 'running') {
      this.#stopping = new AbortController();
      // One listener for each job that waits to be settled again.
      setMaxListeners(0, this.#stopping.signal);
      this.#timer = setInterval(() => this.#look(), LOOK_MS);
      this.#timer.unref();
    } else {
      this.#stopping.abort();
      if (this.#timer !== null) clearInterval(this.#timer);
    }
  }

  async whenEnded(id: string): Promise<void> {
    await (this.#active.get(id)?.ended ?? this.#ending.get(id));
  }

  /** Adopts new jobs, and releases those that were stopped. */
  wake(): void {
    if (this.#state !== 'running') return;
    const { store } = this.#deps;
    for (const id of store.openIds()) {
      if (!this.#active.has(id)) this.#adopt(id);
      else if (store.job(id)?.ending != null) this.#end(id);
    }
    for (const job of [...this.#active.values()]) if (store.job(job.record.id) === null) this.#release(job);
    this.#fill();
  }

  #look(): void {
    if (this.#active.size > 0) void this.#lookAtRoom();
    else this.wake();
  }

  async #lookAtRoom(): Promise<void> {
    const { log } = this.#deps;
    try {
      const had = this.#hasRoom;
      this.#hasRoom = await this.#deps.hasRoom();
      if (had && !this.#hasRoom) log.warn('bulk jobs paused: too little disk space');
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'free disk space of bulk jobs unknown');
    }
    this.wake();
  }

  /** Resolves after the time, or when the scheduler stops. */
  #pause(ms: number): Promise<void> {
    return sleep(ms, this.#stopping.signal);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underway.delete(tracked));
    this.#underway.add(tracked);
  }

  // --- jobs -------------------------------------------------------------------------------------------------------------

  #adopt(id: string): void {
    const { store, places } = this.#deps;
    if (this.#active.has(id) || this.#ending.has(id)) return;
    const record = store.job(id);
    if (record === null || record.state === 'RECEIVING' || record.endedAt !== null) return;
    if (record.ending !== null) {
      this.#end(id);
      return;
    }
    let plan: Plan;
    try {
      plan = Plan.read(places.plan(id));
    } catch (error) {
      this.#restoreOrFail(id, messageOf(error));
      return;
    }
    const job = new ActiveJob(record, plan);
    this.#active.set(id, job);
    this.#turns.add(job);
  }

  #drop(job: ActiveJob): void {
    this.#active.delete(job.record.id);
    job.become('released');
    this.#turns.remove(job);
  }

  /** Stops processing a job that does not end here. */
  #release(job: ActiveJob): void {
    this.#drop(job);
    job.resolveEnded();
  }

  /**
   * A job without a plan may have ended before: its input and plan are removed then, and Redis went back to an earlier state. Its result is
   * still there, so it is ended again, which charges nothing twice. Otherwise its files are lost.
   */
  #restoreOrFail(id: string, reason: string): void {
    const work = this.#restoreLost(id)
      .then(
        (isRestored) => (isRestored ? null : reason),
        (error: unknown) => {
          // The next check adopts the job again.
          if (isTemporary(error) || (error instanceof AssayError && error.code === 'STORE_BUSY')) return null;
          return messageOf(error);
        },
      )
      // Without the folder, the next holder of the lease adopts the job.
      .then(async (problem) =>
        problem === null || (await this.#deps.checkFolder()) !== null ? null : problem,
      )
      .then((problem) => {
        this.#ending.delete(id);
        if (this.#deps.store.job(id)?.ending != null) return this.#end(id);
        if (problem === null) return;
        this.#deps.log.error({ job: id, reason: problem }, 'bulk job has no readable plan');
        this.#fail(id, 'The input of the job is missing or damaged.');
      });
    this.#ending.set(id, work);
    this.#track(work);
  }

  /** Restores the last state of a job that Redis has lost, except its end. Returns false if this node does not have it. */
  async #restoreLost(id: string): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    const lost = await store.lost(id);
    if (lost === null) return false;
    for (let at = 0; at < lost.chunks.length; at += RESTORED_CHUNKS)
      await store.transaction((writer) => {
        for (const [chunk, record] of lost.chunks.slice(at, at + RESTORED_CHUNKS))
          writer.putChunk(id, chunk, record);
      }, this.#fence);
    await store.transaction((writer) => {
      const job = writer.job(id);
      if (job === null || job.ending !== null || job.endedAt !== null) return;
      writer.put({ ...lost.job, state: 'RUNNING', endedAt: null, spent: null, changedAt: clock.now() });
    }, this.#fence);
    log.warn({ job: id, ending: lost.job.ending }, 'end of a bulk job restored that Redis had lost');
    return true;
  }

  #fail(id: string, error: string): void {
    const { store, clock, log } = this.#deps;
    const write = store
      .transaction((writer) => {
        const job = writer.job(id);
        const next = job && jobAfter(job, { type: 'stopped', ending: 'FAILED', error }, clock.now());
        if (next !== null) writer.put(next);
      }, this.#fence)
      .then(() => this.#end(id))
      .catch((error: unknown) => {
        log.error({ job: id, reason: messageOf(error) }, 'failure of a bulk job not recorded');
        // The next check adopts the job again, with the chunk that is not in progress any more.
        const job = this.#active.get(id);
        if (job !== undefined) this.#release(job);
      });
    this.#track(write);
  }

  /** Settles the charge of a job and ends it, with as many attempts as needed. */
  #end(id: string): void {
    const job = this.#active.get(id);
    if (job !== undefined) this.#drop(job);
    if (this.#ending.has(id)) return;
    const work = this.#settleAndEnd(id).finally(() => {
      this.#ending.delete(id);
      job?.resolveEnded();
    });
    this.#ending.set(id, work);
    this.#track(work);
    this.#fill();
  }

  async #settleAndEnd(id: string): Promise<void> {
    for (let wait = PAUSE_MS.min; ; wait = Math.min(PAUSE_MS.max, wait * 2)) {
      try {
        return await this.#endOnce(id);
      } catch (error) {
        this.#deps.log.error({ job: id, reason: messageOf(error) }, 'charge of a bulk job not settled');
        // The charge is recorded under the id of the job, so the next start settles it.
        if (this.#state !== 'running') return;
        await this.#pause(wait);
      }
    }
  }

  async #endOnce(id: string): Promise<void> {
    const { store, billing, places, clock } = this.#deps;
    // Read inside a transaction, so that the record is current.
    const job = await store.transaction((writer) => writer.job(id), this.#fence);
    if (job === null || job.ending === null || job.endedAt !== null) return;
    // In a stopped job, results after a gap cannot be read, and are not charged.
    const { items: answered, failed } = job.prefix;
    const spent = (answered - failed) * job.perLine;
    await billing.settle(job, spent);
    // Removed before the job is marked as ended: if this is interrupted, the next start ends the job again, which needs neither
    // file.
    await rm(places.input(id), { force: true });
    await rm(places.plan(id), { force: true });
    const at = clock.now();
    const lines = job.receipt === undefined ? null : linesOf(job, store);
    await store.transaction((writer) => {
      const latest = writer.job(id);
      const bound = lines === null ? {} : { lines };
      const next = latest && jobAfter(latest, { type: 'settled', answered, failed, spent, ...bound }, at);
      if (next !== null) writer.put(next);
    }, this.#fence);
  }

  // --- chunks -----------------------------------------------------------------------------------------------------------

  #fill(): void {
    const { store, runner, clock } = this.#deps;
    while (
      this.#state === 'running' &&
      this.#hasRoom &&
      this.#running < runner.slots &&
      this.#finished.length < BACKLOG * runner.slots &&
      clock.monotonic() >= this.#pausedUntil
    ) {
      const next = this.#turns.takeNext(store);
      if (next === null) return;
      if (next.job.become('started')) this.#recordStart(next.job);
      this.#track(this.#work(next.job, next.chunk));
    }
  }

  #recordStart({ record: { id } }: ActiveJob): void {
    const { store, clock, log } = this.#deps;
    const at = clock.now();
    const write = store
      .transaction((writer) => {
        const job = writer.job(id);
        const next = job && jobAfter(job, { type: 'started' }, at);
        if (next !== null) writer.put(next);
      }, this.#fence)
      // If this fails, recording the first results marks the job as started.
      .catch((error: unknown) =>
        log.warn({ job: id, reason: messageOf(error) }, 'start of a bulk job not recorded'),
      );
    this.#track(write);
  }

  async #work(job: ActiveJob, chunk: number): Promise<void> {
    const { runner, places, random } = this.#deps;
    const { id, kind, chain, format, columns, headBytes, verdict, receipt } = job.record;
    const file = `${chunk}.${Buffer.from(random.bytes(FILE_RANDOM_BYTES)).toString('hex')}`;
    const { input, firstLine } = job.plan.partOf(chunk, places.input(id), headBytes);
    const output = places.answer(id, file);
    const task: ChunkTask = {
      ...{ jobId: id, chunk, kind, chain, format, columns, input, firstLine, output },
      ...(verdict === undefined ? {} : { verdict }),
      // The header line is not part of the result.
      ...(receipt === undefined
        ? {}
        : { receipt: { secret: receipt.secret, line: firstLine - (headBytes > 0 ? 2 : 1) } }),
    };
    const expected = job.plan.linesOf(chunk) - (chunk === 0 && headBytes > 0 ? 1 : 0);
    this.#running++;
    try {
      const done = await unlessAborted(runner.run(task, job.signal), job.signal);
      if (done.items !== expected)
        throw new Error(`chunk ${chunk} has ${done.items} answers for ${expected} lines`);
      this.#pauseMs = PAUSE_MS.min;
      if (job.state !== 'released') this.#finished.push({ job, chunk, file, done });
    } catch (error) {
      if (job.state !== 'released') this.#chunkFailed(job, chunk, error);
    } finally {
      this.#running--;
      if (this.#finished.length > 0) this.#recording ??= this.#record();
      this.#fill();
    }
  }

  #chunkFailed(job: ActiveJob, chunk: number, error: unknown): void {
    const { clock, log } = this.#deps;
    const { id } = job.record;
    if (isTemporary(error)) {
      job.retry(chunk);
      this.#pausedUntil = clock.monotonic() + this.#pauseMs;
      setTimeout(() => this.#fill(), this.#pauseMs).unref();
      this.#pauseMs = Math.min(PAUSE_MS.max, this.#pauseMs * 2);
      return;
    }
    const attempts = job.countFailure(chunk);
    log.error({ job: id, chunk, attempts, reason: messageOf(error) }, 'chunk of a bulk job failed');
    // Invalid lines are answered individually, so this error concerns the whole job, and a retry would not help.
    if (error instanceof AssayError && error.code === 'INVALID_REQUEST') this.#fail(id, error.message);
    else if (attempts < JOB_LIMITS.jobChunkAttempts) job.retry(chunk);
    else
      this.#fail(
        id,
        `Some lines could not be processed in ${JOB_LIMITS.jobChunkAttempts} attempts; see the log of the server.`,
      );
  }

  /** Records finished chunks, all that are waiting in one transaction. */
  async #record(): Promise<void> {
    const { places, log } = this.#deps;
    let wait = PAUSE_MS.min;
    while (this.#finished.length > 0) {
      const batch = this.#finished.splice(0).filter(({ job }) => job.state !== 'released');
      try {
        for (const id of new Set(batch.map(({ job }) => job.record.id))) await syncFolder(places.answers(id));
        for (const id of await this.#recordAll(batch)) this.#end(id);
      } catch (error) {
        log.error({ chunks: batch.length, reason: messageOf(error) }, 'chunks of bulk jobs not recorded');
        // Their files exist: recording is retried. If the scheduler stops first, the next start processes the chunks again.
        if (this.#state !== 'running') break;
        await this.#pause(wait);
        wait = Math.min(PAUSE_MS.max, wait * 2);
        this.#finished.unshift(...batch);
      }
      this.#fill();
    }
    this.#recording = null;
  }

  /** Records the chunks; resolves with the ids of the jobs that have no more work. */
  #recordAll(batch: readonly Finished[]): Promise<ReadonlySet<string>> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    return store.transaction((writer) => {
      const over = new Set<string>();
      for (const { job: active, chunk, file, done } of batch) {
        const { id } = active.record;
        const job = writer.job(id);
        const { items, failed } = done;
        const next = job && jobAfter(job, { type: 'answered', items, failed }, at);
        // Null: the job is ending. Otherwise, another process may have answered the chunk already.
        if (next === null || writer.chunk(id, chunk) !== null) continue;
        writer.putChunk(id, chunk, { file, ...done });
        if (next.ending !== null) over.add(id);
        writer.put(withPrefix(next, writer));
      }
      return over;
    }, this.#fence);
  }
}
