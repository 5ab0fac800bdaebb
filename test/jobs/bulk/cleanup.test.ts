import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { Cleanup } from '../../../src/jobs/bulk/cleanup.ts';
import { type JobRecord, type JobStore, openJobStore } from '../../../src/jobs/bulk/job-store.ts';
import { JOB_LIMITS } from '../../../src/jobs/limits.ts';
import { openLiveStore } from '../../../src/state/live-store.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { countedStore } from '../../support/counted-store.ts';

const START = Date.UTC(2026, 10, 21);
const DAY_MS = 86_400_000;

const endedJob = (index: number): JobRecord => ({
  id: START.toString(16).padStart(12, '0') + index.toString(16).padStart(16, '0'),
  accountId: 'a',
  kind: 'labels',
  format: 'csv',
  chain: 'ETH',
  columns: null,
  headBytes: 0,
  state: 'DONE',
  ending: 'DONE',
  error: null,
  createdAt: START,
  startedAt: START,
  endedAt: START + index,
  changedAt: START + index,
  items: 1,
  bytesReceived: 1,
  answered: 1,
  failed: 0,
  prefix: { chunks: 1, items: 1, failed: 0, bytes: 1 },
  rateFrom: null,
  unit: 'intel',
  perLine: 1,
  reserved: 1,
  spent: 1,
  filesRemoved: false,
  once: `slot${index}`,
});

describe('the cleanup of bulk jobs', () => {
  const counts = countedStore();
  let folder: TempFolder;
  let path: string;
  let store: JobStore;
  let now: number;
  let monotonicMs = 0;
  beforeEach(() => {
    folder = memoryFolder();
    path = join(folder.path, 'jobs.mdb');
    store = openJobStore({ path }, counts);
    now = START + DAY_MS / 2;
  });
  afterEach(async () => {
    await store.close();
    folder.remove();
  });

  const add = (from: number, to: number): Promise<void> =>
    store.transaction((writer) => {
      for (let index = from; index < to; index++) {
        const job = endedJob(index);
        writer.add({ ...job, endedAt: null });
        writer.put(job);
        writer.putClaim(`slot${index}`, { jobId: job.id, bodyHash: '', at: START + index, answer: null });
      }
    });
  const cleanup = ({ isUploading = (_: string): boolean => false, isShared = false } = {}): Cleanup =>
    new Cleanup({
      store,
      places: { folder: join(folder.path, 'files'), ofJob: (id: string) => join(folder.path, id) } as never,
      results: { delete: () => {} } as never,
      clock: { now: () => now, monotonic: () => monotonicMs },
      log: { ...silentLogger, warn: (...of: unknown[]) => expect.fail(JSON.stringify(of)) } as never,
      isShared,
      isUploading,
      remove: (job) => store.transaction((writer) => writer.remove(job)),
    });
  const present = (index: number): { files: boolean } | null => {
    const job = store.job(endedJob(index).id);
    return job === null ? null : { files: !job.filesRemoved };
  };
  const hasClaim = (index: number): Promise<boolean> =>
    store.transaction((writer) => writer.claim(`slot${index}`) !== null);

  it('reads none of the jobs and claims that stay', async () => {
    const sweeper = cleanup();
    await add(0, 10);
    await sweeper.run();
    const readsOf = async (): Promise<number> => {
      counts.reads();
      await sweeper.run();
      return counts.reads();
    };
    const few = await readsOf();
    await add(10, 1_200);
    expect(await readsOf()).toBe(few);
  });

  it('removes claims after a day, files after a week and jobs after a month', async () => {
    const sweeper = cleanup();
    await add(0, 1_100);
    await sweeper.run();
    expect([present(0), await hasClaim(0)]).toEqual([{ files: true }, true]);
    now = START + DAY_MS + 1_050;
    await sweeper.run();
    expect([await hasClaim(1_049), await hasClaim(1_050)]).toEqual([false, true]);
    now = START + JOB_LIMITS.jobFilesKeptMs + 1_050;
    await sweeper.run();
    expect([present(1_050)?.files, present(1_051)?.files, await hasClaim(1_099)]).toEqual([
      false,
      true,
      false,
    ]);
    now = START + JOB_LIMITS.jobKeptMs + 1_050;
    await sweeper.run();
    expect([present(1_050), present(1_051)?.files]).toEqual([null, false]);
  });

  it('finds what an earlier version stored, and survives what it removed', async () => {
    await add(0, 1_100);
    await store.close();
    const earlier = openLiveStore(path, 1, { maxDbs: 12 });
    for (const name of ['claimTimes', 'removals'])
      await earlier.root.openDB({ name, encoding: 'json' }).clearAsync();
    await earlier.root.close();
    store = openJobStore({ path }, counts);
    const sweeper = cleanup();
    await sweeper.run();
    const { id } = endedJob(0);
    await store.close();
    const other = openLiveStore(path, 1, { maxDbs: 12 });
    await other.root.openDB({ name: 'jobs', encoding: 'json' }).remove(id);
    await other.root.close();
    store = openJobStore({ path }, counts);
    now = START + JOB_LIMITS.jobKeptMs + 1_100;
    const later = cleanup();
    await later.run();
    expect([present(0), present(1_099), await hasClaim(1_099)]).toEqual([null, null, false]);
    counts.reads();
    await later.run();
    expect(counts.reads()).toBe(0);
  });

  it('keeps an upload in progress, however long it takes, and removes an interrupted one', async () => {
    const uploads = [1, 2].map(
      (index): JobRecord => ({ ...endedJob(index), state: 'RECEIVING', endedAt: null }),
    );
    await store.transaction((writer) => {
      for (const upload of uploads) writer.add(upload);
    });
    now = START + 30 * DAY_MS;
    await cleanup({ isUploading: (id) => id === endedJob(1).id }).run();
    expect([present(1), present(2)]).toEqual([{ files: true }, null]);
  });

  it('removes an interrupted upload of another node whose last sign of life is in the future', async () => {
    const ahead: JobRecord = { ...endedJob(1), state: 'RECEIVING', endedAt: null, changedAt: now + DAY_MS };
    await store.transaction((writer) => writer.add(ahead));
    const sweeper = cleanup({ isShared: true });
    for (const minutes of [0, 14]) {
      monotonicMs = minutes * 60_000;
      await sweeper.run();
      expect(present(1)).not.toBeNull();
    }
    monotonicMs = 15 * 60_000;
    await sweeper.run();
    expect(present(1)).toBeNull();
  });
});
