/** Servers that work and reject writes: their memory is full, or they became replicas of another master. */
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

const log = createLogger({ level: 'silent' });
const COUNT = 'return redis.call("INCRBY", KEYS[1], ARGV[1])';

/** A name in front of Redis: a new connection leads to the server that is the master now, and an open one stays where it is. */
class MasterName {
  port: number;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(port: number) {
    this.port = port;
    this.#server = createServer((near) => {
      const far = dial(this.port, '127.0.0.1');
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => {}).on('close', () => other.destroy());
        socket.pipe(other);
      }
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

describe.skipIf(!hasRedis)('a server that rejects writes', () => {
  let server: RedisServer;
  let redis: RedisStore | null = null;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await redis?.close();
    redis = null;
    await server.stop();
  });

  it.each([
    ['its memory is full', ['config', 'set', 'maxmemory'], ['1'], ['0'], /OOM command not allowed/],
    ['it is a replica', ['replicaof'], ['127.0.0.1', '1'], ['no', 'one'], /READONLY/],
  ])('is a problem while it does: %s', async (_why, command, on, off, reason) => {
    redis = openRedis(parseRedisUrl(server.url), { log });
    const count = redis.script('count', COUNT);
    const isCounted = (): Promise<boolean> =>
      count([(redis as RedisStore).key('a', 'n')], [1]).then(
        () => true,
        () => false,
      );
    expect([await isCounted(), redis.problem()]).toEqual([true, null]);
    server.run(...command, ...on);
    expect(await isCounted()).toBe(false);
    expect(redis.problem()).toMatch(
      /^Redis rejects writes: .* Requests with a key fail until it accepts them again\.$/,
    );
    expect(redis.problem()).toMatch(reason);
    expect(redis.problem()).not.toContain('script');
    server.run(...command, ...off);
    await expect.poll(isCounted).toBe(true);
    await expect.poll(() => redis?.problem(), { timeout: 10_000 }).toBeNull();
  });

  it('is left for the new master if a name leads there', async () => {
    const next = await startRedis();
    const name = new MasterName(server.port);
    try {
      redis = openRedis(parseRedisUrl(await name.listen()), { log });
      const count = redis.script('count', COUNT);
      const key = redis.key('a', 'n');
      expect(await count([key], [1])).toBe(1);
      name.port = next.port;
      server.run('replicaof', '127.0.0.1', String(next.port));
      await expect(count([key], [1])).rejects.toMatchObject({
        code: 'NOT_READY',
        message: expect.stringMatching(/^Redis rejects commands at the moment: READONLY/),
      });
      await expect.poll(() => count([key], [5]).catch(() => 0), { timeout: 10_000 }).toBe(5);
      expect(next.run('get', key)).toBe('5');
    } finally {
      name.close();
      await next.stop();
    }
  });
});
