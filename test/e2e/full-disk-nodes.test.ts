/**
 * A node of a shared Redis with a full disk: it keeps answering, reports the fault, and afterwards has all that was written in the
 * meantime.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { sleep } from '../support/wait.ts';
import {
  type Answer,
  ask,
  askOnce,
  newEmptyWorld,
  newWorld,
  type RunningServer,
  type World,
} from './program.ts';

const refusal = smallDiskRefusal('tmpfs');
const ADDRESS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';

describe.skipIf(refusal !== null || !hasRedis)('a node whose replicas are on a full disk', () => {
  let redis: RedisServer;
  let disk: SmallDisk;
  let worlds: readonly [World, World];
  let sound: RunningServer;
  let full: RunningServer;
  let store: string;
  let key = '';
  let environment: Record<string, string>;

  beforeAll(async () => {
    redis = await startRedis();
    disk = smallDisk('tmpfs', 48);
    store = join(disk.path, 'store');
    worlds = [newWorld(), newEmptyWorld()];
    prepareFolder(store);
    environment = {
      ASSAY_REDIS_URL: redis.url,
      ASSAY_WORKERS: '1',
      ASSAY_JOBS_DIR: join(worlds[0].folder, 'jobs'),
    };
    const founded = await worlds[0].here(['redis', 'found'], { environment });
    if (founded.code !== 0) throw new Error(founded.err);
    sound = await worlds[0].serve(environment);
    full = await worlds[1].serve({ ...environment, ASSAY_DATA_DIR: store });
    key = sound.firstKey;
    const granted = await worlds[0].here(['credits', 'grant', 'local', '1000'], { environment });
    if (granted.code !== 0) throw new Error(granted.err);
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
    disk.remove();
  });

  /** Holds the pages of all replicas, so that no commit finds a free page in their files. */
  function holdPages(): () => Promise<void> {
    const held = readdirSync(store, { recursive: true, encoding: 'utf8' })
      .filter((name) => /replicas\/[^/]*\.l?mdb$/.test(name))
      .map((name) => {
        const root = openEnvironment(join(store, name), { readOnly: true, maxDbs: 64 });
        return { root, reading: root.useReadTransaction() };
      });
    expect(held.length).toBeGreaterThan(3);
    return async () => {
      for (const { root, reading } of held) {
        reading.done();
        await root.close();
      }
    };
  }

  const watch = (server: RunningServer, n: number): Promise<Answer> =>
    askOnce(server, key, '/api/v1/monitoring/wallets', {
      walletAddress: `0x${n.toString(16).padStart(40, '0')}`,
      chain: 'ETH',
    });
  const watched = async (server: RunningServer): Promise<number> => {
    const { status, body } = await ask(server, key, '/api/v1/monitoring/wallets?limit=1');
    expect(status, JSON.stringify(body)).toBe(200);
    return (body.data as unknown as { total: number }).total;
  };
  const ready = async (query = ''): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${full.url}/ready${query}`);
    return { status: response.status, text: await response.text() };
  };

  it('serves reads, reports that it cannot write, and catches up when there is space', async () => {
    await expect.poll(async () => (await ask(full, key, '/api/v1/usage')).status).toBe(200);
    expect((await watch(sound, 1)).status).toBe(200);
    await expect.poll(() => watched(full), { interval: 1_000 }).toBe(1);
    const made = await worlds[0].here(['keys', 'create', '--name', 'gone', '--json'], { environment });
    const gone = JSON.parse(made.out) as { id: string; apiKey: string };
    await expect.poll(async () => (await askOnce(full, gone.apiKey, '/api/v1/usage')).status).toBe(200);
    const release = holdPages();
    disk.fill();
    await expect.poll(async () => (await ready('?for=writes')).status).toBe(503);
    for (let n = 2; n < 20; n++) expect((await watch(sound, n)).status).toBe(200);
    for (let call = 0; call < 5; call++) {
      expect((await askOnce(full, key, `/api/v1/oracle/address/ETH/${ADDRESS}`)).status).toBe(200);
      expect((await askOnce(full, key, '/api/v1/monitoring/wallets')).status).toBe(200);
      await sleep(500);
    }
    const degraded = JSON.parse((await ready()).text) as { data: { degraded: readonly { path: string }[] } };
    expect(degraded.data.degraded.map(({ path }) => path)).toContainEqual(
      expect.stringContaining('replicas/monitoring'),
    );
    expect(await watch(full, 100)).toMatchObject({ status: 500 });
    // A key that is revoked on another node is refused here as well, although its record cannot be replaced.
    const revoked = await worlds[0].here(['keys', 'revoke', gone.id], { environment });
    expect(revoked.code, revoked.err).toBe(0);
    const withGone = async (): Promise<number> => (await askOnce(full, gone.apiKey, '/api/v1/usage')).status;
    await expect.poll(withGone, { interval: 1_000 }).not.toBe(200);
    // The node does not know which keys were revoked, so it refuses all of them, and says so.
    await expect
      .poll(async () => (await ready()).text)
      .toMatch(
        /"ready":false.*"reasons":\["Writes of other nodes cannot be applied to \S*replicas\/keys\S* .*full/,
      );
    // The reason is the operator's: it is in /ready and in the log.
    const answer = await askOnce(full, key, '/api/v1/usage');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, expect.stringMatching(/^\d+$/)]);
    expect(String(answer.body.error)).toMatch(/The service is not ready/);
    await release();
    disk.free();
    await expect.poll(async () => (await askOnce(full, key, '/api/v1/usage')).status).toBe(200);
    await expect.poll(() => watched(full), { interval: 3_000 }).toBe(await watched(sound));
    await expect.poll(async () => (await ready('?for=writes')).status).toBe(200);
    await expect.poll(withGone, { interval: 1_000 }).toBe(401);
  });
});
