/** Waits for as long as the server asks when a rate limit is reached, so that work of many requests is completed. */
import { ApiError } from './errors.ts';

/** Attempts of one request: each may wait for a minute, the window of the limits. */
const ATTEMPTS = 5;
/** Used if a response 429 has no Retry-After. */
const WAIT_SECONDS = 5;

export interface Patience {
  readonly signal?: AbortSignal;
  /** Called with the seconds of a wait when it begins, and with null when it has ended. Without it, the frame of the page reports the wait. */
  readonly onWait?: (seconds: number | null) => void;
}

/** Times until which requests wait that nothing else on the page reports. */
const waits = new Set<number>();
const listeners = new Set<() => void>();
let waitsUntil: number | null = null;

function note(change: () => void): void {
  change();
  const next = waits.size === 0 ? null : Math.max(...waits);
  if (next === waitsUntil) return;
  waitsUntil = next;
  for (const listener of listeners) listener();
}

/** The waits of the page: a subscription, and the time in ms at which the last one ends, null if no request waits. */
export const pageWaits = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  until: (): number | null => waitsUntil,
};

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });

/**
 * Runs a request, and repeats it after a response 429 when the server allows it.
 *
 * @throws the error of the last attempt; the reason of the signal if it is aborted
 */
export async function patiently<T>(run: () => Promise<T>, { signal, onWait }: Patience = {}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isLimit = error instanceof ApiError && error.status === 429;
      if (!isLimit || attempt === ATTEMPTS) throw error;
      const seconds = error.retryAfter ?? WAIT_SECONDS;
      const until = Date.now() + seconds * 1_000;
      onWait?.(seconds);
      if (onWait === undefined) note(() => waits.add(until));
      try {
        await sleep(seconds * 1_000, signal);
      } finally {
        onWait?.(null);
        note(() => waits.delete(until));
      }
    }
  }
}
