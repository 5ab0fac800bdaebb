import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';
import { buildSnapshot } from '../../../src/labels/index/build.ts';
import { removeUnheld } from '../../../src/labels/index/folder.ts';
import type { LabelReader } from '../../../src/labels/index/reader.ts';
import { createSegmentWriter } from '../../../src/labels/index/segment.ts';
import { openSnapshotSet } from '../../../src/labels/index/snapshot-set.ts';
import { sleep } from '../../support/wait.ts';
import { checkReader, PADDING_RECORDS, SWAP_ADDRESSES } from './swap-check.ts';
import { byConfidence, deps, key, sanction, source, template, temporaryFolder } from './world.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const built = (...parts: string[]): string => pathToFileURL(join(projectRoot, 'dist', ...parts)).href;

/** Publishes a snapshot in which every label names the generation. `padding` moves all positions, and makes the values views of the map. */
async function publish(generation: string, padding: number): Promise<void> {
  const path = join(folder.path, 'segment');
  const writer = createSegmentWriter(path);
  const ids = Array.from({ length: 50 }, (_, number) =>
    writer.template(template(`${generation} ${number}`, { sanctions: [sanction] })),
  );
  for (let number = 0; number < SWAP_ADDRESSES; number++) {
    writer.add(key(number), 0, 22, ids[number % 50] as number, 0, 0);
  }
  const rest = writer.template(template(`${generation} rest`));
  for (let number = 0; number < padding; number++)
    writer.add(key(SWAP_ADDRESSES + number), 0, 22, rest, 0, 0);
  await writer.close();
  await buildSnapshot(
    {
      segments: [{ path, source: source(generation) }],
      folder: join(folder.path, 'snapshots'),
      compareLabels: byConfidence,
    },
    deps,
  );
}

const snapshotsOnDisk = (): string[] =>
  readdirSync(join(folder.path, 'snapshots')).filter((name) => name.startsWith('snapshot-'));

const mapsOfSnapshots = (): number =>
  readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes(folder.path) && /labels\.mdb(?: \(deleted\))?$/.test(line)).length;

async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let round = 0; round < 5; round++) {
    gc();
    await sleep(20);
  }
}

describe('swapping snapshots under readers', () => {
  it('never mixes or fails an answer, on any thread, while snapshots are published and removed', async () => {
    const root = join(folder.path, 'snapshots');
    await publish('generation0', PADDING_RECORDS);
    const workers = Array.from(
      { length: 2 },
      () =>
        new Worker(new URL('./swap-worker.mjs', import.meta.url), {
          workerData: {
            root,
            snapshotSetUrl: built('src', 'labels', 'index', 'snapshot-set.js'),
            logUrl: built('src', 'base', 'log.js'),
            checkUrl: built('test', 'labels', 'index', 'swap-check.js'),
          },
        }),
    );
    const messages: unknown[] = [];
    const results = workers.map(
      (worker) =>
        new Promise<{ answers: number; swaps: number; fault: string | null }>((resolve, reject) => {
          worker.on('message', (word) => {
            messages.push(word);
            if (typeof word === 'object') resolve(word);
          });
          worker.on('error', reject);
        }),
    );
    /** Waits until all workers have sent `word`; a worker that finds a fault ends first. */
    const all = (word: string): Promise<void> =>
      expect
        .poll(() => messages.filter((one) => one === word || typeof one === 'object').length)
        .toBeGreaterThanOrEqual(workers.length);
    await all('open');
    const set = openSnapshotSet(root, deps);
    const first = set.current;
    // Two larger ones and two smaller ones.
    for (let generation = 1; generation <= 4; generation++) {
      // Sizes differ, so that old and new maps do not overlap exactly.
      await publish(`generation${generation}`, generation % 2 === 0 ? PADDING_RECORDS : PADDING_RECORDS / 3);
      const before = set.current;
      expect(set.refresh()).toBe(true);
      expect(set.refresh()).toBe(false);
      for (const reader of [set.current, before, first]) expect(checkReader(reader)).toBeNull();
      expect(set.current.meta.sources[0]?.dataset).toBe(`generation${generation}`);
      await sleep(300);
    }
    await all('swapped');
    for (const worker of workers) worker.postMessage('stop');
    for (const result of await Promise.all(results)) {
      expect(result.fault).toBeNull();
      expect(result.swaps).toBeGreaterThan(0);
      expect(result.answers).toBeGreaterThan(10);
    }
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(checkReader(first)).toBeNull();
    set.close();
  });

  it('closes and removes an old snapshot once no reader can use it, and not before', async () => {
    const root = join(folder.path, 'snapshots');
    await publish('old', PADDING_RECORDS);
    const set = openSnapshotSet(root, deps);
    const held: LabelReader[] = [set.current];
    await publish('new', 0);
    set.refresh();
    await collect();
    expect(snapshotsOnDisk()).toHaveLength(2);
    expect(mapsOfSnapshots()).toBe(2);
    expect(checkReader(held[0] as LabelReader)).toBeNull();
    held.length = 0;
    await expect
      .poll(async () => {
        await collect();
        return [snapshotsOnDisk().length, mapsOfSnapshots()];
      })
      .toEqual([1, 1]);
    expect(checkReader(set.current)).toBeNull();
    set.close();
  });

  it('ignores the lease of a thread that was killed', async () => {
    const root = join(folder.path, 'snapshots');
    await publish('old', 0);
    const worker = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
       import(workerData.set).then(async ({ openSnapshotSet }) => {
         const { silentLogger } = await import(workerData.log);
         globalThis.kept = openSnapshotSet(workerData.root, { log: silentLogger });
         parentPort.postMessage('open');
         setInterval(() => {}, 1000);
       });`,
      {
        eval: true,
        workerData: {
          root,
          set: built('src', 'labels', 'index', 'snapshot-set.js'),
          log: built('src', 'base', 'log.js'),
        },
      },
    );
    await new Promise((resolve) => worker.once('message', resolve));
    await publish('new', 0);
    removeUnheld(root, deps.log);
    expect(snapshotsOnDisk()).toHaveLength(2);
    await worker.terminate();
    removeUnheld(root, deps.log);
    expect(snapshotsOnDisk()).toHaveLength(1);
  });

  it('reports that no index was built yet', () => {
    expect(() => openSnapshotSet(join(folder.path, 'nothing'), deps)).toThrow(/There is no label index/);
  });
});
