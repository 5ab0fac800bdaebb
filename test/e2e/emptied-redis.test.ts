/**
 * An emptied Redis, as the nodes of the built program see it. No node takes the empty Redis, or the state of another installation there,
 * for its own state; the replicas of one node restore all of it.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backendHere } from '../setup/backend.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { ask, askOnce, newWorld, type RunningServer, type World } from './program.ts';

const API = '/api/v1';
const WALLETS = 10;
const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

const readiness = async ({ url }: RunningServer): Promise<string> => {
  const response = await fetch(`${url}/ready`);
  const { data } = (await response.json()) as { data: { reasons: readonly string[] } };
  return [response.status, ...data.reasons].join(' ');
};

describe.skipIf(!hasRedis)('a Redis that is emptied while its nodes run', { timeout: 400_000 }, () => {
  let redis: RedisServer;
  let environment: Record<string, string>;
  const worlds: World[] = [];
  let servers: RunningServer[] = [];
  let key = '';

  const newNode = (): World => {
    const world = newWorld();
    worlds.push(world);
    return world;
  };
  const run = (world: World, ...args: readonly string[]) =>
    args[0] === 'serve' ? world.run(args, { environment }) : world.here(args, { environment });
  const watched = async (server: RunningServer): Promise<number> => {
    const { status, body } = await ask(server, key, `${API}/monitoring/wallets?limit=50`);
    expect(status, JSON.stringify(body)).toBe(200);
    return (body.data as unknown as { wallets: unknown[] }).wallets.length;
  };
  const start = (world: World): Promise<RunningServer> => world.serve(environment);

  beforeAll(async () => {
    redis = await startRedis();
    const [first, second] = [newNode(), newNode()];
    const jobs = join(first.folder, 'jobs');
    mkdirSync(jobs);
    environment = {
      ASSAY_REDIS_URL: redis.url,
      ASSAY_JOBS_DIR: jobs,
      ASSAY_WORKERS: '1',
      ASSAY_CLUSTER_SECRET: 'a-secret-of-a-test',
      // Named, so that a machine that cannot load uWebSockets.js has no warning about it.
      ASSAY_HTTP_BACKEND: await backendHere('uws'),
    };
    const refused = await run(first, 'serve');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('assay redis found') });
    const founded = await run(first, 'redis', 'found');
    expect(founded.code, founded.err).toBe(0);
    servers = [await start(first), await start(second)];
    key = servers[0]?.firstKey as string;
    for (let n = 1; n <= WALLETS; n++) {
      const wallet = {
        walletAddress: address(n),
        chain: 'ETH',
        customWebhookUrl: 'https://hooks.example.org/',
      };
      const added = await ask(servers[0] as RunningServer, key, `${API}/monitoring/wallets`, wallet);
      expect(added.status, JSON.stringify(added.body)).toBe(200);
    }
    while ((await watched(servers[1] as RunningServer)) < WALLETS);
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  const lostLines = ({ output }: RunningServer): number =>
    output()
      .err.split('\n')
      .filter((line) => line.includes('store unavailable')).length;

  it('causes no warning when a node starts before', () => {
    for (const { output } of servers)
      expect(
        output()
          .err.split('\n')
          .filter((line) => /"level":[45]0/.test(line)),
      ).toEqual([]);
  });

  it('rejects a new node, and running nodes keep their state', async () => {
    redis.run('flushall');
    const stray = await run(newNode(), 'serve');
    expect(stray).toMatchObject({ code: 1, err: expect.stringContaining('Redis is empty') });
    for (const server of servers) {
      await expect
        .poll(() => readiness(server))
        .toMatch(/^503 .*Redis no longer has the store .*assay redis restore/);
      const refused = await askOnce(server, key, `${API}/monitoring/wallets`);
      expect(refused.status, JSON.stringify(refused.body)).toBe(500);
      expect(lostLines(server)).toBe(1);
    }
    // No node does work that it could not store: wait longer than a node takes to try for a lease.
    await sleep(3_000);
    expect(redis.run('keys', '*lease:*')).toBe('');
  });

  it('is not used if another installation is initialized in it', async () => {
    const other = newNode();
    expect((await run(other, 'redis', 'found')).code).toBe(0);
    const theirs = await start(other);
    expect((await ask(theirs, theirs.firstKey, `${API}/usage`)).status).toBe(200);
    expect((await ask(theirs, key, `${API}/usage`)).status).toBe(401);
    for (const server of servers) {
      await expect.poll(() => readiness(server)).toMatch(/^503 .*Redis holds the installation/);
      // Neither 401 for a key of its own, nor 200 for a key of the other installation.
      expect((await askOnce(server, key, `${API}/usage`)).status).toBe(500);
      expect((await askOnce(server, theirs.firstKey, `${API}/usage`)).status).toBe(500);
    }
    const metrics = await (await fetch(`${theirs.url}/metrics`)).text();
    expect(metrics).toMatch(/^assay_nodes 1$/m);
    expect(await theirs.stop()).toBe(0);
    // Nor does an old node follow it after a restart.
    expect(await (servers[1] as RunningServer).stop()).toBe(0);
    const again = await run(worlds[1] as World, 'serve');
    expect(again).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Redis contains the installation .*The replicas are unchanged/),
    });
  });

  it('is restored from a replica, and the other nodes continue', async () => {
    redis.run('flushall');
    const [first, second] = worlds as [World, World];
    const busy = await run(first, 'redis', 'restore', '--from-replica');
    expect(busy).toMatchObject({ code: 1, err: expect.stringContaining('Stop the server of this folder') });
    const check = await run(second, 'redis', 'restore', '--from-replica', '--check', '--json');
    expect(check.code, check.err).toBe(0);
    expect(JSON.parse(check.out).stores).toContainEqual({ name: 'keys', version: expect.any(Number) });
    const found = await run(first, 'redis', 'found');
    expect(found).toMatchObject({ code: 1, err: expect.stringContaining('assay redis restore') });

    const restored = await run(second, 'redis', 'restore', '--from-replica', '--json');
    expect(restored.code, restored.err).toBe(0);
    // The node that kept running continues without a restart.
    await expect.poll(() => readiness(servers[0] as RunningServer)).toBe('200');
    servers[1] = await start(second);
    const fresh = await start(newNode());
    for (const server of [...servers, fresh]) await expect.poll(() => watched(server)).toBe(WALLETS);
    expect(fresh.firstKey).toBe('');
    // All nodes follow later writes.
    const added = await ask(fresh, key, `${API}/monitoring/wallets`, {
      ...{ walletAddress: address(99), chain: 'ETH', customWebhookUrl: 'https://hooks.example.org/' },
    });
    expect(added.status, JSON.stringify(added.body)).toBe(200);
    await expect.poll(() => watched(servers[0] as RunningServer)).toBe(WALLETS + 1);
  });
});
