/** How many replicas follow a Redis server, by what it reports about them. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import type { RedisConnection } from '../../src/state/redis-connection.ts';
import { infoField, ReplicaWatch } from '../../src/state/redis-servers.ts';

const LOOK_MS = 2_000;

describe('the replicas of a server', () => {
  let replication = '';
  let said: string[] = [];
  const log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (first: unknown, text?: string) => said.push(`${level} ${text ?? String(first)}`),
    ]),
  ) as unknown as Logger;
  const connection = {
    isCluster: false,
    options: { host: 'redis.example', port: 6379 },
    async info(section: string) {
      expect(section).toBe('replication');
      if (replication === 'away') throw new Error('away');
      return replication;
    },
  } as unknown as RedisConnection;
  let watch: ReplicaWatch;
  const watching = async (replicas: number): Promise<void> => {
    watch = new ReplicaWatch(replicas, { connection, guard: (command) => command, log });
    watch.start();
    await vi.advanceTimersByTimeAsync(0);
  };
  const replica = (at: number, state: string, lag: number): string =>
    `slave${at}:ip=10.0.0.${at},port=6379,state=${state},offset=7,lag=${lag}\r\n`;

  beforeEach(() => {
    vi.useFakeTimers();
    said = [];
  });
  afterEach(() => {
    watch.stop();
    vi.useRealTimers();
  });

  it.each([
    ['', 0],
    [replica(0, 'online', 0), 1],
    [replica(0, 'online', 3), 1],
    [replica(0, 'online', 4), 0],
    [replica(0, 'online', 10), 0],
    [replica(0, 'wait_bgsave', 0), 0],
    [`${replica(0, 'online', 1)}${replica(1, 'online', 9)}`, 1],
    [`role:master\r\n${replica(0, 'online', 1)}${replica(1, 'online', 3)}`, 2],
  ])('are counted if they are online and were heard of lately: %j', async (text, following) => {
    replication = text;
    await watching(2);
    const isEnough = following >= 2;
    expect(watch.shortage === null).toBe(isEnough);
    if (!isEnough)
      expect(watch.shortage).toContain(`the Redis server redis.example:6379 (${following} of 2)`);
  });

  it('are missed and found again with one line each, and a failed look changes nothing', async () => {
    replication = '';
    await watching(1);
    await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
    expect(said).toEqual(['error too few Redis replicas']);
    replication = 'away';
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect(watch.shortage).not.toBeNull();
    replication = replica(0, 'online', 1);
    await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
    expect(watch.shortage).toBeNull();
    expect(said).toEqual([
      'error too few Redis replicas',
      'debug check of the Redis replicas failed',
      'info enough Redis replicas again',
    ]);
  });

  it('are not looked for if no write waits for them', async () => {
    replication = '';
    await watching(0);
    await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
    expect([watch.shortage, said]).toEqual([null, []]);
  });
});

it('reads a field of a report, which is empty if it is missing', () => {
  const report = '# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n';
  expect(
    ['maxmemory', 'maxmemory_policy', 'policy', 'memory'].map((name) => infoField(report, name)),
  ).toEqual(['0', 'noeviction', '', '']);
});
