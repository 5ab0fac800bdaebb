/** The wiring of one thread of the pool: runs the task of a message, or a group of them. If a task fails, its error is returned as data. */
import { BufferPool } from '../base/buffer-pool.ts';
import { type ErrorData, errorToData, messageOf } from '../base/errors.ts';
import { collectObjectsNow } from '../base/old-objects.ts';
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
  let hasSwitched = false;
  const refreshIfNewer = (): void => {
    const now = Atomics.load(epoch, 0);
    if (now === seen) return;
    refresh();
    seen = now;
    hasSwitched = true;
  };
  /**
   * An earlier snapshot is closed by the event loop, after the collector has found that nothing refers to it (`snapshot-set.ts`). In a thread that
   * waits for tasks neither does anything by itself, so each switch would leave a snapshot open, on disk and in part in memory.
   *
   * @returns whether the event loop has to turn
   */
  const closeEarlier = (): boolean => {
    if (!hasSwitched) return false;
    hasSwitched = false;
    collectObjectsNow();
    return true;
  };
  const table = createTaskTable(tasks, services, refreshIfNewer);
  const bufferPool = new BufferPool(settings.bufferPoolMemory);
  const asReading = createTaskReadings(undefined, closeEarlier);

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
