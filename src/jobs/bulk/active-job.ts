/** The jobs in progress on the node that schedules, and the order in which their chunks take turns. */
import { setMaxListeners } from 'node:events';
import type { JobRecord, JobStore } from './job-store.ts';
import type { Plan } from './plan.ts';

/**
 * - `waiting`: none of its chunks was started by this scheduler
 * - `started`: its start is recorded, or being recorded
 * - `released`: this scheduler does not process it any more; its running chunks are aborted
 */
export type ActiveJobState = 'waiting' | 'started' | 'released';

/** A job in progress. */
export class ActiveJob {
  /** The record when the job was adopted. */
  readonly record: JobRecord;
  readonly plan: Plan;
  /** Resolves when the job has ended, or is not processed here any more. */
  readonly ended: Promise<void>;
  #resolveEnded: () => void = () => {};
  #state: ActiveJobState = 'waiting';
  readonly #abort = new AbortController();
  /** All chunks before this one have been started; failed ones are in `#again`. */
  #next: number;
  readonly #again: number[] = [];
  readonly #attempts = new Map<number, number>();

  constructor(record: JobRecord, plan: Plan) {
    this.record = record;
    this.plan = plan;
    this.#next = record.prefix.chunks;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    // One listener for each running chunk, and as many of the runner.
    setMaxListeners(0, this.#abort.signal);
  }

  get state(): ActiveJobState {
    return this.#state;
  }

  /** Aborted when the job is released. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Changes the state; returns false if the job had this state already. A released job stays released. */
  become(state: 'started' | 'released'): boolean {
    if (this.#state === state || this.#state === 'released') return false;
    this.#state = state;
    if (state === 'released') this.#abort.abort();
    return true;
  }

  resolveEnded(): void {
    this.#resolveEnded();
  }

  /** Returns the next chunk to be started; null if no chunk is left. */
  takeChunk(store: JobStore): number | null {
    const again = this.#again.shift();
    if (again !== undefined) return again;
    const hasResults = this.record.answered > 0;
    while (this.#next < this.plan.chunks) {
      const chunk = this.#next++;
      // If an earlier process started the job, some chunks after a gap may already be answered.
      if (hasResults && store.chunk(this.record.id, chunk) !== null) continue;
      return chunk;
    }
    return null;
  }

  /** Starts a chunk again later. */
  retry(chunk: number): void {
    this.#again.push(chunk);
  }

  /** Counts a failure of a chunk; returns the number of its failures. */
  countFailure(chunk: number): number {
    const attempts = (this.#attempts.get(chunk) ?? 0) + 1;
    this.#attempts.set(chunk, attempts);
    return attempts;
  }
}

/** Jobs that take turns: accounts chunk by chunk, and so do the jobs of one account. */
export class RoundRobin {
  /** Accounts with jobs, the next one first; and the jobs of each account in the same order. */
  #accounts: string[] = [];
  readonly #ofAccount = new Map<string, ActiveJob[]>();

  add(job: ActiveJob): void {
    const { accountId } = job.record;
    const jobs = this.#ofAccount.get(accountId);
    if (jobs !== undefined) {
      jobs.push(job);
      return;
    }
    this.#ofAccount.set(accountId, [job]);
    this.#accounts.push(accountId);
  }

  remove(job: ActiveJob): void {
    const { accountId } = job.record;
    const jobs = (this.#ofAccount.get(accountId) ?? []).filter((one) => one !== job);
    if (jobs.length > 0) {
      this.#ofAccount.set(accountId, jobs);
      return;
    }
    this.#ofAccount.delete(accountId);
    this.#accounts = this.#accounts.filter((account) => account !== accountId);
  }

  /** Returns the next chunk to be started, and moves its account and its job to the end; null if no chunk is left. */
  takeNext(store: JobStore): { readonly job: ActiveJob; readonly chunk: number } | null {
    for (let tried = 0; tried < this.#accounts.length; tried++) {
      const account = this.#accounts.shift() as string;
      this.#accounts.push(account);
      const jobs = this.#ofAccount.get(account) ?? [];
      for (let turn = 0; turn < jobs.length; turn++) {
        const job = jobs.shift() as ActiveJob;
        jobs.push(job);
        const chunk = job.takeChunk(store);
        if (chunk !== null) return { job, chunk };
      }
    }
    return null;
  }
}
