/** The wiring of one thread of the pool: runs the task of a message, or a group of them. If a task fails, its error is returned as data. */
import { BufferPool } from '../base/buffer-pool.ts';
import { type ErrorData, errorToData, messageOf } from '../base/errors.ts';
import { asStorageFull } from '../state/storage.ts';
import { createTaskTable, type TaskList } from './task.ts';
import { createTaskReadings } from './task-readings.ts';
import type { WorkerServices, WorkerSettings } from './worker-services.ts';

/** A message of the pool to a thread. */
export interface ThreadMessage {
  readonly name: string;
  readonly message: never;
}

/**
 * Creates the function that a thread exports.
 *
 * @returns a function that runs one task, or each of a group. For each it returns the result with `ok: true`, or the error as data
 */
export function createTaskThread(
  tasks: TaskList,
  { services, refresh }: WorkerServices,
  settings: Pick<WorkerSettings, 'snapshotEpoch' | 'bufferPoolMemory'>,
): (message: ThreadMessage | readonly ThreadMessage[]) => unknown {
  const { log } = services;
  const epoch = new Int32Array(settings.snapshotEpoch);
  let seen = Atomics.load(epoch, 0);
  const refreshIfNewer = (): void => {
    const now = Atomics.load(epoch, 0);
    if (now === seen) return;
    refresh();
    seen = now;
  };
  const table = createTaskTable(tasks, services, refreshIfNewer);
  const bufferPool = new BufferPool(settings.bufferPoolMemory);
  const asReading = createTaskReadings();

  function run({ name, message }: ThreadMessage): unknown {
    try {
      return { ok: true, ...bufferPool.pack((table[name] as (message: never) => unknown)(message)) };
    } catch (error) {
      const data: ErrorData = errorToData(asStorageFull(error, 'The disk'));
      if (data.code === 'INTERNAL') log.error({ task: name, reason: messageOf(error) }, 'task failed');
      return data;
    }
  }

  return (message) => asReading(() => (isGroup(message) ? message.map(run) : run(message)));
}

const isGroup = (message: ThreadMessage | readonly ThreadMessage[]): message is readonly ThreadMessage[] =>
  Array.isArray(message);
