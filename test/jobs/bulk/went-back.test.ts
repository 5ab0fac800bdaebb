/** Jobs that had ended when Redis went back to a state in which they were running. */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import type { JobView } from '../../../src/jobs/bulk-jobs.ts';
import { type NewerState, type OpenStore, openLiveStore } from '../../../src/state/live-store.ts';
import { sleep, untilValue } from '../../support/wait.ts';
import {
  createTestBilling,
  createTestRunner,
  ended,
  type JobWorld,
  jobWorld,
  linesOf,
  resultOf,
  send,
  type TestBilling,
  type TestRunner,
  wallet,
} from './world.ts';

/** More lines than one chunk of labels has. */
const LINES = 80_000;

describe('a job that had ended', () => {
  let world: JobWorld;
  let jobs: OpenBulkJobs;
  let runner: TestRunner;
  let billing: TestBilling;
  let newer: readonly NewerState[];
  const fileOf = (name: string): string => join(world.folder.path, 'jobs', name);
  const viewOf = (id: string): JobView | null => jobs.get('a', id) as JobView | null;
  const openStore: OpenStore = (...of) => ({ ...openLiveStore(...of), newerStates: () => newer });
  const open = (): OpenBulkJobs => world.open(runner, billing, { openStore });

  beforeEach(async () => {
    world = await jobWorld();
    runner = createTestRunner(world.work, 1);
    billing = createTestBilling();
    newer = [];
    jobs = open();
    jobs.start();
  });
  afterEach(async () => {
    await jobs.close();
    await world.close();
  });

  /** Ends a job, and puts the state of the store back in which one of its chunks was answered. Returns its id and its result. */
  async function goBack(): Promise<{ readonly id: string; readonly text: string }> {
    let isFirst = true;
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    runner.before = async () => {
      if (!isFirst) await held;
      isFirst = false;
    };
    const { id } = await send(jobs, Array.from({ length: LINES }, (_, n) => `${wallet(n)}\n`).join(''));
    await untilValue(
      () => viewOf(id)?.answered ?? 0,
      (answered) => answered > 0,
    );
    await sleep(20);
    cpSync(fileOf('jobs.mdb'), fileOf('earlier.mdb'));
    release();
    expect(await ended(jobs, id)).toMatchObject({ state: 'DONE' });
    const text = await resultOf(jobs, id);
    await jobs.close();
    cpSync(fileOf('jobs.mdb'), fileOf('newer.mdb'));
    for (const part of ['jobs.mdb-lock', 'jobs.mdb-sums']) rmSync(fileOf(part), { force: true });
    cpSync(fileOf('earlier.mdb'), fileOf('jobs.mdb'));
    runner.tasks.length = 0;
    return { id, text };
  }

  it('ends again with its result, and is charged once', async () => {
    const { id, text } = await goBack();
    newer = [{ path: fileOf('newer.mdb'), version: 9, keptAtMs: 1 }];
    jobs = open();
    expect(viewOf(id)).toMatchObject({ state: 'RUNNING' });
    jobs.start();
    expect(await ended(jobs, id)).toMatchObject({
      ...{ state: 'DONE', answered: LINES, failed: 0, error: null },
      cost: { spent: LINES },
    });
    expect(await resultOf(jobs, id)).toBe(text);
    expect(linesOf(text)).toHaveLength(LINES);
    expect(runner.tasks).toEqual([]);
    expect(billing.taken.get(id)).toBe(LINES);
  });

  it('fails if no node has kept its end, and pays for what can be read', async () => {
    const { id } = await goBack();
    writeFileSync(fileOf('damaged.mdb'), 'x'.repeat(20_000));
    newer = [{ path: fileOf('damaged.mdb'), version: 9, keptAtMs: 1 }];
    jobs = open();
    jobs.start();
    const job = await ended(jobs, id);
    expect(job).toMatchObject({ state: 'FAILED', error: 'The input of the job is missing or damaged.' });
    expect(linesOf(await resultOf(jobs, id))).toHaveLength(job.answered);
    expect(billing.taken.get(id)).toBe(job.answered);
  });
});
