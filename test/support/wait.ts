/** Waiting in tests. A test waits for a condition; it never asserts how long something takes. */
import { sleep } from '../../src/base/retry.ts';

export { sleep };

const POLL_MS = 5;
/** Longer than anything a test waits for on a busy machine: it only ends tests whose condition never comes. */
const TIMEOUT_MS = 60_000;

/**
 * Waits until a condition holds.
 *
 * @param isMet - called every 5 ms, or `pollMs` milliseconds
 * @param condition - describes the condition in the error
 * @throws Error after a minute, or `timeoutMs` milliseconds
 */
export async function until(
  isMet: () => boolean | Promise<boolean>,
  condition = 'the condition',
  timeoutMs = TIMEOUT_MS,
  pollMs = POLL_MS,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isMet())) {
    if (performance.now() > endMs) throw new Error(`${condition} was not met within ${timeoutMs} ms.`);
    await sleep(pollMs);
  }
}

/**
 * Waits until a value meets a condition, and returns the value.
 *
 * @param read - reads the value, every 5 ms
 * @throws Error after a minute
 */
export async function untilValue<T>(read: () => T | Promise<T>, isMet: (value: T) => boolean): Promise<T> {
  for (const endMs = performance.now() + TIMEOUT_MS; ; ) {
    const value = await read();
    if (isMet(value)) return value;
    if (performance.now() > endMs) throw new Error(`The condition was not met within ${TIMEOUT_MS} ms.`);
    await sleep(POLL_MS);
  }
}
