/** The threads that pack the addresses of a bulk load, as the thread that owns the store sees them: one row of batches in key order. */
import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AssayError } from '../../base/errors.ts';
import { workerUrl } from '../../base/paths.ts';
import { Slots, whenEnded } from '../../base/threads.ts';
import type { AddressBatch, BulkAddressesJob } from './bulk-addresses.ts';
import { HALF_NODE, HALF_WORDS, sampleRun } from './runs.ts';

/** Packing takes three times as long as writing: two threads keep the writer of two cores busy. */
const THREADS = 2;
/** How many batches (4 MB each) each thread may pack ahead of the writer, which is away while it writes the log or a large hub. */
const BATCHES_AHEAD = 100;
/** Memory for new objects of a thread: nearly all of them live for one address, and are collected less often than with the usual 16 MB. */
const YOUNG_MB = 64;
/** Halves of a part: about 3 MB packed, so that each thread can be a part ahead of the other. */
const PART_HALVES = 65_536;

interface Packer {
  readonly worker: Worker;
  readonly free: Slots;
  readonly batches: AsyncIterator<[AddressBatch]>;
}

/**
 * Divides the addresses from `first` on into parts of about equally many halves.
 *
 * @param paths files of halves, sorted by address
 * @param runTransfers transfers of a run: small runs get small parts
 * @returns the first id of each part, ascending
 */
export function partsOf(paths: readonly string[], first: number, runTransfers: number): number[] {
  const step = Math.min(PART_HALVES, runTransfers);
  const starts = paths
    .flatMap((path) => sampleRun(path, HALF_WORDS, HALF_NODE, step))
    .map((name) => Math.floor(name / 2))
    .filter((node) => node > first)
    .sort((a, b) => a - b);
  return [first, ...starts.filter((node, index) => node !== starts[index - 1])];
}

/** Packs addresses in threads. `stop` must be called at the end. */
export class AddressPackers {
  readonly #parts: number;
  readonly #packers: readonly Packer[];

  constructor(job: Omit<BulkAddressesJob, 'thread' | 'threads' | 'free'>) {
    const threads = Math.min(THREADS, job.parts.length);
    this.#parts = job.parts.length;
    this.#packers = Array.from({ length: threads }, (_, thread) => {
      const free = Slots.of(BATCHES_AHEAD);
      const workerData: BulkAddressesJob = { ...job, thread, threads, free: free.memory };
      const worker = new Worker(workerUrl('bulk-addresses'), {
        workerData,
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
      });
      const batches = on(worker, 'message', { close: ['exit'] }) as AsyncIterable<[AddressBatch]>;
      return { worker, free, batches: batches[Symbol.asyncIterator]() };
    });
  }

  /** Yields batches in the order of addresses, each with the function that lets its thread pack another one. */
  async *batches(): AsyncGenerator<{ readonly batch: AddressBatch; readonly release: () => void }> {
    for (let part = 0; part < this.#parts; part++) {
      const { batches, free } = this.#packers[part % this.#packers.length] as Packer;
      for (let isLast = false; !isLast; ) {
        const { value, done } = await batches.next();
        if (done) throw new AssayError('INTERNAL', 'A thread that packs addresses stopped before the end.');
        const [batch] = value;
        isLast = batch.isLastOfPart;
        yield { batch, release: () => free.give(1) };
      }
    }
  }

  /** Ends the threads. */
  async stop(): Promise<void> {
    for (const { free } of this.#packers) free.stop();
    for (const { worker } of this.#packers) await whenEnded(worker);
  }
}
