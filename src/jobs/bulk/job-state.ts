/**
 * The states of a job and their changes. A job is RECEIVING until its input is complete and charged, QUEUED until its first chunk
 * starts, and RUNNING until it ends. If it has no more work, or is stopped, `ending` has its final state while its charge is being
 * settled; then it is DONE, CANCELLED or FAILED.
 */
import type { ResultLines } from '../bulk-jobs.ts';
import type { JobRecord } from './job-store.ts';

export type JobEvent =
  /** The input is complete, and its charge is reserved. */
  | { readonly type: 'charged' }
  /** A scheduler starts the first of its chunks. */
  | { readonly type: 'started' }
  /** The results of a chunk are durable. */
  | { readonly type: 'answered'; readonly items: number; readonly failed: number }
  /** The client cancelled the job, or it cannot be continued; `error` is the sentence that the client reads. */
  | { readonly type: 'stopped'; readonly ending: 'CANCELLED' | 'FAILED'; readonly error?: string }
  /** The charge is settled. Results after a gap do not count. */
  | {
      readonly type: 'settled';
      readonly answered: number;
      readonly failed: number;
      readonly spent: number;
      /** Results and their root, if a receipt binds them. */
      readonly lines?: ResultLines;
    };

/** If another scheduler takes over a job at `at`, the rate continues: the pause between the two schedulers is not counted. */
const continuedRate = ({ rateFrom, changedAt, answered }: JobRecord, at: number): JobRecord['rateFrom'] =>
  rateFrom === null ? { at, answered } : { ...rateFrom, at: at - Math.max(0, changedAt - rateFrom.at) };

/**
 * Returns a job after an event; null if the event does not apply to it any more. No other function changes the state of a job.
 *
 * @param at - time of the event, in milliseconds since the epoch
 */
export function jobAfter(job: JobRecord, event: JobEvent, at: number): JobRecord | null {
  const isContinuing = job.ending === null && job.endedAt === null;
  switch (event.type) {
    case 'charged':
      if (job.state !== 'RECEIVING') return null;
      return { ...job, state: 'QUEUED', changedAt: at };
    case 'started':
      if (!isContinuing) return null;
      return {
        ...job,
        state: 'RUNNING',
        startedAt: job.startedAt ?? at,
        changedAt: at,
        rateFrom: continuedRate(job, at),
      };
    case 'answered': {
      if (!isContinuing) return null;
      const answered = job.answered + event.items;
      return {
        ...job,
        state: 'RUNNING',
        startedAt: job.startedAt ?? at,
        changedAt: at,
        answered,
        failed: job.failed + event.failed,
        ending: answered === job.items ? 'DONE' : null,
      };
    }
    case 'stopped':
      if (!isContinuing) return null;
      return { ...job, ending: event.ending, error: event.error ?? job.error, changedAt: at };
    case 'settled': {
      const { answered, failed, spent, lines } = event;
      if (job.ending === null || job.endedAt !== null) return null;
      const { receipt } = job;
      const bound = receipt === undefined || lines === undefined ? {} : { receipt: { ...receipt, lines } };
      return { ...job, state: job.ending, endedAt: at, changedAt: at, answered, failed, spent, ...bound };
    }
  }
}
