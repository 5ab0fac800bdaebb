/** A thread that runs as long as its server: it is started again if it exits, and ends when it is asked to. */
import type { Worker } from 'node:worker_threads';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

/** Delay before a thread that exited is restarted. */
const RESTART_MS = 10_000;
/** Time after which a thread that does not stop is terminated. What such a thread writes must be consistent at any moment. */
const STOP_MS = 5_000;

export interface KeptThread {
  /** Asks the thread to end by a message, and waits until it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts a thread.
 *
 * @param newThread - called for each start
 * @param deps.name - of the thread in the log
 * @returns a handle that stops it
 */
export function keepThread(
  newThread: () => Worker,
  { name, log }: { readonly name: string; readonly log: Logger },
): KeptThread {
  let thread: Worker | null = null;
  let restart: NodeJS.Timeout | undefined;
  let isStopping = false;

  const start = (): void => {
    const started = newThread();
    thread = started;
    started.on('error', (error) => log.error({ reason: messageOf(error) }, `${name} thread failed`));
    started.on('exit', () => {
      thread = null;
      if (isStopping) return;
      restart = setTimeout(start, RESTART_MS);
      restart.unref();
    });
  };
  start();

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
