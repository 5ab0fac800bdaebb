/** The thread of derived labels: when it starts, what it starts, and what has ended when it is stopped. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAttributionKeeping } from '../../src/attribution/start.ts';
import { attributionFolderOf } from '../../src/attribution/store.ts';
import type { KeptThread } from '../../src/base/kept-thread.ts';
import { silentLogger } from '../../src/base/log.ts';
import { simulateExchanges } from './simulated-exchange.ts';
import { type AttributionWorld, createAttributionWorld, labelsOfExchanges } from './world.ts';

/** A run that never ends: it writes down how it was started. */
const RUN = `
  const fs = require('node:fs');
  const [file, ...args] = process.argv.slice(1);
  fs.writeFileSync(file + '.new', JSON.stringify({ pid: process.pid, args }));
  fs.renameSync(file + '.new', file);
  setInterval(() => {}, 1000);
`;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the thread of derived labels', () => {
  let world: AttributionWorld;
  let keeping: KeptThread | null = null;
  beforeEach(async () => {
    const simulation = simulateExchanges(40, 3);
    world = await createAttributionWorld(labelsOfExchanges(simulation.exchanges));
    for (const block of simulation.blocks()) await world.transfers.ingest(block);
  });
  afterEach(async () => {
    await keeping?.stop();
    await world.close();
  });

  const started = (folder: string, file: string): KeptThread =>
    startAttributionKeeping(
      {
        folder,
        snapshotsFolder: join(world.folder, 'snapshots'),
        transfersFolder: join(world.folder, 'transfers'),
        intervalMs: 200,
        logChains: [],
        logLevel: 'silent',
        runCommand: [process.execPath, '-e', RUN, file],
      },
      { log: silentLogger },
    );

  it('runs the rules of a chain beside requests, and ends with that run', async () => {
    const file = join(world.folder, 'run.json');
    keeping = started(attributionFolderOf(world.folder), file);
    await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(true);
    const { pid, args } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; args: string[] };
    expect(args).toEqual(['ETH']);
    expect(isRunning(pid)).toBe(true);
    await keeping.stop();
    await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
  });

  it('does not start before the rules were applied to a chain', async () => {
    const folder = join(world.folder, 'none');
    mkdirSync(folder);
    const file = join(world.folder, 'never.json');
    keeping = started(folder, file);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(existsSync(file)).toBe(false);
    await keeping.stop();
  });
});
