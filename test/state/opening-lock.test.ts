/** The locks under which threads open an index, and open and close a store, one at a time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { processStart } from '../../src/state/file-lease.ts';
import { withOpeningLock, withTurn } from '../../src/state/opening-lock.ts';
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

describe('a turn', () => {
  it('is taken by every process that opens or closes a store, so that none keeps mutexes that another one destroyed', async () => {
    const script = `import { openEnvironment } from '${join(projectRoot, 'dist', 'src')}/state/lmdb.js';
      for (let n = 0; n < 60; n++) {
        const root = openEnvironment('${index}', { overlappingSync: false });
        root.putSync(\`\${process.pid} \${n}\`, n);
        await root.close();
      }`;
    const outcomes = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
        let err = '';
        child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
        const [code] = await once(child, 'close');
        return [code, err];
      }),
    );
    expect(outcomes).toEqual([1, 2, 3].map(() => [0, '']));
  });

  it('is taken from a process that is gone, and not needed in a folder that cannot be written', () => {
    writeFileSync(`${index}-opening-lock`, `${2 ** 22 + 1} -`);
    expect(withTurn(index, () => existsSync(`${index}-opening-lock`))).toBe(true);
    expect(existsSync(`${index}-opening-lock`)).toBe(false);
    expect(withTurn(join(folder.path, 'none', 'index.mdb'), () => 'opened')).toBe('opened');
  });
});
