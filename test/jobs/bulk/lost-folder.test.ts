/** The folder of jobs is away: another file system is in its place, as after an unmount, or before a mount. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import { JOBS_FOLDER_FILE } from '../../../src/state/data-folder.ts';
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
    jobs = world.open(runner, createTestBilling());
  });
  async function restart(): Promise<void> {
    await jobs.close();
    jobs = world.open(runner, createTestBilling());
    jobs.start();
  }
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

  it('do not fail if the server starts without it, and end when it is back', async () => {
    const { id } = await send(jobs, TEXT);
    unmount();
    await restart();
    await sleep(1_000);
    expect(await jobs.get('a', id)).toMatchObject({ state: 'QUEUED', error: null });
    await expect(send(jobs, TEXT)).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(jobs.problem()?.reason).toMatch(/: its file \.folder does not contain [0-9a-f]{24}\.$/);
    // Another start does not take the empty folder for the right one.
    await restart();
    await expect(send(jobs, TEXT)).rejects.toMatchObject({ code: 'NOT_READY' });
    mount();
    expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: LINES });
    expect(jobs.problem()).toBeNull();
  });

  it('fail if it is lost, when a new folder has its name', async () => {
    const { id } = await send(jobs, TEXT);
    const name = readFileSync(join(world.folder.path, 'jobs', JOBS_FOLDER_FILE), 'utf8');
    unmount();
    await restart();
    await expect(send(jobs, TEXT)).rejects.toMatchObject({ code: 'NOT_READY' });
    writeFileSync(join(folder(), '.folder'), name);
    expect(await ended(jobs, id)).toMatchObject({
      state: 'FAILED',
      error: 'The input of the job is missing or damaged.',
    });
    const next = await send(jobs, TEXT);
    expect(await ended(jobs, next.id)).toMatchObject({ state: 'DONE' });
  });

  it('continue in a folder to which their files were moved', async () => {
    const { id } = await send(jobs, TEXT);
    unmount();
    cpSync(join(aside(), id), join(folder(), id), { recursive: true });
    await restart();
    expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', answered: LINES });
  });

  it('do not keep a server from another folder after they have ended', async () => {
    jobs.start();
    await ended(jobs, (await send(jobs, TEXT)).id);
    unmount();
    await restart();
    expect(await ended(jobs, (await send(jobs, TEXT)).id)).toMatchObject({ state: 'DONE' });
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
