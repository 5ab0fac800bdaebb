/** The lock under which the threads of a process open an index, one at a time. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { processStart } from '../../src/state/file-lease.ts';
import { withOpeningLock } from '../../src/state/opening-lock.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
let lock: string;
let index: string;
beforeEach(() => {
  folder = tempFolder();
  [lock, index] = [join(folder.path, `opening-${process.pid}`), join(folder.path, 'index.mdb')];
});
afterEach(() => folder.remove());

it('is held while the work runs, and released also if the work fails', () => {
  expect(withOpeningLock(index, () => existsSync(lock))).toBe(true);
  expect(existsSync(lock)).toBe(false);
  expect(() =>
    withOpeningLock(index, () => {
      throw new Error('damaged');
    }),
  ).toThrow('damaged');
  expect(existsSync(lock)).toBe(false);
});

it('is taken from a holder that is gone', () => {
  for (const text of [`${2 ** 22 + 1} -`, `${process.pid} 1`, `${process.pid} -`]) {
    writeFileSync(lock, text);
    expect(
      withOpeningLock(index, () => 'opened'),
      text,
    ).toBe('opened');
  }
});

it('is waited for as long as another thread holds it', async () => {
  const released = new Int32Array(new SharedArrayBuffer(4));
  // Longer than the wait after which a dead holder is looked for.
  const holder = new Worker(
    `const { closeSync, openSync, rmSync, writeSync } = require('node:fs');
    const { parentPort, workerData: { lock, text, released } } = require('node:worker_threads');
    const file = openSync(lock, 'wx');
    writeSync(file, text);
    parentPort.postMessage('held');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    Atomics.store(released, 0, 1);
    closeSync(file);
    rmSync(lock);`,
    {
      eval: true,
      workerData: { lock, text: `${process.pid} ${processStart(process.pid) ?? '-'}`, released },
    },
  );
  await new Promise((resolve) => holder.once('message', resolve));
  const ended = new Promise((resolve) => holder.once('exit', resolve));
  expect(withOpeningLock(index, () => Atomics.load(released, 0))).toBe(1);
  await ended;
});

it('is not waited for if its folder does not exist', () => {
  expect(() => withOpeningLock(join(folder.path, 'none', 'index.mdb'), () => 'opened')).toThrow('ENOENT');
});
