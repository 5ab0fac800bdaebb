/** The folder of jobs is away while a node runs: another file system is in its place, as after an unmount. */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../src/base/random.ts';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import { checkOfFolder, nameOfFolder } from '../../../src/jobs/jobs-folder.ts';
import { sleep } from '../../support/wait.ts';
import {
  createTestBilling,
  createTestRunner,
  ended,
  type JobWorld,
  jobWorld,
  linesOf,
  resultOf,
  send,
  type TestRunner,
  wallet,
} from './world.ts';

const LINES = 100;
const TEXT = Array.from({ length: LINES }, (_, n) => `${wallet(n)}\n`).join('');

describe('jobs whose folder is away', () => {
  let world: JobWorld;
  let jobs: OpenBulkJobs;
  let runner: TestRunner;
  const folder = (): string => join(world.folder.path, 'jobs', 'files');
  const aside = (): string => `${folder()}-aside`;

  function unmount(): void {
    renameSync(folder(), aside());
    mkdirSync(folder());
  }
  function mount(): void {
    rmSync(folder(), { recursive: true });
    renameSync(aside(), folder());
  }

  beforeEach(async () => {
    world = await jobWorld();
    runner = createTestRunner(world.work, 1);
    mkdirSync(folder(), { recursive: true });
    const name = await nameOfFolder(folder(), systemRandom);
    jobs = world.open(runner, createTestBilling(), { checkFolder: checkOfFolder(folder(), name) });
  });
  afterEach(async () => {
    await jobs.close();
    await world.close();
  });

  it('do not fail, and end when it is back', async () => {
    const { id } = await send(jobs, TEXT);
    unmount();
    jobs.start();
    await sleep(1_000);
    expect(await jobs.get('a', id)).toMatchObject({ state: 'QUEUED', error: null });
    expect(runner.tasks).toEqual([]);
    expect(jobs.problem()).toMatchObject({
      folder: folder(),
      reason: expect.stringMatching(/^The folder of bulk jobs is not available on this node: .*ENOENT/),
    });
    mount();
    expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: LINES });
    expect(linesOf(await resultOf(jobs, id))).toHaveLength(LINES);
    expect(jobs.problem()).toBeNull();
  });

  it('refuse uploads and results as not ready, not as lost', async () => {
    jobs.start();
    const { id } = await send(jobs, TEXT);
    await ended(jobs, id);
    const result = await jobs.result('a', id);
    const parts = result?.parts(0, result.bytes) ?? [];
    unmount();
    await expect(result?.requireFiles(parts)).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect(send(jobs, TEXT)).rejects.toMatchObject({ code: 'NOT_READY' });
    mount();
    await result?.requireFiles(parts);
  });
});
