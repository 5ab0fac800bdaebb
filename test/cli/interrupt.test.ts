/**
 * Commands that cannot write to their target, and commands that are interrupted: one sentence, an exit code, and nothing left half-done.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writePowerLawCsv } from '../../scripts/power-law-graph.ts';
import { newEmptyWorld, type World } from '../e2e/program.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { MODULES_PROGRAM, PROGRAM } from '../setup/program-path.ts';

let world: World;
let store: string;
const started: ChildProcess[] = [];
beforeAll(async () => {
  world = newEmptyWorld();
  store = join(world.folder, 'store');
  prepareFolder(store);
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

function start(args: readonly string[], environment: Record<string, string> = {}, program = PROGRAM) {
  const child = spawn(process.execPath, [program, ...args], {
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

describe('a folder that cannot be used', () => {
  it.each(['/proc/foo', '/proc/self/fd/foo/bar', '/dev/null/foo', 'file'])(
    'ends a backup with an error that names it: %s',
    async (name) => {
      const path = name === 'file' ? join(world.folder, name) : name;
      if (name === 'file') writeFileSync(path, '');
      const { code, out, err } = await world.run(['backup', path]);
      expect([code, out]).toEqual([2, '']);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
      expect(err).toContain(path);
    },
  );

  it('ends the start of a server if it is the jobs folder', async () => {
    const { code, err } = await world.run(['serve'], { environment: { ASSAY_JOBS_DIR: '/proc/foo' } });
    expect(code).toBe(1);
    expect(err).toMatch(/^assay: ASSAY_JOBS_DIR: jobs cannot be stored in \/proc\/foo: .+$/m);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('ends a backup in the middle of a large file, and publishes no backup', async () => {
    const large = join(store, 'labels', 'large');
    mkdirSync(join(store, 'labels'), { recursive: true });
    writeFileSync(large, '');
    // A sparse file: it uses no blocks on the disk, but takes as long to hash as any other.
    truncateSync(large, 2 ** 30);
    const folder = join(world.folder, `backup-${signal}`);
    const { child, ended } = start(['backup', folder]);
    await expect.poll(() => existsSync(join(folder, 'labels', 'large')), { interval: 10 }).toBe(true);
    child.kill(signal);
    expect(await ended).toEqual({ code: 130, signal: null, err: expect.stringContaining('Interrupted.') });
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
    expect(await ended).toEqual({ code: 130, signal: null, err: expect.stringContaining('Interrupted.') });
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
});

describe('a signal while the program is being loaded', () => {
  /** A module that sends the signal to its own process when the first package of the program is looked up. */
  const sending = (signal: NodeJS.Signals): string => {
    const hook = `export async function resolve(name, context, next) {
      if (name === 'commander') process.kill(process.pid, '${signal}');
      return next(name, context);
    }`;
    const asModule = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
    return asModule(`import { register } from 'node:module'; register(${JSON.stringify(asModule(hook))});`);
  };

  it.each([
    ['SIGTERM', 'serve'],
    ['SIGINT', 'serve'],
    ['SIGTERM', 'lists'],
    ['SIGINT', 'lists'],
  ] as const)('%s ends assay %s with one sentence', async (signal, command) => {
    const options = { NODE_OPTIONS: `--import ${sending(signal)}` };
    const { ended } = start([command], options, MODULES_PROGRAM);
    expect(await ended).toEqual({
      code: 130,
      signal: null,
      err: expect.stringMatching(/^assay: Interrupted\. [^\n]+\n$/),
    });
  });
});

describe('an exposure index build', () => {
  const root = (): string => join(store, 'exposure', 'eth');
  const isBuilding = (): boolean => existsSync(join(root(), 'build.lock'));
  const versions = (): readonly string[] =>
    readdirSync(root()).filter((name) => name !== 'build.lock' && !name.startsWith('.'));

  beforeAll(async () => {
    const csv = join(world.folder, 'transfers.csv');
    // A build of them takes half a second, within which the test sees its lock, also on a busy machine.
    writePowerLawCsv(csv, { addresses: 30_000, edges: 100_000, seed: 1 });
    expect((await world.run(['ingest', 'ndjson', csv, '--chain', 'ETH'])).code).toBe(0);
  });

  // A killed build leaves its lock, and the next build takes it over.
  beforeEach(() => rmSync(join(root(), 'build.lock'), { force: true }));

  it.each(['SIGTERM', 'SIGINT'] as const)('stops at once at %s', async (signal) => {
    const { child, ended } = start(['exposure', 'build', 'ETH']);
    await expect.poll(isBuilding, { interval: 10 }).toBe(true);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: null, signal });
  });

  it('stops if its parent process is killed', async () => {
    const command = JSON.stringify([PROGRAM, 'exposure', 'build', 'ETH']);
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const child = require('node:child_process').spawn(process.execPath, ${command}, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
         process.stdout.write(String(child.pid));`,
      ],
      { env: { PATH: process.env.PATH, ASSAY_DATA_DIR: store }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    started.push(parent);
    const built = new Promise<number>((resolve) => {
      parent.stdout.setEncoding('utf8').once('data', (text: string) => resolve(Number(text)));
    });
    const pid = await built;
    await expect.poll(isBuilding, { interval: 10 }).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${pid}`), { interval: 50 }).toBe(false);
    expect(versions()).toEqual([]);
  });

  it('succeeds the next time', async () => {
    const { code, err } = await world.run(['exposure', 'build', 'ETH']);
    expect([code, err]).toEqual([0, expect.any(String)]);
    expect(versions()).not.toEqual([]);
  });
});
