/** The thread that keeps indexes up to date: what it starts, and what has ended when it is stopped. */
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { type ExposureKeeping, startExposureKeeping } from '../../src/exposure/start.ts';
import { createExposureWorld, type ExposureWorld, paymentOf } from './world.ts';

const mixer = { node: 1, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' } as const;
/** A build that never ends: it writes down how it was started, and its priority once that is lower. */
const BUILD = `
  const fs = require('node:fs');
  const os = require('node:os');
  const [file, ...args] = process.argv.slice(1);
  setInterval(() => {
    fs.writeFileSync(file + '.new', JSON.stringify({ pid: process.pid, args, priority: os.getPriority() }));
    fs.renameSync(file + '.new', file);
  }, 50);
`;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the thread of the exposure indexes', () => {
  let world: ExposureWorld;
  let keeping: ExposureKeeping | null = null;
  beforeEach(async () => {
    world = await createExposureWorld([paymentOf(1, 2)], [mixer]);
  });
  afterEach(async () => {
    await keeping?.stop();
    await world.close();
    vi.restoreAllMocks();
  });

  it('builds what is missing beside requests, and ends with its build before it is reported as stopped', async () => {
    const file = join(world.folder, 'build.json');
    keeping = startExposureKeeping(
      {
        folder: world.indexes,
        snapshotsFolder: join(world.folder, 'labels'),
        labelsFolder: join(world.folder, 'lists'),
        transfersFolder: join(world.folder, 'transfers'),
        listMaxAgeDays: 7,
        logLevel: 'silent',
        buildCommand: [process.execPath, '-e', BUILD, file],
      },
      { log: silentLogger },
    );
    const build = () => JSON.parse(readFileSync(file, 'utf8')) as { pid: number; priority: number };
    await expect
      .poll(() => existsSync(file) && build().priority)
      .toBeGreaterThanOrEqual(constants.priority.PRIORITY_BELOW_NORMAL);
    expect(build()).toMatchObject({ args: ['ETH'] });
    await expect
      .poll(() => keeping?.kept())
      .toEqual([{ chain: 'ETH', state: 'BUILDING', reason: 'no index yet', waiting: null }]);

    let hasEnded = false;
    const post = Worker.prototype.postMessage;
    vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, ...message) {
      this.once('exit', () => {
        hasEnded = true;
      });
      post.apply(this, message);
    });
    const { pid } = build();
    await keeping.stop();
    expect(hasEnded).toBe(true);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});
