/** Failed attempts on two nodes, counted together. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_LIMITS } from '../../../src/accounts/limits.ts';
import { createRedisAttempts } from '../../../src/accounts/redis/attempts.ts';
import type { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';

describe.skipIf(!hasRedis)('attempts over two nodes', () => {
  let server: RedisServer;
  let connections: RedisStore[];
  beforeAll(async () => {
    server = await startRedis();
    connections = [1, 2].map(() => openRedis(parseRedisUrl(server.url), { log: silentLogger }));
  });
  afterAll(async () => {
    await Promise.all(connections.map((redis) => redis.close()));
    await server.stop();
  });
  const nodes = () => connections.map((redis) => createRedisAttempts({ redis }));

  it('block an account on both, for any address, with the time left', async () => {
    const [a, b] = nodes();
    const all = await Promise.allSettled(
      Array.from({ length: ACCOUNT_LIMITS.attemptsPerAccountMax + 3 }, (_, at) =>
        (at % 2 ? a : b)?.begin('ann@example.org', `192.0.2.${at}`),
      ),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(
      ACCOUNT_LIMITS.attemptsPerAccountMax,
    );
    const [refused] = await Promise.allSettled([a?.begin('ann@example.org', '198.51.100.1')]);
    const { code, retryAfterSeconds } = (refused as PromiseRejectedResult).reason as AssayError;
    expect(code).toBe('RATE_LIMITED');
    // The whole window, minus the time since the first attempt.
    expect(retryAfterSeconds).toBeGreaterThan(ACCOUNT_LIMITS.attemptWindowMs / 2_000);
    expect(retryAfterSeconds).toBeLessThanOrEqual(ACCOUNT_LIMITS.attemptWindowMs / 1_000);
    await b?.begin('bob@example.org', '192.0.2.1');
    expect(server.run('keys', '*')).not.toContain('ann');
  });

  it('delete the count of an account that succeeded, and return its address one attempt', async () => {
    const [a, b] = nodes();
    for (let attempt = 0; attempt < ACCOUNT_LIMITS.attemptsPerAddressMax * 2; attempt++) {
      await a?.begin('eve@example.org', '2001:db8::1');
      await b?.succeeded('eve@example.org', '2001:db8::2');
    }
    for (let attempt = 0; attempt < ACCOUNT_LIMITS.attemptsPerAddressMax; attempt++)
      await b?.begin(`${attempt}@example.org`, '2001:db8::3');
    await expect(a?.begin('eve@example.org', '2001:db8::4')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await a?.begin('eve@example.org', '2001:db8:0:1::4');
  });
});
