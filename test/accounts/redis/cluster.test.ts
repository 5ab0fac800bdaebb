/** The ports of the accounts over a Redis Cluster of six servers, with every change on a replica before it is acknowledged. */
import { afterAll, beforeAll, describe } from 'vitest';
import { hasRedis, type RedisCluster, startRedisCluster } from '../../setup/redis.ts';
import { redisConformance } from './conformance.ts';

describe.skipIf(!hasRedis)('accounts in a Redis Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(async () => {
    await cluster.stop();
  });
  redisConformance('Redis Cluster', () => cluster.url, 1);
});
