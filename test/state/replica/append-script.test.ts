/** The script that appends write sets: what it removes from the stream of a store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger as log } from '../../../src/base/log.ts';
import { luaScript } from '../../../src/base/paths.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';

describe.skipIf(!hasRedis)('the stream of a store in Redis', () => {
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

  /** Appends write sets of one record with these numbers of bytes, and returns the versions that the stream has after each. */
  async function versionsAfter(
    store: string,
    sizes: readonly number[],
    max: { readonly entries: number; readonly bytes: number },
  ): Promise<readonly string[]> {
    const append = redis.script('append', luaScript('state', 'lua', 'replica-append'));
    const keyOf = (name: string): string => redis.key(store, name);
    const kept: string[] = [];
    for (const [version, bytes] of sizes.entries()) {
      const set = Buffer.alloc(bytes, 'x');
      set.writeUInt32BE(1, 0);
      set.writeUInt32BE(bytes - 9, 4);
      const args = ['1', version, version === 0 ? '' : `w${version - 1}`, `w${version}`, 1_000, max.entries];
      const keys = ['head', 'data', 'stream', 'writer:w'].map(keyOf);
      expect(await append(keys, [...args, max.bytes, 60_000, set, ''])).toEqual(['appended']);
      const rows = await redis.connection.xrange(keyOf('stream'), '-', '+');
      kept.push(rows.map(([id]) => id.replace(/-1$/, '')).join(' '));
    }
    return kept;
  }

  it('has at most a number of write sets and of bytes, and always the newest one', async () => {
    expect(await versionsAfter('few', [20, 20, 20, 20], { entries: 3, bytes: 1_000 })).toEqual([
      ...['1', '1 2', '1 2 3', '2 3 4'],
    ]);
    expect(await versionsAfter('small', [40, 40, 21, 20, 200, 40], { entries: 10, bytes: 100 })).toEqual([
      ...['1', '1 2', '2 3', '2 3 4', '5', '6'],
    ]);
    expect(await redis.connection.hget(redis.key('small', 'head'), 'bytes')).toBe('40');
  });
});
