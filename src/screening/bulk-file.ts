/**
 * Label sets of any number of addresses, one per line, from file or pipe to file or pipe, in order, with several threads. This
 * module starts the threads and reports the progress; bulk-file-thread.ts is the code of a thread.
 */
import { closeSync, fstatSync, openSync, rmSync, statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, messageOf } from '../base/errors.ts';
import { workerUrl } from '../base/paths.ts';
import type { ChainId } from '../chains/registry.ts';
import { openFreshness } from '../labels/freshness.ts';
import { leaseCurrent } from '../labels/index/folder.ts';
import { isStorageFull, storageFull } from '../state/storage.ts';
import type { Reason } from './answers.ts';
import { type BulkFileJob, Turns } from './bulk-file-thread.ts';
import { asTime, staleReasonOf } from './context.ts';
import { SCREENING_LIMITS } from './limits.ts';

export interface BulkFileProgress {
  /** Lines answered so far, including errors. */
  readonly count: number;
  /** Lines per second since the start. */
  readonly rate: number;
  readonly bytesRead: number;
  /** Null if the input is a pipe. */
  readonly bytesTotal: number | null;
}

export interface BulkFileOptions {
  /** Path, or an open descriptor: 0 for standard input. */
  readonly input: string | number;
  /** Path (created or truncated), or an open descriptor: 1 for standard output. */
  readonly output: string | number;
  readonly chain: ChainId;
  readonly threads: number;
  readonly onProgress?: (progress: BulkFileProgress) => void;
  /** Stops at the next block. The output then ends with a whole line. */
  readonly signal?: AbortSignal;
}

export interface BulkFileDeps {
  /** Root of the label snapshots. */
  readonly snapshotsFolder: string;
  /** Folder of the label store, which has the age of the lists. */
  readonly labelsFolder: string;
  readonly listMaxAgeDays: number;
  readonly clock: Clock;
  /** Entry of the threads. Default: the built one, joined if this program is. Benchmarks start the joined one, which ships. */
  readonly thread?: URL;
}

export interface BulkFileResult {
  readonly lines: number;
  /** Lines that were no valid address; each has an error in its place. */
  readonly failed: number;
  readonly bytesRead: number;
  /** Seconds from the start of the first thread to the end of the last. */
  readonly seconds: number;
  /** False if the signal stopped it. */
  readonly complete: boolean;
  /** Names the sanctions lists that are missing or too old; each answer then has its code in `reasonCodes`. Null if all are fresh. */
  readonly staleReason: Reason | null;
}

const PROGRESS_MS = 200;

/** Number of answered blocks of a file that a thread may hold back: enough to work on while other threads write or sleep. */
const BLOCKS_AHEAD = 4;

function openFile(file: string | number, flags: 'r' | 'w', field: string): { fd: number; close: () => void } {
  if (typeof file === 'number') return { fd: file, close: () => {} };
  try {
    const fd = openSync(file, flags);
    return { fd, close: () => closeSync(fd) };
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `${field}: '${file}' cannot be opened: ${messageOf(cause)}.`, {
      field,
      cause,
    });
  }
}

/** Rejects an output that is the input, by whatever path or link: opening it for writing would empty it before it is read. */
function refuseInput(output: string | number, input: number): void {
  if (typeof output === 'number') return;
  const written = statSync(output, { bigint: true, throwIfNoEntry: false });
  const read = fstatSync(input, { bigint: true });
  if (written?.isFile() && written.dev === read.dev && written.ino === read.ino)
    throw new AssayError('INVALID_FILE', `output: '${output}' is the input; give another file.`, {
      field: 'output',
    });
}

/**
 * Runs one thread to the end of its work; the thread itself is idle for a moment after it (`idleBeforeEnd`), and nothing waits for that.
 * Rejects with the error that the thread sent, or that ended it.
 */
function runThread(job: BulkFileJob, entry: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(entry, { workerData: job });
    let failure: unknown = null;
    worker.on('message', (data: ErrorData | null) => {
      if (data === null) resolve();
      else failure = errorFromData(data);
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => {
      if (failure === null) return resolve();
      new Turns(job.turns).stop();
      reject(failure);
    });
  });
}

/**
 * Answers every line of `input`: with a label set, or with `{address, error, line}` if the line is not a valid address. All
 * answers use the snapshot that is current at the start, even if another is published meanwhile. Memory is limited to a few
 * blocks per thread.
 *
 * @throws INVALID_FILE if a file cannot be opened, read or written, or if the output is the input; NOT_READY if no index was built;
 *   OUTPUT_CLOSED if the reader of the output closed it.
 */
export async function runBulkFile(options: BulkFileOptions, deps: BulkFileDeps): Promise<BulkFileResult> {
  const input = openFile(options.input, 'r', 'input');
  try {
    const leased = leaseCurrent(deps.snapshotsFolder);
    if (!leased) {
      throw new AssayError(
        'NOT_READY',
        `No label index was built yet in ${deps.snapshotsFolder}. Run 'assay index build'.`,
      );
    }
    try {
      refuseInput(options.output, input.fd);
      const output = openFile(options.output, 'w', 'output');
      try {
        return await runThreads({ ...options, input: input.fd, output: output.fd }, leased.path, deps).catch(
          (error: unknown) => {
            // The threads do not know the names of files.
            if (!isStorageFull(error) || typeof options.output === 'number') throw error;
            // A partial output file is no result, so it is deleted. A device stays.
            if (statSync(options.output).isFile()) rmSync(options.output);
            throw storageFull(options.output, error);
          },
        );
      } finally {
        output.close();
      }
    } finally {
      leased.lease.release();
    }
  } finally {
    input.close();
  }
}

interface OpenFiles extends BulkFileOptions {
  readonly input: number;
  readonly output: number;
}

async function runThreads(options: OpenFiles, snapshot: string, deps: BulkFileDeps): Promise<BulkFileResult> {
  const turns = Turns.create();
  const startMs = deps.clock.monotonic();
  const seconds = (): number => Math.max(1e-3, (deps.clock.monotonic() - startMs) / 1000);
  const stat = fstatSync(options.input);
  const bytesTotal = stat.isFile() ? stat.size : null;
  const tell = (): void => {
    const { lines, bytesRead } = turns.counts();
    options.onProgress?.({ count: lines, rate: lines / seconds(), bytesRead, bytesTotal });
  };
  const lists = openFreshness({ labelsFolder: deps.labelsFolder });
  const freshness = lists.listFreshness(deps.clock.now(), deps.listMaxAgeDays);
  const staleReason = staleReasonOf(freshness);
  const job: BulkFileJob = {
    input: options.input,
    output: options.output,
    chain: options.chain,
    blockBytes: SCREENING_LIMITS.bulkBlockBytes,
    turns: turns.memory,
    snapshot,
    dataAsOf: asTime(freshness.asOf),
    isStale: staleReason !== null,
    blocksAhead: stat.isFile() ? BLOCKS_AHEAD : 1,
  };
  const entry = deps.thread ?? workerUrl('bulk-file');
  const timer = setInterval(tell, PROGRESS_MS);
  const stop = (): void => turns.stop();
  options.signal?.addEventListener('abort', stop);
  if (options.signal?.aborted) stop();
  try {
    const ends = await Promise.allSettled(
      Array.from({ length: options.threads }, () => runThread(job, entry)),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    tell();
    return { ...turns.counts(), seconds: seconds(), complete: turns.atEnd, staleReason };
  } finally {
    clearInterval(timer);
    options.signal?.removeEventListener('abort', stop);
  }
}
