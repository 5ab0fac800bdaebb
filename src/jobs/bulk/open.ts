/**
 * Bulk jobs of one installation: upload, status, cancellation and removal. The scheduler decides which chunk is processed when. All
 * state is on disk, except that of the uploads in progress.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, underLease } from '../../state/leases.ts';
import type { OpenStore } from '../../state/live-store.ts';
import {
  type BulkJobs,
  type FilePart,
  JOB_KINDS,
  type JobKind,
  type JobRequest,
  type JobResult,
  type JobUpload,
  type JobView,
} from '../bulk-jobs.ts';
import type { ChunkRunner } from '../chunks.ts';
import {
  bytesOnDisk,
  type Claim,
  type JobRecord,
  type JobStore,
  type JobWriter,
  openJobStore,
} from './job-store.ts';
import { type JobPlaces, jobPlaces, syncFolder } from './places.ts';
import type { JobPurse } from './purse.ts';
import { type InputFile, openInput } from './receiving.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

export interface BulkJobsOptions {
  /** File of the records. */
  readonly storePath: string;
  /** Folder of the jobs' files; if several nodes process jobs, a folder that all of them share. */
  readonly folder: string;
  /** Whether other nodes use the folder too. If so, apparent remnants may be uploads in progress on another node. */
  readonly isShared?: boolean;
}

export interface BulkJobsDeps {
  readonly runner: ChunkRunner;
  readonly purse: JobPurse;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Default: the local store. */
  readonly openStore?: OpenStore;
  /** Decides which node schedules the chunks. Default: this one. */
  readonly leases?: Leases;
  /** Returns the free bytes of the disk that holds a folder. Default: the value of the operating system. */
  readonly freeBytes?: (folder: string) => Promise<number>;
}

export interface OpenBulkJobs extends BulkJobs {
  readonly scheduler: Scheduler;
  /** Starts to process jobs and to remove remnants of an earlier process, on whichever node holds the lease. */
  start(): void;
  /**
   * Aborts uploads except those with a complete body, waits for the work in progress, and closes the store. It does not close the
   * runner.
   */
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
/** Interval between checks for expired files. */
const TIDY_MS = 10 * MINUTE_MS;
/** An upload on another node without a sign of life for this long is considered dead. */
const SILENT_UPLOAD_MS = 15 * MINUTE_MS;
/** Retry-After of requests that are rejected because of too little disk space. */
const NO_ROOM_RETRY_SECONDS = 600;
/** Maximum wait for a cancellation; it continues in the background if settling takes longer. */
const CANCEL_MS = 5_000;
const CANCEL_LOOK_MS = 50;
/** An id starts with the time (12 hexadecimal digits), followed by random digits, so that ids sort by time. */
const ID_SHAPE = /^[0-9a-f]{28}$/;
const ID_TIME_DIGITS = 12;
const ID_RANDOM_BYTES = 8;
/**
 * Maximum time from the last byte of a body to its response. After it, the request loses its idempotency key to the next one.
 * Calls to Redis may take seconds.
 */
const TAKING_ON_MS = 30_000;
/** Number of jobs with a cached chunk index for reading results, at about 100 KB each. */
const RESULTS_KEPT = 16;

/** Whether this installation has ever had a job. */
export const hasBulkJobs = ({ storePath }: Pick<BulkJobsOptions, 'storePath'>): boolean =>
  existsSync(storePath);

const systemFreeBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());

const rateOf = ({ rateFrom, answered, changedAt }: JobRecord): number | null => {
  if (rateFrom === null || answered <= rateFrom.answered || changedAt <= rateFrom.at) return null;
  return ((answered - rateFrom.answered) / (changedAt - rateFrom.at)) * 1_000;
};

/** Whether the first request with an idempotency key still owns it. If it was not answered in time, it or its node has failed. */
function isHeld({ jobId, at, answer }: Claim, now: number, writer: JobWriter): boolean {
  if (answer !== null) return now - at < LIMITS.idempotencyMs;
  return now - at < TAKING_ON_MS && writer.job(jobId) !== null;
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** Converts a record to the client's view of the job. */
export function viewOf(job: JobRecord): JobView {
  const rate = rateOf(job);
  const isOver = job.endedAt !== null;
  const left = (job.items ?? 0) - job.answered;
  return {
    id: job.id,
    kind: job.kind,
    format: job.format,
    chain: job.chain,
    verdict: job.verdict ?? false,
    state: job.state,
    createdAt: isoTime(job.createdAt),
    startedAt: timeOf(job.startedAt),
    endedAt: timeOf(job.endedAt),
    expiresAt: timeOf(job.endedAt === null ? null : job.endedAt + LIMITS.jobFilesKeptMs),
    items: job.items,
    answered: job.answered,
    failed: job.failed,
    bytesReceived: job.bytesReceived,
    resultBytes: job.filesRemoved ? 0 : job.prefix.bytes,
    itemsPerSecond: rate === null ? null : Math.round(rate),
    secondsLeft: isOver ? 0 : rate === null ? null : Math.ceil(left / rate),
    cost: { unit: job.unit, reserved: job.reserved, spent: job.spent },
    error: job.error,
  };
}

const verdictOfLabels = (kind: JobKind): string =>
  `verdict: only a job of 'labels' can have verdicts (got '${kind}').`;

/** An upload in progress. */
interface Receiving {
  readonly upload: JobUpload;
  readonly input: InputFile;
  /** Resolves when the job was accepted or completely discarded; null while its body arrives. */
  paying: Promise<void> | null;
}

/** Result files of one job, from the first on, and the end offset of each in the whole result. */
interface ResultIndex {
  readonly files: string[];
  readonly ends: number[];
}

/** Disk use of an account, in bytes. */
interface Room {
  /** Bytes of the account's other jobs. */
  readonly kept: number;
  readonly wanted: number;
  readonly firstEndedAt: number | null;
  readonly isThere: boolean;
}

function noRoom({ kept, wanted, firstEndedAt }: Room): AssayError {
  const next =
    firstEndedAt === null
      ? 'Wait until some have ended, or stop one.'
      : `Delete some whose results were fetched; the next one expires at ${isoTime(firstEndedAt + LIMITS.jobFilesKeptMs)}.`;
  return new AssayError(
    'OVERLOADED',
    `The account keeps ${kept} bytes of bulk jobs, this one wants ${wanted} more, and an account may keep ${LIMITS.jobBytesPerAccount} (bodies, and results until they expire). ${next}`,
    { retryAfterSeconds: NO_ROOM_RETRY_SECONDS },
  );
}

/** Returns the file ranges that hold `[start, end)`. */
function partsOf({ files, ends }: ResultIndex, start: number, end: number): FilePart[] {
  const parts: FilePart[] = [];
  let low = 0;
  for (let high = ends.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= start) low = middle + 1;
    else high = middle;
  }
  for (let at = low; at < files.length; at++) {
    const from = at === 0 ? 0 : (ends[at - 1] as number);
    if (from >= end) break;
    const to = Math.min(end, ends[at] as number);
    if (to > Math.max(start, from))
      parts.push({ path: files[at] as string, start: Math.max(start, from) - from, end: to - from });
  }
  return parts;
}

/**
 * Opens bulk jobs. No job is processed before `start`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openBulkJobs(options: BulkJobsOptions, deps: BulkJobsDeps): OpenBulkJobs {
  const { purse, clock, random, log, runner } = deps;
  const freeBytes = deps.freeBytes ?? systemFreeBytes;
  const places: JobPlaces = jobPlaces(options.folder);
  const store: JobStore = openJobStore({ path: options.storePath }, deps);
  // Created now and not with the first job, because a folder cannot be created on a full disk.
  mkdirSync(options.folder, PRIVATE_FOLDER);
  const hasRoom = async (): Promise<boolean> => (await freeBytes(options.folder)) >= LIMITS.jobDiskFreeMin;
  const scheduler = createScheduler({ store, places, runner, purse, clock, random, log, hasRoom });
  const uploads = new Map<string, Receiving>();
  /** Account of each upload by its id, from before its first byte until nothing of it is open. */
  const coming = new Map<string, string>();
  const results = new Map<string, ResultIndex>();
  /** Last signs of life of uploads on other nodes, by id, and the monotonic time at which each was first seen. */
  let signs = new Map<string, { readonly atMs: number; readonly seenMs: number }>();
  const stopping = new AbortController();
  let leading: Promise<void> | null = null;
  const isClosed = (): boolean => stopping.signal.aborted;

  async function checkRoom(): Promise<void> {
    if (await hasRoom()) return;
    throw new AssayError('OVERLOADED', 'The disk of the server has no room for another job.', {
      retryAfterSeconds: 600,
    });
  }

  const shown = (job: JobRecord): JobView => {
    const input = uploads.get(job.id)?.input;
    return viewOf(input === undefined ? job : { ...job, bytesReceived: input.bytes });
  };

  const newId = (): string =>
    clock.now().toString(16).padStart(ID_TIME_DIGITS, '0') +
    Buffer.from(random.bytes(ID_RANDOM_BYTES)).toString('hex');

  /** Finds a job of the account. A job of another account is treated as unknown. */
  function find(accountId: string, id: string): JobRecord | null {
    if (!ID_SHAPE.test(id)) return null;
    const job = store.job(id);
    return job?.accountId === accountId ? job : null;
  }

  /** Removes all of a job and refunds its charge. */
  async function forget(job: JobRecord): Promise<void> {
    // A job that was never charged has nothing to refund. For one that may have been charged, the charge is set to 0.
    if (job.endedAt === null && job.reserved > 0) await purse.settle(job, 0);
    results.delete(job.id);
    // Before its files, so that an existing job always has its result. The next sweep removes folders without a job.
    await store.transaction((writer) => writer.remove(job));
    await rm(places.ofJob(job.id), { recursive: true, force: true });
  }

  /** Returns the id of a new upload, which counts against the limits until `leave`. */
  function enter(accountId: string): string {
    if (isClosed()) throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
    if (coming.size >= LIMITS.jobUploadsMax)
      throw new AssayError('OVERLOADED', 'Too many jobs are being received.', { retryAfterSeconds: 10 });
    const own = [...coming.values()].filter((account) => account === accountId).length;
    if (own >= LIMITS.jobUploadsPerAccount)
      throw new AssayError('OVERLOADED', `${own} jobs of the account are being received already.`, {
        retryAfterSeconds: 10,
      });
    const id = newId();
    coming.set(id, accountId);
    return id;
  }

  function leave(id: string): void {
    uploads.delete(id);
    coming.delete(id);
  }

  /** Checks the account's disk quota for a job. */
  function roomFor(job: JobRecord, writer: JobWriter): Room {
    const { bytes: kept, firstEndedAt } = writer.keptOf(job.accountId, job.id);
    const wanted = bytesOnDisk(job);
    return { kept, wanted, firstEndedAt, isThere: kept + Math.max(1, wanted) <= LIMITS.jobBytesPerAccount };
  }

  /**
   * Adds a job within its account's limits. If the request may be a repetition, the disk quota is not checked here: it is known
   * only at the end of the body whether any space is needed.
   */
  async function add(record: JobRecord, mayBeKnown: boolean): Promise<void> {
    const { accountId } = record;
    const { open, kept, room } = await store.transaction((writer) => {
      const counts = {
        open: writer.openOf(accountId),
        kept: writer.countOf(accountId),
        room: mayBeKnown ? null : roomFor(record, writer),
      };
      if (
        counts.open < LIMITS.jobsOpenPerAccount &&
        counts.kept < LIMITS.jobsPerAccount &&
        counts.room?.isThere !== false
      )
        writer.add(record);
      return counts;
    });
    if (open >= LIMITS.jobsOpenPerAccount)
      throw new AssayError(
        'OVERLOADED',
        `The account has ${open} jobs that have not ended, and more than ${LIMITS.jobsOpenPerAccount} are not taken.`,
        { retryAfterSeconds: 60 },
      );
    if (kept >= LIMITS.jobsPerAccount)
      throw new AssayError(
        'OVERLOADED',
        `${kept} jobs of the account are kept, and no more can be. Delete some that have ended.`,
        { retryAfterSeconds: 60 },
      );
    if (room?.isThere === false) throw noRoom(room);
  }

  async function receive(request: JobRequest): Promise<JobUpload> {
    const id = enter(request.accountId);
    try {
      return await begin(id, request);
    } catch (error) {
      leave(id);
      throw error;
    }
  }

  async function begin(id: string, request: JobRequest): Promise<JobUpload> {
    const { accountId, kind, format, chain, verdict = false, once = null } = request;
    if (verdict && kind !== 'labels')
      throw new AssayError('INVALID_REQUEST', verdictOfLabels(kind), { field: 'verdict' });
    await checkRoom();
    const { unit, perLine } = purse.priceOf(kind);
    const createdAt = clock.now();
    const record: JobRecord = {
      id,
      accountId,
      kind,
      format,
      chain,
      columns: null,
      headBytes: 0,
      state: 'RECEIVING',
      ending: null,
      error: null,
      createdAt,
      startedAt: null,
      endedAt: null,
      changedAt: createdAt,
      items: null,
      bytesReceived: 0,
      answered: 0,
      failed: 0,
      prefix: { chunks: 0, items: 0, failed: 0, bytes: 0 },
      rateFrom: null,
      unit,
      perLine,
      reserved: 0,
      spent: null,
      filesRemoved: false,
      ...(verdict ? { verdict } : {}),
      ...(once === null ? {} : { once }),
    };
    // Added before any file exists, so that the next start finds all remnants.
    await add(record, once !== null);
    let input: InputFile;
    try {
      await mkdir(places.answers(id), PRIVATE_FOLDER);
      input = await openInput({ path: places.input(id), kind, format }, { checkRoom });
    } catch (error) {
      await forget(record);
      throw error;
    }
    const receiving: Receiving = { upload: createUpload(record, input), input, paying: null };
    uploads.set(id, receiving);
    return receiving.upload;
  }

  function createUpload(record: JobRecord, input: InputFile): JobUpload {
    const { id, once, kind, format, chain, verdict } = record;
    const asked = verdict ? `${kind} verdict` : kind;
    const hash = once === undefined ? null : createHash('sha256').update(`${asked}\n${format}\n${chain}\n`);
    let isRepeated = false;
    /** The record as last stored. */
    let written = record;
    let over: Promise<void> | null = null;
    let touchedAt = record.createdAt;

    const gone = (): AssayError =>
      new AssayError('INVALID_REQUEST', 'The job was cancelled while it was received.');
    const notAnswered = (): AssayError =>
      new AssayError(
        'NOT_READY',
        'Another request with this Idempotency-Key is still being taken on. Try again.',
        { retryAfterSeconds: 1 },
      );

    /** Stores a sign of life at intervals: other nodes consider a silent upload dead. */
    async function touch(): Promise<void> {
      const at = clock.now();
      // In both directions, so that a clock that was set back does not make an upload appear silent.
      if (Math.abs(at - touchedAt) < MINUTE_MS) return;
      touchedAt = at;
      await store.transaction((writer) => {
        if (writer.job(id) !== null) writer.put({ ...record, changedAt: at, bytesReceived: input.bytes });
      });
    }

    /**
     * Stores the job and, if it is accepted, the response to its request.
     *
     * @throws INVALID_REQUEST if the job was removed meanwhile, NOT_READY if a later request took over the idempotency key because this one
     *   was not answered in time, OVERLOADED if the account stores too many bytes
     */
    async function keep(job: JobRecord): Promise<void> {
      const before = written;
      written = job;
      const room = await store.transaction((writer) => {
        if (writer.job(id) === null) return 'removed';
        const claim = once === undefined ? null : writer.claim(once);
        if (claim !== null && claim.jobId !== id) return 'taken over';
        const found = roomFor(job, writer);
        if (!found.isThere) return found;
        writer.put(job);
        if (once !== undefined && claim !== null && job.state === 'QUEUED')
          writer.putClaim(once, { ...claim, answer: viewOf(job) });
        return found;
      });
      if (room === 'removed') throw gone();
      if (room === 'taken over') throw notAnswered();
      if (room.isThere) return;
      written = before;
      throw noRoom(room);
    }

    /**
     * Claims the idempotency key. The first request with a key owns it, and its job continues; later requests get the same
     * response.
     *
     * @returns null for the first request
     * @throws INVALID_REQUEST if the body differs; NOT_READY if the first request is not answered yet
     */
    async function firstAnswer(): Promise<JobView | null> {
      if (once === undefined || hash === null) return null;
      const bodyHash = hash.digest('hex');
      const at = clock.now();
      const first = await store.transaction((writer) => {
        const claim = writer.claim(once);
        if (claim !== null && isHeld(claim, at, writer)) return claim;
        writer.putClaim(once, { jobId: id, bodyHash, at, answer: null });
        return null;
      });
      // If the transaction runs twice, it finds its own claim.
      if (first === null || first.jobId === id) return null;
      if (first.bodyHash !== bodyHash)
        throw new AssayError(
          'INVALID_REQUEST',
          'Idempotency-Key: was used with another body, kind, format or chain within the last 24 hours.',
          { field: 'Idempotency-Key' },
        );
      if (first.answer === null) throw notAnswered();
      // Earlier versions stored responses without `verdict`.
      return { ...first.answer, verdict: first.answer.verdict ?? false };
    }

    /** Aborts the upload once, and discards all of it. */
    function undo(): Promise<void> {
      over ??= (async () => {
        leave(id);
        await input.close();
        await forget(written);
      })();
      return over;
    }

    async function finish(): Promise<JobView> {
      const { plan, bytes, items, columns, headBytes } = await input.finish();
      const first = await firstAnswer();
      if (first !== null) {
        isRepeated = true;
        return first;
      }
      const planFile = await open(places.plan(id), 'wx');
      try {
        await planFile.writeFile(plan.fileBytes);
        await planFile.sync();
      } finally {
        await planFile.close();
      }
      await syncFolder(places.ofJob(id));
      await syncFolder(options.folder);
      const reserved = items * record.perLine;
      const ready = { ...record, columns, headBytes, items, bytesReceived: bytes, reserved };
      // Stored before anything is charged: if the process stops in between, the next start refunds a possible charge.
      await keep(ready);
      await purse.settle(ready, reserved);
      const queued: JobRecord = { ...ready, state: 'QUEUED', changedAt: clock.now() };
      await keep(queued);
      return viewOf(queued);
    }

    async function takeOn(): Promise<JobView> {
      try {
        const view = await finish();
        if (isRepeated) {
          await undo();
          return view;
        }
        over = input.close();
        await over;
        leave(id);
        scheduler.wake();
        return view;
      } catch (error) {
        await undo();
        // If the job was cancelled meanwhile, its refund may have come before this charge.
        if (written.reserved > 0) await purse.settle(written, 0);
        throw error;
      }
    }

    return {
      get isRepeated() {
        return isRepeated;
      },
      write(bytes) {
        if (over !== null) throw gone();
        hash?.update(bytes);
        return input.write(bytes)?.then(touch);
      },
      async end() {
        if (over !== null) throw gone();
        const ending = takeOn();
        const receiving = uploads.get(id);
        if (receiving !== undefined)
          receiving.paying = ending.then(
            () => {},
            () => {},
          );
        return ending;
      },
      abort: undo,
    };
  }

  /** Returns the index of all answered chunks without a gap, and adds the new ones. */
  function indexOf(job: JobRecord): ResultIndex {
    const index = results.get(job.id) ?? { files: [], ends: [] };
    results.delete(job.id);
    results.set(job.id, index);
    for (const oldest of results.keys()) {
      if (results.size <= RESULTS_KEPT) break;
      results.delete(oldest);
    }
    for (let chunk = index.files.length; chunk < job.prefix.chunks; chunk++) {
      const answered = store.chunk(job.id, chunk);
      if (answered === null) break;
      index.files.push(places.answer(job.id, answered.file));
      index.ends.push((index.ends.at(-1) ?? 0) + answered.bytes);
    }
    return index;
  }

  async function cancel(accountId: string, id: string): Promise<JobView | null> {
    const found = find(accountId, id);
    if (found === null) return null;
    if (found.endedAt !== null) {
      await forget(found);
      return viewOf(found);
    }
    if (found.state === 'RECEIVING') {
      const receiving = uploads.get(id);
      if (receiving?.paying != null) {
        // The body is complete and is being charged: wait for that, then cancel the job as an accepted one.
        await receiving.paying;
        return cancel(accountId, id);
      }
      if (receiving !== undefined) await receiving.upload.abort();
      else await forget(found);
      const at = clock.now();
      return viewOf({ ...found, state: 'CANCELLED', endedAt: at, changedAt: at, spent: 0 });
    }
    await store.transaction((writer) => {
      const job = writer.job(id);
      if (job !== null && job.ending === null && job.endedAt === null)
        writer.put({ ...job, ending: 'CANCELLED', changedAt: clock.now() });
    });
    scheduler.wake();
    const late = clock.monotonic() + CANCEL_MS;
    await Promise.race([scheduler.whenEnded(id), pause(CANCEL_MS)]);
    // If another node schedules the job, that node ends it.
    while (store.job(id)?.endedAt === null && clock.monotonic() < late) await pause(CANCEL_LOOK_MS);
    const job = await store.transaction((writer) => writer.job(id));
    return job === null ? null : viewOf(job);
  }

  /** Removes expired files, and jobs after their retention time. */
  async function tidy(): Promise<void> {
    const now = clock.now();
    for (const id of store.allIds()) {
      const job = store.job(id);
      if (job === null || job.endedAt === null) continue;
      if (now - job.endedAt >= LIMITS.jobKeptMs) await forget(job);
      else if (!job.filesRemoved && now - job.endedAt >= LIMITS.jobFilesKeptMs) {
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

  /** Removes uploads of dead processes, and folders without a job. */
  async function sweep(): Promise<void> {
    const now = clock.now();
    const seenMs = clock.monotonic();
    const before = signs;
    signs = new Map();
    // On a standalone node, all uploads in progress are known. The clock is not used, because it may have been set back.
    const mayComeInElsewhere = (name: string, atMs: number): boolean => {
      if (options.isShared !== true || now - atMs >= SILENT_UPLOAD_MS) return false;
      const known = before.get(name);
      const sign = known?.atMs === atMs ? known : { atMs, seenMs };
      signs.set(name, sign);
      // A time in the future, because the clock was set back, is not a sign of life by itself; only a change of it is.
      return seenMs - sign.seenMs < SILENT_UPLOAD_MS;
    };
    for (const id of store.openIds()) {
      const job = store.job(id);
      if (job?.state !== 'RECEIVING' || coming.has(id) || mayComeInElsewhere(id, job.changedAt)) continue;
      log.info({ job: id }, 'bulk jobs: an interrupted upload is removed');
      await forget(job);
    }
    if (!existsSync(options.folder)) return;
    for (const name of await readdir(options.folder)) {
      if (!ID_SHAPE.test(name) || store.job(name) !== null) continue;
      const path = join(options.folder, name);
      const { mtimeMs } = await stat(path);
      if (!mayComeInElsewhere(name, mtimeMs)) await rm(path, { recursive: true, force: true });
    }
  }

  async function tidyQuietly(): Promise<void> {
    try {
      await sweep();
      await tidy();
      const before = clock.now() - LIMITS.idempotencyMs;
      while ((await store.transaction((writer) => writer.removeClaims(before))) > 0);
    } catch (error) {
      log.warn(`bulk jobs: old files were not removed: ${messageOf(error)}`);
    }
  }

  /** Schedules the chunks of all nodes while it holds the lease. */
  async function lead(lease: HeldLease, signal: AbortSignal): Promise<void> {
    await store.ready();
    await tidyQuietly();
    if (signal.aborted) return;
    scheduler.start(lease.fence);
    const tidying = setInterval(() => void tidyQuietly(), TIDY_MS);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    clearInterval(tidying);
    await scheduler.stop();
  }

  store.onApplied(() => scheduler.wake());

  return {
    scheduler,
    receive,
    list(accountId, { limit, offset, kinds = JOB_KINDS }) {
      const isAsked = (id: string): boolean => {
        const kind = store.job(id)?.kind;
        return kind !== undefined && kinds.includes(kind);
      };
      const all = store.idsOf(accountId);
      // Most keys may see all kinds, so that no record needs to be read.
      const ids = kinds.length === JOB_KINDS.length ? all : all.filter(isAsked);
      const jobs = ids.slice(offset, offset + limit).flatMap((id) => {
        const job = store.job(id);
        return job === null ? [] : [shown(job)];
      });
      return { jobs, total: ids.length };
    },
    get(accountId, id) {
      const job = find(accountId, id);
      return job === null ? null : shown(job);
    },
    result(accountId, id): JobResult | null {
      const job = find(accountId, id);
      if (job === null) return null;
      if (job.filesRemoved)
        throw new AssayError('INVALID_REQUEST', `id: the result of the job was removed when it expired.`, {
          field: 'id',
        });
      const index = indexOf(job);
      const bytes = index.ends.at(-1) ?? 0;
      return {
        bytes,
        isComplete: job.endedAt !== null,
        etag: `${id}-${bytes}`,
        parts: (start, end) => partsOf(index, start, Math.min(end, bytes)),
      };
    },
    cancel,
    start() {
      leading ??= underLease({ store: 'jobs', name: 'scheduler', work: lead }, stopping.signal, {
        leases: deps.leases ?? createEmbeddedLeases(),
        log,
      });
    },
    async close() {
      stopping.abort();
      // An upload that is being charged is accepted, because discarding it now would charge for nothing.
      for (const { upload, paying } of [...uploads.values()]) await (paying ?? upload.abort());
      await leading;
      await store.close();
    },
  };
}
