/** Rate limits: never more than N requests of a key and class in any 60 seconds, a rested key may use all N at once. */
import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { RATE_CLASSES, type RateClass } from './plans.ts';

export interface RateDecision {
  readonly allowed: boolean;
  /** Requests in any 60 seconds. */
  readonly limit: number;
  /** Requests left right now, after this one. */
  readonly remaining: number;
  /** Epoch second at which the oldest counted request stops counting, so that `remaining` grows. */
  readonly resetEpochSeconds: number;
  /** Whole seconds until the next request can be allowed; 0 where allowed. */
  readonly retryAfterSeconds: number;
  /** The second that it is counted in, by the limiter's own clock; null if it was refused. */
  readonly countedSecond: number | null;
}

/** Every implementation passes test/conformance/rate-limit.ts. */
export interface RateLimiter {
  /** Counts a request where it is allowed; a refused one is not counted. `monotonicMs` never goes back; default: the clock's. */
  check(keyId: string, rateClass: RateClass, monotonicMs?: number): Awaitable<RateDecision>;
  /** Takes back the count of a request that `check` allowed in that second. Never throws or rejects: a count that stays ends by itself. */
  uncount(keyId: string, rateClass: RateClass, countedSecond: number): Awaitable<void>;
  /** What `check` would refuse it with, counting nothing; null where it would be allowed, or has to be asked for. */
  refuses(keyId: string, rateClass: RateClass, monotonicMs?: number): RateDecision | null;
}

/** The 429 of a refused `check`: what the limit is, and when the next request is allowed. */
export const rateLimited = (rate: RateDecision): AssayError =>
  new AssayError(
    'RATE_LIMITED',
    `The limit of ${rate.limit} requests a minute for this operation is reached; the next one is allowed in ${rate.retryAfterSeconds} s.`,
    { retryAfterSeconds: rate.retryAfterSeconds },
  );

/** One bucket a second. 61 of them are counted: the current second and the 60 before it. */
const BUCKET_MS = 1_000;
const COUNTED = 61;
/** Ring of buckets: the power of two above, so that a position is a mask away. */
const RING = 64;

/** The last minute of one key and class. 64 counters whatever the limit is. */
interface Window {
  readonly counts: Uint32Array;
  /** Newest second seen; counters of older seconds are kept down to `newest - 60`. */
  newest: number;
  /** Oldest second that may still count something. */
  oldest: number;
  /** Sum of all counters. */
  total: number;
  limit: number;
  /** Generation of the keys that `limit` was read in. */
  generation: number;
}

/** Forgets the seconds that no longer count at second `now`. */
function advance(window: Window, now: number): void {
  const firstCounted = now - COUNTED + 1;
  if (window.total === 0 || firstCounted > window.newest) {
    window.counts.fill(0);
    window.total = 0;
    window.oldest = now;
    window.newest = now;
    return;
  }
  while (window.oldest < firstCounted) {
    const slot = window.oldest & (RING - 1);
    window.total -= window.counts[slot] as number;
    window.counts[slot] = 0;
    window.oldest++;
  }
  window.newest = now;
}

/** The second whose end lets `remaining` grow: the oldest that counts, or a later one where the limit was lowered since. */
function freeingSecond(window: Window): number {
  while (window.counts[window.oldest & (RING - 1)] === 0) window.oldest++;
  let second = window.oldest;
  let left = window.total - (window.counts[second & (RING - 1)] as number);
  while (left >= window.limit) {
    second++;
    left -= window.counts[second & (RING - 1)] as number;
  }
  return second;
}

export interface RateLimiterDeps {
  readonly clock: Clock;
  /** Requests in any 60 seconds of a key and class. */
  readonly limitOf: (keyId: string, rateClass: RateClass) => number;
  /** Changes when an answer of `limitOf` may have changed. */
  readonly generation: () => number;
}

/** Windows below which none is dropped before the table is full: 400 KB. */
const SWEEP_FROM = 1_024;

/** A limiter that counts in its own memory: it answers at once. */
export interface EmbeddedRateLimiter extends RateLimiter {
  /** Keys and classes whose last minute is remembered now. */
  readonly tracked: number;
  check(keyId: string, rateClass: RateClass, monotonicMs?: number): RateDecision;
  uncount(keyId: string, rateClass: RateClass, countedSecond: number): void;
}

/**
 * The limiter of one process: counters of whole seconds in memory. A request counts until the end of its second, 60 seconds
 * later, so no window of 60 seconds ever holds more than N, and a request is refused at most one second longer than an exact
 * log of times would refuse it. Decisions are made on the monotonic clock alone. The start of a process begins with rested keys.
 */
export function createRateLimiter(
  options: { windowsMax?: number },
  deps: RateLimiterDeps,
): EmbeddedRateLimiter {
  const windowsMax = options.windowsMax ?? LIMITS.rateWindowsMax;
  const byClass = new Map<RateClass, Map<string, Window>>(RATE_CLASSES.map((name) => [name, new Map()]));
  let tracked = 0;
  let lastSweepSecond = Number.NEGATIVE_INFINITY;
  /** Windows from which on the next new one sweeps: twice those that counted something at the last sweep, so that sweeps cost little. */
  let sweepFrom = Math.min(windowsMax, SWEEP_FROM);

  /** Drops the windows that count nothing any more. At most once a second, so that a full table costs no sweep a request. */
  function sweep(now: number): void {
    if (now <= lastSweepSecond) return;
    lastSweepSecond = now;
    for (const windows of byClass.values()) {
      for (const [keyId, window] of windows) {
        if (now > window.newest) advance(window, now);
        if (window.total > 0) continue;
        windows.delete(keyId);
        tracked--;
      }
    }
    sweepFrom = Math.min(windowsMax, Math.max(SWEEP_FROM, tracked * 2));
  }

  /** A new window, or null where the table is full of keys that asked within the last minute. */
  function track(windows: Map<string, Window>, keyId: string, now: number): Window | null {
    if (tracked >= sweepFrom) sweep(now);
    if (tracked >= windowsMax) return null;
    const window: Window = {
      counts: new Uint32Array(RING),
      newest: now,
      oldest: now,
      total: 0,
      limit: 0,
      generation: -1,
    };
    windows.set(keyId, window);
    tracked++;
    return window;
  }

  /** The window as of now, with the limit in force; null where the table is full. */
  function windowOf(keyId: string, rateClass: RateClass, second: number): Window | null {
    const windows = byClass.get(rateClass) as Map<string, Window>;
    const window = windows.get(keyId) ?? track(windows, keyId, second);
    if (window === null) return null;
    const generation = deps.generation();
    if (window.generation !== generation) {
      window.limit = deps.limitOf(keyId, rateClass);
      window.generation = generation;
    }
    if (second > window.newest) advance(window, second);
    return window;
  }

  function decisionOf(window: Window, allowed: boolean, monotonicMs: number): RateDecision {
    const freed = freeingSecond(window) + COUNTED;
    const untilResetMs = freed * BUCKET_MS - monotonicMs;
    return {
      allowed,
      limit: window.limit,
      remaining: Math.max(0, window.limit - window.total),
      resetEpochSeconds: Math.ceil((deps.clock.now() + untilResetMs) / 1000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(untilResetMs / 1000)),
      countedSecond: allowed ? window.newest : null,
    };
  }

  return {
    get tracked() {
      return tracked;
    },
    check(keyId, rateClass, monotonicMs = deps.clock.monotonic()) {
      const window = windowOf(keyId, rateClass, Math.floor(monotonicMs / BUCKET_MS));
      if (window === null) {
        const limit = deps.limitOf(keyId, rateClass);
        const resetEpochSeconds = Math.ceil(deps.clock.now() / 1000) + 1;
        return {
          allowed: false,
          limit,
          remaining: 0,
          resetEpochSeconds,
          retryAfterSeconds: 1,
          countedSecond: null,
        };
      }
      const allowed = window.total < window.limit;
      if (allowed) {
        if (window.total === 0) window.oldest = window.newest;
        const slot = window.newest & (RING - 1);
        window.counts[slot] = (window.counts[slot] as number) + 1;
        window.total++;
      }
      return decisionOf(window, allowed, monotonicMs);
    },
    uncount(keyId, rateClass, second) {
      const window = byClass.get(rateClass)?.get(keyId);
      if (window === undefined || second < window.oldest || second > window.newest) return;
      const slot = second & (RING - 1);
      if (window.counts[slot] === 0) return;
      window.counts[slot] = (window.counts[slot] as number) - 1;
      window.total--;
    },
    refuses(keyId, rateClass, monotonicMs = deps.clock.monotonic()) {
      if (!byClass.get(rateClass)?.has(keyId)) return null;
      const window = windowOf(keyId, rateClass, Math.floor(monotonicMs / BUCKET_MS));
      if (window === null || window.total === 0 || window.total < window.limit) return null;
      return decisionOf(window, false, monotonicMs);
    },
  };
}
