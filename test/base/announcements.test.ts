/** What one node tells all others, on real servers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAnnouncements } from '../../src/base/announcements.ts';
import { silentLogger as log } from '../../src/base/log.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/base/redis.ts';
import { hasRedis, startRedis, startRedisCluster } from '../setup/redis.ts';

describe.skipIf(!hasRedis).each([
  ['one server', startRedis],
  ['a cluster', startRedisCluster],
] as const)('announcements over %s', (_, start) => {
  let servers: Awaited<ReturnType<typeof start>>;
  let stores: RedisStore[];
  beforeAll(async () => {
    servers = await start();
    stores = [0, 1, 2].map(() => openRedis(parseRedisUrl(servers.url), { log }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await servers.stop();
  });

  it('reach every other node, and not the one that tells', async () => {
    const heard: string[] = [];
    const nodes = stores.map((redis, i) => openAnnouncements({ nodeId: `n${i}` }, { redis, log }));
    for (const [i, node] of nodes.entries()) node.hear((word) => heard.push(`${i} ${word}`));
    await expect
      .poll(async () => {
        heard.length = 0;
        await nodes[1]?.tell('labels');
        await new Promise((resolve) => setTimeout(resolve, 50));
        return [...heard].sort();
      })
      .toEqual(['0 labels', '2 labels']);
  });
});
