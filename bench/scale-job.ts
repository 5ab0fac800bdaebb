/** One bulk job as both halves of the benchmark of scale send it, and its measurements. */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import type { BulkJobs, JobView } from '../src/jobs/bulk-jobs.ts';

export interface ScaleBenchOptions {
  /** Synthetic labels of the index. */
  readonly count: number;
  /** Lines of a job. */
  readonly lines: number;
  readonly rounds: number;
  readonly seed: number;
  /** Folder for all data, with room for the results. Default: the system's temporary folder. */
  readonly folder: string;
}

/** A server passes on a body in pieces of about this size. */
const BODY_PIECE_BYTES = 64 * 1024;
const LOOK_MS = 5;
export const MAX_AGE_DAYS = 7;

/** Measurements of one job. */
export interface JobFigures {
  /** Seconds from the first byte of the body to the confirmation that it is on disk. */
  readonly receiving: number;
  /** Seconds from that confirmation until the last byte of the result and its end are on disk. */
  readonly working: number;
  /** CPU seconds of all threads of this process, for both phases. */
  readonly cpu: number;
  readonly bytes: number;
}

/** Sends a file as the body of a job. */
async function send(jobs: BulkJobs, input: string): Promise<JobView> {
  const upload = await jobs.receive({ accountId: 'bench', kind: 'labels', format: 'ndjson', chain: 'ETH' });
  const piece = Buffer.alloc(BODY_PIECE_BYTES);
  const file = openSync(input, 'r');
  try {
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece))
      await upload.write(piece.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return upload.end();
}

/** Sends one job, waits until it ends, and removes it. Works with any chunk runner. */
export async function timeJob(jobs: BulkJobs, input: string, lines: number): Promise<JobFigures> {
  const cpuBefore = process.cpuUsage();
  const start = systemClock.monotonic();
  const { id } = await send(jobs, input);
  const sent = systemClock.monotonic();
  let job = await jobs.get('bench', id);
  while (job !== null && job.endedAt === null) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    job = await jobs.get('bench', id);
  }
  const end = systemClock.monotonic();
  const { user, system } = process.cpuUsage(cpuBefore);
  if (job?.state !== 'DONE' || job.answered !== lines || job.failed > 0)
    throw new Error(`The job did not answer every line: ${JSON.stringify(job)}`);
  await jobs.cancel('bench', id);
  return {
    receiving: (sent - start) / 1_000,
    working: (end - sent) / 1_000,
    cpu: (user + system) / 1e6,
    bytes: job.resultBytes,
  };
}

/** The folders of a process that only processes labels. */
export const workerFolders = (folder: string) => ({
  snapshotsFolder: join(folder, 'snapshots'),
  labelsFolder: folder,
  transfersFolder: join(folder, 'transfers'),
  outputsFolder: join(folder, 'outputs'),
  clustersFolder: join(folder, 'clusters'),
  namesFolder: join(folder, 'names'),
  listMaxAgeDays: MAX_AGE_DAYS,
  logLevel: 'error' as const,
});
