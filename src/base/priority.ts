/** The priority of processes and threads that work beside requests. */
import { constants, getPriority, setPriority } from 'node:os';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

const LOWER = constants.priority.PRIORITY_BELOW_NORMAL;
const LOWEST = constants.priority.PRIORITY_LOW;

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

/**
 * Lowers the priority of the calling thread, at most to the lowest there is. Only on Linux, where each thread has its own: elsewhere it
 * would be that of the whole process.
 *
 * @param by - steps of niceness
 */
export function lowerThreadPriority(by: number): void {
  if (process.platform === 'linux') setPriority(0, Math.min(getPriority(0) + by, LOWEST));
}
