/** A graph in real servers: equal to its LMDB source in every query, and with clear errors if servers fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createNeighbourColumns } from '../../../src/graph/graph.ts';
import { traverse } from '../../../src/graph/kernels/traverse.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { BucketWriter } from '../../../src/graph/remote/bucket-writer.ts';
import { REMOTE_LIMITS } from '../../../src/graph/remote/limits.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';
import type { TransferReader } from '../../../src/graph/transfers.ts';
import { openRedis, parseRedisUrl } from '../../../src/state/redis.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../setup/redis.ts';
import { sleep } from '../../support/wait.ts';
import { addressAt, blockOf, expectSame, keyAt, log, openRemote, push, transferSource } from './world.ts';

/** Longer than a thread caches the newest version. */
const nextVersion = (): Promise<void> => sleep(REMOTE_LIMITS.remoteHeadMs + 50);

/** So many that a hop has more than a thousand, and that a push of changes has five pages. */
const ADDRESSES = 1_600;
const SOME = [1, 2, 3, 4, 5, ...Array.from({ length: 20 }, (_, at) => 10 + at * 79)];

interface World {
  readonly folder: string;
  readonly path: string;
  readonly store: TransferStore;
  close(): Promise<void>;
}

function createWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), 'assay-remote-'));
  const store = openTransferStore({ path: folder, readOnly: false });
  return {
    folder,
    path: join(folder, 'eth.mdb'),
    store,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const workspace = createKernelWorkspace();
function traced(reader: TransferReader, index: number) {
  const graph = reader.graph('ETH');
  const start = graph?.idOf(keyAt(index)) ?? null;
  if (graph === null || start === null) throw new Error('The start is not known.');
  return traverse(
    { start, direction: 'both', hops: 3, degreeMax: 10_000, nodesMax: 5_000, edgesMax: 10_000 },
    {
      graph,
      workspace,
      weighing: { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 },
      isService: () => false,
    },
  );
}

const notReady = expect.objectContaining({ code: 'NOT_READY' });

describe.skipIf(!hasRedis)('a graph on one server', () => {
  let world: World;
  let server: RedisServer;
  const draw = transferSource(1, ADDRESSES);
  const url = (prefix: string): string => `${server.url}?prefix=${prefix}`;
  const remoteOf = (prefix: string) => openRemote(url(prefix), join(world.folder, 'none'));
  beforeAll(async () => {
    world = createWorld();
    server = await startRedis();
    await world.store.ingest(draw(12_000));
  });
  afterAll(async () => {
    await world.close();
    await server.stop();
  });

  it('answers like the local store, also after further pushes', async () => {
    const { store, path } = world;
    expect(await push(url('same'), path)).toMatchObject({ kind: 'full', version: 1 });
    const remote = remoteOf('same');
    expectSame(remote, store, SOME);
    await store.ingest(draw(600));
    // Not visible before it is pushed.
    expect(remote.coverage('ETH').transfers).toBe(store.coverage('ETH').transfers - 600);
    const changes = await push(url('same'), path);
    expect(changes).toMatchObject({ kind: 'changes', version: 2 });
    await nextVersion();
    expectSame(remote, store, SOME);
    expect(await push(url('same'), path)).toMatchObject({ kind: 'unchanged', version: 2, written: 0 });
    // The counters carried from change to change equal those of a full reading.
    const whole = await push(url('whole'), path);
    expect([changes.records, changes.checksum]).toEqual([whole.records, whole.checksum]);
    await remote.close();
  });

  it('follows appended and reverted blocks, also after an interrupted push', async () => {
    const { store, path } = world;
    await push(url('blocks'), path);
    const remote = remoteOf('blocks');
    for (let height = 10_000; height < 10_004; height++) await store.appendBlock(blockOf(height, draw(40)));
    await push(url('blocks'), path);
    await store.revertBlock('ETH', 10_003);
    await store.revertBlock('ETH', 10_002);
    await store.appendBlock(blockOf(10_002, draw(40), 1));
    await push(url('blocks'), path);
    await nextVersion();
    expectSame(remote, store, SOME);

    // Aborted at some point among the addresses, with a block that is reverted before the push is resumed.
    await store.appendBlock(blockOf(10_003, draw(2_500), 2));
    for (const pages of [1, 2, 4]) {
      const cut = new AbortController();
      let seen = 0;
      const cutting = push(url('blocks'), path, {
        recordsAtOnce: 20,
        signal: cut.signal,
        onProgress: () => {
          if (++seen === pages) cut.abort();
        },
      });
      await expect(cutting).rejects.toThrow();
      await nextVersion();
      expect(remote.blocks('ETH').map(({ height }) => height)).toEqual([10_002, 10_001, 10_000]);
    }
    await store.revertBlock('ETH', 10_003);
    await store.appendBlock(blockOf(10_003, draw(30), 3));
    const last = await push(url('blocks'), path);
    await nextVersion();
    expectSame(remote, store, SOME);
    const whole = await push(url('blocks-whole'), path);
    expect([last.records, last.checksum]).toEqual([whole.records, whole.checksum]);
    await remote.close();
  });

  it('keeps a reader at its version while another one is pushed', async () => {
    const { store, path } = world;
    await push(url('pinned'), path);
    const remote = remoteOf('pinned');
    const before = traced(remote, 3);
    await store.ingest(draw(3_000));
    // The records are those of the next version; the head is put back, as if the last step of the push were still to come.
    const head = server.run('get', 'pinned:{graph.eth}:head');
    await push(url('pinned'), path);
    server.run('set', 'pinned:{graph.eth}:head', head);
    const second = remoteOf('pinned');
    expect(traced(second, 3)).toEqual(before);
    // Two versions later, the records that the reader needs are overwritten, and it is refused.
    const newer = JSON.parse(head) as { version: number };
    await push(url('pinned'), path);
    await store.ingest(draw(3_000));
    await push(url('pinned'), path);
    expect(newer.version).toBe(1);
    server.run('set', 'pinned:{graph.eth}:head', head);
    const third = remoteOf('pinned');
    expect(() => traced(third, 3)).toThrow(notReady);
    for (const each of [remote, second, third]) await each.close();
  });

  it('resumes an interrupted first push, and shows nothing before it is complete', async () => {
    const { path, store } = world;
    const remote = remoteOf('cut');
    for (const after of [1, 4, 9]) {
      const cut = new AbortController();
      let seen = 0;
      const cutting = push(url('cut'), path, {
        recordsAtOnce: 120,
        signal: cut.signal,
        onProgress: () => {
          if (++seen === after) cut.abort();
        },
      });
      await expect(cutting).rejects.toThrow();
      expect(() => remote.coverage('ETH')).toThrow(notReady);
      await store.ingest(draw(50));
    }
    const made = await push(url('cut'), path);
    expect(made).toMatchObject({ kind: 'full', generation: 1, version: 1 });
    expectSame(remote, store, SOME.slice(0, 20));
    const whole = await push(url('cut-whole'), path);
    expect([made.records, made.checksum]).toEqual([whole.records, whole.checksum]);
    await remote.close();
  });

  it('replaces a chain beside the current one, and removes the old one', async () => {
    const { path, store } = world;
    const other = createWorld();
    await other.store.ingest(transferSource(2, 500)(3_000));
    const first = await push(url('swap'), other.path);
    await expect(push(url('swap'), path)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await push(url('swap'), path, { isFull: true })).toMatchObject({ generation: 2, version: 1 });
    const remote = remoteOf('swap');
    expectSame(remote, store, SOME.slice(0, 10));
    const left = server
      .run('--scan', '--pattern', 'swap:*:1:*')
      .split('\n')
      .filter((key) => key !== '');
    expect(first.records).toBeGreaterThan(1_000);
    expect(left).toEqual([]);
    await remote.close();
    await other.close();
  });

  it('allows one push at a time, and no late write of another', async () => {
    const { path } = world;
    server.run('set', 'busy:{graph.eth}:lease', 'somebody', 'PX', '30000');
    await expect(push(url('busy'), path)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    server.run('del', 'busy:{graph.eth}:lease');
    let taken = false;
    const overtaken = push(url('busy'), path, {
      recordsAtOnce: 200,
      onProgress: () => {
        if (taken) return;
        taken = true;
        // As a newer push does that found the lease of this one expired.
        for (let bucket = 0; bucket < REMOTE_LIMITS.remoteBuckets; bucket += 5)
          server.run('set', `busy:{graph.eth.${bucket}}:w`, '99:0');
      },
    });
    await expect(overtaken).rejects.toMatchObject({ code: 'STORE_BUSY' });
  });

  it('lets a writer claim the buckets unless a newer one has any of them', async () => {
    const redis = openRedis(parseRedisUrl(url('claims')), { log });
    const patience = { clock: systemClock, signal: undefined };
    const writerOf = (token: number, buckets = 3) =>
      new BucketWriter({ chain: 'ETH', generation: 1, buckets, token, recordsAtOnce: 10, patience }, redis);
    try {
      const first = writerOf(2, 2);
      await first.claim();
      first.put(1, 'name', 'value');
      await first.flush();
      await expect(writerOf(1).claim()).rejects.toMatchObject({ code: 'STORE_BUSY' });
      for (const token of [2, 3]) {
        const next = writerOf(token);
        await next.claim();
        expect(next.steps, `${token}`).toEqual([0, 1, 0]);
      }
      await expect(first.claim()).rejects.toMatchObject({ code: 'STORE_BUSY' });
    } finally {
      await redis.close();
    }
  });

  it('repeats writes that a server acknowledged and lost', async () => {
    const { path, store } = world;
    await push(url('forgot'), path);
    await store.ingest(draw(2_500));
    // One bucket is reset to its state before the push, as after a fail-over to a replica that lacked all of it.
    const writer = 'forgot:{graph.eth.7}:w';
    const before = server.run('get', writer);
    const copyEach = (pattern: string, to: string): string =>
      server.run(
        'eval',
        `for _, key in ipairs(redis.call('keys', ARGV[1])) do redis.call('copy', key, ${to}, 'replace') end`,
        '0',
        pattern,
      );
    const kept = '.before';
    copyEach('forgot:{graph.eth.7}:1:n*', `key .. '${kept}'`);
    let seen = 0;
    let written = '';
    const made = await push(url('forgot'), path, {
      recordsAtOnce: 50,
      onProgress: () => {
        if (++seen !== 4) return;
        written = server.run('get', writer);
        copyEach(`forgot:{graph.eth.7}:1:n*${kept}`, `string.sub(key, 1, -${kept.length + 1})`);
        server.run('set', writer, before);
      },
    });
    expect(made).toMatchObject({ kind: 'changes', version: 2 });
    expect(Number(written.split(':')[1])).toBeGreaterThan(Number(before.split(':')[1]));
    const remote = remoteOf('forgot');
    const graph = remote.graph('ETH');
    for (let node = 7; node <= (graph?.nodeCount ?? 0); node += REMOTE_LIMITS.remoteBuckets) {
      const key = graph?.keyOf(node) as Uint8Array;
      expect(remote.totals('ETH', key)).toEqual(store.totals('ETH', key));
    }
    const whole = await push(url('forgot-whole'), path);
    expect([made.records, made.checksum]).toEqual([whole.records, whole.checksum]);
    await remote.close();
  });

  it('reads a hop in a few round trips, for any number of addresses', async () => {
    const { path } = world;
    await push(url('trips'), path);
    const remote = remoteOf('trips');
    remote.graph('ETH');
    const before = remote.roundTrips;
    const walked = traced(remote, 200);
    expect(walked.nodes.length).toBeGreaterThan(1_000);
    expect(remote.roundTrips - before).toBeLessThan(30);
    await remote.close();
  });

  it('returns NOT_READY if nothing was pushed, a record is lost, a marker is behind, or no server answers', async () => {
    const { path } = world;
    await push(url('gone'), path);
    const empty = remoteOf('empty');
    expect(() => empty.totals('ETH', keyAt(1))).toThrow(notReady);
    expect(() => empty.graph('ETH')).toThrow(notReady);
    const bucketOf = (node: number): number => node % REMOTE_LIMITS.remoteBuckets;
    const remote = remoteOf('gone');
    const node = remote.graph('ETH')?.idOf(keyAt(77));
    server.run('set', `gone:{graph.eth.${bucketOf(node!)}}:1:v`, '0');
    expect(() => remote.graph('ETH')?.degree(node!, 'in')).toThrow(notReady);
    server.run('set', `gone:{graph.eth.${bucketOf(node!)}}:1:v`, '1');
    server.run('del', `gone:{graph.eth.${bucketOf(node!)}}:1:n${node?.toString(36)}`);
    expect(() => remote.graph('ETH')?.degree(node!, 'in')).toThrow(
      expect.objectContaining({ code: 'STORE_CORRUPT' }),
    );
    // A push of changes relies on the records that it finds; a full push repairs them.
    await push(url('gone'), path, { isFull: true });
    await nextVersion();
    expect(remote.graph('ETH')?.degree(node!, 'in')).toBeGreaterThan(0);
    for (const each of [empty, remote]) await each.close();
  });

  it('ends a walk with NOT_READY if the server freezes or dies, and recovers with it', async () => {
    const { path, store } = world;
    await push(url('faults'), path);
    const remote = remoteOf('faults');
    const expected = traced(store, 300);
    const columns = createNeighbourColumns(10);
    remote.graph('ETH')?.neighbours(1, 'in', 10, columns);
    server.freeze();
    const began = performance.now();
    expect(() => traced(remote, 300)).toThrow(notReady);
    // The time-out of one read, not one per address of the walk.
    expect(performance.now() - began).toBeLessThan(4 * REMOTE_LIMITS.remoteReadMs);
    server.thaw();
    await nextVersion();
    expect(traced(remote, 300)).toEqual(expected);
    await remote.close();

    const again = remoteOf('faults');
    again.graph('ETH');
    await server.kill();
    expect(() => traced(again, 300)).toThrow(notReady);
    await server.restart();
    await expect
      .poll(
        () => {
          try {
            return traced(again, 300).nodes.length;
          } catch (error) {
            return (error as { code?: string }).code;
          }
        },
        { interval: 200 },
      )
      .toBe(expected.nodes.length);
    await again.close();
  });

  it('continues a push when a server recovers', async () => {
    const { path } = world;
    let seen = 0;
    let killed: Promise<void> | null = null;
    const made = await push(url('back'), path, {
      recordsAtOnce: 200,
      onProgress: () => {
        if (++seen !== 3) return;
        killed = server.kill().then(() => server.restart());
      },
    });
    await killed;
    const whole = await push(url('back-whole'), path);
    expect([made.records, made.checksum]).toEqual([whole.records, whole.checksum]);
    expect(addressAt(1)).toMatch(/^0x/);
  });
});

describe.skipIf(!hasRedis)('a graph in a cluster', () => {
  let world: World;
  let cluster: RedisCluster;
  const draw = transferSource(3, ADDRESSES);
  beforeAll(async () => {
    world = createWorld();
    cluster = await startRedisCluster();
    await world.store.ingest(draw(8_000));
  });
  afterAll(async () => {
    await world.close();
    await cluster.stop();
  });

  it('answers like the local store, before and after a master is replaced, and never wrongly in between', async () => {
    const { store, path, folder } = world;
    let isKilled = false;
    let seen = 0;
    // A master dies in the middle of the push: writes that it had confirmed but not replicated are repeated.
    const made = await push(cluster.url, path, {
      recordsAtOnce: 200,
      onProgress: () => {
        if (++seen !== 4 || isKilled) return;
        isKilled = true;
        void cluster.masterOf('assay:{graph.eth.1}:w').kill();
      },
    });
    expect(isKilled).toBe(true);
    const remote = openRemote(cluster.url, join(folder, 'none'));
    expectSame(remote, store, SOME);
    await remote.close();
    const server = await startRedis();
    const whole = await push(server.url, path);
    await server.stop();
    expect([made.records, made.checksum]).toEqual([whole.records, whole.checksum]);
    await Promise.all(
      cluster.nodes.map(async (node) => {
        try {
          node.run('ping');
        } catch {
          await node.restart();
        }
      }),
    );
    await expect
      .poll(() => cluster.nodes.every((node) => /master|connected/.test(node.run('role'))))
      .toBe(true);

    const starts = Array.from({ length: 8 }, (_, at) => 100 + at * 180);
    const expected = starts.map((start) => traced(store, start));
    const walker = openRemote(cluster.url, join(folder, 'none'));
    expect(traced(walker, starts[0]!)).toEqual(expected[0]);
    await cluster.masterOf('assay:{graph.eth.2}:w').kill();
    let refused = 0;
    for (const [at, start] of starts.entries()) {
      const end = performance.now() + 60_000;
      for (;;) {
        // A new reader each time: nothing comes from a cache.
        const reader = openRemote(cluster.url, join(folder, 'none'));
        try {
          expect(traced(reader, start)).toEqual(expected[at]);
          break;
        } catch (error) {
          if ((error as { code?: string }).code !== 'NOT_READY' || performance.now() > end) throw error;
          refused++;
        } finally {
          await reader.close();
        }
      }
    }
    expect(refused).toBeLessThan(50);
    await walker.close();
  });
});
