/**
 * Decides which chunk is processed next. Accounts take turns chunk by chunk, and so do the jobs of one account, so that a job of
 * ten million lines does not starve one of a hundred. A chunk counts as answered when its file is durable and the store has
 * recorded it, in this order. Work that is lost in between is repeated into another file, so no line is answered twice.
 */
import { setMaxListeners } from 'node:events';
import { rm } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Fence } from '../../state/live-store.ts';
import { isStorageFull } from '../../state/storage.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from '../chunks.ts';
import type { JobRecord, JobStore, JobWriter } from './job-store.ts';
import { type JobPlaces, syncFolder } from './places.ts';
import { Plan } from './plan.ts';
import type { JobPurse } from './purse.ts';

export interface SchedulerDeps {
  readonly store: JobStore;
  readonly places: JobPlaces;
  readonly runner: ChunkRunner;
  readonly purse: JobPurse;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Whether the disk has space for more results. */
  readonly hasRoom: () => Promise<boolean>;
}

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

/** A job in progress. */
interface Active {
  readonly record: JobRecord;
  readonly plan: Plan;
  readonly abort: AbortController;
  /** All chunks before this one have been started; failed ones are in `again`. */
  next: number;
  readonly again: number[];
  readonly attempts: Map<number, number>;
  /** Whether its start has been recorded. */
  begun: boolean;
  /** Resolved when the job has ended. */
  readonly ended: PromiseWithEnd;
}

interface PromiseWithEnd {
  readonly promise: Promise<void>;
  resolve(): void;
}

/** A chunk with durable results that is not recorded in the store yet. */
interface Finished {
  readonly active: Active;
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

const isLater = (error: unknown): boolean =>
  isStorageFull(error) ||
  (error instanceof AssayError && (error.code === 'NOT_READY' || error.code === 'OVERLOADED'));

function endPromise(): PromiseWithEnd {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Resolves with the result of the work. If the signal is aborted, it rejects at once, whatever the work does then. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new AssayError('OVERLOADED', 'The chunk is not waited for any more.'));
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

/** If another scheduler takes over a job at `at`, the rate continues: the pause between the two schedulers is not counted. */
const rateGoesOn = ({ rateFrom, changedAt, answered }: JobRecord, at: number): JobRecord['rateFrom'] =>
  rateFrom === null ? { at, answered } : { ...rateFrom, at: at - Math.max(0, changedAt - rateFrom.at) };

/** Creates the scheduler. It does nothing before `start`. */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { store, places, runner, purse, clock, random, log } = deps;
  const actives = new Map<string, Active>();
  /** Accounts with jobs, the next one first; and the jobs of each account in the same order. */
  let accounts: string[] = [];
  const ofAccount = new Map<string, Active[]>();
  const finished: Finished[] = [];
  const ending = new Map<string, Promise<void>>();
  const underway = new Set<Promise<void>>();
  let recording: Promise<void> | null = null;
  let running = 0;
  let hasRoom = true;
  let pausedUntil = 0;
  let pauseMs = PAUSE_MS.min;
  let timer: NodeJS.Timeout | null = null;
  let stopped = true;
  let fence: Fence | null = null;
  let stopSoon = endPromise();

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wait = setTimeout(resolve, ms);
      void stopSoon.promise.then(() => {
        clearTimeout(wait);
        resolve();
      });
    });

  function adopt(id: string): void {
    if (actives.has(id) || ending.has(id)) return;
    const record = store.job(id);
    if (record === null || record.state === 'RECEIVING' || record.endedAt !== null) return;
    if (record.ending !== null) {
      end(id);
      return;
    }
    let plan: Plan;
    try {
      plan = Plan.read(places.plan(id));
    } catch (error) {
      log.error({ job: id }, `bulk job: ${messageOf(error)}`);
      fail(id, 'The input of the job is gone.');
      return;
    }
    const active: Active = {
      record,
      plan,
      abort: new AbortController(),
      next: record.prefix.chunks,
      again: [],
      attempts: new Map(),
      begun: false,
      ended: endPromise(),
    };
    // One listener for each running chunk, and as many of the runner.
    setMaxListeners(0, active.abort.signal);
    actives.set(id, active);
    const { accountId } = record;
    const jobs = ofAccount.get(accountId);
    if (jobs !== undefined) jobs.push(active);
    else {
      ofAccount.set(accountId, [active]);
      accounts.push(accountId);
    }
  }

  function drop(active: Active): void {
    const { id, accountId } = active.record;
    actives.delete(id);
    active.abort.abort();
    const jobs = (ofAccount.get(accountId) ?? []).filter((job) => job !== active);
    if (jobs.length > 0) ofAccount.set(accountId, jobs);
    else {
      ofAccount.delete(accountId);
      accounts = accounts.filter((account) => account !== accountId);
    }
  }

  /** Stops processing a job that does not end here. */
  function letGo(active: Active): void {
    drop(active);
    active.ended.resolve();
  }

  /** Returns the next chunk of a job to be started; null if no chunk is left. */
  function takeChunk(active: Active): number | null {
    const again = active.again.shift();
    if (again !== undefined) return again;
    const hasAnswers = active.record.answered > 0;
    while (active.next < active.plan.chunks) {
      const chunk = active.next++;
      // If an earlier process started the job, some chunks after a gap may already be answered.
      if (hasAnswers && store.chunk(active.record.id, chunk) !== null) continue;
      return chunk;
    }
    return null;
  }

  function takeNext(): { active: Active; chunk: number } | null {
    for (let tried = 0; tried < accounts.length; tried++) {
      const account = accounts.shift() as string;
      accounts.push(account);
      const jobs = ofAccount.get(account) ?? [];
      for (let turn = 0; turn < jobs.length; turn++) {
        const active = jobs.shift() as Active;
        jobs.push(active);
        const chunk = takeChunk(active);
        if (chunk !== null) return { active, chunk };
      }
    }
    return null;
  }

  function fill(): void {
    while (
      !stopped &&
      hasRoom &&
      running < runner.slots &&
      finished.length < BACKLOG * runner.slots &&
      clock.monotonic() >= pausedUntil
    ) {
      const next = takeNext();
      if (next === null) return;
      if (!next.active.begun) begin(next.active);
      track(work(next.active, next.chunk));
    }
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => underway.delete(tracked));
    underway.add(tracked);
  }

  function begin(active: Active): void {
    active.begun = true;
    const at = clock.now();
    const { id } = active.record;
    const write = store
      .transaction((writer) => {
        const job = writer.job(id);
        if (job === null || job.ending !== null) return;
        const rateFrom = rateGoesOn(job, at);
        writer.put({ ...job, state: 'RUNNING', startedAt: job.startedAt ?? at, changedAt: at, rateFrom });
      }, fence)
      // If this fails, recording the first results marks the job as started.
      .catch((error: unknown) =>
        log.warn({ job: id }, `bulk job: its start was not written: ${messageOf(error)}`),
      );
    track(write);
  }

  async function work(active: Active, chunk: number): Promise<void> {
    const { id, kind, chain, format, columns, headBytes, verdict } = active.record;
    const file = `${chunk}.${Buffer.from(random.bytes(FILE_RANDOM_BYTES)).toString('hex')}`;
    const { input, firstLine } = active.plan.partOf(chunk, places.input(id), headBytes);
    const output = places.answer(id, file);
    const task: ChunkTask = {
      ...{ jobId: id, chunk, kind, chain, format, columns, input, firstLine, output },
      ...(verdict === undefined ? {} : { verdict }),
    };
    const expected = active.plan.linesOf(chunk) - (chunk === 0 && headBytes > 0 ? 1 : 0);
    running++;
    try {
      const { signal } = active.abort;
      const done = await unlessAborted(runner.run(task, signal), signal);
      if (done.items !== expected)
        throw new Error(`chunk ${chunk} has ${done.items} answers for ${expected} lines`);
      pauseMs = PAUSE_MS.min;
      if (!active.abort.signal.aborted) finished.push({ active, chunk, file, done });
    } catch (error) {
      if (!active.abort.signal.aborted) chunkFailed(active, chunk, error);
    } finally {
      running--;
      if (finished.length > 0) recording ??= record();
      fill();
    }
  }

  function chunkFailed(active: Active, chunk: number, error: unknown): void {
    const { id } = active.record;
    if (isLater(error)) {
      active.again.push(chunk);
      pausedUntil = clock.monotonic() + pauseMs;
      setTimeout(fill, pauseMs).unref();
      pauseMs = Math.min(PAUSE_MS.max, pauseMs * 2);
      return;
    }
    const attempts = (active.attempts.get(chunk) ?? 0) + 1;
    active.attempts.set(chunk, attempts);
    log.error({ job: id, chunk, attempts }, `bulk job: a chunk failed: ${messageOf(error)}`);
    // Invalid lines are answered individually, so this error concerns the whole job, and a retry would not help.
    if (error instanceof AssayError && error.code === 'INVALID_REQUEST') fail(id, error.message);
    else if (attempts < LIMITS.jobChunkAttempts) active.again.push(chunk);
    else
      fail(
        id,
        'Some of its lines could not be answered in several attempts; the log of the server says why.',
      );
  }

  function fail(id: string, sentence: string): void {
    const write = store
      .transaction((writer) => {
        const job = writer.job(id);
        if (job !== null && job.ending === null && job.endedAt === null)
          writer.put({ ...job, ending: 'FAILED', error: sentence, changedAt: clock.now() });
      }, fence)
      .then(() => end(id))
      .catch((error: unknown) => {
        log.error({ job: id }, `bulk job: its failure was not written: ${messageOf(error)}`);
        // The next check adopts the job again, with the chunk that is not in progress any more.
        const active = actives.get(id);
        if (active !== undefined) letGo(active);
      });
    track(write);
  }

  /** Records finished chunks, all that are waiting in one transaction. */
  async function record(): Promise<void> {
    let wait = PAUSE_MS.min;
    while (finished.length > 0) {
      const batch = finished.splice(0).filter(({ active }) => !active.abort.signal.aborted);
      try {
        for (const id of new Set(batch.map(({ active }) => active.record.id)))
          await syncFolder(places.answers(id));
        for (const id of await recordAll(batch)) end(id);
      } catch (error) {
        log.error(`bulk jobs: ${batch.length} chunks were not written down: ${messageOf(error)}`);
        // Their files exist: recording is retried. If the scheduler stops first, the next start processes the chunks again.
        if (stopped) break;
        await pause(wait);
        wait = Math.min(PAUSE_MS.max, wait * 2);
        finished.unshift(...batch);
      }
      fill();
    }
    recording = null;
  }

  /** Records the chunks; resolves with the ids of the jobs that have no more work. */
  function recordAll(batch: readonly Finished[]): Promise<ReadonlySet<string>> {
    const at = clock.now();
    return store.transaction((writer) => {
      const over = new Set<string>();
      for (const { active, chunk, file, done } of batch) {
        const { id } = active.record;
        const job = writer.job(id);
        if (job === null || job.ending !== null || job.endedAt !== null) continue;
        // Already answered by another process.
        if (writer.chunk(id, chunk) !== null) continue;
        writer.putChunk(id, chunk, { file, ...done });
        const answered = job.answered + done.items;
        const isOver = answered === job.items;
        if (isOver) over.add(id);
        writer.put(
          withPrefix(
            {
              ...job,
              state: 'RUNNING',
              startedAt: job.startedAt ?? at,
              changedAt: at,
              answered,
              failed: job.failed + done.failed,
              ending: isOver ? 'DONE' : null,
            },
            writer,
          ),
        );
      }
      return over;
    }, fence);
  }

  /** Settles the charge of a job and ends it, with as many attempts as needed. */
  function end(id: string): void {
    const active = actives.get(id);
    if (active !== undefined) drop(active);
    if (ending.has(id)) return;
    const work = settleAndEnd(id).finally(() => {
      ending.delete(id);
      active?.ended.resolve();
    });
    ending.set(id, work);
    track(work);
    fill();
  }

  async function settleAndEnd(id: string): Promise<void> {
    for (let wait = PAUSE_MS.min; ; wait = Math.min(PAUSE_MS.max, wait * 2)) {
      try {
        return await endOnce(id);
      } catch (error) {
        log.error({ job: id }, `bulk job: it was not settled: ${messageOf(error)}`);
        // The charge is recorded under the id of the job, so the next start settles it.
        if (stopped) return;
        await pause(wait);
      }
    }
  }

  async function endOnce(id: string): Promise<void> {
    // Read inside a transaction, so that the record is current.
    const job = await store.transaction((writer) => writer.job(id), fence);
    if (job === null || job.ending === null || job.endedAt !== null) return;
    // In a stopped job, results after a gap cannot be read, and are not charged.
    const { items: answered, failed } = job.prefix;
    const spent = (answered - failed) * job.perLine;
    await purse.settle(job, spent);
    // Removed before the job is marked as ended: if this is interrupted, the next start ends the job again, which needs neither
    // file.
    await rm(places.input(id), { force: true });
    await rm(places.plan(id), { force: true });
    const at = clock.now();
    await store.transaction((writer) => {
      const latest = writer.job(id);
      if (latest === null || latest.ending === null || latest.endedAt !== null) return;
      const { ending: state } = latest;
      writer.put({ ...latest, state, endedAt: at, changedAt: at, answered, failed, spent });
    }, fence);
  }

  /** Adopts new jobs, and releases those that were stopped. */
  function look(): void {
    if (stopped) return;
    for (const id of store.openIds()) {
      const active = actives.get(id);
      if (active === undefined) adopt(id);
      else if (store.job(id)?.ending != null) end(id);
    }
    for (const active of [...actives.values()]) if (store.job(active.record.id) === null) letGo(active);
    fill();
  }

  async function lookAtRoom(): Promise<void> {
    try {
      const had = hasRoom;
      hasRoom = await deps.hasRoom();
      if (had && !hasRoom) log.warn('bulk jobs: they wait for room on the disk');
    } catch (error) {
      log.warn(`bulk jobs: the room on the disk is unknown: ${messageOf(error)}`);
    }
    look();
  }

  return {
    start(under) {
      if (!stopped) return;
      fence = under;
      stopped = false;
      stopSoon = endPromise();
      timer = setInterval(() => {
        if (actives.size > 0) void lookAtRoom();
        else look();
      }, LOOK_MS);
      timer.unref();
      look();
    },
    wake: look,
    async whenEnded(id) {
      await (actives.get(id)?.ended.promise ?? ending.get(id));
    },
    async stop() {
      stopped = true;
      stopSoon.resolve();
      if (timer !== null) clearInterval(timer);
      const late = setTimeout(() => {
        for (const active of actives.values()) active.abort.abort();
      }, STOP_MS);
      while (underway.size > 0 || recording !== null) {
        await Promise.all([...underway]);
        await recording;
      }
      clearTimeout(late);
      for (const active of [...actives.values()]) letGo(active);
    },
    get jobs() {
      return actives.size;
    },
    get chunks() {
      return running;
    },
  };
}
