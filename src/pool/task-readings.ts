/** Runs each task of a pool thread with a read transaction of its own, which sees everything that was committed before it began. */
import { endReading } from '../base/reading.ts';
import { sleep } from '../base/retry.ts';

/**
 * Number of tasks after which the thread's event loop turns once. Each read transaction leaves a timer of the library (about 200
 * bytes, about five per task), which only the event loop removes: one megabyte at most, for a pause of one millisecond in a
 * thousand tasks.
 */
const TASKS_PER_TURN = 1_000;

/**
 * Resolves when the due timers of this thread have fired, and then what other threads and the collector have left to do. Timers of the same
 * length fire in the order of their start.
 */
async function turn(): Promise<void> {
  await sleep(1);
  // Without it, a timer that is due at once would end the turn before it has begun.
  await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Returns a function that runs one synchronous task. The read transaction ends before the task, because the thread may have read
 * while it opened its stores, and after it: otherwise, a sleeping thread would prevent the pages of an old commit from being
 * reused, and the file would grow.
 *
 * Tasks that arrive while one waits for the turn of the event loop wait behind it. If they ran, the loop would not turn as long as others
 * arrived: Node reads up to 1,000 messages of a port before anything else, so under load the waiting task was answered seconds later.
 *
 * @param tasksPerTurn - smaller in tests
 * @param beforeTask - called before each task; returns true if the event loop has to turn before it
 */
export function createTaskReadings(
  tasksPerTurn: number = TASKS_PER_TURN,
  beforeTask: () => boolean = () => false,
): <T>(task: () => T) => T | Promise<T> {
  let tasks = 0;
  let turning: Promise<unknown> | null = null;
  function read<T>(task: () => T): T {
    endReading();
    try {
      return task();
    } finally {
      endReading();
    }
  }
  return (task) => {
    tasks++;
    if (tasks % tasksPerTurn === 0 || beforeTask())
      turning ??= turn().then(() => {
        turning = null;
      });
    return turning === null ? read(task) : turning.then(() => read(task));
  };
}
