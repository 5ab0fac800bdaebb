/** Waiting in tests. A test waits for a condition; it never asserts how long something takes. */
import { sleep } from '../../src/base/retry.ts';

export { sleep };

const POLL_MS = 5;
/** Longer than anything a test waits for on a busy machine: it only ends tests whose condition never comes. */
const TIMEOUT_MS = 60_000;

/**
 * Waits until a condition holds.
 *
 * @param isMet - called every 5 ms
 * @param condition - describes the condition in the error
 * @throws Error after a minute, or `timeoutMs` milliseconds
 */
export async function until(
  isMet: () => boolean | Promise<boolean>,
  condition = 'the condition',
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isMet())) {
    if (performance.now() > endMs) throw new Error(`${condition} was not met within ${timeoutMs} ms.`);
    await sleep(POLL_MS);
  }
}
