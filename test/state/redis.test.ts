/** The connection to Redis, against real servers. */
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import type { RedisServer as ServerClient } from '../../src/state/redis-connection.ts';
import { addressOf } from '../../src/state/redis-servers.ts';
import { freePort } from '../setup/free-port.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '../setup/redis.ts';
import { execFileSync } from '../support/child-process.ts';

const log = createLogger({ level: 'silent' });

describe('the URL of Redis', () => {
  it('names one server with its credentials, database and prefix', () => {
    expect(parseRedisUrl('rediss://ann:p%40ss:w@cache.example:7000/3?prefix=as.say')).toEqual({
      kind: 'single',
      nodes: [{ host: 'cache.example', port: 7000 }],
      master: '',
      username: 'ann',
      password: 'p@ss:w',
      database: 3,
      tls: true,
      prefix: 'as.say',
    });
  });
  it('names several servers of a Redis Cluster, or several Sentinels', () => {
    expect(parseRedisUrl('redis+cluster://a:1,[::1]:2,c')).toMatchObject({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
        { host: 'c', port: 6379 },
      ],
      prefix: 'assay',
    });
    expect(parseRedisUrl('redis+sentinel://:secret@a,b/main')).toMatchObject({
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_379 },
      ],
      master: 'main',
      username: null,
      password: 'secret',
    });
  });
  it.each([
    'http://secret@a',
    'redis://a,b',
    'redis+sentinel://a',
    'redis+cluster://a/1',
    'redis://a/x',
    'redis://a:99999',
    'redis://a?colour=red',
    'redis://a?prefix={x}',
    'redis://',
  ])('rejects %s without repeating a password', (url) => {
    const error = (() => {
      try {
        return parseRedisUrl(url) as unknown;
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: 'INVALID_CONFIG' });
    expect(String(error)).not.toContain('secret');
  });
});

it('accepts ports, databases and prefixes up to their bounds', () => {
  const isTaken = (url: string): boolean => {
    try {
      return parseRedisUrl(url).kind !== undefined;
    } catch {
      return false;
    }
  };
  const urls = (...list: string[]) => list.map(isTaken);
  expect(urls('redis://a:1', 'redis://a:65535', 'redis://a/0', 'redis://a/999', 'redis://a/')).toEqual([
    ...[true, true, true, true, true],
  ]);
  expect(urls('redis://a:0', 'redis://a:65536', 'redis://a/1000', 'redis://a b', 'redis+x://a')).toEqual([
    ...[false, false, false, false, false],
  ]);
  expect(urls('redis+cluster://a/0', 'redis+cluster://a/', 'redis+cluster://a/00')).toEqual([
    true,
    true,
    false,
  ]);
  expect(urls('redis+sentinel://a/m', 'redis+sentinel://a/', 'redis+sentinel://a/m m')).toEqual([
    ...[true, false, false],
  ]);
  const prefix = (length: number): string => `redis://a?prefix=${'x'.repeat(length)}`;
  expect(urls(prefix(1), prefix(64), prefix(0), prefix(65))).toEqual([true, true, false, false]);
  expect(parseRedisUrl('redis://ann@a')).toMatchObject({
    username: 'ann',
    password: null,
    database: 0,
    tls: false,
  });
  expect(parseRedisUrl('rediss+sentinel://a/m')).toMatchObject({ tls: true, database: 0, master: 'm' });
});

const COUNT = 'return redis.call("INCRBY", KEYS[1], ARGV[1])';

describe.skipIf(!hasRedis)('one server', () => {
  let server: RedisServer;
  let redis: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    redis = openRedis(parseRedisUrl(server.url), { log });
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  it('runs a script as one round trip', async () => {
    const count = redis.script('count', COUNT);
    const before = redis.roundTrips;
    expect(await count([redis.key('a', 'n')], [2])).toBe(2);
    expect(await count([redis.key('a', 'n')], [3])).toBe(5);
    expect(redis.roundTrips - before).toBe(2);
    expect(server.run('get', 'assay:{a}:n')).toBe('5');
  });
  it('rejects with NOT_READY while the server is away, and continues when it returns', async () => {
    const count = redis.script('count', COUNT);
    await count([redis.key('b', 'n')], [1]);
    await server.kill();
    await expect(count([redis.key('b', 'n')], [1])).rejects.toMatchObject({ code: 'NOT_READY' });
    await server.restart();
    await expect.poll(() => count([redis.key('c', 'n')], [1]).catch(() => 0)).toBeGreaterThan(0);
  });
  it('rejects with NOT_READY if the server does not respond in time', async () => {
    const count = redis.script('count', COUNT);
    server.freeze();
    await expect(count([redis.key('d', 'n')], [1])).rejects.toMatchObject({ code: 'NOT_READY' });
    server.thaw();
  });
  it('reports why a server rejects a command, without the data', async () => {
    server.run('config', 'set', 'maxmemory', '1');
    const put = redis.script('put', "return redis.call('SET', KEYS[1], ARGV[1])");
    const refusals = await Promise.allSettled([
      redis.guard(redis.connection.set(redis.key('e', 's'), 'a secret')),
      put([redis.key('e', 's')], ['a secret']),
    ]);
    server.run('config', 'set', 'maxmemory', '0');
    for (const refusal of refusals) {
      const { reason } = refusal as PromiseRejectedResult;
      expect(reason.message).toMatch(/OOM command not allowed/);
      expect(inspect(reason, { showHidden: true, depth: 9 })).not.toContain('secret');
    }
  });
  it('reports at startup the setting and the reason if Redis cannot be used', async () => {
    const said = async (url: string): Promise<string> => {
      const store = openRedis(parseRedisUrl(url), { log });
      try {
        return await store.checkReachable('ASSAY_REDIS_URL').then(
          () => 'nothing',
          (error: unknown) => `${(error as { code: string }).code} ${messageOf(error)}`,
        );
      } finally {
        await store.close();
      }
    };
    const where = `127.0.0.1:${server.port}`;
    expect(await said(server.url)).toBe('nothing');
    expect(await said(`${server.url}/3`)).toBe('nothing');
    expect(await said(`${server.url}/99`)).toBe(
      `INVALID_CONFIG ASSAY_REDIS_URL: Redis cannot be used at ${where}: ERR DB index is out of range.`,
    );
    const away = await freePort();
    expect(await said(`redis://127.0.0.1:${away}`)).toMatch(
      new RegExp(`^NOT_READY ASSAY_REDIS_URL: Redis cannot be used at 127.0.0.1:${away}: .*ECONNREFUSED`),
    );
    expect(await said(`redis+cluster://${where}`)).toMatch(/^NOT_READY ASSAY_REDIS_URL: .*cluster support/);
    const closing = createServer((socket) => socket.resetAndDestroy());
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve));
    const { port } = closing.address() as AddressInfo;
    expect(await said(`redis://127.0.0.1:${port}`)).toMatch(
      / E(CONNRESET|PIPE)[^ ]*( [0-9.:]+)? If the server expects TLS, the URL must begin with rediss\.$/,
    );
    expect(await said(`rediss://127.0.0.1:${port}`)).toMatch(
      / If the server does not speak TLS, the URL must begin with redis\.$/,
    );
    closing.close();
    server.run('config', 'set', 'requirepass', 'pw');
    try {
      expect(await said(server.url)).toMatch(/^NOT_READY ASSAY_REDIS_URL: .*NOAUTH/);
      expect(await said(`redis://:nope@${where}`)).toMatch(/^NOT_READY ASSAY_REDIS_URL: .*WRONGPASS/);
    } finally {
      server.run('-a', 'pw', 'config', 'set', 'requirepass', '');
    }
  }, 60_000);
  it('knows why the connection is lost, until it is there again', async () => {
    const store = openRedis(parseRedisUrl(server.url), { log });
    try {
      await store.checkReachable('ASSAY_REDIS_URL');
      expect(store.fault).toBeNull();
      server.run('config', 'set', 'requirepass', 'pw');
      server.run('-a', 'pw', 'client', 'kill', 'type', 'normal');
      await expect.poll(() => store.fault, { timeout: 10_000 }).toMatch(/^NOAUTH/);
      await expect(store.guard(store.connection.ping())).rejects.toMatchObject({
        ...{
          code: 'NOT_READY',
          message: 'Redis rejects commands at the moment: NOAUTH Authentication required. Try again.',
        },
      });
      expect(store.fault).toMatch(/^NOAUTH/);
    } finally {
      server.run('-a', 'pw', 'config', 'set', 'requirepass', '');
      await expect.poll(() => store.fault, { timeout: 10_000 }).toBeNull();
      await store.close();
    }
  }, 60_000);
  it('rejects a replica, which looks like an empty Redis before its first synchronisation', async () => {
    const replica = await startRedis([
      '--appendonly',
      'yes',
      '--replicaof',
      '127.0.0.1',
      String(server.port),
    ]);
    const store = openRedis(parseRedisUrl(replica.url), { log });
    try {
      await expect(store.checkReachable('ASSAY_REDIS_URL')).rejects.toMatchObject({
        code: 'NOT_READY',
        message: `ASSAY_REDIS_URL: the Redis server 127.0.0.1:${replica.port} is a replica of 127.0.0.1:${server.port} and accepts no writes. Use the address of the master, or of the Sentinels.`,
      });
      replica.run('replicaof', 'no', 'one');
      await expect(store.checkReachable('ASSAY_REDIS_URL')).resolves.toBeUndefined();
    } finally {
      await store.close();
      await replica.stop();
    }
  });
  it('accepts a server that keeps its data', async () => {
    await expect(redis.checkDurability()).resolves.toBeUndefined();
  });
  it('rejects a server that evicts keys, or stores nothing on disk', async () => {
    server.run('config', 'set', 'maxmemory', '100mb');
    server.run('config', 'set', 'maxmemory-policy', 'allkeys-lru');
    await expect(redis.checkDurability()).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('noeviction'),
    });
    server.run('config', 'set', 'maxmemory-policy', 'noeviction');
    server.run('config', 'set', 'appendonly', 'no');
    await expect(redis.checkDurability()).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('appendonly'),
    });
    server.run('config', 'set', 'save', '3600 1');
    await expect(redis.checkDurability()).resolves.toBeUndefined();
  });
});

describe.skipIf(!hasRedis)('a server behind TLS and a password', () => {
  let server: RedisServer;
  let port: number;
  const certificate = join(projectRoot, 'test', 'http', 'tls', 'cert.pem');
  beforeAll(async () => {
    port = await freePort();
    server = await startRedis([
      ...['--appendonly', 'yes', '--tls-port', String(port), '--tls-auth-clients', 'no'],
      ...['--tls-cert-file', certificate, '--tls-key-file', certificate.replace('cert.pem', 'key.pem')],
    ]);
    server.run('config', 'set', 'requirepass', 'p@ss:word');
  });
  afterAll(() => server.stop());

  /** Reports, from a process of its own, whether it trusts a server: Node reads the trusted certificates only at start. */
  function ask(url: string, trusted: string): string {
    const program = `
      import { openRedis, parseRedisUrl } from ${JSON.stringify(new URL('../../dist/src/state/redis.js', import.meta.url).href)};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const redis = openRedis(parseRedisUrl(process.env.URL_OF_REDIS), { log });
      await redis.checkDurability().then(() => console.log('kept'), (error) => console.log(error.code));
      process.exit();`;
    const env = { ...process.env, URL_OF_REDIS: url, NODE_EXTRA_CA_CERTS: trusted };
    return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      env,
      encoding: 'utf8',
    }).trim();
  }

  it('is used only if its certificate is trusted and the password is right', () => {
    expect(ask(`rediss://:p%40ss%3Aword@localhost:${port}`, certificate)).toBe('kept');
    expect(ask(`rediss://:p%40ss%3Aword@localhost:${port}`, '')).toBe('NOT_READY');
    expect(ask(`rediss://:wrong@localhost:${port}`, certificate)).not.toBe('kept');
    expect(ask(`redis://:p%40ss%3Aword@localhost:${server.port}`, '')).toBe('kept');
  });
});

describe.skipIf(!hasRedis)('a Redis Cluster', () => {
  let cluster: RedisCluster;
  let redis: RedisStore;
  beforeAll(async () => {
    cluster = await startRedisCluster();
    redis = openRedis(parseRedisUrl(cluster.url), { log });
  });
  afterAll(async () => {
    await redis.close();
    await cluster.stop();
  });

  it('runs scripts on the node that has the slot', async () => {
    const count = redis.script('count', COUNT);
    const counted = await Promise.all(
      Array.from({ length: 20 }, (_, account) => count([redis.key(`account${account}`, 'n')], [account + 1])),
    );
    expect(counted).toEqual(Array.from({ length: 20 }, (_, account) => account + 1));
    await redis.checkDurability();
  });
  it('acknowledges a safe script once its replicas have it', async () => {
    const safe = openRedis(parseRedisUrl(cluster.url), { log }, { replicas: 1 });
    const key = safe.key('safe', 'n');
    expect(await safe.script('safe_count', COUNT, { safe: true })([key], [4])).toBe(4);
    const echo = safe.script('safe_echo', 'redis.call("INCR", KEYS[1]) return ARGV[1]', {
      safe: true,
      binary: true,
    });
    expect(await echo([key], [Buffer.from([0xff, 0x00])])).toEqual(Buffer.from([0xff, 0x00]));
    await safe.close();
    const two = openRedis(parseRedisUrl(cluster.url), { log }, { replicas: 2 });
    await expect(two.script('safe_count', COUNT, { safe: true })([key], [1])).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('may be done'),
    });
    await two.close();
  });
  it('finds exactly the slots that hold a name, on all servers', async () => {
    const own = openRedis(parseRedisUrl(`${cluster.url}?prefix=found`), { log });
    const slots = Array.from({ length: 30 }, (_, account) => `account-${account}`);
    for (const slot of slots) await own.connection.set(own.key(slot, 'log'), '1');
    await own.connection.set(own.key('account-x', 'state'), '1');
    await own.connection.set(redis.key('account-y', 'log'), '1');
    const found: string[] = [];
    // A newly opened store does not know the servers of the cluster yet.
    const fresh = openRedis(parseRedisUrl(`${cluster.url}?prefix=found`), { log });
    for await (const slot of fresh.slotsWith('log')) found.push(slot);
    await fresh.close();
    expect(found.sort()).toEqual(slots.sort());
    await own.close();
  });
  it('sends the text of an unknown safe script, and allows one call at a time while a replica lags', async () => {
    const safe = openRedis(parseRedisUrl(cluster.url), { log }, { replicas: 1 });
    const key = safe.key('forgotten', 'n');
    const count = safe.script('safe_count', COUNT, { safe: true });
    await count([key], [1]);
    for (const node of cluster.nodes) node.run('script', 'flush');
    expect(await count([key], [1])).toBe(2);
    const master = cluster.masterOf(key);
    const replica = cluster.nodes.find((each) => each.run('role').split('\n')[2] === String(master.port));
    replica?.freeze();
    const first = await count([key], [1]).catch(messageOf);
    const rest = await Promise.all([1, 1, 1].map((more) => count([key], [more]).catch(messageOf)));
    replica?.thaw();
    expect(first).toContain('may be done');
    expect(rest.map((each) => /may be done|nothing was done/.exec(String(each))?.[0])).toEqual([
      'may be done',
      'nothing was done',
      'nothing was done',
    ]);
    await expect.poll(() => count([key], [0]).catch(messageOf)).toBe(4);
    await safe.close();
  });
  it('continues when a master is killed and its replica takes over', async () => {
    const count = redis.script('count', COUNT);
    const key = redis.key('moved', 'n');
    await count([key], [1]);
    await expect.poll(() => cluster.masterOf(key).run('wait', '1', '100')).toBe('1');
    await cluster.masterOf(key).kill();
    await expect.poll(() => count([key], [1]).catch(() => 0)).toBeGreaterThan(1);
  });
});

describe.skipIf(!hasRedis)('a master behind a Sentinel', () => {
  let servers: readonly [RedisServer, RedisServer];
  let sentinel: RedisSentinel;
  beforeEach(async () => {
    const master = await startRedis();
    servers = [
      master,
      await startRedis([
        ...['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'],
        ...['--replicaof', '127.0.0.1', String(master.port)],
      ]),
    ];
    sentinel = await startRedisSentinel(master);
  });
  afterEach(async () => {
    await sentinel.stop();
    await Promise.all(servers.map((server) => server.stop()));
  });

  it('is followed to its replacement, which has the acknowledged writes', async () => {
    const safe = openRedis(parseRedisUrl(sentinel.url), { log }, { replicas: 1 });
    const count = safe.script('count', COUNT, { safe: true });
    const key = safe.key('a', 'n');
    await safe.checkDurability();
    await expect.poll(() => count([key], [0]).catch(messageOf)).toBe(0);
    for (let number = 1; number <= 20; number++) expect(await count([key], [1])).toBe(number);
    const [master, replica] = servers;
    await master.kill();
    await expect.poll(() => sentinel.masterPort()).toBe(replica.port);
    const plain = safe.script('plain_count', COUNT);
    await expect.poll(() => plain([key], [0]).catch(messageOf)).toBe(20);
    // No replica follows the new master yet.
    expect(await count([key], [1]).catch(messageOf)).toContain('may be done');
    await safe.close();
  });

  it('is followed to its replacement while it is silent and its connections stay open', async () => {
    const store = openRedis(parseRedisUrl(sentinel.url), { log });
    const count = store.script('count', COUNT);
    const key = store.key('a', 'n');
    const [master, replica] = servers;
    expect(await count([key], [1])).toBe(1);
    expect(addressOf(store.connection as ServerClient)).toBe(`127.0.0.1:${master.port}`);
    await expect.poll(() => replica.run('get', key)).toBe('1');
    master.freeze();
    await expect.poll(() => sentinel.masterPort(), { timeout: 20_000 }).toBe(replica.port);
    await expect.poll(() => count([key], [1]).catch(() => 0), { timeout: 20_000 }).toBeGreaterThan(1);
    expect(addressOf(store.connection as ServerClient)).toBe(`127.0.0.1:${replica.port}`);
    master.thaw();
    await store.close();
  }, 60_000);
});
