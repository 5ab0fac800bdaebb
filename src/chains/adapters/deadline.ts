/** The end of a call: its budget and its caller's signal as one, with waits and attempts that end with it and leave nothing behind. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Call } from './port.ts';

export interface Deadline {
  /** Milliseconds left; 0 or less after the end. */
  leftMs(): number;
  /** Throws the caller's reason where it ended the call, CHAIN_TIMEOUT where the budget did. */
  check(): void;
  /**
   * Runs `work` with a signal that aborts at the end of the call or after `ms`. Where time ended it, throws CHAIN_TIMEOUT.
   * Settles at the end at the latest, even if `work` does not heed its signal.
   */
  within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Waits, at most to the end. Throws as `check` does where the caller ended the call. */
  sleep(ms: number): Promise<void>;
  /** What is left of the call, for a part of it. */
  rest(): Call;
}

export function startDeadline(call: Call, clock: Clock): Deadline {
  const { signal, budgetMs } = call;
  // As many as questions that one call has under way, which the queues of endpoints bound: no leak to warn of.
  setMaxListeners(0, signal);
  const endsAt = clock.monotonic() + budgetMs;
  const leftMs = (): number => endsAt - clock.monotonic();
  const timeout = (): AssayError =>
    new AssayError('CHAIN_TIMEOUT', `No answer came within the ${budgetMs} ms that the question was given.`);
  const check = (): void => {
    signal.throwIfAborted();
    if (leftMs() <= 0) throw timeout();
  };

  /** Listeners are removed at the end: a signal that lives as long as the program must not collect them. */
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
