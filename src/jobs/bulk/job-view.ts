/** The record of a new job, and the client's view of a job. */
import { isoTime } from '../../base/clock.ts';
import type { JobRequest, JobView } from '../bulk-jobs.ts';
import { JOB_LIMITS } from '../limits.ts';
import type { JobPrice } from './billing.ts';
import type { JobRecord } from './job-store.ts';

/**
 * Returns the record of a job before its input arrives.
 *
 * @param createdAt - milliseconds since the epoch
 * @param secret - of the salts of the results, if a receipt binds them
 */
export function newJob(
  id: string,
  { accountId, pool = 'api', kind, format, chain, verdict = false, once = null }: JobRequest,
  { unit, perLine }: JobPrice,
  createdAt: number,
  secret: string | null = null,
): JobRecord {
  return {
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
    ...(pool === 'api' ? {} : { pool }),
    ...(verdict ? { verdict } : {}),
    ...(once === null ? {} : { once }),
    ...(secret === null ? {} : { receipt: { secret, lines: null, id: null } }),
  };
}

const rateOf = ({ rateFrom, answered, changedAt }: JobRecord): number | null => {
  if (rateFrom === null || answered <= rateFrom.answered || changedAt <= rateFrom.at) return null;
  return ((answered - rateFrom.answered) / (changedAt - rateFrom.at)) * 1_000;
};

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
    expiresAt: timeOf(job.endedAt === null ? null : job.endedAt + JOB_LIMITS.jobFilesKeptMs),
    items: job.items,
    answered: job.answered,
    failed: job.failed,
    bytesReceived: job.bytesReceived,
    resultBytes: job.filesRemoved ? 0 : job.prefix.bytes,
    itemsPerSecond: rate === null ? null : Math.round(rate),
    secondsLeft: isOver ? 0 : rate === null ? null : Math.ceil(left / rate),
    cost: { unit: job.unit, reserved: job.reserved, spent: job.spent },
    error: job.error,
    ...(job.receipt === undefined ? {} : { receipt: { id: job.receipt.id, lines: job.receipt.lines } }),
  };
}
