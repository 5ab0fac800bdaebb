/**
 * Reads a large plain CSV of transfers (the columns of docs/transfers.md) into a bulk load. A worker thread reads rows into columns
 * (bulk-rows.ts), and this thread writes the full runs.
 */
import { on } from 'node:events';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { AssayError, errorFromData } from '../../base/errors.ts';
import { workerUrl } from '../../base/paths.ts';
import { Slots, whenEnded } from '../../base/threads.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { BulkLoad, LoadPlace, LoadProgress, LoadSource } from '../store/bulk-load.ts';
import { columnMemory, RunColumns } from '../store/run-columns.ts';
import type { BulkRowsJob, BulkRowsMessage, RejectedRow } from './bulk-rows.ts';
import type { ReplacedValue } from './row-values.ts';
import { COLUMNS } from './transfer-rows.ts';
import { FIELDS_MAX } from './window-rows.ts';

const LINE_FEED = 10;
/** Number of column sets that are filled and written in turn. */
const SLOTS = 2;

/**
 * Returns true if this reader supports the file: large, not compressed, and with all columns of a transfer in its header. A file without
 * `valueUsd` is read row by row instead, so that prices can be looked up.
 */
export function isBulkCsv(path: string, fromBytes: number): boolean {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes < fromBytes) return false;
  const header = readHeader(path);
  return header !== null && COLUMNS.every((column) => header.names.includes(column));
}

interface Header {
  readonly names: readonly string[];
  readonly bytes: number;
}

/** Returns null if the first line is not a plain header. */
function readHeader(path: string): Header | null {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4096);
    const read = readSync(file, bytes, 0, bytes.length, 0);
    const end = bytes.subarray(0, read).indexOf(LINE_FEED);
    if (end < 0) return null;
    const text = bytes
      .toString('utf8', 0, end)
      .replace(/^\uFEFF/, '')
      .replace(/\r$/, '');
    if (!/^[A-Za-z_]+(?:,[A-Za-z_]+)*$/.test(text)) return null;
    const names = text.split(',');
    return names.length <= FIELDS_MAX ? { names, bytes: end + 1 } : null;
  } finally {
    closeSync(file);
  }
}

/** Describes a file by its size and modification time, so that a later run can recognise it. */
export const sourceOf = (path: string, format: string): LoadSource => {
  const { size, mtimeMs } = statSync(path);
  return { path, bytes: size, modifiedMs: mtimeMs, format };
};

export interface BulkCsvOptions {
  readonly path: string;
  readonly chain: ChainId;
  readonly pricesFolder: string | null;
  readonly load: BulkLoad;
  readonly reject: (row: RejectedRow) => void;
  /** Called for the first replaced values of each window of the file. */
  readonly onReplaced: (value: ReplacedValue) => void;
  readonly onRows: (place: LoadPlace) => void;
  readonly onPass: (progress: LoadProgress) => void;
  readonly signal: AbortSignal | undefined;
}

export interface BulkCsvReport {
  readonly stored: number;
  readonly duplicates: number;
  /** Of the whole file, including earlier runs of the load. */
  readonly rows: number;
  readonly rejected: number;
  readonly replaced: number;
}

/** Reads a file from the place at which the load stopped, and finishes the load. */
export async function ingestBulkCsv(options: BulkCsvOptions): Promise<BulkCsvReport> {
  const { path, load, onPass, signal } = options;
  const header = readHeader(path);
  if (!header) throw new AssayError('INVALID_FILE', `${path}: the first line is not a CSV header.`);
  if (load.place) await readInto(options, header, load.place);
  const { stored, duplicates, place } = await load.finish(onPass, signal);
  return { stored, duplicates, rows: place.rows, rejected: place.rejected, replaced: place.replaced ?? 0 };
}

/** Reads the file to its end, in a worker thread. */
async function readInto(options: BulkCsvOptions, header: Header, from: LoadPlace): Promise<void> {
  const { path, chain, pricesFolder, load, reject, onReplaced, onRows, signal } = options;
  const { runTransfers } = load;
  const memories = Array.from({ length: SLOTS }, () => columnMemory(runTransfers));
  const slots = memories.map((memory) => new RunColumns(memory, runTransfers));
  const free = Slots.of(SLOTS);
  const job: BulkRowsJob = {
    path,
    chain,
    pricesFolder,
    names: header.names,
    place: from.offset === 0 ? { ...from, offset: header.bytes, line: 2 } : from,
    runTransfers,
    secret: load.secret,
    memories,
    free: free.memory,
  };
  signal?.throwIfAborted();
  // Without the process's own flags, which may include a script from its command line.
  const worker = new Worker(workerUrl('bulk-rows'), { workerData: job, execArgv: [] });
  try {
    for await (const [message] of on(worker, 'message', { close: ['exit'] }) as AsyncIterable<
      [BulkRowsMessage]
    >) {
      signal?.throwIfAborted();
      if (message.type === 'failure') throw errorFromData(message.error);
      if (message.type === 'rows') {
        for (const row of message.rejects) reject(row);
        for (const value of message.replaced) onReplaced(value);
        onRows(message.place);
        continue;
      }
      const { place, filled, isLast } = message;
      await load.checkpoint(place, filled, slots[filled.slot] as RunColumns);
      if (isLast) return;
      free.give(1);
    }
    throw new AssayError(
      'INTERNAL',
      `${path}: the thread that reads the file stopped before the end of the file.`,
    );
  } finally {
    free.stop();
    await Promise.all([whenEnded(worker), load.endRuns()]);
  }
}
