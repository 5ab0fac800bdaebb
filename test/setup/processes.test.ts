/** Which test files get a process of their own, which start first, and what the processes share. */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import { projectRoot } from '../../src/base/paths.ts';
import { filesAlone } from './alone.ts';
import HeldUp from './held-up.ts';
import { madeOnce } from './made-once.ts';
import { LONGEST } from './order.ts';

describe('a process of its own', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-alone-'));
    mkdirSync(join(root, 'test', 'inner'), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it.each([
    ['replaces a module', "vi.mock('lmdb', () => ({}));"],
    ['stops the clock', 'vi.useFakeTimers();'],
    ['replaces a function', "vi.spyOn(console, 'log');"],
    ['replaces a global', 'globalThis.fetch = other;'],
    ['measures the heap', 'const before = process.memoryUsage().heapUsed;'],
    ['counts timers', 'process.getActiveResourcesInfo();'],
    ['counts open files', "readdirSync('/proc/self/fd');"],
    ['asks for it', '/** It needs a process of its own. */'],
    ['changes the environment', "process.env.ASSAY_PORT = '1';"],
  ])('has a file that %s', (_, line) => {
    writeFileSync(join(root, 'test', 'inner', 'one.test.ts'), line);
    writeFileSync(join(root, 'test', 'other.test.ts'), 'expect(process.env.ASSAY_PORT).toBe(1);');
    // Not a test file.
    writeFileSync(join(root, 'test', 'world.ts'), line);
    expect(filesAlone(root, ['test'])).toEqual(['test/inner/one.test.ts']);
  });
});

it('starts files first that exist', () => {
  expect(LONGEST.filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
});

it('waits for no program without a limit, with the thread blocked', () => {
  const waits = /import \{[^}]*(?:spawnSync|execFileSync|execSync)[^}]*\} from 'node:child_process'/;
  const unbounded = ['test', join('dashboard', 'test')].flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith('.ts') && !path.startsWith(join('test', 'long')))
      .filter((path) => waits.test(readFileSync(join(projectRoot, path), 'utf8'))),
  );
  expect(unbounded).toEqual([]);
});

it('names a file that runs for minutes, and ends the run if it holds it up', () => {
  const said: string[] = [];
  const ended: number[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void said.push(line));
  const reporter = new HeldUp((code) => void ended.push(code));
  const file = (relativeModuleId: string) => ({ relativeModuleId }) as TestModule;
  for (const name of ['slow.test.ts', 'quick.test.ts']) reporter.onTestModuleStart(file(name));
  reporter.onTestModuleEnd(file('quick.test.ts'));
  const begun = performance.now();
  for (const minutes of [4, 6, 16]) reporter.look(begun + minutes * 60_000);
  log.mockRestore();
  expect(said).toEqual(['slow.test.ts has run for 6 minutes', 'slow.test.ts has run for 16 minutes']);
  expect(ended).toEqual([1]);
});

describe('a folder that several processes need', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-once-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is made by one of them, and the others wait for it', async () => {
    const script = `import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
      import { join } from 'node:path';
      import { madeOnce } from ${JSON.stringify(join(projectRoot, 'dist', 'test', 'setup', 'made-once.js'))};
      madeOnce(${JSON.stringify(join(root, 'made'))}, (path) => {
        appendFileSync(${JSON.stringify(join(root, 'makers'))}, 'x');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        writeFileSync(join(path, 'content'), 'complete');
      });
      writeFileSync(1, readFileSync(${JSON.stringify(join(root, 'made', 'content'))}));`;
    const run = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const args = ['--input-type=module', '-e', script];
        execFile(process.execPath, args, (error, out) => (error === null ? resolve(out) : reject(error)));
      });
    expect(await Promise.all([run(), run(), run()])).toEqual(['complete', 'complete', 'complete']);
    expect(readFileSync(join(root, 'makers'), 'utf8')).toBe('x');
    expect(readdirSync(root).sort()).toEqual(['made', 'makers']);
  });

  it('is made by the next one if a process failed, or ended in the middle', () => {
    const folder = join(root, 'made');
    const failing = (): void => {
      throw new Error('no network');
    };
    expect(() => madeOnce(folder, failing)).toThrow('no network');
    expect(readdirSync(root)).toEqual([]);
    // No process has a number above this one on Linux.
    writeFileSync(`${folder}.lock`, '4194305');
    madeOnce(folder, (path) => writeFileSync(join(path, 'content'), ''));
    expect(readdirSync(folder)).toEqual(['content']);
    expect(readdirSync(root)).toEqual(['made']);
  });
});
