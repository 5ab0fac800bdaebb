/** Waiting between attempts: sleep, and exponential back-off. */

/**
 * Waits for `ms` milliseconds. Ends early, without an error, if `signal` is aborted.
 *
 * @param options.unref - does not keep the process running: if nothing else does, it ends during the wait
 * @returns a promise that never rejects
 */
export function sleep(
  ms: number,
  signal?: AbortSignal,
  { unref = false }: { readonly unref?: boolean } = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(done, ms);
    if (unref) timer.unref();
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Limits of an exponential back-off, in milliseconds. */
export interface BackOff {
  /** Delay after the first failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** More doublings than any back-off of this program needs; the bound keeps the power of two exact. */
const DOUBLINGS_MAX = 20;

/**
 * Returns the delay before the next attempt in milliseconds: it doubles with each failure. The caller adds jitter.
 *
 * @param failures - number of earlier failures; 0 returns `firstMs`
 */
export const backOffMs = (failures: number, { firstMs, maxMs }: BackOff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(failures, DOUBLINGS_MAX));
