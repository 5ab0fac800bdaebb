/** Bulk jobs on a full disk: no job is accepted or charged, running jobs wait, and their result is the same afterwards. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import { JOB_LIMITS } from '../../../src/jobs/limits.ts';
import { createLocalChunks } from '../../../src/pool/local-chunks.ts';
import { openEnvironment } from '../../../src/state/lmdb.ts';
import { asStorageFull } from '../../../src/state/storage.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../../setup/small-disk.ts';
import { untilValue } from '../../support/wait.ts';
import {
  createTestBilling,
  createTestRunner,
  ended,
  type JobWorld,
  jobFoldersIn,
  jobWorld,
  resultOf,
  send,
  type TestBilling,
  type TestRunner,
  wallet,
} from './world.ts';

const refusal = smallDiskRefusal('tmpfs');
const LINES = 150_000;

describe.skipIf(refusal !== null)(
  `bulk jobs on a full disk${refusal === null ? '' : ` (${refusal})`}`,
  () => {
    let disk: SmallDisk;
    let world: JobWorld;
    let runner: TestRunner;
    let billing: TestBilling;
    let jobs: OpenBulkJobs;
    const wallets = Array.from({ length: LINES }, (_, index) => `${wallet(index)}\n`).join('');

    beforeAll(async () => {
      disk = smallDisk('tmpfs', 96);
      world = await jobWorld({ path: join(disk.path, 'jobs'), remove: () => {} });
    });
    afterAll(async () => {
      await world.close();
      disk.remove();
    });
    beforeEach(() => {
      runner = createTestRunner(world.work, 1);
      billing = createTestBilling();
      jobs = world.open(runner, billing);
      jobs.start();
    });
    afterEach(() => jobs.close());

    const folders = (): string[] => {
      const folder = join(disk.path, 'jobs', 'jobs', 'files');
      return jobFoldersIn(folder);
    };
    const taken = (): number => [...billing.taken.values()].reduce((sum, units) => sum + units, 0);

    /** Fills the disk, and holds the pages of the store so that no commit finds a free one. */
    function fill(spare = 0): () => Promise<void> {
      const root = openEnvironment(join(disk.path, 'jobs', 'jobs', 'jobs.mdb'), { readOnly: true });
      const reading = root.useReadTransaction();
      disk.fill(spare);
      return async () => {
        reading.done();
        await root.close();
        disk.free();
      };
    }

    it.each([0, 100_000, 3_000_000])(
      'rejects an upload with %i bytes left, charges nothing, and accepts the same request with space',
      async (spare) => {
        const before = folders();
        const once = `once-${spare}`;
        const release = fill(spare);
        const refused = await send(jobs, wallets, { once }).catch((error: unknown) => error);
        // As a server reports it.
        expect(asStorageFull(refused, 'The disk')).toMatchObject({
          code: 'STORAGE_FULL',
          message: expect.stringContaining(disk.path),
          retryAfterSeconds: expect.any(Number),
        });
        expect(taken()).toBe(0);
        await release();
        const { id } = await send(jobs, wallets, { once });
        expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', items: LINES });
        expect(taken()).toBe(LINES);
        await jobs.cancel('a', id);
        // The refused job leaves nothing behind after the next start at the latest.
        await jobs.close();
        jobs = world.open(runner, billing);
        jobs.start();
        await untilValue(folders, (names) => names.length === before.length);
        expect(taken()).toBe(LINES);
      },
    );

    it('pauses a job if its thread cannot write, and resumes to the same result, charged once', async () => {
      await jobs.close();
      const path = (name: string): string => join(world.screening.folder, name);
      const pool = createLocalChunks(
        {
          snapshotsFolder: path('index'),
          labelsFolder: path('lists'),
          transfersFolder: path('data/transfers'),
          outputsFolder: path('outputs'),
          clustersFolder: path('clusters'),
          namesFolder: path('names'),
          listMaxAgeDays: 7,
          logLevel: 'silent',
          threads: 1,
        },
        { log: silentLogger },
      );
      let chunks = 0;
      let fillAt = Number.POSITIVE_INFINITY;
      let release = async (): Promise<void> => {};
      jobs = world.open(
        {
          slots: 1,
          async run(task, signal) {
            if (++chunks === fillAt) release = fill(200_000);
            return pool.run(task, signal);
          },
          close: () => pool.close(),
        },
        billing,
      );
      jobs.start();
      try {
        const { id: first } = await send(jobs, wallets);
        expect(await ended(jobs, first)).toMatchObject({ state: 'DONE' });
        const expected = await resultOf(jobs, first);
        await jobs.cancel('a', first);
        billing.taken.clear();

        const before = chunks;
        fillAt = before + 2;
        const { id } = await send(jobs, wallets);
        // More attempts than a chunk gets that fails for another reason.
        await untilValue(
          () => chunks - before,
          (count) => count >= 3 + JOB_LIMITS.jobChunkAttempts,
        );
        expect(jobs.get('a', id)).toMatchObject({ state: 'RUNNING', endedAt: null, error: null });
        await release();
        expect(await ended(jobs, id)).toMatchObject({ state: 'DONE', items: LINES });
        expect((await resultOf(jobs, id)) === expected).toBe(true);
        expect(taken()).toBe(LINES);
      } finally {
        await jobs.close();
        await pool.close();
      }
    });
  },
);
