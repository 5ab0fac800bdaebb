/** Runs the tasks of a thread of the pool, each as a reading of its own: it sees what was committed before it began. */
import { endReading } from '../base/reading.ts';

/**
 * Tasks after which the thread's event loop turns once. Each read transaction leaves a timer of the library (some 200 bytes, about
 * five a task) that only the event loop removes: a megabyte at most, for a pause of a millisecond in a thousand tasks.
 */
const TASKS_PER_TURN = 1_000;

/** Resolves when the timers of this thread that are due have fired. Timers of one length fire in the order of their start. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/**
 * Returns what runs one synchronous task. The reading ends before the task, because the thread may have read while it opened its
 * stores, and after it: a thread that sleeps would keep the pages of an old commit from being used again, and the file would grow.
 *
 * @param tasksPerTurn smaller in tests.
 */
export function createTaskReadings(
  tasksPerTurn: number = TASKS_PER_TURN,
): <T>(task: () => T) => T | Promise<T> {
  let tasks = 0;
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
    return tasks % tasksPerTurn === 0 ? turn().then(() => read(task)) : read(task);
  };
}
