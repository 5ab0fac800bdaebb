/**
 * Bulk jobs as a port: a file of addresses in, a file of answers out, in the order of the lines, worked off in chunks beside the
 * requests of everybody else. What is received is on disk before it is promised; what is answered is answered once.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { ChainId } from '../chains/registry.ts';

export const JOB_KINDS = ['labels', 'sanctions', 'screening', 'kyt'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** `csv`: a head line that names `address` and, where lines differ, `chain`; without one, addresses alone. */
export const JOB_FORMATS = ['ndjson', 'csv'] as const;
export type JobFormat = (typeof JOB_FORMATS)[number];

export const JOB_STATES = ['RECEIVING', 'QUEUED', 'RUNNING', 'DONE', 'CANCELLED', 'FAILED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** What a client sees of a job. Times are ISO 8601 UTC with milliseconds. */
export interface JobView {
  readonly id: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
  /** Of lines that name none. */
  readonly chain: ChainId | null;
  /** Each label set has the verdict of the oracle. */
  readonly verdict: boolean;
  readonly state: JobState;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** When its files are removed; null while it runs. */
  readonly expiresAt: string | null;
  /** Lines of the input; null while it is received. */
  readonly items: number | null;
  /** Lines that are answered, errors among them. */
  readonly answered: number;
  /** Of them: lines that were answered with an error in their place. They cost nothing. */
  readonly failed: number;
  readonly bytesReceived: number;
  /** Bytes of the result that can be read now: whole lines, without a gap from the first on. */
  readonly resultBytes: number;
  /** Lines a second since it was started; null before. */
  readonly itemsPerSecond: number | null;
  readonly secondsLeft: number | null;
  /** What was taken at the start, and what of it is spent when it ends: units of quota or credits. */
  readonly cost: {
    readonly unit: 'intel' | 'credits';
    readonly reserved: number;
    readonly spent: number | null;
  };
  /** Why a FAILED job ended, in a sentence. */
  readonly error: string | null;
}

export interface JobRequest {
  readonly accountId: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
  readonly chain: ChainId | null;
  /** Adds the verdict of the oracle to each label set; only of the kind `labels`. Default: false. */
  readonly verdict?: boolean;
  /**
   * Name of the request, of the account's own: what is sent again under it within 24 hours is the same job. Default: each is one of
   * its own.
   */
  readonly once?: string | null;
}

/** The body of a job while it comes in. */
export interface JobUpload {
  /** Whether `end` resolved with what an earlier request under the same name was answered. */
  readonly isRepeated: boolean;
  /** Bytes may be reused once it returned or resolved. Throws BODY_TOO_LARGE, INVALID_REQUEST (a line too long, too many lines). */
  write(bytes: Uint8Array): Awaitable<void>;
  /**
   * All was sent: takes quota or credits and queues the job. Rejects with INVALID_REQUEST (nothing in it, or another body under the
   * name), QUOTA_EXHAUSTED, CREDITS_EXHAUSTED, OVERLOADED (the account keeps too many bytes), NOT_READY (the first under the name is
   * still being taken on); then nothing is left of it.
   */
  end(): Promise<JobView>;
  /** The client went away, or the upload failed: nothing is left of it. */
  abort(): Promise<void>;
}

/** A stretch of a file. */
export interface FilePart {
  readonly path: string;
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

export interface JobResult {
  readonly bytes: number;
  /** Whether nothing will be added. */
  readonly isComplete: boolean;
  /** Of this job and this many bytes, without quotes. */
  readonly etag: string;
  /** The stretches of files that hold the bytes from `start` up to `end`, in order. */
  parts(start: number, end: number): readonly FilePart[];
}

export interface JobPage {
  readonly jobs: readonly JobView[];
  readonly total: number;
}

export interface BulkJobs {
  /** Rejects with OVERLOADED where the account has too many jobs or keeps too many bytes, or the disk has no room. */
  receive(request: JobRequest): Promise<JobUpload>;
  /** Newest first; of `kinds` alone, where they are given. */
  list(
    accountId: string,
    page: { readonly limit: number; readonly offset: number; readonly kinds?: readonly JobKind[] },
  ): Awaitable<JobPage>;
  /** Null also for another account's. */
  get(accountId: string, id: string): Awaitable<JobView | null>;
  /** What can be read now; null where there is no such job. Throws INVALID_REQUEST where its files were removed. */
  result(accountId: string, id: string): Awaitable<JobResult | null>;
  /** Stops it (what is answered stays and is paid for), or removes one that has ended. Null where there is no such job. */
  cancel(accountId: string, id: string): Promise<JobView | null>;
}
