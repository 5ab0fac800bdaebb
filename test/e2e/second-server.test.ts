/**
 * One server per folder of state: a second server is refused, a killed one is replaced without manual steps, and commands work beside it.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JOBS_FOLDER_FILE } from '../../src/state/data-folder.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const hex = (n: number, digits: number): string => `0x${n.toString(16).padStart(digits, '0')}`;

let world: World;
let server: RunningServer;
beforeAll(async () => {
  world = newWorld();
  server = await world.serve();
});
afterAll(() => world.end());

const store = (): string => join(world.folder, 'store');
const locks = (): string[] => readdirSync(store()).filter((name) => name.startsWith('server-'));

describe('a second server', () => {
  it('on the same folder is rejected with process, host and time, and writes nothing', async () => {
    // The first server writes this file after it has begun to answer.
    await expect.poll(() => readdirSync(store())).toContain(JOBS_FOLDER_FILE);
    const before = readdirSync(store()).sort();
    const { code, out, err } = await world.run(['serve']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      new RegExp(
        `^assay: ASSAY_DATA_DIR: another server uses ${store()}: process \\d+ on host ${hostname()}, since \\S+Z\\. [^\\n]+\\n$`,
      ),
    );
    expect(readdirSync(store()).sort()).toEqual(before);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  it('with the same jobs folder is rejected, even with another state folder', async () => {
    const jobs = { ASSAY_JOBS_DIR: join(world.folder, 'jobs') };
    const [one, two] = [newWorld(), newWorld()];
    const first = await one.serve(jobs);
    const { code, err } = await two.run(['serve'], { environment: jobs });
    expect(code).toBe(1);
    expect(err).toContain(`ASSAY_JOBS_DIR: another server uses ${jobs.ASSAY_JOBS_DIR}: process`);
    await first.stop();
    // The refused server holds neither folder.
    await (await two.serve(jobs)).stop();
    await Promise.all([one.end(), two.end()]);
  });

  it('opens a folder that the first one left, stopped or killed', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await server.stop(signal);
      expect(locks().length > 0).toBe(signal === 'SIGKILL');
      server = await world.serve();
      expect(locks().filter((name) => /\.\d+$/.test(name))).toHaveLength(1);
    }
  });
});

describe('commands during a running server', () => {
  beforeAll(() => {
    mkdirSync(join(world.folder, 'files'));
    const file = (name: string, text: string): void => writeFileSync(join(world.folder, 'files', name), text);
    file('labels.csv', `chain,address,category,name\nETH,${hex(4, 40)},scam,Somebody\n`);
    file('prices.csv', 'asset,date,usd\nETH,2026-01-01,3000\n');
    const transfer = { txHash: hex(1, 64), position: '0', blockNumber: 1, timestamp: 1_700_000_000_000 };
    const row = { ...transfer, from: hex(2, 40), to: hex(3, 40), asset: 'ETH', amount: '1', valueUsd: 1 };
    file('transfers.ndjson', `${JSON.stringify(row)}\n`);
  });

  /** Commands that run as processes of their own. The others run in this process, which is not the server's either: it takes less time. */
  const SPAWNED: ReadonlySet<string> = new Set(['keys create', 'import own', 'ingest ndjson', 'backup copy']);

  it.each([
    ['keys', 'create', '--name', 'beside'],
    ['keys', 'list'],
    ['accounts', 'list'],
    ['plan', 'set', 'local', 'ENTERPRISE'],
    ['audit', 'verify'],
    ['credits', 'grant', 'local', '5'],
    ['credits', 'adjust', 'local', '-1', '--reason', 'a test'],
    ['credits', 'show', 'local'],
    ['ledger', 'verify'],
    ['monitor', 'add', 'ETH', hex(9, 40)],
    ['monitor', 'list'],
    ['monitor', 'alerts'],
    ['import', 'own', 'labels.csv'],
    ['index', 'build'],
    ['index', 'verify'],
    ['ingest', 'ndjson', 'transfers.ndjson', '--chain', 'ETH'],
    ['exposure', 'build', 'ETH'],
    ['exposure', 'status'],
    ['stats', 'ETH'],
    ['lists'],
    ['lookup', 'ETH', hex(4, 40)],
    ['screen', 'ETH', hex(4, 40)],
    ['kyt', 'ETH', hex(2, 40), hex(3, 40)],
    ['trace', 'ETH', hex(2, 40)],
    ['names', 'screen', 'Somebody'],
    ['entities', 'list'],
    ['snapshot', 'publish'],
    ['prices', 'show', 'ETH', 'ETH'],
    ['backup', 'copy'],
    ['backup', 'copy', '--verify'],
  ])('assay %s %s', async (...args) => {
    const files = args.map((arg) => {
      if (existsSync(join(world.folder, 'files', arg))) return join(world.folder, 'files', arg);
      return arg === 'copy' ? join(world.folder, 'copy') : arg;
    });
    const isSpawned = SPAWNED.has(args.slice(0, 2).join(' '));
    const { code, err } = await (isSpawned ? world.run(files) : world.here(files));
    expect(code, err).toBe(0);
  });

  it('leave the server running', async () => {
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(locks()).toEqual([]);
  });
});
