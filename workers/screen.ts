/**
 * Entry of the pool's threads: opens the read-only stores once, then runs one task per message. If a task fails, its error is
 * returned as data.
 */
import { workerData } from 'node:worker_threads';
import { BufferPool } from '../src/base/buffer-pool.ts';
import { type ErrorData, errorToData, messageOf } from '../src/base/errors.ts';
import { createLogger } from '../src/base/log.ts';
import { createTaskReadings } from '../src/jobs/task-readings.ts';
import { openTasks, type TaskName, type WorkerSettings } from '../src/jobs/tasks.ts';
import { asStorageFull } from '../src/state/storage.ts';

const settings = workerData as WorkerSettings;
const log = createLogger({ level: settings.logLevel });
const tasks = openTasks(settings);
const bufferPool = new BufferPool(settings.bufferPoolMemory);
const asReading = createTaskReadings();

/**
 * Runs one task.
 *
 * @returns its result with `ok: true`, or its error as data
 */
export default function run({ name, message }: { name: TaskName; message: never }): unknown {
  return asReading(() => {
    try {
      return { ok: true, ...bufferPool.pack(tasks[name](message)) };
    } catch (error) {
      const data: ErrorData = errorToData(asStorageFull(error, 'The disk'));
      if (data.code === 'INTERNAL') log.error({ task: name, reason: messageOf(error) }, 'task failed');
      return data;
    }
  });
}
