/** A running server with exposure indexes on a full disk: no receiver of sanctioned money is reported as safe, and the index catches up when there is space. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { type DiskKind, type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { sleep } from '../support/wait.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

/** Sanctioned in the shipped data. */
const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const RECEIVER = '0x00000000000000000000000000000000a55e0001';
const LATER = '0x00000000000000000000000000000000a55e0002';
/** A build, and the gap to the one before, on a busy machine. */
const FOLLOWED = { timeout: 120_000, interval: 500 };
/** Looks of the keeper at a chain that it cannot update. */
const LOOKS_MS = 6_000;

const row = (n: number, from: string, to: string): string =>
  JSON.stringify({
    txHash: `0x${n.toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: n,
    timestamp: '2024-06-01T00:00:00Z',
    from,
    to,
    asset: 'ETH',
    amount: '5000000000000000000',
  });

interface Verdict {
  readonly verdict: string;
  readonly exposureAsOf: string | null;
  readonly reasons: readonly { readonly code: string }[];
}

/** Runs a command in this process, which is another one than that of the server. */
async function run(world: World, ...args: readonly string[]): Promise<void> {
  const { code, err } = await world.here(args);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
}

async function ingest(world: World, ...rows: readonly string[]): Promise<void> {
  const file = join(world.folder, 'transfers.ndjson');
  writeFileSync(file, `${rows.join('\n')}\n`);
  await run(world, 'ingest', 'ndjson', file, '--chain', 'ETH');
}

async function verdictOf(server: RunningServer, address: string): Promise<Verdict> {
  const { status, body } = await ask(server, server.firstKey, `/api/v1/oracle/address/ETH/${address}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data as unknown as Verdict;
}

/** Messages of the server's log that are about exposure indexes. */
const linesOf = (server: RunningServer): readonly string[] =>
  server
    .output()
    .err.split('\n')
    .filter((line) => line.includes('"msg":"exposure'))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

async function expectNotRead(server: RunningServer, address: string): Promise<void> {
  const { verdict, reasons } = await verdictOf(server, address);
  expect(verdict).not.toBe('safe');
  expect(reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
}

async function during(ms: number, look: () => Promise<void>): Promise<void> {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) {
    await look();
    await sleep(500);
  }
}

/** A program with indexes or the state folder on a small disk. */
async function onDisk(
  kind: DiskKind,
  what: 'exposure' | 'store',
  work: (world: World, disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const world = newWorld();
  const disk = smallDisk(kind, 64);
  try {
    const store = join(world.folder, 'store');
    const folder = join(disk.path, what);
    mkdirSync(folder, { mode: 0o700 });
    if (what === 'exposure') mkdirSync(store, { mode: 0o700 });
    symlinkSync(folder, what === 'exposure' ? join(store, what) : store);
    await work(world, disk);
  } finally {
    await world.end();
    disk.remove();
  }
}

/** The short suite takes one kind: full-disk.test.ts takes both, and what fails is a write to a store there as well. */
const KINDS: readonly DiskKind[] = process.env.ASSAY_TEST_LONG === '1' ? ['tmpfs', 'ext4'] : ['tmpfs'];

for (const kind of KINDS)
  it.skipIf(smallDiskRefusal(kind) !== null)(
    `an index on a full ${kind} answers as before, does not report new receivers as safe, and catches up when there is space`,
    () =>
      onDisk(kind, 'exposure', async (world, disk) => {
        await ingest(world, row(1, LAZARUS, RECEIVER));
        prepareFolder(join(world.folder, 'store'));
        await run(world, 'exposure', 'build');
        const server = await world.serve();
        await expect.poll(async () => (await verdictOf(server, RECEIVER)).verdict, FOLLOWED).toBe('danger');
        const index = currentSnapshot(join(world.folder, 'store', 'exposure', 'eth')) as string;
        // A reader, so that no commit finds a free page in the file.
        const root = openEnvironment(join(index, 'changes.mdb'), { readOnly: true });
        const reading = root.useReadTransaction();
        disk.fill();
        await ingest(world, row(2, LAZARUS, LATER));
        await expect.poll(() => linesOf(server), FOLLOWED).toEqual(['exposure index update failed']);
        await during(LOOKS_MS, async () => {
          expect(await verdictOf(server, RECEIVER)).toMatchObject({
            verdict: 'danger',
            exposureAsOf: expect.any(String),
          });
          await expectNotRead(server, LATER);
        });
        reading.done();
        await root.close();
        disk.free();
        await expect.poll(async () => (await verdictOf(server, LATER)).verdict, FOLLOWED).toBe('danger');
        await expect
          .poll(() => linesOf(server))
          .toEqual(['exposure index update failed', 'exposure index update recovered']);
        expect(await server.stop()).toBe(0);
      }),
  );

describe.skipIf(smallDiskRefusal('tmpfs') !== null)('a state folder on a full disk, without an index', () => {
  it('reports that exposure is not read, and builds the index when there is space', () =>
    onDisk('tmpfs', 'store', async (world, disk) => {
      await ingest(world, row(1, LAZARUS, RECEIVER));
      const first = await world.serve({ ASSAY_LOG_LEVEL: 'silent' });
      await first.stop('SIGKILL');
      const { firstKey } = first;
      disk.fill();
      const server = { ...(await world.serve()), firstKey };
      await expect
        .poll(() => linesOf(server), FOLLOWED)
        .toEqual(['exposure index build started', 'exposure index build failed']);
      await expectNotRead(server, RECEIVER);
      disk.free();
      await expect.poll(async () => (await verdictOf(server, RECEIVER)).verdict, FOLLOWED).toBe('danger');
      await expect
        .poll(() => linesOf(server), FOLLOWED)
        .toEqual([
          'exposure index build started',
          'exposure index build failed',
          'exposure index build recovered',
        ]);
      expect(await server.stop()).toBe(0);
    }));
});
