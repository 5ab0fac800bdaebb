/** The thread that reads a large plain CSV of transfers, window by window, and passes on full runs. */

import { closeSync, openSync, readSync } from 'node:fs';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { AssayError, type ErrorData, errorToData } from '../../base/errors.ts';
import { Slots } from '../../base/threads.ts';
import type { ChainId } from '../../chains/registry.ts';
import { asStorageFull } from '../../state/storage.ts';
import type { LoadPlace } from '../store/bulk-load.ts';
import { type FilledRun, RunFiller } from '../store/run-columns.ts';
import { INGEST_LIMITS } from './limits.ts';
import { createRowValues, type ReplacedValue } from './row-values.ts';
import { LINE_FEED, WINDOW_BYTES, WindowRows } from './window-rows.ts';

/** Start data of the thread. */
export interface BulkRowsJob {
  readonly path: string;
  readonly chain: ChainId;
  /** Folder of the installation's price tables. Null if no prices are looked up. */
  readonly pricesFolder: string | null;
  /** Columns of the file. */
  readonly names: readonly string[];
  /** Position at which to start. */
  readonly place: LoadPlace;
  readonly runTransfers: number;
  /** Secret of the fingerprints. */
  readonly secret: Uint8Array;
  /** Columns to be filled in turn. */
  readonly memories: readonly SharedArrayBuffer[];
  /** Memory of `Slots`: the columns that may be filled. */
  readonly free: SharedArrayBuffer;
}

export interface RejectedRow {
  readonly line: number;
  readonly reason: string;
  readonly text: string;
}

/** Messages of the thread. The place is the one after the reported rows. */
export type BulkRowsMessage =
  | {
      readonly type: 'rows';
      readonly place: LoadPlace;
      readonly rejects: readonly RejectedRow[];
      /** The first replaced values since the last message; `place` counts all. */
      readonly replaced: readonly ReplacedValue[];
    }
  | { readonly type: 'run'; readonly place: LoadPlace; readonly filled: FilledRun; readonly isLast: boolean }
  | { readonly type: 'failure'; readonly error: ErrorData };

/** The other thread wants no more rows. */
class Stopped extends Error {}

/** Runs in a thread of its own, until the file is read. */
export function runBulkRows(job: BulkRowsJob): void {
  const port = parentPort as MessagePort;
  const post = (message: BulkRowsMessage): void => port.postMessage(message);
  try {
    readFile(job, post);
  } catch (error) {
    if (error instanceof Stopped) return;
    if (!(error instanceof AssayError)) throw error;
    post({ type: 'failure', error: errorToData(asStorageFull(error, 'The disk')) });
  }
}

function readFile(job: BulkRowsJob, post: (message: BulkRowsMessage) => void): void {
  const { path } = job;
  const free = new Slots(job.free);
  const run = new RunFiller(job.memories, job.runTransfers, job.secret);
  let rejects: RejectedRow[] = [];
  let replaced: ReplacedValue[] = [];
  const hand = (place: LoadPlace, isLast: boolean): void => {
    free.take();
    post({ type: 'run', place, filled: run.take(), isLast });
  };
  const rows = new WindowRows(
    {
      chain: job.chain,
      values: createRowValues(job.chain, job.pricesFolder),
      run,
      reject: (line, reason, text) => rejects.push({ line, reason, text }),
      onReplaced: (value) => {
        if (replaced.length < INGEST_LIMITS.ingestRejectsListedMax) replaced.push(value);
      },
      onFull: (place) => {
        hand(place, false);
        if (!free.wait()) throw new Stopped();
      },
    },
    job.names,
    job.secret,
  );
  let { place } = job;
  const file = openSync(path, 'r');
  try {
    const { window } = rows;
    while (!free.isStopped) {
      post({ type: 'rows', place, rejects, replaced });
      rejects = [];
      replaced = [];
      const filled = fill(file, window, place.offset);
      if (filled === 0) {
        hand(place, true);
        return;
      }
      place = rows.take(endOfRows(window, filled, path, place), place);
    }
  } finally {
    closeSync(file);
  }
}

/** Reads a window. If the last row of the file has no line feed, one is added. */
function fill(file: number, window: Buffer, offset: number): number {
  let filled = 0;
  while (filled < window.length) {
    const read = readSync(file, window, filled, window.length - filled, offset + filled);
    if (read === 0) {
      if (filled > 0 && window[filled - 1] !== LINE_FEED) window[filled++] = LINE_FEED;
      break;
    }
    filled += read;
  }
  return filled;
}

function endOfRows(window: Buffer, filled: number, path: string, place: LoadPlace): number {
  const end = window.subarray(0, filled).lastIndexOf(LINE_FEED) + 1;
  if (end > 0) return end;
  throw new AssayError(
    'INVALID_FILE',
    `${path}, line ${place.line}: the row is longer than ${WINDOW_BYTES} bytes.`,
  );
}
