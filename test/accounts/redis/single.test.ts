/** The ports of the accounts over one Redis server. */
import { afterAll, beforeAll, describe } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { redisConformance } from './conformance.ts';

describe.skipIf(!hasRedis)('accounts in one Redis server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  redisConformance('Redis', () => server.url);
});
