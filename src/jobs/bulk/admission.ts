/** The limits on jobs: uploads in progress, jobs of an account, and its bytes on disk. */
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { JOB_LIMITS } from '../limits.ts';
import { bytesOnDisk, type JobRecord, type JobStore, type JobWriter } from './job-store.ts';

/** Retry-After of requests that are rejected because of too little disk space. */
const NO_ROOM_RETRY_SECONDS = 600;

/** Disk use of an account, in bytes. */
export interface DiskQuota {
  /** Bytes of the account's other jobs. */
  readonly kept: number;
  readonly wanted: number;
  readonly firstEndedAt: number | null;
  readonly isEnough: boolean;
}

/** Checks the account's disk quota for a job. */
export function diskQuotaFor(job: JobRecord, writer: JobWriter): DiskQuota {
  const { bytes: kept, firstEndedAt } = writer.keptOf(job.accountId, job.id);
  const wanted = bytesOnDisk(job);
  return {
    kept,
    wanted,
    firstEndedAt,
    isEnough: kept + Math.max(1, wanted) <= JOB_LIMITS.jobBytesPerAccount,
  };
}

/** Returns the error of an account with jobs that need too many bytes. */
export function diskQuotaExceeded({ kept, wanted, firstEndedAt }: DiskQuota): AssayError {
  const next =
    firstEndedAt === null
      ? 'Wait until a job has ended, or cancel one.'
      : `Delete jobs whose results you have read; the next one expires at ${isoTime(firstEndedAt + JOB_LIMITS.jobFilesKeptMs)}.`;
  return new AssayError(
    'OVERLOADED',
    `The account stores ${kept} bytes of bulk jobs, and this job needs ${wanted} more; the maximum is ${JOB_LIMITS.jobBytesPerAccount} (inputs, and results until they expire). ${next}`,
    { retryAfterSeconds: NO_ROOM_RETRY_SECONDS },
  );
}

/** Returns the error of a disk with too little space for another job. */
export const diskFull = (): AssayError =>
  new AssayError('OVERLOADED', 'The server has too little disk space for another job.', {
    retryAfterSeconds: NO_ROOM_RETRY_SECONDS,
  });

/**
 * Adds a job within its account's limits. If the request may be a repetition, the disk quota is not checked here: it is known only
 * at the end of the body whether any space is needed.
 *
 * @throws OVERLOADED
 */
export async function addWithinLimits(
  store: JobStore,
  record: JobRecord,
  mayBeRepeated: boolean,
): Promise<void> {
  const { accountId } = record;
  const { open, count, quota } = await store.transaction((writer) => {
    const found = {
      open: writer.openOf(accountId),
      count: writer.countOf(accountId),
      quota: mayBeRepeated ? null : diskQuotaFor(record, writer),
    };
    if (
      found.open < JOB_LIMITS.jobsOpenPerAccount &&
      found.count < JOB_LIMITS.jobsPerAccount &&
      found.quota?.isEnough !== false
    )
      writer.add(record);
    return found;
  });
  if (open >= JOB_LIMITS.jobsOpenPerAccount)
    throw new AssayError(
      'OVERLOADED',
      `The account has ${open} jobs that have not ended; the maximum is ${JOB_LIMITS.jobsOpenPerAccount}.`,
      { retryAfterSeconds: 60 },
    );
  if (count >= JOB_LIMITS.jobsPerAccount)
    throw new AssayError(
      'OVERLOADED',
      `The account has ${count} jobs; the maximum is ${JOB_LIMITS.jobsPerAccount}. Delete some that have ended.`,
      { retryAfterSeconds: 60 },
    );
  if (quota?.isEnough === false) throw diskQuotaExceeded(quota);
}

/** The uploads in progress, from before their first byte until none of their files is open. */
export class UploadSlots {
  /** Accounts by upload id. */
  readonly #accounts = new Map<string, string>();

  has(id: string): boolean {
    return this.#accounts.has(id);
  }

  /**
   * Counts a new upload until `leave`.
   *
   * @throws OVERLOADED
   */
  enter(id: string, accountId: string): void {
    if (this.#accounts.size >= JOB_LIMITS.jobUploadsMax)
      throw new AssayError(
        'OVERLOADED',
        `${this.#accounts.size} uploads of jobs are in progress; the maximum is ${JOB_LIMITS.jobUploadsMax}.`,
        { retryAfterSeconds: 10 },
      );
    const own = [...this.#accounts.values()].filter((account) => account === accountId).length;
    if (own >= JOB_LIMITS.jobUploadsPerAccount)
      throw new AssayError(
        'OVERLOADED',
        `${own} uploads of the account are in progress; the maximum is ${JOB_LIMITS.jobUploadsPerAccount}.`,
        { retryAfterSeconds: 10 },
      );
    this.#accounts.set(id, accountId);
  }

  leave(id: string): void {
    this.#accounts.delete(id);
  }
}
