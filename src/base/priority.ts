/** The priority of processes that work beside requests. */
import { constants, getPriority, setPriority } from 'node:os';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

const LOWER = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Gives a process a lower priority than requests. A process whose priority is that low already keeps it: only an administrator may
 * raise one.
 *
 * @param pid - id of the process; undefined if it did not start
 */
export function lowerPriority(pid: number | undefined, log: Logger): void {
  if (pid === undefined) return;
  try {
    if (getPriority(pid) < LOWER) setPriority(pid, LOWER);
  } catch (error) {
    // The process may have ended already, or the system may not allow it; the lower priority is optional.
    log.debug({ pid, reason: messageOf(error) }, 'priority not lowered');
  }
}
