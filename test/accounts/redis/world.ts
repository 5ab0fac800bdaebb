/** Accounts in a real Redis: each world has a prefix and a clock of its own, and leaves nothing behind. */
import { createAccountSteps } from '../../../src/accounts/redis/account-steps.ts';
import { createRedisGate } from '../../../src/accounts/redis/gate.ts';
import { createRedisLedger, type RedisLedger } from '../../../src/accounts/redis/ledger.ts';
import { createRedisQuotaMeter } from '../../../src/accounts/redis/quota.ts';
import { createRateWindows, createRedisRateLimiter } from '../../../src/accounts/redis/rate-limit.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../../src/state/redis.ts';

export const openAt = (url: string, prefix: string, replicas = 0): RedisStore =>
  openRedis(parseRedisUrl(`${url}?prefix=${prefix}`), { log: silentLogger }, { replicas });

let worlds = 0;

/**
 * Creates accounts over `url`, for any number of nodes. All rate windows are in the slot of one account, as those of a key are in the slot
 * of its account. `time` selects the clock: that of the world or that of the server.
 */
export function accountsAt(url: string, replicas = 0, time: 'world' | 'server' = 'world') {
  const world = { now: Date.UTC(2026, 10, 21), freeCredits: 10, limit: 1000 as number | null, rateLimit: 3 };
  const prefix = `world${worlds++}`;
  let generation = 0;
  const clock = { now: () => world.now, monotonic: () => world.now };

  /** Creates a node of its own: its parts and its `close`. `way` is the URL to the server if the node connects indirectly. */
  function node(way = url) {
    const redis = openAt(way, prefix, replicas);
    const steps = createAccountSteps({
      redis,
      random: systemRandom,
      ...(time === 'world' ? { time: clock } : {}),
    });
    const common = { steps, clock, log: silentLogger, generation: () => generation };
    const freeCredits = () => world.freeCredits;
    const windows = createRateWindows({
      ...common,
      limitOf: () => world.rateLimit,
      accountOf: () => 'a',
    });
    const ledger: RedisLedger = createRedisLedger({ ...common, freeCredits });
    const quota = createRedisQuotaMeter({ ...common, limitOf: () => world.limit });
    return {
      redis,
      steps,
      ledger,
      quota,
      limiter: createRedisRateLimiter(windows, common),
      gate: createRedisGate({
        ...common,
        windows,
        ledger: () => ledger,
        freeCredits,
        quotaOf: () => world.limit,
      }),
      async close() {
        await ledger.close();
        await quota.close();
        await redis.close();
      },
    };
  }

  return Object.assign(world, {
    prefix,
    node,
    setRateLimit(limit: number) {
      world.rateLimit = limit;
      generation++;
    },
  });
}

/** Returns the part with a `close` that closes its whole node. Its methods run on the part itself, which may have private fields. */
export function closing<T extends { close(): Promise<void> }>(part: T, node: { close(): Promise<void> }): T {
  return new Proxy(part, {
    get(target, name) {
      if (name === 'close') return () => node.close();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
