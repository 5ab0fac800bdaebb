/** A thread of the pool: its answer and its log if a task fails, and when it opens newer snapshots. */
import { expect, it } from 'vitest';
import { BufferPool } from '../../src/base/buffer-pool.ts';
import { AssayError } from '../../src/base/errors.ts';
import { task } from '../../src/pool/task.ts';
import { createTaskThread } from '../../src/pool/thread.ts';
import type { WorkerServices } from '../../src/pool/worker-services.ts';

function thread() {
  const logged: unknown[] = [];
  const snapshotEpoch = new SharedArrayBuffer(4);
  let refreshes = 0;
  const services = {
    services: { log: { error: (fields: object, text: string) => logged.push([fields, text]) } },
    refresh: () => {
      refreshes++;
    },
  } as unknown as WorkerServices;
  const run = createTaskThread(
    [
      task({
        name: 'check',
        run: () => (message: string) => {
          if (message === 'crash') throw new TypeError('not a function');
          if (message === 'refuse') throw new AssayError('INVALID_ADDRESS', 'No.', { field: 'address' });
          return message;
        },
      }),
      task({ name: 'plain', readsSnapshots: false, run: () => (message: string) => message }),
    ] as never,
    services,
    { snapshotEpoch, bufferPoolMemory: BufferPool.allocate() },
  );
  return {
    logged,
    refreshes: () => refreshes,
    publish: () => Atomics.add(new Int32Array(snapshotEpoch), 0, 1),
    ask: (name: string, message: string) => run({ name, message } as never),
  };
}

it('logs a task that failed, with its reason, and none that refused its message', async () => {
  const { ask, logged } = thread();
  expect(await ask('check', 'fine')).toMatchObject({ ok: true });
  expect(await ask('check', 'refuse')).toMatchObject({
    ok: false,
    code: 'INVALID_ADDRESS',
    field: 'address',
  });
  expect(logged).toEqual([]);
  const failed = await ask('check', 'crash');
  expect(failed).toMatchObject({ ok: false, code: 'INTERNAL' });
  expect(JSON.stringify(failed)).not.toContain('not a function');
  expect(logged).toEqual([[{ task: 'check', reason: 'not a function' }, 'task failed']]);
});

it('opens newer snapshots once, before the next task that reads them', async () => {
  const { ask, publish, refreshes } = thread();
  await ask('check', 'fine');
  expect(refreshes()).toBe(0);
  publish();
  await ask('plain', 'fine');
  expect(refreshes()).toBe(0);
  await ask('check', 'fine');
  await ask('check', 'fine');
  expect(refreshes()).toBe(1);
});
