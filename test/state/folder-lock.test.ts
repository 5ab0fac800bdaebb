import { spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { lockFolder } from '../../src/state/folder-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a process that takes the lock of a folder and keeps it until it is killed. */
async function holder(path: string): Promise<{ readonly pid: number; kill(): Promise<void> }> {
  const module = pathToFileURL(join(projectRoot, 'dist/src/state/folder-lock.js')).href;
  const script = `
    import { lockFolder } from ${JSON.stringify(module)};
    await lockFolder(process.argv[1], 'FOLDER');
    console.log('held');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', () => reject(new Error('the lock was not taken')));
  });
  return {
    pid: child.pid as number,
    kill() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}

const files = (): string[] => readdirSync(folder).filter((name) => name.includes('lock'));

it('rejects a second holder with process, host and time, until it is released', async () => {
  const first = await lockFolder(folder, 'FOLDER');
  await expect(lockFolder(folder, 'FOLDER')).rejects.toMatchObject({
    code: 'STORE_BUSY',
    field: 'FOLDER',
    message: expect.stringMatching(
      new RegExp(
        `^FOLDER: another server uses ${folder}: process ${process.pid} on host ${hostname()}, since 20.+Z\\. `,
      ),
    ),
  });
  first.release();
  expect(files()).toEqual([]);
  (await lockFolder(folder, 'FOLDER')).release();
});

it('of a killed process is taken over by one process', async () => {
  const dead = await holder(folder);
  await expect(lockFolder(folder, 'FOLDER')).rejects.toThrow(`process ${dead.pid} on host`);
  await dead.kill();
  expect(files()).not.toEqual([]);
  const tried = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder, 'FOLDER')));
  const taken = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(taken).toHaveLength(1);
  for (const one of tried)
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STORE_BUSY' });
  taken[0]?.release();
  expect(files()).toEqual([]);
});

it('of a dead process is taken over if another process has its number', async () => {
  const dead = await holder(folder);
  await dead.kill();
  const path = join(folder, 'server-lock');
  const said = JSON.parse(readFileSync(path, 'utf8')) as object;
  // The parent of this process is running.
  writeFileSync(path, JSON.stringify({ ...said, pid: process.ppid }));
  (await lockFolder(folder, 'FOLDER')).release();
});

it('is the same for all paths to a folder, however long', async () => {
  const deep = join(folder, 'x'.repeat(100), 'y'.repeat(100));
  mkdirSync(deep, { recursive: true });
  symlinkSync(deep, join(folder, 'other'));
  const living = await holder(deep);
  await expect(lockFolder(join(folder, 'other'), 'FOLDER')).rejects.toThrow(`process ${living.pid} on`);
  await living.kill();
});

it('of another machine holds while that machine sends heartbeats', async () => {
  const elsewhere = {
    pid: 7,
    host: 'elsewhere',
    boot: 'another kernel',
    start: '1',
    since: '2026-01-01T00:00:00.000Z',
  };
  writeFileSync(join(folder, 'server-lock'), JSON.stringify(elsewhere));
  writeFileSync(join(folder, 'server-beat-lock'), '.');
  await expect(lockFolder(folder, 'FOLDER')).rejects.toThrow(
    'process 7 on host elsewhere, since 2026-01-01T00:00:00.000Z',
  );
  const before = new Date(Date.now() - 3_600_000);
  utimesSync(join(folder, 'server-beat-lock'), before, before);
  (await lockFolder(folder, 'FOLDER')).release();
});

it('of this machine before it was restarted is free at once', async () => {
  const before = {
    pid: process.ppid,
    host: hostname(),
    boot: 'earlier',
    start: null,
    since: '2026-01-01T00:00:00.000Z',
  };
  writeFileSync(join(folder, 'server-lock'), JSON.stringify(before));
  writeFileSync(join(folder, 'server-beat-lock'), '.');
  (await lockFolder(folder, 'FOLDER')).release();
});

it('names the setting of a missing folder', async () => {
  await expect(lockFolder(join(folder, 'nope'), 'FOLDER')).rejects.toMatchObject({
    code: 'INVALID_CONFIG',
    message: expect.stringMatching(/^FOLDER: '.+' cannot be locked: ENOENT/),
  });
});
