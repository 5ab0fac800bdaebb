/**
 * Nodes that share a replicated store, under seeded faults: networks that end, fall silent or lose replies, a Redis that is stopped or
 * killed, streams that are cut short, nodes that restart over their folder or a fresh one. In the end all replicas are the same, every
 * acknowledged write exists once, and no write exists twice.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase, LiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { openReplicatedStore } from '../../src/state/replicated-store.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { startProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { sleep } from '../support/wait.ts';

const SEEDS = process.env.ASSAY_TEST_LONG === '1' ? Array.from({ length: 20 }, (_, at) => at + 1) : [1, 2];
const NODES = 3;
const STEPS = 60;

interface Node {
  readonly store: LiveStore;
  readonly redis: RedisStore;
  readonly rows: LiveDatabase<number, string>;
  /** The changes that subscribers got: none is reported twice. */
  readonly told: Map<string, number>;
}

describe.skipIf(!hasRedis)('a replicated store under seeded faults', () => {
  let server: RedisServer;
  beforeAll(async () => {
    // If a server flushed only once a second, it could lose up to two seconds of acknowledged writes when it is killed.
    server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  });
  afterAll(() => server.stop());

  it.each(SEEDS)('keeps every acknowledged write once on all nodes (seed %i)', async (seed) => {
    const next = seededUint32(seed);
    const below = (count: number): number => next() % count;
    const folder = mkdtempSync(join(tmpdir(), 'assay-fate-'));
    const name = `fate${seed}`;
    const proxies = await Promise.all(Array.from({ length: NODES }, () => startProxy(server.port)));
    let folders = 0;

    function open(proxy: TcpProxy, path: string): Node & { readonly path: string } {
      const redis = openRedis(parseRedisUrl(`redis://127.0.0.1:${proxy.port}`), { log: silentLogger });
      const deps = { redis, clock: systemClock, random: systemRandom, log: silentLogger };
      const store = openReplicatedStore(path, 1, { name }, deps);
      const rows: LiveDatabase<number, string> = store.root.openDB({ name: 'rows', encoding: 'json' });
      const told = new Map<string, number>();
      store.onApplied((writes) => {
        for (const { key } of writes) told.set(String(key), (told.get(String(key)) ?? 0) + 1);
      });
      return { store, redis, rows, told, path };
    }
    const freshPath = (): string => join(folder, `${folders++}`, 's.mdb');
    const nodes = proxies.map((proxy) => open(proxy, freshPath()));
    const dump = ({ store, rows }: Node): Record<string, number> => {
      store.root.resetReadTxn();
      return Object.fromEntries([...rows.getRange()].map(({ key, value }) => [key, value]));
    };

    const acknowledged: string[] = [];
    const underway = new Set<Promise<void>>();
    let writes = 0;
    function write({ store, rows }: Node): void {
      const id = `op ${writes++}`;
      const writing = store.root
        .childTransaction(() => {
          // Both writes or neither; and a second application would be visible.
          rows.putSync(id, (rows.get(id) ?? 0) + 1);
          rows.putSync('total', (rows.get('total') ?? 0) + 1);
        })
        .then(
          () => void acknowledged.push(id),
          () => undefined,
        )
        .finally(() => underway.delete(writing));
      underway.add(writing);
    }

    const fates: Readonly<Record<string, (at: number) => Promise<void> | void>> = {
      cut: (at) => proxies[at]?.cut(),
      mute: (at) => proxies[at]?.mute(),
      hold: (at) => proxies[at]?.hold(),
      heal: (at) => proxies[at]?.heal(),
      async stopTheServer() {
        server.freeze();
        await sleep(below(400));
        server.thaw();
      },
      async killTheServer() {
        await server.kill();
        await sleep(below(200));
        await server.restart();
      },
      cutTheStream: () => void server.run('xtrim', `assay:{${name}}:stream`, 'maxlen', String(below(3))),
      async restart(at) {
        const { store, redis, path } = nodes[at] as (typeof nodes)[number];
        await store.root.close();
        await redis.close();
        nodes[at] = open(proxies[at] as TcpProxy, below(2) === 0 ? path : freshPath());
      },
    };
    const names = Object.keys(fates);
    for (let step = 0; step < STEPS; step++) {
      for (let count = below(6); count > 0; count--) write(nodes[below(NODES)] as Node);
      await sleep(below(30));
      if (below(4) === 0) await fates[names[below(names.length)] as string]?.(below(NODES));
    }
    for (const proxy of proxies) proxy.heal();
    await Promise.all(underway);
    await expect.poll(() => nodes.every(({ store }) => store.isCurrent())).toBe(true);
    const last = Number(server.run('hget', `assay:{${name}}:head`, 'version'));
    await expect.poll(() => nodes.map(({ store }) => store.version())).toEqual(nodes.map(() => last));

    const [all = {}, ...others] = nodes.map(dump);
    for (const other of others) expect(other).toEqual(all);
    const { total = 0, ...ops } = all;
    expect(Object.values(ops).every((times) => times === 1)).toBe(true);
    expect(Object.keys(ops)).toHaveLength(total);
    expect(acknowledged.filter((id) => ops[id] !== 1)).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(20);
    for (const { told } of nodes)
      expect([...told].filter(([key, times]) => key !== 'total' && times !== 1)).toEqual([]);

    await Promise.all(nodes.map(({ store }) => store.root.close()));
    await Promise.all(nodes.map(({ redis }) => redis.close()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
    rmSync(folder, { recursive: true, force: true });
  });
});
