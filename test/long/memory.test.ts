/**
 * Ten minutes of mixed load against the built server: every response is right, and the memory of the process is flat after its warm-up.
 * Settings: ASSAY_LONG_SECONDS (600), ASSAY_LONG_KINDS (names of load.ts with commas; all), ASSAY_LONG_RATE (1).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProcessMemory } from '../../src/base/process-memory.ts';
import type { RunningServer } from '../e2e/program.ts';
import { memorySettings } from '../setup/server-settings.ts';
import { sleep } from '../support/wait.ts';
import { KINDS, type KindName, startLoad } from './load.ts';
import { median, memoryOf } from './memory.ts';
import { type BusyWorld, busyWorld, ingestMore } from './world.ts';

const SECONDS = Number(process.env.ASSAY_LONG_SECONDS ?? 600);
const RATE = Number(process.env.ASSAY_LONG_RATE ?? 1);
const ALL = Object.keys(KINDS) as KindName[];
const NAMES = ALL.filter((name) => process.env.ASSAY_LONG_KINDS?.split(',').includes(name) ?? true);
const SAMPLE_MS = 1_000;
const INGEST_EVERY_MS = 30_000;
/**
 * The parts of the run that are compared. In the first three tenths, tables and heaps grow to the size that the load needs; a leak keeps
 * growing after that. Each window has many garbage collections, so its median does not depend on the time of one.
 */
const BEFORE = [0.3, 0.5] as const;
const AFTER = [0.8, 1] as const;
const GROWTH_MAX = 1.1;

let world: BusyWorld;
let server: RunningServer;
beforeAll(async () => {
  world = await busyWorld();
  // As in the image, because the memory that the allocator retains is a part of the result.
  server = await world.serve(memorySettings('Dockerfile'));
}, 600_000);
afterAll(() => world?.end());

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** Ingests further transfers at intervals, until `isOver` returns true. */
async function ingestBeside(isOver: () => boolean): Promise<number> {
  let rounds = 0;
  for (let nextMs = performance.now() + INGEST_EVERY_MS; !isOver(); await sleep(SAMPLE_MS)) {
    if (performance.now() < nextMs) continue;
    await ingestMore(world, ++rounds);
    nextMs = performance.now() + INGEST_EVERY_MS;
  }
  return rounds;
}

it('keeps its own memory flat under mixed load, and answers everything right', async () => {
  const load = startLoad({ url: server.url, keys: world.keys }, NAMES, RATE);
  const samples: (ProcessMemory & { readonly part: number })[] = [];
  const startedMs = performance.now();
  let isOver = false;
  const ingesting = ingestBeside(() => isOver);
  for (let part = 0; part < 1; ) {
    await sleep(SAMPLE_MS);
    part = (performance.now() - startedMs) / (SECONDS * 1_000);
    samples.push({ ...memoryOf(server.pid), part });
  }
  isOver = true;
  const [report, rounds] = await Promise.all([load.end(), ingesting]);

  const within = ([from, to]: readonly [number, number]): ProcessMemory => {
    const those = samples.filter(({ part }) => part >= from && part < to);
    return {
      ownBytes: median(those.map(({ ownBytes }) => ownBytes)),
      mappedBytes: median(those.map(({ mappedBytes }) => mappedBytes)),
    };
  };
  const course = Array.from({ length: 10 }, (_, tenth) => within([tenth / 10, (tenth + 1) / 10]));
  console.info(`answered ${JSON.stringify(report.answered)}, ${rounds} ingests beside`);
  console.info(`own MB by tenth: ${course.map(({ ownBytes }) => megabytes(ownBytes)).join(' ')}`);
  console.info(`mapped MB by tenth: ${course.map(({ mappedBytes }) => megabytes(mappedBytes)).join(' ')}`);

  expect(report.failures).toEqual([]);
  for (const name of NAMES) expect(report.answered[name], name).toBeGreaterThan(0);
  const before = within(BEFORE).ownBytes;
  const after = within(AFTER).ownBytes;
  expect(after / before, `${megabytes(before)} MB -> ${megabytes(after)} MB`).toBeLessThan(GROWTH_MAX);
});
