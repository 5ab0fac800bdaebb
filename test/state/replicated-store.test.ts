/** Live state that several nodes share, against real Redis servers. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { openLiveFile } from '../../src/state/live-file.ts';
import {
  type AppliedWrite,
  type LiveDatabase,
  type LiveStore,
  openLiveStore,
} from '../../src/state/live-store.ts';
import { type Key, keyToBytes } from '../../src/state/lmdb.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import type { Installation } from '../../src/state/redis-installation.ts';
import { REPLICA_LIMITS } from '../../src/state/replica/limits.ts';
import { isOwnRecord } from '../../src/state/replica/replica-file.ts';
import { openReplicatedStore, replicaPath, replicaState } from '../../src/state/replicated-store.ts';
import { liveStoreConformance } from '../conformance/live-store.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../setup/redis.ts';
import { startProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { sleep } from '../support/wait.ts';

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

function openNode(
  folder: string,
  url: string,
  name = 'test',
  replicas = 0,
  clock = systemClock,
  log = silentLogger,
): Node {
  const redis = openRedis(parseRedisUrl(url), { log: silentLogger }, { replicas });
  const store = openReplicatedStore(
    join(folder, 's.mdb'),
    1,
    { name },
    { redis, clock, random: systemRandom, log },
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
  const proxies: TcpProxy[] = [];
  let worlds = 0;

  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-replica-'));
    folders.push(folder);
    return folder;
  };
  function node(folder = newFolder(), url = server.url, clock = systemClock): Node {
    const opened = openNode(folder, url, `test${worlds}`, 0, clock);
    nodes.push(opened);
    return opened;
  }
  async function twoNodes(): Promise<[Node, Node]> {
    const pair: [Node, Node] = [node(), node()];
    await Promise.all(pair.map(({ store }) => store.ready()));
    return pair;
  }
  /** A node behind a network that can fail. */
  async function nodeBehindProxy(folder?: string, clock?: Clock): Promise<{ far: Node; proxy: TcpProxy }> {
    const proxy = await startProxy(server.port);
    proxies.push(proxy);
    const far = node(folder, `redis://127.0.0.1:${proxy.port}`, clock);
    await far.store.ready();
    return { far, proxy };
  }
  const keyOf = (part: string): string => `assay:{test${worlds}}:${part}`;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((opened) => opened.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
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

  it('applies the writes of another node, and notifies listeners once', async () => {
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

  it('runs the transactions of all nodes in one order', async () => {
    const pair = await twoNodes();
    const results = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        // Some in the same turn, some later.
        await sleep(index % 6);
        return Promise.all(pair.map((one) => one.add('n')));
      }),
    );
    expect(results.flat().sort((x, y) => x - y)).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
    await expect.poll(() => pair.map((one) => one.all())).toEqual([{ n: 120 }, { n: 120 }]);
  });

  it('runs a transaction again if its data changed meanwhile', async () => {
    const [a, b] = await twoNodes();
    const claim = (one: Node, who: number) =>
      one.store.root.transaction(() => {
        if (one.counts.get('claimed') !== undefined) return false;
        one.counts.putSync('claimed', who);
        return true;
      });
    const claimed = await Promise.all([claim(a, 1), claim(b, 2)]);
    expect(claimed.filter(Boolean)).toHaveLength(1);
    await expect.poll(() => a.all()).toEqual(b.all());
    // Even a transaction that writes nothing returns only state that is current on all nodes.
    await a.counts.remove('claimed');
    expect(await claim(b, 3)).toBe(true);
  });

  it('executes a write once if it is sent again after a lost reply', async () => {
    const near = node();
    const { far, proxy } = await nodeBehindProxy();
    proxy.mute();
    const adding = far.add('n');
    await expect.poll(() => near.all()).toEqual({ n: 1 });
    proxy.heal();
    expect(await adding).toBe(1);
    expect(await near.add('n')).toBe(2);
    await expect.poll(() => far.all()).toEqual({ n: 2 });
    expect(far.told).toHaveLength(1);
  });

  it('rejects a write with an unknown outcome if Redis does not respond in time', async () => {
    const near = node();
    const { far, proxy } = await nodeBehindProxy();
    await far.add('n');
    proxy.cut();
    await expect(far.add('n')).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('may have been made'),
    });
    await near.store.ready();
    await near.add('n');
    proxy.heal();
    await expect.poll(() => far.all()).toEqual(near.all());
    const { n = 0 } = near.all();
    expect(await far.add('n')).toBe(n + 1);
  });

  it('executes no transaction of a group twice if the outcome is unknown', async () => {
    const near = node();
    let aheadMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const { far, proxy } = await nodeBehindProxy(newFolder(), clock);
    await near.store.ready();
    proxy.mute();
    const first = far.add('first');
    aheadMs = REPLICA_LIMITS.replicaWriteMs - 500;
    const second = far.add('second');
    // The write is done, as the other node sees, but this node does not know.
    await expect.poll(() => near.all()).toEqual({ first: 1, second: 1 });
    await expect(first).rejects.toThrow(/may have been made/);
    proxy.heal();
    await second.catch(() => undefined);
    expect(await near.add('third')).toBe(1);
    await expect.poll(() => far.all()).toEqual({ first: 1, second: 1, third: 1 });
  });

  it.each(['cut', 'mute', 'hold'] as const)(
    'is not current while its network is %s, and then follows',
    async (fault) => {
      const near = node();
      const { far, proxy } = await nodeBehindProxy();
      await far.add('n');
      await expect.poll(() => far.store.isCurrent(), { interval: 10 }).toBe(true);
      far.store.requireCurrent();
      const cutMs = performance.now();
      proxy[fault]();
      await expect.poll(() => far.store.isCurrent(), { interval: 10 }).toBe(false);
      expect(performance.now() - cutMs).toBeGreaterThan(200);
      expect(() => far.store.requireCurrent()).toThrow(/has not heard from Redis/);
      expect(far.all()).toEqual({ n: 1 });
      await expect.poll(() => near.add('n').catch(() => 0)).toBe(2);
      proxy.heal();
      await expect.poll(() => far.store.isCurrent()).toBe(true);
      expect(far.all()).toEqual({ n: 2 });
      expect(far.told).toHaveLength(1);
    },
  );

  it('reconnects with back-off, and follows soon after Redis returns', async () => {
    const near = node();
    const proxy = await startProxy(server.port);
    proxies.push(proxy);
    // Only the connection that follows the log uses this proxy.
    const following = openRedis(parseRedisUrl(`redis://127.0.0.1:${proxy.port}`), { log: silentLogger });
    const store = openReplicatedStore(
      join(newFolder(), 's.mdb'),
      1,
      { name: `test${worlds}` },
      {
        redis: { ...near.redis, another: following.another },
        clock: systemClock,
        random: systemRandom,
        log: silentLogger,
      },
    );
    await store.ready();
    following.connection.disconnect();
    const ofItsOwn = proxy.connections;
    proxy.cut();
    await sleep(4_000);
    const knocked = proxy.connections - ofItsOwn;
    expect(knocked).toBeGreaterThan(2);
    expect(knocked).toBeLessThan(14);
    proxy.heal();
    await near.add('n');
    await expect.poll(() => [store.isCurrent(), store.version()]).toEqual([true, 1]);
    proxy.cut();
    await sleep(1_000);
    // Closing waits for nothing that it does not need.
    await store.root.close();
    await following.close();
  });

  it('fills a new replica by the stream or by a copy', async () => {
    const a = node();
    for (const key of ['x', 'y', 'z']) await a.add(key);
    await a.counts.remove('y');
    const early = node();
    await early.store.ready();
    server.run('xtrim', keyOf('stream'), 'maxlen', '1');
    const late = node();
    await late.store.ready();
    expect([early.all(), late.all()]).toEqual([
      { x: 1, z: 1 },
      { x: 1, z: 1 },
    ]);
    expect(late.told.map(({ key }) => key).sort()).toEqual(['x', 'z']);
    await Promise.all([early.add('x'), late.add('x'), a.add('x')]);
    await expect.poll(() => [a, early, late].map((one) => one.all().x)).toEqual([4, 4, 4]);
  });

  describe('with old write sets', () => {
    const limits = REPLICA_LIMITS as { -readonly [name in keyof typeof REPLICA_LIMITS]: number };
    const before = { ...REPLICA_LIMITS };
    afterEach(() => {
      Object.assign(limits, before);
    });

    it('keeps no deleted data in the stream, and goes on', async () => {
      Object.assign(limits, { replicaTrimMs: 50, replicaStreamAgeMs: 300, replicaTrimMax: 2 });
      const away = newFolder();
      const former = node(away);
      const a = node();
      for (const key of ['secret', 'x', 'x', 'x', 'x']) await a.add(key);
      await expect.poll(() => former.all().x).toBe(4);
      await former.close();
      nodes.splice(nodes.indexOf(former), 1);
      await a.counts.remove('secret');
      expect(server.run('xrange', keyOf('stream'), '-', '+')).toContain('secret');
      await expect.poll(() => server.run('xlen', keyOf('stream')).trim(), { timeout: 5_000 }).toBe('0');
      expect(server.run('hget', keyOf('head'), 'bytes').trim()).toBe('0');
      // A node that was away, and a new one.
      const late = [node(away), node()];
      await Promise.all(late.map(({ store }) => store.ready()));
      for (const one of late) expect(one.all()).toEqual({ x: 4 });
      await a.add('x');
      await late[0]?.add('x');
      await expect.poll(() => [a, ...late].map((one) => one.all().x)).toEqual([6, 6, 6]);
    });

    it('keeps the write sets of a day', async () => {
      limits.replicaTrimMs = 50;
      const a = node();
      await a.add('x');
      await sleep(300);
      await a.add('x');
      await sleep(300);
      expect(server.run('xlen', keyOf('stream')).trim()).toBe('2');
      // A mark of the future, because the clock was set back, removes nothing and is replaced.
      server.run('hset', keyOf('head'), 'markAt', '99999999999999');
      await expect.poll(() => server.run('hget', keyOf('head'), 'markAt').trim()).not.toBe('99999999999999');
      // After a day, the write sets up to the mark are removed.
      server.run('hset', keyOf('head'), 'markVersion', '1', 'markAt', String(Date.now() - 25 * 3_600_000));
      await expect.poll(() => server.run('xlen', keyOf('stream')).trim()).toBe('1');
    });
  });

  it('holds the same bytes on all nodes, by the stream, by a copy, and by a copy over old data', async () => {
    const next = seededUint32(8);
    const below = (count: number): number => next() % count;
    const text = (): string => Array.from({ length: below(12) }, () => 'abcé~'[below(5)]).join('') || 'x';
    const key = (): Key =>
      [
        text,
        () => [text(), below(3) - 1, text()] as Key,
        () => (below(2) === 0 ? -1 : 1) * below(100_000) * 2 ** below(20),
      ][below(3)]?.() ?? '';
    const openAll = (one: Node) => ({
      rows: one.store.root.openDB<unknown, Key>({ name: 'rows', encoding: 'msgpack' }),
      hashes: one.store.root.openDB<string, Buffer>({
        name: 'hashes',
        encoding: 'json',
        keyEncoding: 'binary',
      }),
    });
    const dump = (one: Node): unknown => {
      const { rows, hashes } = openAll(one);
      return [[...rows.getRange()], [...hashes.getRange()]];
    };
    const write = async (one: Node, times: number): Promise<void> => {
      const { rows, hashes } = openAll(one);
      for (let round = 0; round < times; round++)
        await one.store.root.transaction(() => {
          for (let i = 0; i < 20; i++) {
            const hash = Buffer.from([below(6), ...Buffer.alloc(below(6), below(3))]);
            if (below(3) === 0) hashes.removeSync(hash);
            else hashes.putSync(hash, text());
            if (below(4) === 0) rows.removeSync(key());
            else rows.putSync(key(), { [text()]: below(9), list: [text(), null, 1.5] });
          }
        });
    };
    const [a, b] = await twoNodes();
    const folder = newFolder();
    const old = node(folder);
    await write(a, 20);
    await expect.poll(() => old.store.version()).toBe(a.store.version());
    expect(dump(old)).toEqual(dump(a));
    await old.close();
    nodes.splice(nodes.indexOf(old), 1);
    await write(b, 20);
    await expect.poll(() => a.store.version()).toBe(b.store.version());
    expect(dump(a)).toEqual(dump(b));
    server.run('xtrim', keyOf('stream'), 'maxlen', '0');
    const [fresh, again] = [node(), node(folder)];
    await Promise.all([fresh.store.ready(), again.store.ready()]);
    expect(dump(fresh)).toEqual(dump(a));
    expect(dump(again)).toEqual(dump(a));
  });

  it('continues an old replica from its position, and reports the missed writes', async () => {
    const a = node();
    const folder = newFolder();
    for (const isTrimmed of [false, true]) {
      const b = node(folder);
      await b.store.ready();
      await b.add('b');
      await b.close();
      nodes.splice(nodes.indexOf(b), 1);
      await a.add('n');
      await a.counts.remove('b');
      if (isTrimmed) server.run('xtrim', keyOf('stream'), 'maxlen', '0');
      const again = node(folder);
      await again.store.ready();
      expect(again.all()).toEqual(a.all());
      expect(again.told.map(({ key, isRemoved }) => [key, isRemoved]).sort()).toEqual([
        ['b', true],
        ['n', false],
      ]);
      await again.close();
      nodes.splice(nodes.indexOf(again), 1);
    }
  });

  it('discards a history of which Redis has lost the end', async () => {
    const [a, b] = await twoNodes();
    const warned: unknown[][] = [];
    const log: Logger = { ...silentLogger, warn: (...line: unknown[]) => warned.push(line) };
    const d = openNode(newFolder(), server.url, `test${worlds}`, 0, systemClock, log);
    nodes.push(d);
    await d.store.ready();
    await a.add('kept');
    const parts = ['head', 'data', 'stream'];
    const dumps = await Promise.all(parts.map((part) => a.redis.connection.dumpBuffer(keyOf(part))));
    const restore = async (): Promise<void> => {
      const all = a.redis.connection.multi();
      for (const [index, part] of parts.entries())
        all.restore(keyOf(part), 0, dumps[index] as Buffer, 'REPLACE');
      await all.exec();
    };
    await Promise.all([a.add('lost'), b.add('lost')]);
    await expect.poll(() => [a.all().lost, b.all().lost]).toEqual([2, 2]);
    await restore();
    // No node wrote in the meantime: the nodes notice it by themselves.
    await expect.poll(() => [a.all(), b.all(), d.all()]).toEqual([{ kept: 1 }, { kept: 1 }, { kept: 1 }]);
    expect(warned).toEqual([
      [
        {
          ...{ store: `test${worlds}`, version: 3, redisVersion: 1 },
          kept: d.store.newerStates()[0]?.path,
        },
        expect.stringContaining('went back to an earlier state'),
      ],
    ]);
    await Promise.all([a.add('lost'), b.add('other')]);
    await expect.poll(() => a.all()).toEqual({ kept: 1, lost: 1, other: 1 });
    await restore();
    // Another history of the same length.
    const c = node();
    await c.store.ready();
    await c.add('new');
    await c.add('newer');
    await expect
      .poll(() => [a, b, c].map((one) => one.all()))
      .toEqual(Array.from({ length: 3 }, () => ({ kept: 1, new: 1, newer: 1 })));
  });

  /** Returns a function that puts the present state of the store in Redis back. */
  async function savedState({ redis }: Node): Promise<() => Promise<void>> {
    const parts = ['head', 'data', 'stream'];
    const dumps = await Promise.all(parts.map((part) => redis.connection.dumpBuffer(keyOf(part))));
    return async () => {
      const all = redis.connection.multi();
      for (const [at, part] of parts.entries()) all.restore(keyOf(part), 0, dumps[at] as Buffer, 'REPLACE');
      await all.exec();
    };
  }
  const countsIn = async (path: string): Promise<Record<string, number>> => {
    const file = openLiveFile({ path, formatVersion: 1 });
    try {
      const rows = file?.open<number, string>({ name: 'counts', encoding: 'json' })?.getRange() ?? [];
      return Object.fromEntries([...rows].map(({ key, value }) => [key, value]));
    } finally {
      await file?.close();
    }
  };

  it('keeps the state that Redis has lost aside, also if other nodes have written past it', async () => {
    const folder = newFolder();
    const [a, b] = [node(folder), node()];
    await a.add('kept');
    await expect.poll(() => b.all()).toEqual({ kept: 1 });
    const goBack = await savedState(b);
    await a.add('lost');
    await expect.poll(() => b.all()).toEqual({ kept: 1, lost: 1 });
    await a.close();
    nodes.splice(nodes.indexOf(a), 1);
    await goBack();
    await expect.poll(() => b.all()).toEqual({ kept: 1 });
    await b.add('new');
    await b.add('new');
    // Redis has a later version than the replica of this node, and another history.
    const again = node(folder);
    const hasLost: boolean[] = [];
    again.store.onCopied((has) => hasLost.push(has));
    await again.store.ready();
    expect(again.all()).toEqual({ kept: 1, new: 2 });
    expect(hasLost).toEqual([true]);
    for (const one of [b, again]) {
      const [state, ...others] = one.store.newerStates();
      expect(others).toEqual([]);
      expect(state).toMatchObject({ version: 2, keptAtMs: expect.any(Number) });
      expect(statSync(state?.path as string).mode & 0o777).toBe(0o600);
      expect(await countsIn(state?.path as string)).toEqual({ kept: 1, lost: 1 });
    }
    // A new node has nothing to keep.
    const fresh = node();
    await fresh.store.ready();
    expect(fresh.store.newerStates()).toEqual([]);
  });

  it('keeps a bounded number of states that Redis has lost, the newest ones', async () => {
    const a = node();
    await a.add('kept');
    const goBack = await savedState(a);
    const rounds = REPLICA_LIMITS.newerReplicasMax + 2;
    for (let round = 1; round <= rounds; round++) {
      for (let times = 0; times < round; times++) await a.add('lost');
      await goBack();
      await expect.poll(() => a.all()).toEqual({ kept: 1 });
    }
    const states = a.store.newerStates();
    expect(states.map(({ version }) => version)).toEqual([4, 5, 6, 7]);
    expect(
      readdirSync(dirname(states[0]?.path as string)).filter((name) => name.endsWith('.mdb')),
    ).toHaveLength(REPLICA_LIMITS.newerReplicasMax);
  });

  it('follows Redis although the state that it has lost cannot be kept', async () => {
    const folder = newFolder();
    const errors: unknown[][] = [];
    const log: Logger = { ...silentLogger, error: (...line: unknown[]) => errors.push(line) };
    const a = openNode(folder, server.url, `test${worlds}`, 0, systemClock, log);
    nodes.push(a);
    await a.add('kept');
    const goBack = await savedState(a);
    await a.add('lost');
    // A file in the place of the folder.
    writeFileSync(join(folder, 'newer'), '');
    await goBack();
    await expect.poll(() => a.all()).toEqual({ kept: 1 });
    expect(errors).toEqual([[expect.objectContaining({ version: 2 }), expect.stringContaining('not kept')]]);
    expect(readdirSync(folder).filter((name) => name.includes('copy'))).toEqual([]);
  });

  it('copies a store that was replaced in Redis by a later version, without a write', async () => {
    const a = node();
    await a.add('n');
    await a.redis.connection
      .multi()
      .del(keyOf('stream'))
      .hset(keyOf('head'), 'version', 7, 'last', 'replaced')
      .hdel(keyOf('data'), ...(await a.redis.connection.hkeysBuffer(keyOf('data'))))
      .exec();
    await expect.poll(() => a.all()).toEqual({});
    expect(a.store.version()).toBe(7);
  });

  it('keeps its replica and rejects writes if Redis has lost the store', async () => {
    const a = node();
    await a.add('n');
    server.run('del', keyOf('head'), keyOf('data'), keyOf('stream'));
    await expect.poll(() => a.store.isCurrent()).toBe(false);
    expect(() => a.store.requireCurrent()).toThrow(/no longer has the store/);
    await expect(a.add('n')).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(a.all()).toEqual({ n: 1 });
  });

  it('closes soon if Redis does not respond and a transaction waits', async () => {
    const { far, proxy } = await nodeBehindProxy();
    proxy.cut();
    const adding = far.add('n');
    far.store.upgrade(() => far.counts.putSync('upgraded', 1));
    await Promise.all([expect(adding).rejects.toMatchObject({ code: 'NOT_READY' }), far.store.root.close()]);
    await expect(far.add('n')).rejects.toMatchObject({ code: 'NOT_READY' });
  });

  it('rejects a store of another format version', async () => {
    const a = node();
    await a.add('n');
    const redis = openRedis(parseRedisUrl(server.url), { log: silentLogger });
    const deps = { redis, clock: systemClock, random: systemRandom, log: silentLogger };
    const newer = openReplicatedStore(join(newFolder(), 's.mdb'), 2, { name: `test${worlds}` }, deps);
    await expect(newer.ready()).rejects.toMatchObject({ code: 'STORE_VERSION' });
    await newer.root.close();
    await redis.close();
  });

  it('rejects only the writes under a lease that another node has taken', async () => {
    const a = node();
    await a.store.ready();
    server.run('set', keyOf('fence:listener:ETH'), '5');
    const write = (key: string, token: number) =>
      a.store.root.childTransaction(() => a.counts.putSync(key, token), { name: 'listener:ETH', token });
    const results = await Promise.allSettled([write('old', 4), a.add('n'), write('held', 5)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect((results[0] as PromiseRejectedResult).reason).toMatchObject({ code: 'STORE_BUSY' });
    expect(a.all()).toEqual({ held: 5, n: 1 });
  });

  it('rejects writes while the server is out of memory', async () => {
    const one = node();
    await one.add('n');
    server.run('config', 'set', 'maxmemory', '1');
    const refused = one.add('n');
    await expect(refused).rejects.toMatchObject({ code: 'NOT_READY', message: expect.stringMatching(/OOM/) });
    server.run('config', 'set', 'maxmemory', '0');
    expect(await one.add('n')).toBe(2);
    expect(one.store.isCurrent()).toBe(true);
  });

  it('rejects a transaction over the size limit', async () => {
    const a = node();
    const chunks: LiveDatabase<Buffer, string> = a.store.root.openDB({ name: 'chunks', encoding: 'binary' });
    const large = Buffer.alloc(12 * 1024 * 1024, 1);
    const [first, second] = await Promise.allSettled([
      a.store.root.transaction(() => {
        for (const key of ['1', '2', '3']) chunks.putSync(key, large);
      }),
      a.store.root.transaction(() => chunks.putSync('4', large)),
    ]);
    expect((first as PromiseRejectedResult).reason.message).toContain('too large');
    expect(second?.status).toBe('fulfilled');
    const b = node();
    const copied: LiveDatabase<Buffer, string> = b.store.root.openDB({ name: 'chunks', encoding: 'binary' });
    await b.store.ready();
    expect([...copied.getKeys()]).toEqual(['4']);
    expect(copied.get('4')?.equals(large)).toBe(true);
  });

  /** Opens a store with a log, with or without an installation. */
  function openWith(
    folder: string,
    { installation = null as Installation | null, name = `test${worlds}` } = {},
  ) {
    const logged: string[] = [];
    const note = (_fields: object, text: string): void => void logged.push(text);
    const log = { debug() {}, info: note, warn: note, error: note } as unknown as Logger;
    const redis = openRedis(parseRedisUrl(server.url), { log: silentLogger });
    const open = () =>
      openReplicatedStore(
        replicaPath(join(folder, 's.mdb'), 1, name),
        1,
        { name },
        { redis, clock: systemClock, random: systemRandom, log, ...(installation && { installation }) },
      );
    return { open, redis, logged };
  }
  const installationOf = (id: string): Installation => ({
    id,
    foundedAt: '2026-11-21T00:00:00.000Z',
    scope: id,
  });

  it('rejects reads before the first synchronisation, and writes outside of a transaction', async () => {
    const a = node();
    expect(() => a.counts.get('n')).toThrow(/has not heard from Redis/);
    for (const read of ['getRange', 'getKeys', 'getKeysCount', 'getStats'] as const)
      expect(() => a.counts[read]()).toThrow(/has not heard from Redis/);
    expect(a.store.problem()).toMatchObject({ kind: 'away' });
    await a.store.ready();
    expect(a.counts.get('n')).toBeUndefined();
    expect([a.store.problem(), a.store.isCurrent()]).toEqual([null, true]);
    expect(() => a.counts.putSync('n', 1)).toThrow('outside of a transaction');
    expect(() => a.counts.removeSync('n')).toThrow('outside of a transaction');
    expect(await a.store.root.transaction(() => a.counts.get('n') ?? 'none')).toBe('none');
  });

  it('reports the fault of the store in Redis until it is repaired', async () => {
    const a = node();
    await a.add('n');
    const heads = server.run('hget', keyOf('head'), 'format');
    for (const [format, kind, text] of [
      ['7', 'format', /format version 7/],
      ['filling', 'filling', /is being filled/],
    ] as const) {
      server.run('hset', keyOf('head'), 'format', format);
      await expect(a.add('n')).rejects.toThrow(text);
      expect(a.store.problem()).toMatchObject({ kind, message: expect.stringMatching(text) });
      expect(a.store.isCurrent()).toBe(false);
    }
    server.run('hset', keyOf('head'), 'format', heads.trim());
    await expect.poll(() => a.store.isCurrent()).toBe(true);
    expect(await a.add('n')).toBe(2);
    server.run('hset', keyOf('head'), 'installation', 'another');
    await expect.poll(() => a.store.problem()?.kind).toBe('other');
    await expect(a.add('n')).rejects.toThrow(/holds the installation another, and this node belongs to none/);
    expect(a.all()).toEqual({ n: 2 });
  });

  it('removes only the copy files of processes that have ended', async () => {
    const folder = newFolder();
    const files = ['s.mdb.copy-999999999', 's.mdb.copy-1', 's.mdb.copy-x', 't.mdb.copy-999999999', 's.mdb.1'];
    for (const file of files) writeFileSync(join(folder, file), '');
    const a = node();
    await a.add('n');
    server.run('xtrim', keyOf('stream'), 'maxlen', '0');
    const b = node(folder);
    await b.store.ready();
    expect(b.all()).toEqual({ n: 1 });
    expect(files.filter((file) => existsSync(join(folder, file)))).toEqual(files.slice(1));
    expect(existsSync(join(folder, `s.mdb.copy-${process.pid}`))).toBe(false);
  });

  it('rejects another installation than the first one', async () => {
    const folder = newFolder();
    // As the command that founds an installation writes it.
    server.run('hset', keyOf('head'), 'installation', 'one');
    const one = openWith(folder, { installation: installationOf('one') });
    const store = one.open();
    await store.ready();
    await store.meta.put('n', 1);
    await store.root.close();
    const path = join(folder, 's.mdb');
    expect(await replicaState(path, 1, `test${worlds}`)).toMatchObject({
      version: 1,
      installation: { id: 'one' },
    });
    expect(await replicaState(path, 2, `test${worlds}`)).toBeNull();
    const again = one.open();
    await again.ready();
    await again.root.close();
    for (const installation of [installationOf('two'), null]) {
      const other = openWith(folder, { installation });
      expect(other.open).toThrow(/is a replica of the installation one/);
      await other.redis.close();
    }
    await one.redis.close();
  });

  it('has no state before the first write', async () => {
    const folder = newFolder();
    const { open, redis } = openWith(folder);
    const store = open();
    await store.ready();
    await store.root.close();
    await redis.close();
    expect(await replicaState(join(folder, 's.mdb'), 1, `test${worlds}`)).toBeNull();
    expect(isOwnRecord('meta', keyToBytes('formatVersion'))).toBe(true);
    expect(isOwnRecord('meta', keyToBytes('generation'))).toBe(false);
    expect(isOwnRecord('other', keyToBytes('formatVersion'))).toBe(false);
    expect(isOwnRecord('~replica', keyToBytes('x'))).toBe(true);
  });

  it('rejects a transaction with OVERLOADED if the queue is full', async () => {
    const { far, proxy } = await nodeBehindProxy();
    proxy.mute();
    const waiting = Array.from({ length: REPLICA_LIMITS.replicaWaitingMax }, () =>
      far.store.root.transaction(() => 1),
    );
    await expect(far.add('n')).rejects.toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 1 });
    proxy.heal();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([1]));
    expect(await far.add('n')).toBe(1);
  });

  it('logs once that stores cannot be followed for three seconds, and once the end of it', async () => {
    const proxy = await startProxy(server.port);
    proxies.push(proxy);
    const near = openRedis(parseRedisUrl(server.url), { log: silentLogger });
    const following = openRedis(parseRedisUrl(`redis://127.0.0.1:${proxy.port}`), { log: silentLogger });
    const logged: string[] = [];
    const note = (_fields: object, text: string): void => void logged.push(text);
    const log = { debug() {}, info: note, warn: note, error: note } as unknown as Logger;
    let aheadMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const store = openReplicatedStore(
      join(newFolder(), 's.mdb'),
      1,
      { name: `test${worlds}` },
      { redis: { ...near, another: following.another }, clock, random: systemRandom, log },
    );
    await store.ready();
    logged.length = 0;
    proxy.cut();
    await expect.poll(() => store.isCurrent()).toBe(false);
    expect(logged).toEqual([]);
    aheadMs += 3_000;
    await expect.poll(() => logged).toEqual(['stores cannot be followed']);
    proxy.heal();
    await expect.poll(() => logged).toEqual(['stores cannot be followed', 'following stores again']);
    await store.root.close();
    await following.close();
    await near.close();
  });
});

describe.skipIf(!hasRedis)('a Redis Cluster with replicas', () => {
  let cluster: RedisCluster;
  const folder = mkdtempSync(join(tmpdir(), 'assay-replica-'));
  const nodes: Node[] = [];
  beforeAll(async () => {
    cluster = await startRedisCluster();
    nodes.push(
      openNode(join(folder, 'a'), cluster.url, 'test', 1),
      openNode(join(folder, 'b'), cluster.url, 'test', 1),
    );
    await Promise.all(nodes.map(({ store }) => store.ready()));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((one) => one.close()));
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('acknowledges no write that no replica has, even if all nodes can read it', async () => {
    const [a, b] = nodes as [Node, Node];
    const replicas = cluster.nodes.filter((server) => server.run('role').startsWith('slave'));
    for (const replica of replicas) replica.freeze();
    await expect(a.add('alone')).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(b.all()).toEqual({ alone: 1 });
    for (const replica of replicas) replica.thaw();
    await expect.poll(() => b.add('alone').catch(() => 0)).toBeGreaterThan(1);
  });

  it.each(['killed', 'frozen'] as const)(
    'loses nothing that was acknowledged when its master is %s',
    async (fault) => {
      const acknowledged = new Set<string>();
      let wanted = true;
      let tries = 0;
      const writing = nodes.map(async (one, which) => {
        while (wanted) {
          const key = `${fault} ${which} ${tries++}`;
          const isDone = await one.counts.put(key, 1).then(
            () => true,
            () => false,
          );
          if (isDone) acknowledged.add(key);
          await sleep(5);
        }
      });
      await expect.poll(() => acknowledged.size).toBeGreaterThan(50);
      const master = cluster.masterOf('assay:{test}:head');
      if (fault === 'killed') await master.kill();
      else master.freeze();
      const before = acknowledged.size;
      await expect.poll(() => nodes.some((one) => one.store.isCurrent()), { interval: 10 }).toBe(false);
      // The replica becomes the master, and the configuration asks for one replica: the old master comes back as that replica.
      await expect.poll(() => cluster.masterOf('assay:{test}:head').port).not.toBe(master.port);
      if (fault === 'killed') await master.restart();
      else master.thaw();
      await expect.poll(() => acknowledged.size).toBeGreaterThan(before + 50);
      wanted = false;
      await Promise.all(writing);
      await expect.poll(() => nodes.every((one) => one.store.isCurrent())).toBe(true);
      await expect.poll(() => nodes[0]?.all()).toEqual(nodes[1]?.all());
      const all = nodes[0]?.all() ?? {};
      expect([...acknowledged].filter((key) => all[key] !== 1)).toEqual([]);
    },
  );
});
