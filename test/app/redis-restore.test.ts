/** Restoring an emptied Redis from the replicas of a node, over a real Redis and real replicas. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SHARED_STORES } from '../../src/app/redis-fill.ts';
import { enterInstallation, foundInstallation } from '../../src/app/redis-installation.ts';
import { restoreRedis } from '../../src/app/redis-restore.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase, LiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import type { Installation } from '../../src/state/redis-installation.ts';
import { openReplicated, replicaState } from '../../src/state/replicated-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
/** More records than one page of reads or writes holds. */
const RECORDS = 3_000;

/** A node: all stores that nodes share, each with one database of numbers. */
interface Node {
  readonly stores: ReadonlyMap<string, LiveStore & { readonly rows: LiveDatabase<number, string> }>;
  put(store: string, key: string, value: number): Promise<void>;
  all(store: string): Record<string, number>;
  close(): Promise<void>;
}

async function openNode(dataDir: string, redis: RedisStore, installation: Installation): Promise<Node> {
  const open = openReplicated({ ...deps, redis, installation });
  const stores = new Map(
    SHARED_STORES.map(({ name, formatVersion, file }) => {
      mkdirSync(join(dataDir, file, '..'), { recursive: true });
      const store = open(join(dataDir, file), formatVersion, { name });
      const rows: LiveDatabase<number, string> = store.root.openDB({ name: 'rows', encoding: 'json' });
      return [name, { ...store, rows }];
    }),
  );
  const storeOf = (name: string) => stores.get(name) as LiveStore & { rows: LiveDatabase<number, string> };
  const close = async (): Promise<void> => {
    for (const { root } of stores.values()) await root.close();
  };
  try {
    for (const store of stores.values()) await store.ready();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    stores,
    put: (store, key, value) =>
      storeOf(store).root.transaction(() => void storeOf(store).rows.putSync(key, value)),
    all(store) {
      storeOf(store).root.resetReadTxn();
      return Object.fromEntries([...storeOf(store).rows.getRange()].map(({ key, value }) => [key, value]));
    },
    close,
  };
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

let worlds = 0;

/**
 * Steps of a restore before which it is killed, in their order. The short suite takes the first and the last one, and the later one of each
 * kind between: what an earlier step left is also there at a later one.
 */
const STEPS: readonly (readonly [step: string, number: number])[] =
  process.env.ASSAY_TEST_LONG === '1'
    ? [
        ['installation_name', 0],
        ['fill_claim', 0],
        ['fill_claim', 1],
        ['installation_mark', 3],
        ['fill_put', 0],
        ['fill_put', 1],
        ['fill_finish', 0],
        ['fill_finish', 1],
        ['fill_mark', 0],
      ]
    : [
        ['installation_name', 0],
        ['fill_claim', 1],
        ['fill_put', 1],
        ['fill_finish', 1],
        ['fill_mark', 0],
      ];

describe.runIf(hasRedis)('a Redis that was emptied', () => {
  let server: RedisServer;
  let redis: RedisStore;
  let url = '';
  let installation: Installation;
  let folders: TempFolder[] = [];
  const newFolder = (): string => {
    const folder = tempFolder();
    folders.push(folder);
    return folder.path;
  };
  let dataDir = '';
  const versionOf = async (folder: string, name: string): Promise<number> => {
    const store = SHARED_STORES.find((each) => each.name === name);
    if (store === undefined) throw new Error(name);
    return (await replicaState(join(folder, store.file), store.formatVersion, name))?.version ?? 0;
  };
  const restore = (from = dataDir, over = redis) =>
    restoreRedis(
      { dataDir: from, isCheck: false, signal: new AbortController().signal, onProgress: () => {} },
      { ...deps, redis: over },
    );
  const filled = Object.fromEntries(Array.from({ length: RECORDS }, (_, n) => [`key ${n}`, n]));

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    server.run('flushall');
    url = `${server.url}?prefix=restore${worlds++}`;
    redis = openRedis(parseRedisUrl(url), deps);
    dataDir = newFolder();
    installation = await foundInstallation({ dataDir }, { ...deps, redis });
    const node = await openNode(dataDir, redis, installation);
    await node.put('keys', 'first', 1);
    await node.stores.get('monitoring')?.root.transaction(() => {
      for (const [key, value] of Object.entries(filled))
        node.stores.get('monitoring')?.rows.putSync(key, value);
    });
    await node.close();
    return async () => {
      await redis.close();
      for (const folder of folders) folder.remove();
      folders = [];
    };
  });

  it('is restored to the same position, and nodes of the same replica copy nothing', async () => {
    server.run('flushall');
    expect(await restore()).toMatchObject({ installation: installation.id, resumed: false });
    expect(await enterInstallation({ dataDir }, { ...deps, redis })).toEqual(installation);
    const node = await openNode(dataDir, redis, installation);
    const fresh = await openNode(newFolder(), redis, installation);
    expect(fresh.all('monitoring')).toEqual(filled);
    await fresh.put('keys', 'second', 2);
    await expect.poll(() => node.all('keys')).toEqual({ first: 1, second: 2 });
    expect(node.stores.get('keys')?.version()).toBe(2);
    // A store that was never written to can be written to.
    await node.put('jobs', 'first', 1);
    await expect.poll(() => fresh.all('jobs')).toEqual({ first: 1 });
    await node.close();
    await fresh.close();
    await expect(restore()).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('is complete after a second run, at whichever step the first was killed', async () => {
    // The restore runs in a process of its own, which is killed by a signal before the step of this name and number.
    const killedAt = async (step: string, number: number): Promise<string | null> => {
      const program = `
        const from = (name) => import('${projectRoot}/dist/src/' + name);
        const { openRedis, parseRedisUrl } = await from('state/redis.js');
        const { silentLogger: log } = await from('base/log.js');
        const { systemClock: clock } = await from('base/clock.js');
        const { systemRandom: random } = await from('base/random.js');
        const { restoreRedis } = await from('app/redis-restore.js');
        const store = openRedis(parseRedisUrl('${url}'), { log });
        let steps = 0;
        const script = (name, ...rest) => {
          const run = store.script(name, ...rest);
          return (...args) => {
            if (name === '${step}' && steps++ === ${number}) process.kill(process.pid, 'SIGKILL');
            return run(...args);
          };
        };
        const redis = { ...store, script };
        await restoreRedis(
          { dataDir: '${dataDir}', isCheck: false, signal: new AbortController().signal, onProgress() {} },
          { redis, clock, random, log },
        );
        await store.close();`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      let err = '';
      child.stderr.on('data', (text: Buffer) => (err += text.toString()));
      const signal = await new Promise<string | null>((resolve) =>
        child.once('exit', (_, killedBy) => resolve(killedBy)),
      );
      if (signal === null) throw new Error(`${step} ${number}: ${err}`);
      return signal;
    };
    server.run('flushall');
    for (const [step, number] of STEPS) {
      // The lease of the killed process expires by itself; the test does not wait for that.
      server.run('del', redis.key('fill', 'lease:writer'));
      expect(await killedAt(step, number)).toBe('SIGKILL');
      // The last step leaves all data whole; only its status is missing.
      if (step === 'fill_mark') break;
      const folder = newFolder();
      expect(await codeOf(enterInstallation({ dataDir: folder }, { ...deps, redis })), step).not.toBe('done');
    }
    const node = await openNode(dataDir, redis, installation);
    const fresh = await openNode(newFolder(), redis, installation);
    for (const { name } of SHARED_STORES) expect(fresh.all(name)).toEqual(node.all(name));
    expect(fresh.all('monitoring')).toEqual(filled);
    await node.close();
    await fresh.close();
  });

  it('keeps the writes of nodes to a store that the first run had finished', async () => {
    server.run('flushall');
    let finished = 0;
    const script: RedisStore['script'] = (name, ...rest) => {
      const run = redis.script(name, ...rest);
      return async (...args) => {
        if (name === 'fill_finish' && finished++ === 1) throw new Error('broken');
        return run(...args);
      };
    };
    await expect(restore(dataDir, { ...redis, script })).rejects.toThrow('broken');
    const store = SHARED_STORES.find(({ name }) => name === 'monitoring');
    const one = openReplicated({ ...deps, redis, installation })(
      join(newFolder(), 'monitoring.lmdb'),
      store?.formatVersion as number,
      { name: 'monitoring' },
    );
    await one.ready();
    const rows: LiveDatabase<number, string> = one.root.openDB({ name: 'rows', encoding: 'json' });
    await one.root.transaction(() => void rows.putSync('later', 1));
    expect(await restore()).toMatchObject({ resumed: true });
    const fresh = await openNode(newFolder(), redis, installation);
    expect(fresh.all('monitoring')).toEqual({ ...filled, later: 1 });
    await fresh.close();
    await one.root.close();
  });

  it('founded again, it reaches no replica of the first installation, not even of a store that was never written', async () => {
    const node = await openNode(dataDir, redis, installation);
    server.run('flushall');
    const other = await foundInstallation({ dataDir: newFolder() }, { ...deps, redis });
    const theirs = await openNode(newFolder(), redis, other);
    for (const { name } of SHARED_STORES) await theirs.put(name, 'theirs', 1);
    for (const { name } of SHARED_STORES) {
      await expect.poll(() => node.stores.get(name)?.problem()?.kind).toBe('other');
      expect(node.all(name), name).not.toHaveProperty('theirs');
      expect(await codeOf(node.put(name, 'ours', 1)), name).toBe('NOT_READY');
    }
    expect(node.all('monitoring')).toEqual(filled);
    expect(theirs.all('keys')).toEqual({ theirs: 1 });
    await node.close();
    await theirs.close();
  });

  it('is rejected if Redis is not empty, and changes nothing', async () => {
    server.run('flushall');
    const other = await foundInstallation({ dataDir: newFolder() }, { ...deps, redis });
    await expect(restore()).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining(other.id),
    });
    await expect(enterInstallation({ dataDir }, { ...deps, redis })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringMatching(new RegExp(`${other.id}.*${installation.id}`)),
    });
    server.run('flushall');
    server.run('hset', redis.key('acc0', 'state'), 'held', '0');
    await expect(restore()).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await codeOf(foundInstallation({ dataDir: newFolder() }, { ...deps, redis }))).toBe(
      'INVALID_REQUEST',
    );
  });

  it('is rejected while a process has the replicas open', async () => {
    server.run('flushall');
    const program = `
      import { openLiveStore } from '${projectRoot}/dist/src/state/live-store.js';
      const { root } = openLiveStore('${join(dataDir, 'accounts/replicas/keys-1.mdb')}', 1);
      [...root.getKeys()];
      console.log('open');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      await expect(restore()).rejects.toMatchObject({ code: 'STORE_BUSY' });
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
    expect(server.run('dbsize')).toBe('0');
    expect(await versionOf(dataDir, 'keys')).toBe(1);
  });

  describe('of an installation that is older than its id', () => {
    /** As a node of an earlier version left Redis and its replica. */
    async function older(): Promise<string> {
      server.run('flushall');
      const folder = newFolder();
      const open = openReplicated({ ...deps, redis });
      const keys = open(join(folder, 'accounts/keys.mdb'), 1, { name: 'keys' });
      const byHash: LiveDatabase<string, Buffer> = keys.root.openDB({
        ...{ name: 'idByHash', encoding: 'json', keyEncoding: 'binary' },
      });
      await keys.ready();
      await keys.root.transaction(() => void byHash.putSync(Buffer.from(systemRandom.bytes(32)), 'key_1'));
      await keys.root.close();
      return folder;
    }

    it('is named at the first start, once, and keeps the plain names', async () => {
      const folder = await older();
      const named = await enterInstallation({ dataDir: folder }, { ...deps, redis });
      expect(named.scope).toBe('');
      const second = await enterInstallation({ dataDir: newFolder() }, { ...deps, redis });
      expect(second).toEqual(named);
      const node = await openNode(folder, redis, named);
      await node.put('people', 'first', 1);
      await node.close();
      expect((await replicaState(join(folder, 'accounts/keys.mdb'), 1, 'keys'))?.installation).toEqual(named);
    });

    it('a replica without an id joins no installation with other keys', async () => {
      const folder = await older();
      server.run('flushall');
      await foundInstallation({ dataDir: newFolder() }, { ...deps, redis });
      await expect(enterInstallation({ dataDir: folder }, { ...deps, redis })).rejects.toMatchObject({
        code: 'INVALID_CONFIG',
      });
      expect(await versionOf(folder, 'keys')).toBe(1);
    });

    it('is restored under one id by a run that is repeated', async () => {
      const folder = await older();
      server.run('flushall');
      const report = await restore(folder);
      expect(report.stores).toContainEqual({ name: 'keys', version: 1 });
      expect((await enterInstallation({ dataDir: folder }, { ...deps, redis })).scope).toBe('');
    });
  });
});
