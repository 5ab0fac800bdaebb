/** Rate limits: never more than N requests of a key and class in any 60 seconds; an idle key may use all N at once. */
import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { CounterMemo } from './counter-memo.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { RATE_CLASSES, type RateClass } from './plans.ts';
import { type SharedCounterMemory, type SharedPlace, SharedPlaces, SharedWindow } from './shared-counters.ts';

export interface RateDecision {
  readonly allowed: boolean;
  /** Requests in any 60 seconds. */
  readonly limit: number;
  /** Requests left now, after this one. */
  readonly remaining: number;
  /** Epoch second at which the oldest counted request expires, so that `remaining` grows. */
  readonly resetEpochSeconds: number;
  /** Whole seconds until the next request can be allowed; 0 if this one is allowed. */
  readonly retryAfterSeconds: number;
  /** The second in which the request is counted, by the limiter's own clock; null if it was rejected. */
  readonly countedSecond: number | null;
}

/** The interface of rate limits. Every implementation passes test/conformance/rate-limit.ts. */
export interface RateLimiter {
  /** Counts a request if it is allowed; a rejected request is not counted. `monotonicMs` never decreases; default: the clock's time. */
  check(keyId: string, rateClass: RateClass, monotonicMs?: number): Awaitable<RateDecision>;
  /** Undoes the count of a request that `check` allowed in that second. Never throws or rejects: a count that stays expires by itself. */
  uncount(keyId: string, rateClass: RateClass, countedSecond: number): Awaitable<void>;
  /** Returns the rejection of `check` without counting; null if the request would be allowed, or if only `check` can decide. */
  refuses(keyId: string, rateClass: RateClass, monotonicMs?: number): RateDecision | null;
}

const SESSION = 'session ';

/** Returns the subject whose requests a session counts as. Ids contain no spaces, so it is neither a key nor an address. */
export const sessionSubject = (accountId: string, sessionId: string): string =>
  `${SESSION}${accountId} ${sessionId}`;

/** Returns the account of a session's subject; null if the subject is not that of a session. */
export const accountOfSession = (subject: string): string | null =>
  subject.startsWith(SESSION) ? (subject.split(' ', 2)[1] ?? null) : null;

/** Returns the 429 error of a rejected `check`: the limit, and when the next request is allowed. */
export const rateLimited = (rate: RateDecision): AssayError =>
  new AssayError(
    'RATE_LIMITED',
    `The limit of ${rate.limit} requests a minute for this operation is reached; the next one is allowed in ${rate.retryAfterSeconds} s.`,
    { retryAfterSeconds: rate.retryAfterSeconds },
  );

/** One bucket per second. 61 of them count: the current second and the 60 before it. */
const BUCKET_MS = 1_000;
const COUNTED = 61;
/** Size of the ring of buckets: the next power of two, so that a position is computed with a mask. */
const RING = 64;

/** The last minute of one key and class: 64 counters, whatever the limit is. */
export interface Window {
  readonly counts: Uint32Array;
  /** Newest second seen; counters of older seconds are kept down to `newest - 60`. */
  newest: number;
  /** Oldest second with a possible count. */
  oldest: number;
  /** Sum of all counters. */
  total: number;
  limit: number;
  /** Generation of the keys at which `limit` was read. */
  generation: number;
}

/** A window of one thread. */
interface OwnWindow extends Window {
  readonly keyId: string;
  readonly rateClass: RateClass;
  /** False after the window was removed. */
  isTracked: boolean;
  /** Set after the window was moved to shared memory; these fields are then not used. */
  shared: SharedWindow | null;
}

/** Removes the seconds that no longer count at second `now`. */
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

/** Returns the second after which `remaining` grows: the oldest counted one, or a later one if the limit was lowered. */
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

function decisionOf(window: Window, allowed: boolean, monotonicMs: number, clock: Clock): RateDecision {
  const freed = freeingSecond(window) + COUNTED;
  const untilResetMs = freed * BUCKET_MS - monotonicMs;
  return {
    allowed,
    limit: window.limit,
    remaining: Math.max(0, window.limit - window.total),
    resetEpochSeconds: Math.ceil((clock.now() + untilResetMs) / 1000),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(untilResetMs / 1000)),
    countedSecond: allowed ? window.newest : null,
  };
}

/** Counts a request in its window, if it is allowed: `check` of RateLimiter. */
export function checkWindow(window: Window, monotonicMs: number, clock: Clock): RateDecision {
  const second = Math.floor(monotonicMs / BUCKET_MS);
  if (second > window.newest) advance(window, second);
  const allowed = window.total < window.limit;
  if (allowed) {
    if (window.total === 0) window.oldest = window.newest;
    const slot = window.newest & (RING - 1);
    window.counts[slot] = (window.counts[slot] as number) + 1;
    window.total++;
  }
  return decisionOf(window, allowed, monotonicMs, clock);
}

/** Returns the rejection of a request without counting it: `refuses` of RateLimiter. */
export function refusalOf(window: Window, monotonicMs: number, clock: Clock): RateDecision | null {
  const second = Math.floor(monotonicMs / BUCKET_MS);
  if (second > window.newest) advance(window, second);
  if (window.total === 0 || window.total < window.limit) return null;
  return decisionOf(window, false, monotonicMs, clock);
}

/** Undoes the count of a request in that second, if the window still has it. */
export function uncountIn(window: Window, second: number): void {
  if (second < window.oldest || second > window.newest) return;
  const slot = second & (RING - 1);
  if (window.counts[slot] === 0) return;
  window.counts[slot] = (window.counts[slot] as number) - 1;
  window.total--;
}

export interface RateLimiterDeps {
  readonly clock: Clock;
  /** Requests in any 60 seconds for a key and class. */
  readonly limitOf: (keyId: string, rateClass: RateClass) => number;
  /** Changes when a result of `limitOf` may have changed. */
  readonly generation: () => number;
}

/** Below this number of windows, none is removed: 400 KB. */
const SWEEP_FROM = 1_024;

/** A limiter that counts in its own memory and decides synchronously. */
export interface EmbeddedRateLimiter extends RateLimiter {
  /** Number of keys and classes with a stored last minute. */
  readonly tracked: number;
  /** @param memo - remembers the window of the key */
  check(keyId: string, rateClass: RateClass, monotonicMs?: number, memo?: CounterMemo | null): RateDecision;
  uncount(keyId: string, rateClass: RateClass, countedSecond: number): void;
  /**
   * Moves a window to memory that other threads count in as well.
   *
   * @returns null if there is no such memory, or it is full
   */
  share(keyId: string, rateClass: RateClass): SharedPlace | null;
}

/**
 * Creates the limiter of one process: counters of whole seconds in memory. A request counts until the end of its second, 60 seconds later,
 * so no window of 60 seconds ever has more than N requests, and a request is rejected at most one second longer than with an exact log of
 * times. Decisions use only the monotonic clock. After a start of the process all keys are idle.
 */
export function createRateLimiter(
  options: {
    windowsMax?: number;
    /** Memory of windows that other threads count in as well. Default: none. */
    shared?: SharedCounterMemory | null;
  },
  deps: RateLimiterDeps,
): EmbeddedRateLimiter {
  const windowsMax = options.windowsMax ?? ACCOUNT_LIMITS.rateWindowsMax;
  const shared = options.shared ?? null;
  const places = shared === null ? null : new SharedPlaces(shared.windows, 'windows');
  const byClass = new Map<RateClass, Map<string, OwnWindow>>(RATE_CLASSES.map((name) => [name, new Map()]));
  let tracked = 0;
  let lastSweepSecond = Number.NEGATIVE_INFINITY;
  /**
   * Number of windows at which the next new one starts a sweep: twice the number that remained after the last sweep, so that sweeps are
   * cheap.
   */
  let sweepFrom = Math.min(windowsMax, SWEEP_FROM);

  /** Frees a window that has no count at second `now`; returns false if it has. No thread counts in between. */
  function freeIfIdle(own: OwnWindow, now: number): boolean {
    const { shared } = own;
    const window = shared ?? own;
    const isIdle = (): boolean => {
      if (now > window.newest) advance(window, now);
      return window.total === 0;
    };
    return shared === null || places === null ? isIdle() : places.free(shared.place, isIdle);
  }

  /** Removes the windows without counts. Runs at most once a second, so that a full table does not sweep at every request. */
  function sweep(now: number): void {
    if (now <= lastSweepSecond) return;
    lastSweepSecond = now;
    for (const windows of byClass.values()) {
      for (const [keyId, window] of windows) {
        if (!freeIfIdle(window, now)) continue;
        windows.delete(keyId);
        window.isTracked = false;
        tracked--;
      }
    }
    sweepFrom = Math.min(windowsMax, Math.max(SWEEP_FROM, tracked * 2));
  }

  /** Creates a window; returns null if the table is full of keys with requests in the last minute. */
  function track(
    windows: Map<string, OwnWindow>,
    keyId: string,
    rateClass: RateClass,
    now: number,
  ): OwnWindow | null {
    if (tracked >= sweepFrom) sweep(now);
    if (tracked >= windowsMax) return null;
    const window: OwnWindow = {
      keyId,
      rateClass,
      isTracked: true,
      counts: new Uint32Array(RING),
      newest: now,
      oldest: now,
      total: 0,
      limit: 0,
      generation: -1,
      shared: null,
    };
    windows.set(keyId, window);
    tracked++;
    return window;
  }

  /** Looks a window up, or creates it; returns null if the table is full. */
  function findWindow(keyId: string, rateClass: RateClass, monotonicMs: number): OwnWindow | null {
    const windows = byClass.get(rateClass) as Map<string, OwnWindow>;
    return windows.get(keyId) ?? track(windows, keyId, rateClass, Math.floor(monotonicMs / BUCKET_MS));
  }

  /** Returns the window, with the limit in force; null if the table is full. */
  function windowOf(
    keyId: string,
    rateClass: RateClass,
    monotonicMs: number,
    memo: CounterMemo | null = null,
  ): OwnWindow | null {
    let own = memo === null ? null : (memo.window as OwnWindow | null);
    if (own === null || !own.isTracked || own.rateClass !== rateClass || own.keyId !== keyId) {
      own = findWindow(keyId, rateClass, monotonicMs);
      if (own === null) return null;
      if (memo !== null) memo.window = own;
    }
    const window = own.shared ?? own;
    const generation = deps.generation();
    if (window.generation !== generation) {
      window.limit = deps.limitOf(keyId, rateClass);
      window.generation = generation;
    }
    return own;
  }

  /** Runs a step in the memory where the window is. Windows in shared memory are locked meanwhile. */
  function inMemory<T>(shared: SharedWindow, step: (window: Window) => T): T {
    if (!shared.lock()) throw new Error('A window was freed while its key was counted.');
    try {
      return step(shared);
    } finally {
      shared.unlock();
    }
  }

  return {
    get tracked() {
      return tracked;
    },
    check(keyId, rateClass, monotonicMs = deps.clock.monotonic(), memo = null) {
      const window = windowOf(keyId, rateClass, monotonicMs, memo);
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
      if (window.shared === null) return checkWindow(window, monotonicMs, deps.clock);
      return inMemory(window.shared, (shared) => checkWindow(shared, monotonicMs, deps.clock));
    },
    uncount(keyId, rateClass, second) {
      const window = byClass.get(rateClass)?.get(keyId);
      if (window === undefined) return;
      if (window.shared === null) uncountIn(window, second);
      else inMemory(window.shared, (shared) => uncountIn(shared, second));
    },
    refuses(keyId, rateClass, monotonicMs = deps.clock.monotonic()) {
      if (!byClass.get(rateClass)?.has(keyId)) return null;
      const window = windowOf(keyId, rateClass, monotonicMs);
      if (window === null) return null;
      if (window.shared === null) return refusalOf(window, monotonicMs, deps.clock);
      return inMemory(window.shared, (shared) => refusalOf(shared, monotonicMs, deps.clock));
    },
    share(keyId, rateClass) {
      if (shared === null || places === null) return null;
      const monotonicMs = deps.clock.monotonic();
      const own = windowOf(keyId, rateClass, monotonicMs);
      if (own === null) return null;
      if (own.shared !== null) return own.shared.place;
      let place = places.assign();
      if (place === null) {
        sweep(Math.floor(monotonicMs / BUCKET_MS));
        place = places.assign();
      }
      if (place === null) return null;
      if (byClass.get(rateClass)?.get(keyId) !== own) {
        // The sweep has removed this window too, because it has no count.
        places.free(place);
        return null;
      }
      const moved = new SharedWindow(shared.windows, place);
      moved.counts.set(own.counts);
      moved.newest = own.newest;
      moved.oldest = own.oldest;
      moved.total = own.total;
      own.shared = moved;
      return place;
    },
  };
}
