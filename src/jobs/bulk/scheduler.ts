/**
 * Which chunk is worked next. Accounts take turns chunk by chunk, and the jobs of one account among themselves, so that a job of ten
 * million lines does not starve one of a hundred. A chunk counts as answered once its file is on the disk and the store says so, in
 * that order: whatever dies between is done again, into another file, and nothing is answered twice.
 */
import { setMaxListeners } from 'node:events';
import { rm } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Fence } from '../../base/live-store.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { isStorageFull } from '../../base/storage.ts';
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
  /** Whether the disk has room for more answers. */
  readonly hasRoom: () => Promise<boolean>;
}

export interface Scheduler {
  /** Takes up all jobs that have not ended, those of an earlier process among them. What it writes carries `fence`. */
  start(fence: Fence | null): void;
  /** Looks at once for what is to do, in place of at the next look. */
  wake(): void;
  /** Resolves once the job has ended, at once where it is not worked here. */
  whenEnded(id: string): Promise<void>;
  /** Gives out nothing more, and resolves once what was given out is written down. */
  stop(): Promise<void>;
  /** Jobs and chunks that are worked now. */
  readonly jobs: number;
  readonly chunks: number;
}

/** A job while it is worked. */
interface Active {
  readonly record: JobRecord;
  readonly plan: Plan;
  readonly abort: AbortController;
  /** No chunk before this one is still to be given out, but for those of `again`. */
  next: number;
  readonly again: number[];
  readonly attempts: Map<number, number>;
  /** Whether its start is written down. */
  begun: boolean;
  /** Resolved when it has ended. */
  readonly ended: PromiseWithEnd;
}

interface PromiseWithEnd {
  readonly promise: Promise<void>;
  resolve(): void;
}

/** A chunk whose answers are on the disk, and not yet in the store. */
interface Finished {
  readonly active: Active;
  readonly chunk: number;
  readonly file: string;
  readonly done: ChunkDone;
}

/** How often the store is looked at for what other processes wrote, and the disk for its room. */
const LOOK_MS = 1_000;
/** First and longest pause after the runner, the store or the purse said that it is not ready. */
const PAUSE_MS = { min: 250, max: 15_000 };
/** How long a stop waits for chunks that run: most take below a second. */
const STOP_MS = 5_000;
/** Finished chunks, for each that runs, that may wait for the store. */
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

/** What a runner comes to, unless nobody waits for it any more, whatever it does then. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new AssayError('OVERLOADED', 'The chunk is not waited for any more.'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}

/** The job with its first chunks counted as far as they are answered without a gap. */
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

/** The rate of a job that another scheduler takes up at `at` is the one it had: the pause between them is not counted. */
const rateGoesOn = ({ rateFrom, changedAt, answered }: JobRecord, at: number): JobRecord['rateFrom'] =>
  rateFrom === null ? { at, answered } : { ...rateFrom, at: at - Math.max(0, changedAt - rateFrom.at) };

export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { store, places, runner, purse, clock, random, log } = deps;
  const actives = new Map<string, Active>();
  /** Accounts with jobs, the one whose turn it is first; and the jobs of each, likewise. */
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
    // One of each chunk that runs, and of the runner as many.
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

  /** Of a job that does not end here. */
  function letGo(active: Active): void {
    drop(active);
    active.ended.resolve();
  }

  /** The next chunk of a job that is to be given out; null where none is. */
  function takeChunk(active: Active): number | null {
    const again = active.again.shift();
    if (again !== undefined) return again;
    const hasAnswers = active.record.answered > 0;
    while (active.next < active.plan.chunks) {
      const chunk = active.next++;
      // Of a job that an earlier process began, some chunks behind a gap may be answered.
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
      // The first answers begin it as well.
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
    // Lines that are wrong are answered in their place: this is about the job, and no attempt changes it.
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
        // The next look takes it up anew, with the chunk that nobody works now.
        const active = actives.get(id);
        if (active !== undefined) letGo(active);
      });
    track(write);
  }

  /** Writes down what is finished, all of a moment in one transaction. */
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
        // Their files are there: they are told again, and by the next start at the latest their chunks are worked again.
        if (stopped) break;
        await pause(wait);
        wait = Math.min(PAUSE_MS.max, wait * 2);
        finished.unshift(...batch);
      }
      fill();
    }
    recording = null;
  }

  /** Resolves with the jobs that came to their end. */
  function recordAll(batch: readonly Finished[]): Promise<ReadonlySet<string>> {
    const at = clock.now();
    return store.transaction((writer) => {
      const over = new Set<string>();
      for (const { active, chunk, file, done } of batch) {
        const { id } = active.record;
        const job = writer.job(id);
        if (job === null || job.ending !== null || job.endedAt !== null) continue;
        // Somebody else answered it meanwhile.
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

  /** Settles what the job took and ends it, however often that has to be tried. */
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
        // What it took is written down under its name: the next start settles it.
        if (stopped) return;
        await pause(wait);
      }
    }
  }

  async function endOnce(id: string): Promise<void> {
    // Inside a transaction, so that nothing older is read.
    const job = await store.transaction((writer) => writer.job(id), fence);
    if (job === null || job.ending === null || job.endedAt !== null) return;
    // Of a job that was stopped, what lies behind a gap cannot be read, and is not paid for.
    const { items: answered, failed } = job.prefix;
    const spent = (answered - failed) * job.perLine;
    await purse.settle(job, spent);
    // Before it has ended: where this is cut off, the next start ends it again, which needs neither.
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

  /** Takes up what is new, and lets go what was stopped. */
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
