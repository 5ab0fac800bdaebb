/** Repeats a task of billing at intervals and after events, one run at a time. */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { BILLING_LIMITS } from './limits.ts';

export interface Sweeping {
  /** Resolves when the running task has ended; no other begins. */
  stop(): Promise<void>;
}

interface SweepingDeps {
  readonly log: Logger;
  readonly onEvent: (wake: () => void) => void;
}

/** Starts to repeat `sweep`. A failed run is logged, and the next one tries again. */
export function startSweeping(sweep: () => Promise<void>, { log, onEvent }: SweepingDeps): Sweeping {
  let running: Promise<void> | null = null;
  let isWanted = false;
  let isStopped = false;
  let problem = '';
  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await sweep();
        problem = '';
      } catch (error) {
        const reason = messageOf(error);
        // Once: the next run is a second later.
        if (reason !== problem) log.error({ error: reason }, 'sweep of billing failed');
        problem = reason;
        return;
      }
    }
  }
  function wake(): void {
    isWanted = true;
    running ??= run().finally(() => {
      running = null;
    });
  }
  const timer = setInterval(wake, BILLING_LIMITS.sweepMs);
  timer.unref();
  onEvent(wake);
  wake();
  return {
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
