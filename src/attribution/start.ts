/**
 * Runs the thread of derived labels for the server: starts it once the rules were applied to a chain, restarts it if it exits, and stops it.
 */
import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import type { AttributionThreadJob } from './thread.ts';

/** Interval of the looks for the first chain to which `assay attribute` is applied. Until then a thread would only take memory. */
const LOOK_MS = 5_000;
/** Delay before a thread that exited is restarted. */
const RESTART_MS = 10_000;
/** Time after which a thread that does not stop is terminated; what it wrote is consistent at any moment. */
const STOP_MS = 5_000;

/** Returns whether the rules were applied to any chain. */
function hasAny(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.endsWith('.mdb'));
  } catch {
    return false;
  }
}

export interface AttributionKeeping {
  stop(): Promise<void>;
}

/**
 * Starts the thread as soon as there is something to keep.
 *
 * @returns a handle that stops it
 */
export function startAttributionKeeping(
  job: AttributionThreadJob,
  { log }: { readonly log: Logger },
): AttributionKeeping {
  let thread: Worker | null = null;
  let restart: NodeJS.Timeout | undefined;
  let isStopping = false;

  const start = (): void => {
    const started = new Worker(workerUrl('attribution'), { workerData: job, execArgv: [] });
    thread = started;
    started.on('error', (error) => log.error({ reason: messageOf(error) }, 'attribution thread failed'));
    started.on('exit', () => {
      thread = null;
      if (isStopping) return;
      restart = setTimeout(start, RESTART_MS);
      restart.unref();
    });
  };
  const look = (): void => {
    if (hasAny(job.folder)) start();
    else {
      restart = setTimeout(look, LOOK_MS);
      restart.unref();
    }
  };
  look();

  return {
    async stop() {
      isStopping = true;
      clearTimeout(restart);
      const running = thread;
      if (running === null) return;
      const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
      running.postMessage('stop');
      const late = setTimeout(() => void running.terminate(), STOP_MS);
      await ended;
      clearTimeout(late);
    },
  };
}
