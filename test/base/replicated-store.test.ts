/** Live state that many nodes share, against real Redis servers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import {
  type AppliedWrite,
  type LiveDatabase,
  type LiveStore,
  openLiveStore,
} from '../../src/base/live-store.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/base/redis.ts';
import { openReplicatedStore } from '../../src/base/replicated-store.ts';
import { liveStoreConformance } from '../conformance/live-store.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

liveStoreConformance('LMDB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-live-'));
  return {
    open: async () => openLiveStore(join(folder, 's.mdb'), 1),
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
});

/** A node of its own: connection, replica and store. */
interface Node {
  readonly store: LiveStore;
  readonly counts: LiveDatabase<number, string>;
  readonly redis: RedisStore;
  readonly told: AppliedWrite[];
  add(key: string): Promise<number>;
  all(): Record<string, number>;
  close(): Promise<void>;
}

function openNode(folder: string, url: string, name = 'test', replicas = 0): Node {
  const redis = openRedis(parseRedisUrl(url), { log: silentLogger }, { replicas });
  const store = openReplicatedStore(
    join(folder, 's.mdb'),
    1,
    { name },
    { redis, clock: systemClock, random: systemRandom, log: silentLogger },
  );
  const counts: LiveDatabase<number, string> = store.root.openDB({ name: 'counts', encoding: 'json' });
  const told: AppliedWrite[] = [];
  store.onApplied((writes) => told.push(...writes));
  return {
    store,
    counts,
    redis,
    told,
    add: (key) =>
      store.root.transaction(() => {
        const next = (counts.get(key) ?? 0) + 1;
        counts.putSync(key, next);
        return next;
      }),
    all() {
      store.root.resetReadTxn();
      return Object.fromEntries([...counts.getRange()].map(({ key, value }) => [key, value]));
    },
    async close() {
      await store.root.close();
      await redis.close();
    },
  };
}

describe.skipIf(!hasRedis)('one Redis', () => {
  let server: RedisServer;
  const folders: string[] = [];
  const nodes: Node[] = [];
  let worlds = 0;

  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-replica-'));
    folders.push(folder);
    return folder;
  };
  function node(folder = newFolder(), name = `test${worlds}`): Node {
    const opened = openNode(folder, server.url, name);
    nodes.push(opened);
    return opened;
  }
  async function twoNodes(): Promise<[Node, Node]> {
    const pair: [Node, Node] = [node(), node()];
    await Promise.all(pair.map(({ store }) => store.ready()));
    return pair;
  }

  beforeAll(async () => {
    server = await startRedis();
  }, 120_000);
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((opened) => opened.close()));
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    worlds++;
  });
  afterAll(() => server.stop());

  liveStoreConformance('Redis with a replica', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-live-'));
    const redis = openRedis(parseRedisUrl(server.url), { log: silentLogger });
    const name = `world${worlds++}`;
    return {
      async open() {
        const store = openReplicatedStore(
          join(folder, 's.mdb'),
          1,
          { name },
          { redis, clock: systemClock, random: systemRandom, log: silentLogger },
        );
        await store.ready();
        return store;
      },
      async dispose() {
        await redis.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });

  it('shows on one node what another wrote, and tells of it once', async () => {
    const [a, b] = await twoNodes();
    await a.counts.put('x', 1);
    await a.counts.remove('x');
    await b.counts.put('y', 2);
    await expect.poll(() => [a.all(), b.all()]).toEqual([{ y: 2 }, { y: 2 }]);
    expect(a.told).toEqual([{ database: 'counts', key: 'y', isRemoved: false }]);
    expect(b.told).toEqual([
      { database: 'counts', key: 'x', isRemoved: false },
      { database: 'counts', key: 'x', isRemoved: true },
    ]);
    expect([a.store.version(), b.store.version()]).toEqual([3, 3]);
  });
});
