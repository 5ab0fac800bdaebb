/**
 * Combines the budget of a call and the signal of its caller into one deadline. Waits and attempts end with it and leave no listeners
 * or timers behind.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Call } from '../families/port.ts';

export interface Deadline {
  /** Milliseconds left; 0 or less after the end. */
  leftMs(): number;
  /** Throws the caller's abort reason if the caller ended the call, or CHAIN_TIMEOUT if the budget ran out. */
  check(): void;
  /**
   * Runs `work` with a signal that aborts at the end of the call or after `ms`. Settles no later than that, even if `work` ignores its
   * signal.
   *
   * @throws CHAIN_TIMEOUT if the time ran out
   */
  within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Waits `ms`, but no longer than to the end of the call. Throws the caller's abort reason if the caller ends the call. */
  sleep(ms: number): Promise<void>;
  /** Returns the rest of the call, for a part of it. */
  rest(): Call;
}

/** Starts the deadline of a call; its budget counts from now. */
export function startDeadline(call: Call, clock: Clock): Deadline {
  const { signal, budgetMs } = call;
  // One listener per request of the call in flight, which the queues of the endpoints bound: a leak warning would be wrong.
  setMaxListeners(0, signal);
  const endsAt = clock.monotonic() + budgetMs;
  const leftMs = (): number => endsAt - clock.monotonic();
  const timeout = (): AssayError =>
    new AssayError('CHAIN_TIMEOUT', `No response within the time limit of ${budgetMs} ms.`);
  const check = (): void => {
    signal.throwIfAborted();
    if (leftMs() <= 0) throw timeout();
  };

  /** Removes its listener at the end: a signal that lives as long as the program must not accumulate listeners. */
  async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    check();
    const controller = new AbortController();
    let end: (reason: unknown) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = (reason) => {
        reject(reason);
        controller.abort(reason);
      };
    });
    const onAbort = (): void => end(signal.reason);
    const timer = setTimeout(() => end(timeout()), Math.max(0, Math.min(ms, leftMs())));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([work(controller.signal), ended]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  function sleep(ms: number): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
        Math.max(0, Math.min(ms, leftMs())),
      );
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  return { leftMs, check, within, sleep, rest: () => ({ signal, budgetMs: Math.max(0, leftMs()) }) };
}
