/**
 * Leases in Redis: a key with an end that its holder puts off, and beside it, in the slot of the store whose writes it guards, the
 * number of the last one who took it. A write that carries an older number is refused by whoever writes there.
 */
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { HeldLease, Leases } from './leases.ts';
import type { Fence } from './live-store.ts';
import type { Logger } from './log.ts';
import type { RedisStore } from './redis.ts';
import { scoped } from './redis-installation.ts';

export interface RedisLeasesOptions {
  /** Names this process among all nodes. */
  readonly nodeId: string;
  /** Of the installation: leases of another one in the same Redis are others. Default: empty. */
  readonly scope?: string;
  /** How long a lease lives without its holder; default 6 s: with the asking of the others, a take-over within 10 s. */
  readonly leaseMs?: number;
}

export interface RedisLeasesDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly log: Logger;
}

const LEASE_MS = 6_000;
/** Renewed so often in the life of a lease: two that are lost on the way cost nothing. */
const RENEWALS_A_LEASE = 4;
/** Of its life, what the holder does not use: the clocks of two machines do not run alike, and what is on its way has to arrive. */
const UNUSED_SHARE = 1 / 6;

/**
 * KEYS lease, fence; ARGV holder, ms. The number is the server's time where that is more than the last one plus one: a replica that
 * became master without the newest number does not give it out again. Who holds the lease already is given a new number, so that a
 * reply that was lost on the way costs nothing.
 */
const TAKE = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, now)
redis.call('SET', KEYS[2], string.format('%.0f', token))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return token`;

/** KEYS lease; ARGV holder, ms. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS lease; ARGV holder. */
const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

export function createRedisLeases(options: RedisLeasesOptions, deps: RedisLeasesDeps): Leases {
  const { nodeId, scope = '', leaseMs = LEASE_MS } = options;
  const { redis, clock, log } = deps;
  const take = redis.script('lease_take', TAKE, { safe: true });
  const renew = redis.script('lease_renew', RENEW);
  const release = redis.script('lease_release', RELEASE);
  const usedMs = leaseMs * (1 - UNUSED_SHARE);
  /** Leases that this process holds, or is taking: the server knows it by one name. */
  const own = new Set<string>();

  function hold(key: string, fence: Fence, name: string, takenMs: number): HeldLease {
    const lost = new AbortController();
    let untilMs = takenMs + usedMs;
    let isOver = false;
    let timer: NodeJS.Timeout;

    function end(): void {
      isOver = true;
      clearTimeout(timer);
      clearInterval(renewals);
      own.delete(key);
    }
    function lose(reason: string): void {
      if (isOver) return;
      end();
      log.warn({ lease: name, reason }, 'A lease was lost.');
      lost.abort(new Error(`The lease ${name} was lost: ${reason}`));
    }
    /** Lost when its time is over; looked at by the clock, since a timer may fire early and a process may be stopped. */
    function watch(): void {
      const leftMs = untilMs - clock.monotonic();
      if (leftMs <= 0) lose('it could not be renewed in time.');
      else timer = setTimeout(watch, Math.ceil(leftMs)).unref();
    }
    async function putOff(): Promise<void> {
      // Counted from before the question: the server counts from when it reads it.
      const askedMs = clock.monotonic();
      try {
        if ((await renew([key], [nodeId, leaseMs])) === 1) untilMs = Math.max(untilMs, askedMs + usedMs);
        else lose('another node holds it.');
      } catch (error) {
        log.debug({ lease: name, error: messageOf(error) }, 'A lease could not be renewed yet.');
      }
    }
    const renewals = setInterval(() => void putOff(), leaseMs / RENEWALS_A_LEASE);
    renewals.unref();
    watch();

    return {
      name,
      fence,
      lost: lost.signal,
      isHeld() {
        if (!isOver && clock.monotonic() >= untilMs) lose('it could not be renewed in time.');
        return !isOver;
      },
      async release() {
        if (isOver) return;
        // Its own writes have ended: another may begin while this one is still said to be held.
        clearInterval(renewals);
        try {
          await release([key], [nodeId]);
        } catch (error) {
          log.debug({ lease: name, error: messageOf(error) }, 'A lease was left to end by itself.');
        }
        end();
      },
    };
  }

  return {
    async take(store, name) {
      const fence = scoped(scope, name);
      const key = redis.key(store, `lease:${fence}`);
      if (own.has(key)) return null;
      own.add(key);
      const takenMs = clock.monotonic();
      let token = 0;
      try {
        token = Number(await take([key, redis.key(store, `fence:${fence}`)], [nodeId, leaseMs]));
      } finally {
        if (token === 0) own.delete(key);
      }
      return token === 0 ? null : hold(key, { name: fence, token }, name, takenMs);
    },
  };
}
