/**
 * Bulk jobs of one installation: upload, status, cancellation and removal. The scheduler decides which chunk is processed when. All
 * state is on disk, except that of the uploads in progress.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { mkdir, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AssayError, isMissingFile, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { invalidCursor, type PageRequest } from '../../base/paging.ts';
import type { Random } from '../../base/random.ts';
import { sleep } from '../../base/retry.ts';
import { LINE_SECRET_BYTES } from '../../base/salted-lines.ts';
import { JOBS_FOLDER_FILE, PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, underLease } from '../../state/leases.ts';
import type { OpenStore } from '../../state/live-store.ts';
import { isStorageFull } from '../../state/storage.ts';
import {
  type BulkJobs,
  JOB_KINDS,
  JOB_STATES,
  type JobKind,
  type JobPage,
  type JobRequest,
  type JobResult,
  type JobState,
  type JobUpload,
  type JobView,
  type ReceiptSubject,
  type ResultProof,
} from '../bulk-jobs.ts';
import type { ChunkRunner } from '../chunks.ts';
import { checkOfFolder, expectedFolder, type FolderCheck, unavailable } from '../jobs-folder.ts';
import { JOB_LIMITS } from '../limits.ts';
import { addWithinLimits, diskFull, UploadSlots } from './admission.ts';
import type { JobBilling } from './billing.ts';
import { Cleanup, ID_SHAPE } from './cleanup.ts';
import { jobAfter } from './job-state.ts';
import { type JobRecord, type JobStore, openJobStore } from './job-store.ts';
import { newJob, viewOf } from './job-view.ts';
import { lineProof } from './line-proofs.ts';
import { type JobPlaces, jobPlaces } from './places.ts';
import { type InputFile, openInput } from './receiving.ts';
import { firstLost, lostResult, partsOf, ResultIndexes } from './results.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { Upload } from './upload.ts';

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
  readonly billing: JobBilling;
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
  /** Counts jobs of all accounts by state: those that have not ended and the newest ones, `JOB_LIMITS.jobsCountedMax` of each at most. */
  counts(): Readonly<Record<JobState, number>>;
  /** Why this node cannot use the folder of the files, and since when, in ms since the epoch; null if it can. */
  problem(): { readonly reason: string; readonly folder: string; readonly sinceMs: number } | null;
  /** Starts to process jobs and to remove remnants of an earlier process, on whichever node holds the lease. */
  start(): void;
  /**
   * Aborts uploads except those with a complete body, waits for the work in progress, and closes the store. It does not close the
   * runner.
   */
  close(): Promise<void>;
}

/** Interval between checks for expired files. */
const CLEANUP_MS = 10 * 60_000;
/** Maximum wait for a cancellation; it continues in the background if settling takes longer. */
const CANCEL_MS = 5_000;
const CANCEL_LOOK_MS = 50;
/** Interval between checks of the folder while this node schedules. */
const FOLDER_LOOK_MS = 500;
/** Maximum wait for the end of the work in a folder that is gone, before the lease is released. */
const FOLDER_END_MS = 10_000;
/** Time after which a client repeats a request that needs the folder. */
const FOLDER_RETRY_SECONDS = 5;
/** Parts of an id (`ID_SHAPE`). */
const ID_TIME_DIGITS = 12;
const ID_RANDOM_BYTES = 8;

/** Whether this installation has ever had a job. */
export const hasBulkJobs = ({ storePath }: Pick<BulkJobsOptions, 'storePath'>): boolean =>
  existsSync(storePath);

const systemFreeBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** Waits, but does not keep the process running. */
const pause = (ms: number): Promise<void> => sleep(ms, undefined, { unref: true });

/**
 * Opens bulk jobs. No job is processed before `start`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export const openBulkJobs = (options: BulkJobsOptions, deps: BulkJobsDeps): OpenBulkJobs =>
  new StoredBulkJobs(options, deps);

function requireNotExpired({ filesRemoved }: JobRecord): void {
  if (filesRemoved)
    throw new AssayError('INVALID_REQUEST', 'id: the result of this job was removed when it expired.', {
      field: 'id',
    });
}

class StoredBulkJobs implements OpenBulkJobs {
  readonly scheduler: Scheduler;
  readonly #deps: BulkJobsDeps;
  readonly #places: JobPlaces;
  readonly #store: JobStore;
  readonly #results: ResultIndexes;
  readonly #cleanup: Cleanup;
  readonly #slots = new UploadSlots();
  /** Uploads of this node that may still be discarded, by id. */
  readonly #uploads = new Map<string, Upload>();
  readonly #stopping = new AbortController();
  /** The work under the scheduler's lease; null before `start`. */
  #leading: Promise<void> | null = null;
  /** Path of the file with the name of the folder. */
  readonly #folderFile: string;
  /** Created with its first use; null before. */
  #folderCheck: FolderCheck | null = null;
  /** The end of the last scheduling: without the folder, it may take until the folder is back. */
  #ended: Promise<void> = Promise.resolve();
  #problem: ReturnType<OpenBulkJobs['problem']> = null;

  constructor(options: BulkJobsOptions, deps: BulkJobsDeps) {
    const { runner, billing, clock, random, log } = deps;
    const { folder, storePath, isShared = false } = options;
    this.#deps = deps;
    const places = jobPlaces(folder);
    const store = openJobStore({ path: storePath }, deps);
    // Created now and not with the first job, because a folder cannot be created on a full disk.
    mkdirSync(folder, PRIVATE_FOLDER);
    this.#places = places;
    this.#folderFile = join(dirname(storePath), JOBS_FOLDER_FILE);
    this.#store = store;
    this.#results = new ResultIndexes(store, places);
    const hasRoom = (): Promise<boolean> => this.#hasRoom();
    const checkFolder: FolderCheck = () => this.#checkFolder();
    this.scheduler = createScheduler({
      ...{ store, places, runner, billing, clock, random, log, hasRoom, checkFolder },
    });
    this.#cleanup = new Cleanup({
      ...{ store, places, results: this.#results, clock, log, isShared },
      isUploading: (id) => this.#slots.has(id),
      remove: (job) => this.#remove(job),
    });
    store.onApplied(() => this.scheduler.wake());
    // Chunks that are processed again have other files.
    store.onCopied(() => this.#results.clear());
  }

  // --- uploads ----------------------------------------------------------------------------------------------------------

  async receive(request: JobRequest): Promise<JobUpload> {
    if (this.#stopping.signal.aborted)
      throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
    const id = this.#newId();
    this.#slots.enter(id, request.accountId);
    try {
      return await this.#beginUpload(id, request);
    } catch (error) {
      this.#leave(id);
      throw error;
    }
  }

  async #beginUpload(id: string, request: JobRequest): Promise<Upload> {
    const { billing, clock, random } = this.#deps;
    const { kind, format, verdict = false, hasReceipt = false, once = null } = request;
    if (verdict && kind !== 'labels')
      throw new AssayError('INVALID_REQUEST', `verdict: requires the kind 'labels' (got '${kind}').`, {
        field: 'verdict',
      });
    const checkRoom = (): Promise<void> => this.#checkRoom();
    await checkRoom();
    const secret = hasReceipt ? Buffer.from(random.bytes(LINE_SECRET_BYTES)).toString('hex') : null;
    const record = newJob(id, request, billing.priceOf(kind), clock.now(), secret);
    // Added before any file exists, so that the next start finds all remnants.
    await addWithinLimits(this.#store, record, once !== null);
    let input: InputFile;
    try {
      await mkdir(this.#places.answers(id), PRIVATE_FOLDER);
      input = await openInput({ path: this.#places.input(id), kind, format }, { checkRoom });
    } catch (error) {
      await this.#remove(record);
      throw error;
    }
    const upload = new Upload(record, input, {
      ...{ store: this.#store, places: this.#places, billing, clock },
      onLeave: () => this.#leave(id),
      onQueued: () => this.scheduler.wake(),
      remove: (job) => this.#remove(job),
    });
    this.#uploads.set(id, upload);
    return upload;
  }

  #newId(): string {
    const { clock, random } = this.#deps;
    return (
      clock.now().toString(16).padStart(ID_TIME_DIGITS, '0') +
      Buffer.from(random.bytes(ID_RANDOM_BYTES)).toString('hex')
    );
  }

  #leave(id: string): void {
    this.#uploads.delete(id);
    this.#slots.leave(id);
  }

  async #hasRoom(): Promise<boolean> {
    const { freeBytes = systemFreeBytes } = this.#deps;
    return (await freeBytes(this.#places.folder)) >= JOB_LIMITS.jobDiskFreeMin;
  }

  async #checkFolder(): Promise<string | null> {
    const { clock } = this.#deps;
    const reason = await this.#reasonOfFolder();
    const sinceMs = this.#problem?.sinceMs ?? clock.now();
    this.#problem = reason === null ? null : { reason, folder: this.#places.folder, sinceMs };
    return reason;
  }

  /** Returns why the folder cannot be used; null if it can. */
  async #reasonOfFolder(): Promise<string | null> {
    const { folder } = this.#places;
    try {
      this.#folderCheck ??= checkOfFolder(
        folder,
        await expectedFolder(
          { folder, file: this.#folderFile, isLackingFiles: () => this.#lacksFiles() },
          this.#deps,
        ),
      );
    } catch (error) {
      // The name cannot be stored yet. The upload that needs space fails with the error for that.
      return isStorageFull(error) ? null : unavailable(messageOf(error));
    }
    return this.#folderCheck();
  }

  /** Whether the folder lacks the files of a job that has not ended. */
  async #lacksFiles(): Promise<boolean> {
    const { ofJob } = this.#places;
    await this.#store.ready();
    return this.#store
      .openIds()
      .some((id) => this.#store.job(id)?.state !== 'RECEIVING' && !existsSync(ofJob(id)));
  }

  /** @throws NOT_READY if this node does not have the folder of the files */
  async #requireFolder(): Promise<void> {
    const reason = await this.#checkFolder();
    if (reason !== null)
      throw new AssayError('NOT_READY', reason, { retryAfterSeconds: FOLDER_RETRY_SECONDS });
  }

  async #checkRoom(): Promise<void> {
    await this.#requireFolder();
    if (!(await this.#hasRoom())) throw diskFull();
  }

  // --- jobs -------------------------------------------------------------------------------------------------------------

  list(
    accountId: string,
    { limit, offset, cursor, kinds = JOB_KINDS }: PageRequest & { readonly kinds?: readonly JobKind[] },
  ): JobPage {
    if (cursor !== undefined && !ID_SHAPE.test(cursor)) throw invalidCursor();
    const isWanted = (id: string): boolean => {
      const kind = this.#store.job(id)?.kind;
      return kind !== undefined && kinds.includes(kind);
    };
    const all = this.#store.idsOf(accountId);
    // Most keys may see all kinds, so that no record needs to be read.
    const ids = kinds.length === JOB_KINDS.length ? all : all.filter(isWanted);
    // Ids begin with the time, and the list with the newest.
    const following = cursor === undefined ? ids : ids.filter((id) => id < cursor);
    const shown = following.slice(offset, offset + limit);
    const jobs = shown.flatMap((id) => {
      const job = this.#store.job(id);
      return job === null ? [] : [this.#viewOf(job)];
    });
    const hasMore = following.length > offset + shown.length;
    return { jobs, total: ids.length, nextCursor: hasMore ? (shown.at(-1) ?? null) : null };
  }

  get(accountId: string, id: string): JobView | null {
    const job = this.#find(accountId, id);
    return job === null ? null : this.#viewOf(job);
  }

  result(accountId: string, id: string): JobResult | null {
    const job = this.#find(accountId, id);
    if (job === null) return null;
    requireNotExpired(job);
    const index = this.#results.of(job);
    const bytes = index.ends.at(-1) ?? 0;
    return {
      bytes,
      isComplete: job.endedAt !== null,
      etag: `${id}-${bytes}`,
      parts: (start, end) => partsOf(index, start, Math.min(end, bytes)),
      requireFiles: async (parts) => {
        const lost = await firstLost(parts);
        if (lost === null) return;
        await this.#requireFolder();
        throw this.#lost(id, lost);
      },
    };
  }

  /** Returns the error of a lost result file. The operator has to know it as well, unless the job was deleted meanwhile. */
  #lost(id: string, path: string): AssayError {
    if (this.#store.job(id) !== null) this.#deps.log.error({ job: id, path }, 'job result file missing');
    return lostResult();
  }

  unissued(accountId: string, id: string): ReceiptSubject | null {
    const receipt = this.#find(accountId, id)?.receipt;
    if (receipt === undefined || receipt.id !== null || receipt.lines === null) return null;
    return { lines: receipt.lines, secret: receipt.secret };
  }

  async setReceipt(accountId: string, id: string, receiptId: string): Promise<JobView | null> {
    await this.#store.transaction((writer) => {
      const job = writer.job(id);
      // Another node may have issued one meanwhile.
      if (job?.accountId === accountId && job.receipt?.id === null)
        writer.put({ ...job, receipt: { ...job.receipt, id: receiptId } });
    });
    return this.get(accountId, id);
  }

  async proof(accountId: string, id: string, line: number): Promise<ResultProof | null> {
    const job = this.#find(accountId, id);
    if (job === null) return null;
    requireNotExpired(job);
    try {
      return await lineProof(job, line, { store: this.#store, places: this.#places });
    } catch (error) {
      await this.#requireFolder();
      if (!isMissingFile(error)) throw error;
      throw this.#lost(id, String((error as NodeJS.ErrnoException).path));
    }
  }

  async cancel(accountId: string, id: string): Promise<JobView | null> {
    const { clock } = this.#deps;
    const job = this.#find(accountId, id);
    if (job === null) return null;
    if (job.endedAt !== null) {
      await this.#remove(job);
      return viewOf(job);
    }
    if (job.state === 'RECEIVING') {
      const upload = this.#uploads.get(id);
      if (upload?.accepting != null) {
        // The body is complete and is being charged: wait for that, then cancel the job as an accepted one.
        await upload.accepting;
        return this.cancel(accountId, id);
      }
      if (upload !== undefined) await upload.abort();
      else await this.#remove(job);
      const at = clock.now();
      return viewOf({ ...job, state: 'CANCELLED', endedAt: at, changedAt: at, spent: 0 });
    }
    return this.#cancelAccepted(id);
  }

  async #cancelAccepted(id: string): Promise<JobView | null> {
    const { clock } = this.#deps;
    await this.#store.transaction((writer) => {
      const job = writer.job(id);
      const next = job && jobAfter(job, { type: 'stopped', ending: 'CANCELLED' }, clock.now());
      if (next !== null) writer.put(next);
    });
    this.scheduler.wake();
    const late = clock.monotonic() + CANCEL_MS;
    await Promise.race([this.scheduler.whenEnded(id), pause(CANCEL_MS)]);
    // If another node schedules the job, that node ends it.
    while (this.#store.job(id)?.endedAt === null && clock.monotonic() < late) await pause(CANCEL_LOOK_MS);
    const job = await this.#store.transaction((writer) => writer.job(id));
    return job === null ? null : viewOf(job);
  }

  /** Finds a job of the account. A job of another account is treated as unknown. */
  #find(accountId: string, id: string): JobRecord | null {
    if (!ID_SHAPE.test(id)) return null;
    const job = this.#store.job(id);
    return job?.accountId === accountId ? job : null;
  }

  #viewOf(job: JobRecord): JobView {
    const upload = this.#uploads.get(job.id);
    return viewOf(upload === undefined ? job : { ...job, bytesReceived: upload.bytes });
  }

  /** Removes all of a job and refunds its charge. */
  async #remove(job: JobRecord): Promise<void> {
    // A job that was never charged has nothing to refund. For one that may have been charged, the charge is set to 0.
    if (job.endedAt === null && job.reserved > 0) await this.#deps.billing.settle(job, 0);
    this.#results.delete(job.id);
    // Before its files, so that an existing job always has its result. The next cleanup removes folders without a job.
    await this.#store.transaction((writer) => writer.remove(job));
    await rm(this.#places.ofJob(job.id), { recursive: true, force: true });
  }

  problem(): ReturnType<OpenBulkJobs['problem']> {
    return this.#problem;
  }

  counts(): Readonly<Record<JobState, number>> {
    const max = JOB_LIMITS.jobsCountedMax;
    const open = this.#store.openIds().slice(0, max);
    const found = new Map(open.map((id) => [id, this.#store.job(id)]));
    for (const job of this.#store.newest(max)) found.set(job.id, job);
    const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>;
    for (const job of found.values()) if (job !== null) counts[job.state]++;
    return counts;
  }

  // --- start and end ----------------------------------------------------------------------------------------------------

  start(): void {
    const { leases = createEmbeddedLeases(), log } = this.#deps;
    this.#leading ??= underLease(
      {
        store: 'jobs',
        name: 'scheduler',
        work: (lease, signal) => this.#lead(lease, signal),
        obstacle: async () => {
          await this.#ended;
          return this.#checkFolder();
        },
      },
      this.#stopping.signal,
      { leases, log },
    );
  }

  /** Schedules the chunks of all nodes while it holds the lease. */
  async #lead(lease: HeldLease, signal: AbortSignal): Promise<void> {
    await this.#store.ready();
    await this.#cleanup.run();
    if (signal.aborted) return;
    this.scheduler.start(lease.fence);
    const cleaning = setInterval(() => void this.#cleanup.run(), CLEANUP_MS);
    while (!signal.aborted && (await this.#checkFolder()) === null) await sleep(FOLDER_LOOK_MS, signal);
    clearInterval(cleaning);
    this.#ended = this.scheduler.stop();
    if (this.#problem === null) await this.#ended;
    else await Promise.race([this.#ended, pause(FOLDER_END_MS)]);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    // An upload that is being charged is accepted, because discarding it now would charge for nothing.
    for (const upload of [...this.#uploads.values()]) await (upload.accepting ?? upload.abort());
    await this.#leading;
    await this.#store.close();
  }
}
