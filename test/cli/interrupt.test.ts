/** Commands that cannot write where they are told, and commands that are told to end: one sentence, a code, and nothing half-done. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { newWorld, type World } from '../e2e/program.ts';

const PROGRAM = join(projectRoot, 'dist', 'src', 'main.js');

let world: World;
let store: string;
const started: ChildProcess[] = [];
beforeAll(async () => {
  world = newWorld();
  store = join(world.folder, 'store');
  expect((await world.run(['keys', 'create', '--name', 'one'])).code).toBe(0);
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await world.end();
});

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly err: string;
}

function start(args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, ASSAY_DATA_DIR: store, ASSAY_SYNC: 'off', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, err }));
  });
  return { child, ended };
}

describe('a backup to a folder that cannot be used', () => {
  it.each(['/proc/foo', '/proc/self/fd/foo/bar', '/dev/null/foo', 'file'])(
    'ends with a sentence that names it: %s',
    async (name) => {
      const path = name === 'file' ? join(world.folder, name) : name;
      if (name === 'file') writeFileSync(path, '');
      const { code, out, err } = await world.run(['backup', path]);
      expect([code, out]).toEqual([1, '']);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
      expect(err).toContain(path);
    },
  );

  it('as a folder of jobs, ends the start of a server', async () => {
    const { code, err } = await world.run(['serve'], { environment: { ASSAY_JOBS_DIR: '/proc/foo' } });
    expect(code).toBe(1);
    expect(err).toMatch(/^assay: ASSAY_JOBS_DIR: jobs cannot be kept in \/proc\/foo: .+$/m);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('ends a backup in the middle of a large file, and leaves no backup in force', async () => {
    const large = join(store, 'labels', 'large');
    mkdirSync(join(store, 'labels'), { recursive: true });
    writeFileSync(large, '');
    // Without blocks on the disk, and as long in being hashed as any other.
    truncateSync(large, 2 ** 30);
    const folder = join(world.folder, `backup-${signal}`);
    const { child, ended } = start(['backup', folder]);
    await expect.poll(() => existsSync(join(folder, 'labels', 'large')), { interval: 10 }).toBe(true);
    child.kill(signal);
    expect(await ended).toEqual({ code: 1, signal: null, err: expect.stringContaining('Interrupted.') });
    expect(existsSync(join(folder, 'BACKUP.json'))).toBe(false);
    expect(readdirSync(store).filter((name) => name.startsWith('.backup-'))).toEqual([]);
  });

  it('ends a command that waits for a machine which does not answer', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { child, ended } = start(['keys', 'list'], { ASSAY_REDIS_URL: url });
    await expect.poll(() => sockets.size, { interval: 10 }).toBeGreaterThan(0);
    child.kill(signal);
    expect(await ended).toEqual({ code: 1, signal: null, err: expect.stringContaining('Interrupted.') });
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
});
