/**
 * Runs the thread of derived labels for the server: starts it once the rules were applied to a chain, restarts it if it exits, and stops it.
 */
import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type KeptThread, keepThread } from '../base/kept-thread.ts';
import type { Logger } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import type { AttributionThreadJob } from './thread.ts';

/** Interval of the looks for the first chain to which `assay attribute` is applied. Until then a thread would only take memory. */
const LOOK_MS = 5_000;

/** Returns whether the rules were applied to any chain. */
function hasAny(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.endsWith('.mdb'));
  } catch {
    return false;
  }
}

/**
 * Starts the thread as soon as there is something to keep.
 *
 * @returns a handle that stops it
 */
export function startAttributionKeeping(
  job: AttributionThreadJob,
  { log }: { readonly log: Logger },
): KeptThread {
  const newThread = (): Worker => new Worker(workerUrl('attribution'), { workerData: job, execArgv: [] });
  let thread: KeptThread | null = null;
  let nextLook: NodeJS.Timeout | undefined;
  const look = (): void => {
    if (hasAny(job.folder)) {
      thread = keepThread(newThread, { name: 'attribution', log });
      return;
    }
    nextLook = setTimeout(look, LOOK_MS);
    nextLook.unref();
  };
  look();
  return {
    async stop() {
      clearTimeout(nextLook);
      await thread?.stop();
    },
  };
}
