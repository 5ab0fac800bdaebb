/** Waiting in tests. A test waits for a condition; it never asserts how long something takes. */
import { sleep } from '../../src/base/retry.ts';

export { sleep };

const POLL_MS = 5;
/** A condition that is long in coming is checked less often: a check may be a request. The wait ends a twentieth later at most. */
const POLL_MS_MAX = 100;
const pollAfter = (waitedMs: number, pollMs: number): number =>
  Math.max(pollMs, Math.min(POLL_MS_MAX, waitedMs / 20));
/** Longer than anything a test waits for on a busy machine: it only ends tests whose condition never comes. */
const TIMEOUT_MS = 60_000;

/**
 * Waits until a condition holds.
 *
 * @param isMet - called every 5 ms, or `pollMs` milliseconds, and less often later
 * @param condition - describes the condition in the error
 * @throws Error after a minute, or `timeoutMs` milliseconds
 */
export async function until(
  isMet: () => boolean | Promise<boolean>,
  condition = 'the condition',
  timeoutMs = TIMEOUT_MS,
  pollMs = POLL_MS,
): Promise<void> {
  const beganMs = performance.now();
  while (!(await isMet())) {
    const waitedMs = performance.now() - beganMs;
    if (waitedMs > timeoutMs) throw new Error(`${condition} was not met within ${timeoutMs} ms.`);
    await sleep(pollAfter(waitedMs, pollMs));
  }
}

/**
 * Waits until a value meets a condition, and returns the value.
 *
 * @param read - reads the value, every 5 ms, and less often later
 * @throws Error after a minute
 */
export async function untilValue<T>(read: () => T | Promise<T>, isMet: (value: T) => boolean): Promise<T> {
  for (const beganMs = performance.now(); ; ) {
    const value = await read();
    if (isMet(value)) return value;
    const waitedMs = performance.now() - beganMs;
    if (waitedMs > TIMEOUT_MS) throw new Error(`The condition was not met within ${TIMEOUT_MS} ms.`);
    await sleep(pollAfter(waitedMs, POLL_MS));
  }
}
