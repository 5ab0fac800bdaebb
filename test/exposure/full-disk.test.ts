/** An exposure index on a full disk: one that was published can be opened, and one that cannot be is opened when there is room. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { createExposureKeeper } from '../../src/exposure/keeper.ts';
import { exposureFolderOf, openCurrent } from '../../src/exposure/reader.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { addressOf, createExposureWorld, type ExposureWorld, paymentOf } from './world.ts';

const refusal = smallDiskRefusal('tmpfs');
const quota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };
const mixer = { node: 1, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' } as const;

describe.skipIf(refusal !== null)('an exposure index on a full disk', () => {
  let disk: SmallDisk;
  let world: ExposureWorld;
  beforeEach(async () => {
    disk = smallDisk('tmpfs', 48);
    vi.stubEnv('TMPDIR', disk.path);
    world = await createExposureWorld([paymentOf(1, 2), paymentOf(3, 4)], [mixer]);
    vi.unstubAllEnvs();
  });
  afterEach(async () => {
    await world.close();
    disk.remove();
  });

  /** A keeper, with its log above debug and the number of its build requests. */
  function keep() {
    const lines: string[] = [];
    const time = { ms: 0 };
    const state = { builds: 0 };
    let ended: Promise<void> = Promise.resolve();
    const note = (_: object, text: string): void => {
      if (text.startsWith('exposure')) lines.push(text);
    };
    const log = { ...silentLogger, info: note, warn: note, error: note } as unknown as Logger;
    const keeper = createExposureKeeper(
      { folder: world.indexes, transfersFolder: `${world.folder}/transfers` },
      {
        ...world.deps,
        clock: { now: () => world.clock.at, monotonic: () => time.ms },
        log,
        inputs: () => world.inputs,
        build() {
          state.builds++;
          const build = world.build().then(() => {});
          ended = build.catch(() => {});
          return build;
        },
      },
    );
    /** A second later, with all that it began ended. */
    const tick = async (): Promise<void> => {
      time.ms += 1_000;
      world.clock.at += 1_000;
      keeper.tick();
      await ended;
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { lines, time, state, tick };
  }
  const codesOf = (node: number): readonly string[] =>
    createOracle({ ...world.deps, exposures: world.exposures })('ETH', addressOf(node), quota).reasons.map(
      ({ code }) => code,
    );

  it('opens if it was published before', async () => {
    await world.build();
    disk.fill();
    expect(openCurrent(exposureFolderOf(world.indexes, 'ETH'), silentLogger, { check: true })).not.toBeNull();
    expect(codesOf(2)).not.toContain('GRAPH_NOT_READ');
  });

  it('opens without a rebuild when the disk has space, if its changes could not be created', async () => {
    await world.build();
    const index = currentSnapshot(exposureFolderOf(world.indexes, 'ETH')) as string;
    // As in an index of an earlier version, whose first reader created them.
    for (const end of ['', '-lock', '-sums']) rmSync(join(index, `changes.mdb${end}`), { force: true });
    disk.fill();
    const { lines, state, tick } = keep();
    for (let ticks = 0; ticks < 20; ticks++) {
      await tick();
      expect(codesOf(2)).toContain('GRAPH_NOT_READ');
    }
    disk.free();
    await tick();
    world.clock.at += 1_000;
    expect(codesOf(2)).not.toContain('GRAPH_NOT_READ');
    expect(lines).toEqual(['exposure index open failed', 'exposure index opened again']);
    expect(state.builds).toBe(0);
  });

  it('is built when the disk has space, and the failure is logged once', async () => {
    disk.fill();
    const { lines, time, state, tick } = keep();
    for (let builds = 0; builds < 3; builds++) {
      await tick();
      time.ms += 60_000;
    }
    expect(state.builds).toBe(3);
    expect(codesOf(2)).toContain('GRAPH_NOT_READ');
    disk.free();
    await tick();
    await tick();
    expect(lines).toEqual([
      'exposure index build started',
      'exposure index build failed',
      'exposure index build recovered',
    ]);
    world.clock.at += 1_000;
    expect(codesOf(2)).not.toContain('GRAPH_NOT_READ');
  });
});
