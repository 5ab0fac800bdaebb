/** The responses and the log of a node of the built program while Redis is up but its replica is down. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { until } from '../support/wait.ts';
import { askOnce, newWorld, type RunningServer, type World } from './program.ts';

const SCREENED = { address: '0x098B716B8Aaf21512996dC57EB0615e2383E2f96', chain: 'ETH' };
const SLOWLY = { interval: 1_500 };
/** The rate limit of a key for charged requests. */
const LIMIT = 60;

describe.skipIf(!hasRedis)('a Redis without the replica that must acknowledge', { timeout: 400_000 }, () => {
  let master: RedisServer;
  let replica: RedisServer;
  let world: World;
  let server: RunningServer;
  const kyt = () => askOnce(server, server.firstKey, '/api/v1/kyt', SCREENED);
  const readiness = async (): Promise<string> => {
    const response = await fetch(`${server.url}/ready`);
    const { data } = (await response.json()) as { data: { reasons: readonly string[] } };
    return [response.status, ...data.reasons].join(' ');
  };

  beforeAll(async () => {
    master = await startRedis();
    replica = await startRedis(['--appendonly', 'yes', '--replicaof', `127.0.0.1 ${master.port}`]);
    await until(() => replica.run('role').includes('connected'), 'a replica that follows');
    world = newWorld();
    const environment = { ASSAY_REDIS_URL: master.url, ASSAY_REDIS_REPLICAS: '1', ASSAY_WORKERS: '1' };
    const founded = await world.here(['redis', 'found'], { environment });
    if (founded.code !== 0) throw new Error(founded.err);
    server = await world.serve(environment);
    const granted = await world.here(['credits', 'grant', 'local', '1000', '--reason', 'test'], {
      environment,
    });
    if (granted.code !== 0) throw new Error(granted.err);
  });
  afterAll(async () => {
    await world.end();
    await replica.stop();
    await master.stop();
  });

  it('rejects writes that cannot be acknowledged, and does not count them against the limit', async () => {
    await expect.poll(async () => (await kyt()).status).toBe(200);
    await replica.kill();
    const refused: number[] = [];
    while (refused.length < LIMIT + 10) refused.push((await kyt()).status);
    expect(new Set(refused)).toEqual(new Set([500]));
    await expect
      .poll(readiness)
      .toMatch(/^503 Too few replicas follow the Redis server 127\.0\.0\.1:\d+ \(0 of 1\)/);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^assay_ready 0$/m);
    expect(metrics).toMatch(/^assay_redis_replicas_missing 1$/m);
    await replica.restart();
    // As soon as it answers again, the whole limit is available: nothing was counted in the meantime.
    let answer = await kyt();
    while (answer.status === 500) answer = await kyt();
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(LIMIT - 10);
    await expect.poll(readiness).toBe('200');
    // One line per change of state, and none per request.
    const linesWith = (message: string): number =>
      server
        .output()
        .err.split('\n')
        .filter((line) => line.includes(`"msg":"${message}`)).length;
    await expect
      .poll(async () => [(await kyt()).status, linesWith('requests are served again')], SLOWLY)
      .toEqual([200, 1]);
    expect(linesWith('requests cannot be served')).toBe(1);
    expect(linesWith('request failed')).toBe(0);
    expect(linesWith('too few Redis replicas')).toBe(1);
    expect(linesWith('enough Redis replicas again')).toBe(1);
    expect(linesWith('ledger: charge not undone yet')).toBeLessThanOrEqual(1);
  });
});
