/** A server that starts and cannot go on gives the reason and ends, and the other nodes do not count it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { newWorld, type World } from './program.ts';

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

/** Writes a file that is not a store to the path of a store. */
function spoilt(world: World, file: string): void {
  const path = join(world.folder, 'store', file);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, Buffer.alloc(64 * 1024, 0x5a));
}

function fresh(): World {
  const world = newWorld();
  worlds.push(world);
  return world;
}

describe('a failed startup', () => {
  it('after the port is bound ends the process with an error message', async () => {
    const world = fresh();
    spoilt(world, 'jobs.mdb');
    const { code, out, err } = await world.run(['serve']);
    expect([code, out], err).toEqual([1, '']);
    expect(err).toMatch(/^assay: .*jobs\.mdb/m);
  });

  describe.runIf(hasRedis)('of one node of a cluster', () => {
    let redis: RedisServer;
    afterEach(() => redis.stop());

    /** Milliseconds since the last heartbeat of each node that joined. */
    function silences(): number[] {
      const [seconds = '0', micros = '0'] = redis.run('time').split('\n');
      const now = Number(seconds) * 1_000 + Number(micros) / 1_000;
      const [times = ''] = redis.run('keys', 'assay:{roster}:*times').split('\n');
      const scored = redis.run('zrange', times, '0', '-1', 'withscores').split('\n');
      return scored.filter((_, at) => at % 2 === 1).map((score) => now - Number(score));
    }

    it.each([
      ['a store that it cannot read', 'redis', /format version 999/],
      ['a port that is taken', 'port', /already uses the port/],
      ['a store that is none', 'file', /jobs-1/],
    ])('removes the node from the membership before it exits: %s', async (_what, cause, sentence) => {
      redis = await startRedis();
      const world = fresh();
      const environment: Record<string, string> = { ASSAY_REDIS_URL: redis.url };
      const founded = await world.here(['redis', 'found'], { environment });
      expect(founded.code, founded.err).toBe(0);
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      if (cause === 'redis')
        redis.run('hset', 'assay:{keys}:head', 'format', '999', 'version', '1', 'last', 'x');
      if (cause === 'port') environment.ASSAY_PORT = String((taken.address() as AddressInfo).port);
      if (cause === 'file') spoilt(world, 'replicas/jobs-1.mdb');
      const { code, out, err } = await world.run(['serve'], { environment });
      taken.close();
      expect([code, out], err).toEqual([1, '']);
      expect(err).toMatch(sentence);
      // A folder that cannot be read is detected before the node joins the others.
      if (cause === 'file') return expect(redis.run('keys', 'assay:{roster}:*')).toBe('');
      // A node that went silent without leaving would count as live for four seconds. This one left, so its heartbeat is old at once.
      expect(silences()).toHaveLength(1);
      expect(Math.min(...silences())).toBeGreaterThanOrEqual(4_000);
    });
  });
});
