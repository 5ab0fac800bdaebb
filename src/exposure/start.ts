/** Runs the keeper's thread for the server: starts it, restarts it if it exits, and stops it. */
import { Worker } from 'node:worker_threads';
import { type KeptThread, keepThread } from '../base/kept-thread.ts';
import type { Logger } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import type { KeptIndex } from './keeper.ts';
import type { ExposureThreadJob } from './thread.ts';

export interface ExposureKeeping extends KeptThread {
  /** Returns the work on the index of each chain with stored transfers, as the thread last reported it. */
  kept(): readonly KeptIndex[];
}

/**
 * Starts the thread.
 *
 * @returns a handle that stops the thread
 */
export function startExposureKeeping(
  job: ExposureThreadJob,
  { log }: { readonly log: Logger },
): ExposureKeeping {
  let kept: readonly KeptIndex[] = [];
  const newThread = (): Worker => {
    const thread = new Worker(workerUrl('exposure'), { workerData: job, execArgv: [] });
    thread.on('message', (message: readonly KeptIndex[]) => {
      kept = message;
    });
    return thread;
  };
  const { stop } = keepThread(newThread, { name: 'exposure', log });
  return { kept: () => kept, stop };
}
