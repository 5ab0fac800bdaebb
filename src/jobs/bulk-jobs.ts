/**
 * The port for bulk jobs: a file of addresses as input, a file of results as output, in the order of the lines. Jobs are processed
 * in chunks beside the requests of all clients. An upload is on disk before it is acknowledged, and every line is answered exactly
 * once.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { ChainId } from '../chains/registry.ts';

export const JOB_KINDS = ['labels', 'sanctions', 'screening', 'kyt'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/**
 * `csv`: a header line that names `address` and, if the lines differ in their chain, `chain`. Without a header, each line is an
 * address.
 */
export const JOB_FORMATS = ['ndjson', 'csv'] as const;
export type JobFormat = (typeof JOB_FORMATS)[number];

export const JOB_STATES = ['RECEIVING', 'QUEUED', 'RUNNING', 'DONE', 'CANCELLED', 'FAILED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A job as a client sees it. Times are ISO 8601 UTC with milliseconds. */
export interface JobView {
  readonly id: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
  /** Chain of the lines that name none. */
  readonly chain: ChainId | null;
  /** Whether each label set includes the verdict of the oracle. */
  readonly verdict: boolean;
  readonly state: JobState;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Time at which its files are removed; null while it runs. */
  readonly expiresAt: string | null;
  /** Number of input lines; null while the input is received. */
  readonly items: number | null;
  /** Number of answered lines, including errors. */
  readonly answered: number;
  /** Number of lines that were answered with an error. They cost nothing. */
  readonly failed: number;
  readonly bytesReceived: number;
  /** Bytes of the result that can be read now: whole lines, without a gap from the first one on. */
  readonly resultBytes: number;
  /** Lines per second since the start; null before. */
  readonly itemsPerSecond: number | null;
  readonly secondsLeft: number | null;
  /** Quota units or credits reserved at the start, and spent at the end. */
  readonly cost: {
    readonly unit: 'intel' | 'credits';
    readonly reserved: number;
    readonly spent: number | null;
  };
  /** A sentence that says why a FAILED job ended. */
  readonly error: string | null;
  /** Only of a job with results that a receipt binds. */
  readonly receipt?: JobReceipt;
}

/** Results, and the root of their Merkle tree (salted-lines.ts), hexadecimal. */
export interface ResultLines {
  readonly count: number;
  readonly root: string;
}

/** The receipt of a job as a client sees it. */
export interface JobReceipt {
  /** Null until the job has ended and was read. */
  readonly id: string | null;
  /** Null until the job has ended. */
  readonly lines: ResultLines | null;
}

/** What a receipt of a job binds. */
export interface ReceiptSubject {
  readonly lines: ResultLines;
  /** Secret of the salts of the results, hexadecimal. */
  readonly secret: string;
}

/** A proof that a line is in the result that a receipt binds. */
export interface ResultProof {
  /** Position in the result, from 0. */
  readonly line: number;
  readonly text: string;
  /** Hexadecimal. */
  readonly salt: string;
  /** Hashes from the sibling of the leaf to the child of the root, hexadecimal. */
  readonly path: readonly string[];
}

export interface JobRequest {
  readonly accountId: string;
  /** The balance of the account that pays credits. Default: `api`. */
  readonly pool?: 'api' | 'dashboard';
  readonly kind: JobKind;
  readonly format: JobFormat;
  readonly chain: ChainId | null;
  /** Adds the verdict of the oracle to each label set; only for the kind `labels`. Default: false. */
  readonly verdict?: boolean;
  /** Whether a receipt binds the results. Default: false. */
  readonly hasReceipt?: boolean;
  /**
   * Idempotency key of the request within the account: a request that is repeated with it within 24 hours is the same job.
   * Default: each request is a new job.
   */
  readonly once?: string | null;
}

/** The body of a job while it is received. */
export interface JobUpload {
  /** Whether `end` resolved with the response to an earlier request with the same idempotency key. */
  readonly isRepeated: boolean;
  /**
   * Takes a piece of the body. The bytes may be reused after it has returned or resolved.
   *
   * @throws BODY_TOO_LARGE, INVALID_REQUEST (a line is too long, or there are too many lines)
   */
  write(bytes: Uint8Array): Awaitable<void>;
  /**
   * The body is complete: reserves quota or credits and queues the job. If it rejects, nothing of the upload is kept.
   *
   * @throws INVALID_REQUEST (the body is empty, or another body was sent with the key); QUOTA_EXHAUSTED;
   * CREDITS_EXHAUSTED; OVERLOADED (the account stores too many bytes); NOT_READY (the first request with the key is still being
   * processed)
   */
  end(): Promise<JobView>;
  /** The client disconnected, or the upload failed: discards everything. */
  abort(): Promise<void>;
}

/** A byte range of a file. */
export interface FilePart {
  readonly path: string;
  readonly start: number;
  /** Offset after the last byte. */
  readonly end: number;
}

/** The readable part of a result. */
export interface JobResult {
  readonly bytes: number;
  /** Whether the result is complete. */
  readonly isComplete: boolean;
  /** Identifies this job and this number of bytes; without quotes. */
  readonly etag: string;
  /** Returns the file ranges that hold the bytes from `start` (inclusive) to `end` (exclusive), in order. */
  parts(start: number, end: number): readonly FilePart[];
  /** Throws NOT_FOUND if a file of these ranges is missing or truncated. */
  requireFiles(parts: readonly FilePart[]): Awaitable<void>;
}

export interface JobPage extends PageEnd {
  readonly jobs: readonly JobView[];
  readonly total: number;
}

/** The bulk jobs of all accounts. */
export interface BulkJobs {
  /**
   * Starts to receive a job.
   *
   * @throws OVERLOADED if the account has too many jobs or stores too many bytes, or if the disk has too little
   * space
   */
  receive(request: JobRequest): Promise<JobUpload>;
  /** Newest first; only jobs of `kinds`, if given. */
  list(accountId: string, page: PageRequest & { readonly kinds?: readonly JobKind[] }): Awaitable<JobPage>;
  /** Null also for an id of another account. */
  get(accountId: string, id: string): Awaitable<JobView | null>;
  /**
   * Returns the part of the result that can be read now; null if the job does not exist.
   *
   * @throws INVALID_REQUEST if its files were removed
   */
  result(accountId: string, id: string): Awaitable<JobResult | null>;
  /**
   * Returns what the receipt of a job has to bind; null if it has none to issue: it was issued, was not requested, or the job has not ended.
   */
  unissued(accountId: string, id: string): ReceiptSubject | null;
  /** Records the receipt of a job, unless it has one. Resolves with the view of the job. */
  setReceipt(accountId: string, id: string, receiptId: string): Promise<JobView | null>;
  /**
   * Returns a line of an ended job with the proof that the receipt binds it; null if the job does not exist.
   *
   * @throws INVALID_REQUEST if the job has no receipt, its files were removed, or it has no such line
   */
  proof(accountId: string, id: string, line: number): Promise<ResultProof | null>;
  /** Stops a job, or removes one that has ended. Answered lines are kept and charged. Null if the job does not exist. */
  cancel(accountId: string, id: string): Promise<JobView | null>;
}
