/** A node of the built program that sends alerts but has another installation.key than the others. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const readiness = async ({ url }: RunningServer): Promise<string> => {
  const response = await fetch(`${url}/ready`);
  const { data } = (await response.json()) as { data: { reasons: readonly string[] } };
  return [response.status, ...data.reasons].join(' ');
};

const leasesOf = async ({ url }: RunningServer): Promise<unknown[]> => {
  const { data } = (await (await fetch(`${url}/ready`)).json()) as { data: { leases?: unknown[] } };
  return data.leases ?? [];
};

describe.skipIf(!hasRedis)('a sender node with a wrong encryption key', { timeout: 400_000 }, () => {
  let redis: RedisServer;
  let worlds: readonly [World, World, World];
  let shared: Record<string, string>;
  const delivery = (): Record<string, string> => ({ ...shared, ASSAY_ROLES: 'delivery' });
  const linesOf = ({ output }: RunningServer): string[] =>
    output()
      .err.split('\n')
      .filter((line) => line.includes('installation.key'));
  const nameOf = (server: RunningServer): string => /"node":"([^"]+)"/.exec(server.output().err)?.[1] ?? '?';
  const holder = (): string => {
    const key = redis.run('keys', 'assay:{monitoring}:lease:*delivery');
    return key === '' ? '' : redis.run('get', key);
  };

  beforeAll(async () => {
    redis = await startRedis();
    worlds = [newWorld(), newWorld(), newWorld()];
    const jobs = join(worlds[0].folder, 'jobs');
    mkdirSync(jobs);
    shared = {
      ASSAY_REDIS_URL: redis.url,
      ASSAY_JOBS_DIR: jobs,
      ASSAY_CLUSTER_SECRET: 'a-secret-of-a-test',
      ASSAY_WORKERS: '1',
    };
    const founded = await worlds[0].here(['redis', 'found'], { environment: shared });
    if (founded.code !== 0) throw new Error(founded.err);
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  it('leaves the lease to a node that can send, and logs once why it is not ready', async () => {
    const [front, wrong, right] = worlds;
    const api = await front.serve({ ...shared, ASSAY_ROLES: 'api,worker,listener' });
    await expect.poll(() => redis.run('hget', 'assay:{monitoring}:head', 'version')).toMatch(/^\d+$/);
    mkdirSync(join(wrong.folder, 'store'), { mode: 0o700 });
    writeFileSync(join(wrong.folder, 'store', 'installation.key'), systemRandom.bytes(32), { mode: 0o600 });
    const stranger = await wrong.serve(delivery());
    await expect.poll(() => readiness(stranger)).toMatch(/^503 .*installation\.key of this node differs/);
    // Longer than the interval at which it tries for a lease.
    await sleep(1_500);
    expect(holder()).toBe('');
    const sender = await right.serve(delivery());
    await expect.poll(holder).toBe(nameOf(sender));
    expect(await readiness(sender)).toBe('200');
    await sleep(3_000);
    expect(holder()).toBe(nameOf(sender));
    expect(await readiness(stranger)).toMatch(/^503 /);
    expect(linesOf(stranger)).toHaveLength(1);
    expect(linesOf(sender)).toEqual([]);
    // Each of them knows which node sends, and since when.
    for (const [server, here] of [
      [api, false],
      [sender, true],
    ] as const) {
      const lease = { lease: 'delivery', holder: nameOf(sender), here, since: expect.stringMatching(/^20/) };
      await expect.poll(() => leasesOf(server)).toContainEqual(lease);
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toMatch(/^assay_lease_held\{lease="delivery"\} 1$/m);
      expect(metrics).toMatch(here ? /^assay_lease_here\{lease="delivery"\} 1$/m : /"delivery"\} 0$/m);
    }
  });
});
