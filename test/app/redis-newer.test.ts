/** Restoring states that Redis has lost and a node has kept, over a real Redis and real replicas. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SHARED_STORES } from '../../src/app/redis-fill.ts';
import { foundInstallation } from '../../src/app/redis-installation.ts';
import { newerStates } from '../../src/app/redis-newer.ts';
import { lostChanges } from '../../src/app/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase, LiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import type { Installation } from '../../src/state/redis-installation.ts';
import { openReplicated } from '../../src/state/replicated-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
/** Three of the stores: the test restores two of them. */
const NAMES = ['keys', 'people', 'receipts'] as const;
type Name = (typeof NAMES)[number];
type Rows = LiveDatabase<number, string>;

interface Node {
  readonly dataDir: string;
  readonly stores: ReadonlyMap<Name, LiveStore & { readonly rows: Rows }>;
  put(store: Name, key: string, value: number): Promise<void>;
  all(): Record<string, Record<string, number>>;
}

describe.runIf(hasRedis)('states that Redis has lost', () => {
  let server: RedisServer;
  let redis: RedisStore;
  let installation: Installation;
  let folders: TempFolder[] = [];
  let nodes: Node[] = [];

  const newFolder = (): string => {
    const folder = tempFolder();
    folders.push(folder);
    return folder.path;
  };
  async function node(): Promise<Node> {
    const dataDir = newFolder();
    const open = openReplicated({ ...deps, redis, installation });
    const stores = new Map(
      SHARED_STORES.filter(({ name }) => NAMES.some((one) => one === name)).map(
        ({ name, formatVersion, file }) => {
          mkdirSync(join(dataDir, file, '..'), { recursive: true });
          const store = open(join(dataDir, file), formatVersion, { name });
          const rows: Rows = store.root.openDB({ name: 'rows', encoding: 'json' });
          return [name as Name, { ...store, rows }];
        },
      ),
    );
    for (const store of stores.values()) await store.ready();
    const opened: Node = {
      ...{ dataDir, stores },
      put(name, key, value) {
        const { root, rows } = stores.get(name) as LiveStore & { rows: Rows };
        return root.transaction(() => void rows.putSync(key, value));
      },
      all: () =>
        Object.fromEntries(
          [...stores].map(([name, { root, rows }]) => {
            root.resetReadTxn();
            return [name, Object.fromEntries([...rows.getRange()].map(({ key, value }) => [key, value]))];
          }),
        ),
    };
    nodes.push(opened);
    return opened;
  }
  async function savedState(): Promise<() => Promise<void>> {
    const keys = await redis.connection.keys('*');
    const dumps = await Promise.all(keys.map((key) => redis.connection.dumpBuffer(key)));
    return async () => {
      const all = redis.connection.multi();
      all.flushall();
      for (const [at, key] of keys.entries()) all.restore(key, 0, dumps[at] as Buffer);
      await all.exec();
    };
  }
  const newer = (
    { dataDir }: Pick<Node, 'dataDir'>,
    restore: readonly string[],
    signal = new AbortController().signal,
    onProgress = (): void => {},
  ) => newerStates({ dataDir, restore, signal, onProgress }, { ...deps, redis });

  beforeAll(async () => {
    server = await startRedis();
    redis = openRedis(parseRedisUrl(server.url), { log: silentLogger });
  });
  beforeEach(async () => {
    server.run('flushall');
    installation = await foundInstallation({ dataDir: newFolder() }, { ...deps, redis });
  });
  afterEach(async () => {
    for (const { stores } of nodes) for (const { root } of stores.values()) await root.close();
    nodes = [];
    for (const { remove } of folders) remove();
    folders = [];
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  /** Two nodes whose Redis went back, and was then written. */
  async function wentBack(): Promise<readonly [Node, Node]> {
    const [a, b] = [await node(), await node()];
    for (const name of NAMES) await a.put(name, 'before', 1);
    const goBack = await savedState();
    for (const name of NAMES) {
      await a.put(name, 'before', 2);
      for (let n = 0; n < 20; n++) await b.put(name, `lost ${n}`, n);
    }
    await expect.poll(() => a.all().receipts?.['lost 19']).toBe(19);
    await goBack();
    const earlier = Object.fromEntries(NAMES.map((name) => [name, { before: 1 }]));
    await expect.poll(() => [a.all(), b.all()]).toEqual([earlier, earlier]);
    for (const name of NAMES) await a.put(name, 'since', 3);
    await expect.poll(() => b.all().receipts).toEqual({ before: 1, since: 3 });
    return [a, b];
  }
  const lost = { before: 2, ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`lost ${n}`, n])) };
  const since = { before: 1, since: 3 };

  it('are listed, and reported as lost changes', async () => {
    const [a] = await wentBack();
    const { restored, states } = await newer(a, []);
    expect(restored).toEqual([]);
    expect(states.map(({ store, version, redisVersion }) => [store, version, redisVersion])).toEqual([
      ['people', 22, 2],
      ['receipts', 22, 2],
      ['keys', 22, 2],
    ]);
    const stores = [...a.stores].map(([name, store]) => ({ ...store, name }));
    expect(lostChanges({ stores: () => stores })).toEqual([
      expect.objectContaining({
        kind: 'REDIS_WENT_BACK',
        reason: expect.stringMatching(/people, receipts, keys are undone, and keys that were revoked since/),
      }),
    ]);
    const fresh = await node();
    const none = [...fresh.stores].map(([name, store]) => ({ ...store, name }));
    expect(lostChanges({ stores: () => none })).toEqual([]);
  });

  it('are restored, only those of the named stores, while nodes run', async () => {
    const [a, b] = await wentBack();
    const { restored } = await newer(a, ['keys', 'receipts']);
    expect(restored.map(({ store }) => store)).toEqual(['keys', 'receipts']);
    const expected = { people: since, keys: lost, receipts: lost };
    await expect.poll(() => [a.all(), b.all()]).toEqual([expected, expected]);
    // All nodes write on, in one order.
    await a.put('keys', 'after', 1);
    await b.put('keys', 'after', 2);
    await expect.poll(() => a.all().keys).toEqual({ ...lost, after: 2 });
    // The same again discards nothing.
    await newer(a, ['keys']);
    await expect.poll(() => b.all().keys).toEqual({ ...lost, after: 2 });
  });

  it('are restored under a later version than that of the nodes, which follow it and keep no further state', async () => {
    const [a, b] = await wentBack();
    for (let n = 0; n < 30; n++) await a.put('keys', 'past', n);
    const before = a.stores.get('keys')?.version() ?? 0;
    expect(before).toBeGreaterThan(22);
    await newer(a, ['keys']);
    await expect.poll(() => [a.all().keys, b.all().keys]).toEqual([lost, lost]);
    expect(a.stores.get('keys')?.version()).toBe(before + 1);
    expect(a.stores.get('keys')?.newerStates()).toHaveLength(1);
  });

  it('are restored by a second run after an interruption; no node reads a store in between', async () => {
    const [a, b] = await wentBack();
    const interruption = new AbortController();
    await expect(newer(a, ['keys'], interruption.signal, () => interruption.abort())).rejects.toThrow();
    await expect.poll(() => b.stores.get('keys')?.problem()?.kind).toBe('filling');
    await expect(b.put('keys', 'meanwhile', 1)).rejects.toMatchObject({ code: 'NOT_READY' });
    await newer(a, ['keys']);
    await expect.poll(() => [a.all().keys, b.all().keys]).toEqual([lost, lost]);
    await expect.poll(() => b.stores.get('keys')?.problem()).toBeNull();
  });

  it('are not restored into another installation, or for a store that has none', async () => {
    const [a] = await wentBack();
    const code = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
    expect(await code(newer(a, ['cases']))).toBe('INVALID_REQUEST');
    expect(await code(newer(a, ['nothing']))).toBe('INVALID_REQUEST');
    server.run('flushall');
    expect(await code(newer(a, ['keys']))).toBe('INVALID_REQUEST');
    await foundInstallation({ dataDir: newFolder() }, { ...deps, redis });
    expect(await code(newer(a, ['keys']))).toBe('INVALID_REQUEST');
  });
});
