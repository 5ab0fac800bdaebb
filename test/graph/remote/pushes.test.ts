/** Pushes in quick succession: each is visible at the next check for a version, and no reading mixes two versions. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeJson } from '../../../src/base/buffer-pool.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createFetcher, type Fetch, type Fetcher } from '../../../src/graph/remote/fetch.ts';
import { REMOTE_LIMITS } from '../../../src/graph/remote/limits.ts';
import type { PushReport } from '../../../src/graph/remote/push-session.ts';
import { RemoteRecords } from '../../../src/graph/remote/records.ts';
import { recordsOf } from '../../../src/graph/store/chain-records.ts';
import { openChainStore } from '../../../src/graph/store/chain-store.ts';
import { type ChainReader, createChainReader } from '../../../src/graph/store/reader.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';
import type { NameScreening } from '../../../src/names/screen-names.ts';
import { createPool } from '../../../src/pool/pool.ts';
import { createTaskTable } from '../../../src/pool/task.ts';
import { TASKS } from '../../../src/pool/tasks/index.ts';
import { createTaskServices } from '../../../src/pool/worker-services.ts';
import { createWorld } from '../../screening/world.ts';
import { hasRedis, type RedisServer, startRedis, startRedisCluster } from '../../setup/redis.ts';
import { sleep } from '../../support/wait.ts';
import { addressAt, blockOf, keyAt, log, push, transferSource } from './world.ts';

/** Longer than a thread caches the newest version. */
const nextLook = (): Promise<void> => sleep(REMOTE_LIMITS.remoteHeadMs + 50);

const ADDRESSES = 600;
const ROUNDS = 4;
/** The hubs, and other addresses. */
const SOME = [1, 2, 3, 4, ...Array.from({ length: 20 }, (_, at) => 10 + at * 29)];

/** Reads every kind of record: state, blocks, ids, addresses, assets, neighbours, transfers. */
const answersOf = (reader: ChainReader): string =>
  JSON.stringify(
    [
      reader.coverage(),
      reader.blocks(),
      SOME.map((index) => {
        const key = keyAt(index);
        return [
          reader.totals(key),
          reader.recent(key, 100),
          reader.daily(key, 30),
          reader.counterparties(key, { direction: 'in', limit: 10_000 }),
          reader.counterparties(key, { direction: 'out', limit: 10_000 }),
        ];
      }),
    ],
    (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );

function localAnswers(path: string): string {
  const store = openChainStore(path, 'ETH', true);
  if (store === null) throw new Error('Nothing is stored.');
  try {
    return answersOf(createChainReader(recordsOf(store)));
  } finally {
    void store.root.close();
  }
}

/** Opens a reader with an empty cache. `head` is the version that it keeps, like a walk that began with it. */
function openReader(url: string, fetchers: Fetcher[], head?: string): ChainReader {
  const fetcher = createFetcher({ url, logLevel: 'silent' }, { clock: systemClock, log });
  fetchers.push(fetcher);
  const fetch: Fetch = (question) =>
    head !== undefined && question.keys[0]?.names[0] === 'head'
      ? [Buffer.from(head)]
      : fetcher.fetch(question);
  return createChainReader(new RemoteRecords('ETH', { fetch, clock: systemClock }));
}

describe.skipIf(!hasRedis)('frequent pushes', () => {
  let folder: string;
  let path: string;
  let store: TransferStore;
  let server: RedisServer;
  const fetchers: Fetcher[] = [];
  const draw = transferSource(7, ADDRESSES);
  const url = (prefix: string): string => `${server.url}?prefix=${prefix}`;

  const readerOf = (prefix: string, head?: string): ChainReader => openReader(url(prefix), fetchers, head);
  const headOf = (prefix: string): string => server.run('get', `${prefix}:{graph.eth}:head`).trim();
  const earlierKeys = (prefix: string): string[] =>
    server
      .run('--scan', '--pattern', `${prefix}:*~*`)
      .split('\n')
      .filter((key) => key !== '');

  /** Pushes as the command does: readers get as much time as in production. */
  async function pushNow(prefix: string, options: Parameters<typeof push>[2] = {}): Promise<PushReport> {
    const stages = new Set<string>();
    const report = await push(url(prefix), path, {
      graceMs: REMOTE_LIMITS.remoteGraceMs,
      onProgress: (stage) => stages.add(stage),
      ...options,
    });
    expect([...stages]).not.toContain('wait for readers');
    return report;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-pushes-'));
    path = join(folder, 'eth.mdb');
    store = openTransferStore({ path: folder, readOnly: false });
    server = await startRedis();
    await store.ingest(draw(3_000));
  });
  afterAll(async () => {
    await Promise.all(fetchers.map((fetcher) => fetcher.close()));
    await store.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('are each visible at the next check, without waiting for earlier readers', async () => {
    expect(REMOTE_LIMITS.remoteHeadMs).toBeLessThan(1_000);
    await pushNow('seen');
    const reader = readerOf('seen');
    expect(answersOf(reader)).toBe(localAnswers(path));
    for (let round = 0; round < ROUNDS; round++) {
      await store.ingest(draw(300));
      expect(await pushNow('seen')).toMatchObject({ kind: 'changes', version: round + 2 });
      await nextLook();
      expect(answersOf(reader)).toBe(localAnswers(path));
    }
    const whole = await push(url('seen-whole'), path);
    const last = await pushNow('seen');
    expect([last.kind, last.records, last.checksum]).toEqual(['unchanged', whole.records, whole.checksum]);
  });

  it('let a reading finish on its version, after any number of pushes', async () => {
    const versions: { head: string; answers: string }[] = [];
    const pushVersion = async (): Promise<void> => {
      await pushNow('held');
      versions.push({ head: headOf('held'), answers: localAnswers(path) });
    };
    const expectAll = (): void => {
      for (const { head, answers } of versions) expect(answersOf(readerOf('held', head))).toBe(answers);
    };
    await pushVersion();
    const long = readerOf('held', versions[0]?.head);
    for (let round = 0; round < ROUNDS; round++) {
      await store.ingest(draw(300));
      await store.appendBlock(blockOf(20_000 + round, draw(40)));
      if (round % 2 === 1) await store.revertBlock('ETH', 20_000 + round);
      if (round === 3) {
        // Aborted while addresses are written, so that some of them are.
        const cut = new AbortController();
        const cutting = pushNow('held', {
          recordsAtOnce: 20,
          signal: cut.signal,
          onProgress: () => cut.abort(),
        });
        await expect(cutting).rejects.toThrow();
        expectAll();
      }
      await store.appendBlock(blockOf(20_000 + round + (round % 2 === 1 ? 0 : 1), draw(40), 1));
      await pushVersion();
      if (round % 2 === 0) await store.revertBlock('ETH', 20_000 + round + 1);
      // Parts of it come from the cache, parts from the server.
      expect(answersOf(long)).toBe(versions[0]?.answers);
    }
    expect(new Set(versions.map(({ answers }) => answers)).size).toBe(ROUNDS + 1);
    expectAll();
  });

  it('keep earlier versions as long as readers may need them, and reject an expired one', async () => {
    const graceMs = 1_000;
    await pushNow('kept', { graceMs });
    const first = headOf('kept');
    for (let round = 0; round < 3; round++) {
      await store.ingest(draw(300));
      await pushNow('kept');
    }
    const keys = earlierKeys('kept');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys.slice(0, 20)) {
      const leftMs = Number(server.run('pttl', key));
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(REMOTE_LIMITS.remoteGraceMs);
    }
    // As if their time had passed: a reader is refused and gets no mixture.
    server.run('del', ...keys);
    expect(() => answersOf(readerOf('kept', first))).toThrow(expect.objectContaining({ code: 'NOT_READY' }));
    await sleep(graceMs);
    await store.ingest(draw(300));
    await pushNow('kept', { graceMs });
    expect(earlierKeys('kept')).toEqual([]);
    expect(answersOf(readerOf('kept'))).toBe(localAnswers(path));
  });

  it('are accepted while readers of the replaced chain have time to finish', async () => {
    await push(url('swapped'), path);
    let isWaiting = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      isWaiting = resolve;
    });
    const cut = new AbortController();
    const full = push(url('swapped'), path, {
      isFull: true,
      graceMs: REMOTE_LIMITS.remoteGraceMs,
      signal: cut.signal,
      onProgress: (stage) => {
        if (stage === 'wait for readers') isWaiting();
      },
    });
    const ended = full.then(
      () => 'removed',
      () => 'interrupted',
    );
    await waiting;
    const reader = readerOf('swapped');
    for (let version = 2; version < 4; version++) {
      await store.ingest(draw(300));
      const answers = localAnswers(path);
      const cutting = new AbortController();
      // This push ends at the point at which it would wait for the same readers as the full push.
      await push(url('swapped'), path, {
        graceMs: REMOTE_LIMITS.remoteGraceMs,
        signal: cutting.signal,
        onProgress: (stage) => {
          if (stage === 'wait for readers') cutting.abort();
        },
      }).catch(() => null);
      await nextLook();
      expect(JSON.parse(headOf('swapped'))).toMatchObject({ generation: 2, version });
      expect(answersOf(reader)).toBe(answers);
    }
    cut.abort();
    expect(await ended).toBe('interrupted');
    // The next push of any kind removes it.
    await push(url('swapped'), path);
    const left = server.run('--scan', '--pattern', 'swapped:*:1:*').trim();
    expect(left).toBe('');
  });

  it('are seen by threads that trace all the time, each answer complete and of a current version', async () => {
    const next = transferSource(8, 400);
    const world = await createWorld(next(3_000));
    const at = (name: string): string => join(world.folder, name);
    const names: NameScreening = () => ({ results: [] }) as never;
    const here = createTaskTable(TASKS, createTaskServices(world.deps, names, log));
    const request = { chain: 'ETH', address: addressAt(50), hops: 3 };
    const shown = (bytes: Uint8Array): string => {
      const { nodes, edges, stoppedAt } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<
        string,
        unknown
      >;
      return JSON.stringify([nodes, edges, stoppedAt]);
    };
    const pushWorld = (): Promise<PushReport> =>
      push(url('threads'), join(world.folder, 'data', 'transfers', 'eth.mdb'), {
        graceMs: REMOTE_LIMITS.remoteGraceMs,
      });
    const versions = [shown(here.trace(request).json)];
    await pushWorld();
    const pool = createPool(
      {
        threads: 2,
        snapshotsFolder: at('index'),
        labelsFolder: at('labels'),
        transfersFolder: at('none'),
        outputsFolder: at('none'),
        clustersFolder: at('none'),
        namesFolder: at('names'),
        listMaxAgeDays: 7,
        graphStores: { ETH: url('threads') },
        logLevel: 'silent',
      },
      { log },
    );
    try {
      /** The oldest version that an answer may have from now on. */
      let oldest = 0;
      let isOver = false;
      const answers: { readonly oldest: number; readonly version: number }[] = [];
      const askOn = async (): Promise<void> => {
        while (!isOver) {
          const before = oldest;
          const json = takeJson(await pool.run('trace', request));
          answers.push({ oldest: before, version: versions.indexOf(shown(json)) });
        }
      };
      const asking = Promise.all(Array.from({ length: 4 }, askOn));
      for (let version = 1; version <= ROUNDS; version++) {
        await world.transfers.ingest(next(300));
        versions.push(shown(here.trace(request).json));
        await pushWorld();
        await nextLook();
        oldest = version;
        await expect.poll(() => answers.some((answer) => answer.oldest === version)).toBe(true);
      }
      isOver = true;
      await asking;
      expect(new Set(versions).size).toBe(ROUNDS + 1);
      // -1: the answer is of no version, which means a mixture.
      expect(answers.filter((answer) => answer.version < answer.oldest)).toEqual([]);
    } finally {
      await pool.close();
      await world.close();
    }
  });
});

it.skipIf(!hasRedis)(
  'keep readers on their versions in a cluster, also after a master was replaced',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-pushes-'));
    const path = join(folder, 'eth.mdb');
    const store = openTransferStore({ path: folder, readOnly: false });
    const cluster = await startRedisCluster();
    const fetchers: Fetcher[] = [];
    const headKey = 'assay:{graph.eth}:head';
    const draw = transferSource(9, ADDRESSES);
    const versions: { head: string; answers: string }[] = [];
    try {
      for (let version = 1; version <= 4; version++) {
        await store.ingest(draw(version === 1 ? 2_500 : 300));
        await push(cluster.url, path, { graceMs: REMOTE_LIMITS.remoteGraceMs });
        const head = cluster.masterOf(headKey).run('get', headKey).trim();
        versions.push({ head, answers: localAnswers(path) });
      }
      const expectAll = (): void => {
        for (const { head, answers } of versions)
          expect(answersOf(openReader(cluster.url, fetchers, head))).toBe(answers);
      };
      expectAll();
      await cluster.masterOf('assay:{graph.eth.2}:w').kill();
      // Refused until the replica has taken over, and never a mixture.
      for (const end = performance.now() + 60_000; ; await sleep(200)) {
        try {
          expectAll();
          break;
        } catch (error) {
          if ((error as { code?: string }).code !== 'NOT_READY' || performance.now() > end) throw error;
        }
      }
    } finally {
      await Promise.all(fetchers.map((fetcher) => fetcher.close()));
      await store.close();
      await cluster.stop();
      rmSync(folder, { recursive: true });
    }
  },
);
