/** The upload of one job: writes its body, answers a repeated request, charges the job and queues it. */
import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { JobUpload, JobView } from '../bulk-jobs.ts';
import { diskQuotaExceeded, diskQuotaFor } from './admission.ts';
import type { JobBilling } from './billing.ts';
import { jobAfter } from './job-state.ts';
import type { Claim, JobRecord, JobStore, JobWriter } from './job-store.ts';
import { viewOf } from './job-view.ts';
import { type JobPlaces, syncFolder } from './places.ts';
import type { InputFile } from './receiving.ts';

/** Parts of the bulk jobs that an upload needs. */
export interface UploadDeps {
  readonly store: JobStore;
  readonly places: JobPlaces;
  readonly billing: JobBilling;
  readonly clock: Clock;
  /** Called when the upload does not count against the limits any more. */
  readonly onLeave: () => void;
  /** Called when the job is queued. */
  readonly onQueued: () => void;
  /** Removes all of a job and refunds its charge. */
  readonly remove: (job: JobRecord) => Promise<void>;
}

/**
 * - `receiving`: the body arrives
 * - `accepting`: the body is complete; the job is being charged and queued
 * - `closed`: the job is queued, or all of it is being discarded
 */
type UploadState = 'receiving' | 'accepting' | 'closed';

/** Interval between the signs of life of an upload. */
const SIGN_OF_LIFE_MS = 60_000;
/**
 * Maximum time from the last byte of a body to its response. After it, the request loses its idempotency key to the next one.
 * Calls to Redis may take seconds.
 */
const ACCEPTING_MS = 30_000;

const cancelled = (): AssayError =>
  new AssayError('INVALID_REQUEST', 'The job was cancelled while its input was received.');

const notAnswered = (): AssayError =>
  new AssayError(
    'NOT_READY',
    'Another request with this Idempotency-Key is still being processed. Try again.',
    { retryAfterSeconds: 1 },
  );

/** Whether the first request with an idempotency key still owns it. If it was not answered in time, it or its node has failed. */
function isOwned({ jobId, at, answer }: Claim, now: number, writer: JobWriter): boolean {
  if (answer !== null) return now - at < LIMITS.idempotencyMs;
  return now - at < ACCEPTING_MS && writer.job(jobId) !== null;
}

/** Receives the body of one job, and accepts or discards the job. */
export class Upload implements JobUpload {
  readonly #record: JobRecord;
  readonly #input: InputFile;
  readonly #deps: UploadDeps;
  /** Digest of the request; null if it has no idempotency key. */
  readonly #hash: Hash | null;
  #state: UploadState = 'receiving';
  /** Resolves when a closed upload has no open files, and when a discarded one is removed. */
  #closing: Promise<void> = Promise.resolve();
  /** Resolves when the job was accepted or completely discarded; null while its body arrives. */
  #accepting: Promise<void> | null = null;
  #isRepeated = false;
  /** The record as last stored. */
  #stored: JobRecord;
  #signOfLifeAt: number;

  constructor(record: JobRecord, input: InputFile, deps: UploadDeps) {
    const { once, kind, format, chain, verdict, receipt, createdAt } = record;
    const request = `${kind}${verdict ? ' verdict' : ''}${receipt === undefined ? '' : ' receipt'}`;
    this.#record = record;
    this.#input = input;
    this.#deps = deps;
    this.#hash = once === undefined ? null : createHash('sha256').update(`${request}\n${format}\n${chain}\n`);
    this.#stored = record;
    this.#signOfLifeAt = createdAt;
  }

  get isRepeated(): boolean {
    return this.#isRepeated;
  }

  /** Number of received bytes. */
  get bytes(): number {
    return this.#input.bytes;
  }

  /** Resolves when the job was accepted or completely discarded; null while its body arrives. */
  get accepting(): Promise<void> | null {
    return this.#accepting;
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    this.#requireOpen();
    this.#hash?.update(bytes);
    return this.#input.write(bytes)?.then(() => this.#signLife());
  }

  async end(): Promise<JobView> {
    this.#requireOpen();
    this.#become('accepting');
    const accepting = this.#accept();
    this.#accepting = accepting.then(
      () => {},
      () => {},
    );
    return accepting;
  }

  /** Aborts the upload once, and discards all of it. */
  abort(): Promise<void> {
    if (this.#state !== 'closed') this.#become('closed', this.#discard());
    return this.#closing;
  }

  #become(state: 'accepting'): void;
  #become(state: 'closed', closing: Promise<void>): void;
  #become(state: UploadState, closing = this.#closing): void {
    this.#state = state;
    this.#closing = closing;
  }

  #requireOpen(): void {
    if (this.#state === 'closed') throw cancelled();
  }

  async #discard(): Promise<void> {
    this.#deps.onLeave();
    await this.#input.close();
    await this.#deps.remove(this.#stored);
  }

  async #accept(): Promise<JobView> {
    const { onLeave, onQueued, billing } = this.#deps;
    try {
      const view = await this.#finish();
      if (this.#isRepeated) {
        await this.abort();
        return view;
      }
      this.#become('closed', this.#input.close());
      await this.#closing;
      onLeave();
      onQueued();
      return view;
    } catch (error) {
      await this.abort();
      // If the job was cancelled meanwhile, its refund may have come before this charge.
      if (this.#stored.reserved > 0) await billing.settle(this.#stored, 0);
      throw error;
    }
  }

  /** Makes the input durable, charges the job, and queues it. */
  async #finish(): Promise<JobView> {
    const { places, billing, clock } = this.#deps;
    const { id, perLine } = this.#record;
    const { plan, bytes, items, columns, headBytes } = await this.#input.finish();
    const first = await this.#firstResponse();
    if (first !== null) {
      this.#isRepeated = true;
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
    await syncFolder(places.folder);
    const reserved = items * perLine;
    const ready = { ...this.#record, columns, headBytes, items, bytesReceived: bytes, reserved };
    // Stored before anything is charged: if the process stops in between, the next start refunds a possible charge.
    await this.#keep(ready);
    await billing.settle(ready, reserved);
    const queued = jobAfter(ready, { type: 'charged' }, clock.now());
    if (queued === null) throw cancelled();
    await this.#keep(queued);
    return viewOf(queued);
  }

  /**
   * Claims the idempotency key. The first request with a key owns it, and its job continues; later requests get the same response.
   *
   * @returns null for the first request
   * @throws INVALID_REQUEST if the body differs; NOT_READY if the first request is not answered yet
   */
  async #firstResponse(): Promise<JobView | null> {
    const { store, clock } = this.#deps;
    const { id, once } = this.#record;
    if (once === undefined || this.#hash === null) return null;
    const bodyHash = this.#hash.digest('hex');
    const at = clock.now();
    const first = await store.transaction((writer) => {
      const claim = writer.claim(once);
      if (claim !== null && isOwned(claim, at, writer)) return claim;
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

  /**
   * Stores the job and, if it is accepted, the response to its request.
   *
   * @throws INVALID_REQUEST if the job was removed meanwhile, NOT_READY if a later request took over the idempotency key because this
   *   one was not answered in time, OVERLOADED if the account stores too many bytes
   */
  async #keep(job: JobRecord): Promise<void> {
    const { id, once } = this.#record;
    const before = this.#stored;
    this.#stored = job;
    const quota = await this.#deps.store.transaction((writer) => {
      if (writer.job(id) === null) return 'removed';
      const claim = once === undefined ? null : writer.claim(once);
      if (claim !== null && claim.jobId !== id) return 'taken over';
      const found = diskQuotaFor(job, writer);
      if (!found.isEnough) return found;
      writer.put(job);
      if (once !== undefined && claim !== null && job.state === 'QUEUED')
        writer.putClaim(once, { ...claim, answer: viewOf(job) });
      return found;
    });
    if (quota === 'removed') throw cancelled();
    if (quota === 'taken over') throw notAnswered();
    if (quota.isEnough) return;
    this.#stored = before;
    throw diskQuotaExceeded(quota);
  }

  /** Stores a sign of life at intervals: other nodes consider a silent upload dead. */
  async #signLife(): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    // In both directions, so that a clock that was set back does not make an upload appear silent.
    if (Math.abs(at - this.#signOfLifeAt) < SIGN_OF_LIFE_MS) return;
    this.#signOfLifeAt = at;
    const { id } = this.#record;
    await store.transaction((writer) => {
      if (writer.job(id) !== null)
        writer.put({ ...this.#record, changedAt: at, bytesReceived: this.#input.bytes });
    });
  }
}
