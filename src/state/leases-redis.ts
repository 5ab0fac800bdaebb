/**
 * Leases in Redis. A lease is a key with an expiry that its holder extends. Beside it, in the slot of the store that it guards, is
 * the fencing token of the last holder. The store rejects a write with an older token.
 */
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { luaScript } from '../base/paths.ts';
import type { HeldLease, LeaseState, Leases } from './leases.ts';
import type { Fence } from './live-store.ts';
import type { RedisStore } from './redis.ts';
import { scoped } from './redis-installation.ts';

export interface RedisLeasesOptions {
  /** Unique id of this process among all nodes. */
  readonly nodeId: string;
  /** Scope of the installation: installations that share a Redis have separate leases. Default: empty. */
  readonly scope?: string;
  /** Returns whether a store can be used: no lease of an unusable store is taken or kept. Default: every store can. */
  readonly isUsable?: (store: string) => boolean;
  /** How long a lease lives without its holder; default 6 s: with the polling of the other nodes, a take-over within 10 s. */
  readonly leaseMs?: number;
}

export interface RedisLeasesDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A lease that is taken. */
interface LeaseKey {
  readonly store: string;
  readonly name: string;
  readonly key: string;
}

const LEASE_MS = 6_000;
/** Number of renewals within the life of a lease: two lost renewals do no harm. */
const RENEWALS_A_LEASE = 4;
/** Share of the lease that the holder does not use: the clocks of two machines differ, and requests take time to arrive. */
const UNUSED_SHARE = 1 / 6;

/** Parses an entry of `states`; returns null if it is empty. */
function readEntry(text: string) {
  const match = /^(\S+) (\d+) (held|released)$/.exec(text);
  if (match === null) return null;
  const [, holder = '', since, how] = match;
  return { holder, sinceMs: Number(since), wasReleased: how === 'released' };
}

/** Creates leases that all nodes of a Redis share. */
export function createRedisLeases(options: RedisLeasesOptions, deps: RedisLeasesDeps): Leases {
  const { nodeId, scope = '', isUsable = () => true, leaseMs = LEASE_MS } = options;
  const { redis, clock, log } = deps;
  const take = redis.script('lease_take', luaScript('state', 'lua', 'lease-take'), { safe: true });
  const renew = redis.script('lease_renew', luaScript('state', 'lua', 'lease-renew'));
  const release = redis.script('lease_release', luaScript('state', 'lua', 'lease-release'));
  const readStates = redis.script('lease_states', luaScript('state', 'lua', 'lease-states'));
  const statesKey = (store: string): string => redis.key(store, scoped(scope, 'leases'));
  let states: readonly LeaseState[] = [];
  /** Time of the last look, by the monotonic clock. */
  let lookedMs = Number.NEGATIVE_INFINITY;
  const usedMs = leaseMs * (1 - UNUSED_SHARE);
  /** Leases that this process holds or is taking. The server does not distinguish two holders in one process. */
  const own = new Set<string>();

  function hold(
    { store, key, fence, name }: LeaseKey & { readonly fence: Fence },
    takenMs: number,
    before: string,
  ): HeldLease {
    const last = readEntry(before);
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
      log.warn({ lease: name, reason }, 'lease lost');
      lost.abort(new Error(`The lease ${name} was lost: ${reason}`));
    }
    /** Ends the lease when its time is over. It compares the clock, because a timer may fire early and a process may be stopped. */
    function watch(): void {
      const leftMs = untilMs - clock.monotonic();
      if (leftMs <= 0) lose('it could not be renewed in time.');
      else timer = setTimeout(watch, Math.ceil(leftMs)).unref();
    }
    async function renewLease(): Promise<void> {
      // Measured before the request: the server counts from its arrival, which is later.
      const askedMs = clock.monotonic();
      try {
        if (!isUsable(store)) {
          lose('its store cannot be used.');
          await release([key, statesKey(store)], [nodeId, name]);
        } else if ((await renew([key], [nodeId, leaseMs])) === 1)
          untilMs = Math.max(untilMs, askedMs + usedMs);
        else lose('another node holds it.');
      } catch (error) {
        log.debug({ lease: name, error: messageOf(error) }, 'lease renewal failed, retrying');
      }
    }
    const renewals = setInterval(() => void renewLease(), leaseMs / RENEWALS_A_LEASE);
    renewals.unref();
    watch();

    return {
      name,
      fence,
      previous: last === null || last.holder === nodeId ? null : last,
      lost: lost.signal,
      isHeld() {
        if (clock.monotonic() >= untilMs) lose('it could not be renewed in time.');
        return !isOver;
      },
      async release() {
        if (isOver) return;
        // The holder's writes have ended: another node may start while this lease still appears as held.
        clearInterval(renewals);
        try {
          await release([key, statesKey(store)], [nodeId, name]);
        } catch (error) {
          log.debug({ lease: name, error: messageOf(error) }, 'lease release failed, it expires');
        }
        end();
      },
    };
  }

  return {
    // After that time, every lease has been renewed, released or taken over: without a new look, its holder is not known.
    states: () => (clock.monotonic() - lookedMs < leaseMs ? states : []),
    async look(stores) {
      const askedMs = clock.monotonic();
      const read: LeaseState[] = [];
      for (const store of stores) {
        const beginning = redis.key(store, `lease:${scoped(scope, '')}`);
        const reply = (await readStates([statesKey(store)], [beginning])) as readonly string[];
        for (let at = 0; at < reply.length; at += 3) {
          const [name = '', text = '', holder = ''] = reply.slice(at, at + 3);
          const entry = readEntry(text);
          if (entry === null) continue;
          const isHere = holder === nodeId;
          read.push({ name, holder: holder === '' ? null : holder, isHere, sinceMs: entry.sinceMs });
        }
      }
      states = read.sort((a, b) => (a.name < b.name ? -1 : 1));
      lookedMs = askedMs;
    },
    async take(store, name) {
      if (!isUsable(store)) return null;
      const fence = scoped(scope, name);
      const key = redis.key(store, `lease:${fence}`);
      if (own.has(key)) return null;
      own.add(key);
      const takenMs = clock.monotonic();
      let token = 0;
      let before = '';
      try {
        const keys = [key, redis.key(store, `fence:${fence}`), statesKey(store)];
        const reply = (await take(keys, [nodeId, leaseMs, name])) as readonly [number, string];
        token = Number(reply[0]);
        before = reply[1];
      } finally {
        if (token === 0) own.delete(key);
      }
      if (token === 0) return null;
      return hold({ store, key, name, fence: { name: fence, token } }, takenMs, before);
    },
  };
}
