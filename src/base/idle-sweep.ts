/** Sweeps of stores that otherwise remove what has ended when something new is written: a store that is idle must not keep it. */
import { LIMITS } from './limits.ts';

/** Time until the first sweep: commands of an operator end before. */
const FIRST_AFTER_MS = 60_000;

/**
 * Runs a sweep a minute after now and then every hour. It does not keep the process alive.
 *
 * @returns stops it, and resolves when a sweep that runs has ended
 */
export function sweepHourly(
  sweep: () => Promise<unknown>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  const run = (): void => {
    running = running.then(sweep).catch(onError);
  };
  let timer = setTimeout(() => {
    run();
    timer = setInterval(run, LIMITS.retentionLookMs).unref();
  }, FIRST_AFTER_MS).unref();
  return async () => {
    clearTimeout(timer);
    await running;
  };
}
