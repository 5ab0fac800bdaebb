/** Label sets with verdicts, worked by the threads of a real pool, against the oracle's answers for the same addresses. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { buildExposureIndex } from '../../../src/exposure/build.ts';
import { createInputs } from '../../../src/exposure/facts.ts';
import { createExposureReader, isStoredIn } from '../../../src/exposure/reader.ts';
import { viewOf } from '../../../src/jobs/bulk/job-view.ts';
import { type OpenBulkJobs, openBulkJobs } from '../../../src/jobs/bulk/open.ts';
import type { JobRequest } from '../../../src/jobs/bulk-jobs.ts';
import type { ChunkRunner, ChunkTask } from '../../../src/jobs/chunks.ts';
import { openFreshness } from '../../../src/labels/freshness.ts';
import { createLocalChunks } from '../../../src/pool/local-chunks.ts';
import { createPool, type PoolOptions } from '../../../src/pool/pool.ts';
import type { OracleAnswer, OracleQuota } from '../../../src/screening/answers.ts';
import { createOracle } from '../../../src/screening/oracle.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  policy,
  randomLabels,
  randomTransfers,
} from '../../exposure/world.ts';
import { createTestBilling, ended, resultOf, send } from './world.ts';

const NODES = 40;
const MAX_AGE_DAYS = 7;
const quota: OracleQuota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };

let world: ExposureWorld;
let folders: Omit<PoolOptions, 'threads'>;
let oracle: (address: string) => OracleAnswer;
const closing: (() => Promise<void>)[] = [];

interface Item {
  readonly address: string;
  readonly error?: string;
  readonly verdict?: string;
  readonly exposureAsOf?: string | null;
  readonly reasonCodes?: readonly string[];
}

const lines = (text: string): Item[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Item);

beforeAll(async () => {
  world = await createExposureWorld(randomTransfers(7, NODES, 120), randomLabels(7, NODES, 0.3));
  const { deps, indexes: folder } = world;
  const inputs = createInputs({
    dataVersion: () => deps.labels.current.meta.dataVersion,
    policyVersion: () => policy.version,
    tokensFile: null,
  });
  await buildExposureIndex(
    { chain: 'ETH', folder, inputs: inputs('ETH') },
    { ...deps, clock: systemClock, log: silentLogger },
  );
  const path = (name: string): string => join(world.folder, name);
  folders = {
    snapshotsFolder: path('labels'),
    labelsFolder: path('lists'),
    transfersFolder: path('transfers'),
    outputsFolder: path('outputs'),
    clustersFolder: path('clusters'),
    namesFolder: path('names'),
    listMaxAgeDays: MAX_AGE_DAYS,
    logLevel: 'silent',
  };
  const freshness = openFreshness({ labelsFolder: path('lists') });
  const ask = createOracle({
    ...deps,
    clock: systemClock,
    freshness: () => freshness.listFreshness(systemClock.now(), MAX_AGE_DAYS),
    exposures: createExposureReader(folder, {
      clock: systemClock,
      log: silentLogger,
      position: (chain) => deps.transfers.logPosition(chain),
      coverage: (chain) => deps.transfers.coverage(chain),
      isStored: isStoredIn(deps.transfers),
      inputs,
    }),
  });
  oracle = (address) => ask('ETH', address, quota);
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await world.close();
});

/** Bulk jobs that a pool of two threads works. */
function openJobs(name: string, exposureFolder?: string): { jobs: OpenBulkJobs; tasks: ChunkTask[] } {
  const options = { ...folders, threads: 2, ...(exposureFolder === undefined ? {} : { exposureFolder }) };
  const local = createLocalChunks(options, { log: silentLogger });
  const tasks: ChunkTask[] = [];
  const runner: ChunkRunner = {
    slots: local.slots,
    run(task, signal) {
      tasks.push(task);
      return local.run(task, signal);
    },
    close: () => local.close(),
  };
  const folder = join(world.folder, name);
  const jobs = openBulkJobs(
    { storePath: join(folder, 'jobs.mdb'), folder: join(folder, 'files') },
    {
      runner,
      billing: createTestBilling(),
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      freeBytes: async () => 1e12,
    },
  );
  closing.push(() => local.close());
  closing.push(() => jobs.close());
  jobs.start();
  return { jobs, tasks };
}

const addresses = Array.from({ length: NODES + 1 }, (_, node) => addressOf(node));

/** The fields that an item adds from the oracle's answer. The time of the exposure is that of each query. */
function addedOf(address: string): object {
  const { verdict, score, riskLevel, reasons, assessed } = oracle(address);
  const reasonCodes = [...new Set(reasons.map(({ code }) => code))];
  return {
    verdict,
    score,
    riskLevel,
    reasonCodes,
    assessed,
    exposureAsOf: expect.stringMatching(/^2\d{3}-/),
  };
}

describe('a job of labels with verdicts', () => {
  let opened: ReturnType<typeof openJobs>;
  beforeAll(() => {
    opened = openJobs('with-index', world.indexes);
  });

  const result = async (text: string, more: Partial<JobRequest>): Promise<Item[]> => {
    const { id } = await send(opened.jobs, text, more);
    const done = await ended(opened.jobs, id);
    expect(done).toMatchObject({ state: 'DONE', error: null, verdict: more.verdict ?? false });
    return lines(await resultOf(opened.jobs, id));
  };

  it.each([
    ['ndjson', addresses.map((address) => JSON.stringify({ address, chain: 'ETH' }))],
    ['csv', ['address,chain', ...addresses.map((address) => `${address},ETH`)]],
  ] as const)('adds the verdict of the oracle to each answer (%s)', async (format, input) => {
    const text = [...input, 'no address'].join('\n');
    const plain = await result(text, { format });
    const items = await result(text, { format, verdict: true });
    expect(items).toHaveLength(NODES + 2);
    for (const [at, address] of addresses.entries())
      expect(items[at], address).toEqual({ ...plain[at], ...addedOf(address) });
    expect(items.at(-1)).toEqual(plain.at(-1));
    expect(items.at(-1)?.error).toBeDefined();
    expect(items.filter(({ reasonCodes }) => reasonCodes?.includes('EXPOSURE')).length).toBeGreaterThan(5);
  });

  it('is another job than the same lines without verdicts, also with the same Idempotency-Key', async () => {
    const once = 'a'.repeat(64);
    const first = await send(opened.jobs, addresses.join('\n'), { once, verdict: true });
    expect(await send(opened.jobs, addresses.join('\n'), { once, verdict: true })).toEqual(first);
    await expect(send(opened.jobs, addresses.join('\n'), { once })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
    await ended(opened.jobs, first.id);
  });

  it('is the only kind that accepts the option', async () => {
    for (const kind of ['sanctions', 'screening', 'kyt'] as const)
      await expect(send(opened.jobs, addresses.join('\n'), { kind, verdict: true })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'verdict',
      });
  });

  it('keeps its verdicts if an earlier version wrote its record', async () => {
    const { id } = await send(opened.jobs, `${addresses[0]}\n`);
    await ended(opened.jobs, id);
    const task = opened.tasks.find(({ jobId }) => jobId === id);
    // Neither the record nor the message has the field, as in the earlier version.
    expect(task).not.toHaveProperty('verdict');
    const record = {
      id,
      kind: 'labels',
      createdAt: 0,
      endedAt: 0,
      startedAt: null,
      rateFrom: null,
      prefix: {},
    };
    expect(viewOf(record as unknown as Parameters<typeof viewOf>[0]).verdict).toBe(false);
  });

  it('reports unread transfers if the thread has no transfer index, and is never safe', async () => {
    for (const [name, folder] of [
      ['without-folder', undefined],
      ['without-index', join(world.folder, 'nothing-here')],
    ] as const) {
      const { jobs } = openJobs(name, folder);
      const { id } = await send(jobs, addresses.join('\n'), { verdict: true });
      await ended(jobs, id);
      for (const item of lines(await resultOf(jobs, id))) {
        expect(item).toMatchObject({ exposureAsOf: null });
        expect(item.verdict, item.address).not.toBe('safe');
        expect(item.reasonCodes).toContain('GRAPH_NOT_READ');
      }
    }
  });
});

describe('a bulk request with verdicts', () => {
  it('has the same answers from the threads of the pool as from the oracle', async () => {
    const pool = createPool({ ...folders, threads: 2, exposureFolder: world.indexes }, { log: silentLogger });
    closing.push(() => pool.close());
    const body = Buffer.from(JSON.stringify({ addresses, chain: 'ETH', verdict: true }));
    const { json, release } = await pool.run('bulk-labels', body);
    const { results } = JSON.parse(Buffer.from(json).toString()) as { results: Item[] };
    release?.();
    for (const [at, address] of addresses.entries()) expect(results[at]).toMatchObject(addedOf(address));
  });
});
