/** Rate limits over all nodes: the window of a key and class is in Redis. A rejection is cached on this node until it ends. */
import type { Clock } from '../../base/clock.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import type { RateClass } from '../plans.ts';
import type { RateDecision, RateLimiter } from '../rate-limit.ts';
import { type AccountSteps, listAt, numberAt, type Reply } from './account-steps.ts';

export interface RedisRateDeps {
  readonly steps: AccountSteps;
  readonly clock: Clock;
  /** Requests in any 60 seconds for a key and class. */
  readonly limitOf: (subject: string, rateClass: RateClass) => number;
  /** Changes when a result of `limitOf` may have changed. */
  readonly generation: () => number;
  /** Returns the account of a key; its slot holds the key's window. Null if the subject is not a key. */
  readonly accountOf: (subject: string) => string | null;
}

/** How the gate requests a window, and how it decodes the reply. */
export interface RateWindows {
  /** Returns the account; its slot holds the windows of the subject. */
  slotOf(subject: string): string;
  /** Returns the name of a window in its slot. */
  nameOf(subject: string, rateClass: RateClass): string;
  /** Returns time and limit as arguments of a step. */
  argumentsOf(subject: string, rateClass: RateClass, monotonicMs: number): readonly [number | null, number];
  /**
   * Decodes the reply of a step.
   *
   * @param counted - whether the request was allowed, requests in the window, the second that frees one, the second in which it counts
   * @param serverMs - the time of the step
   */
  decide(
    request: { readonly subject: string; readonly rateClass: RateClass; readonly monotonicMs: number },
    counted: Reply,
    serverMs: number,
  ): RateDecision;
  refuses(subject: string, rateClass: RateClass, monotonicMs: number): RateDecision | null;
  /** Never rejects. */
  uncount(subject: string, rateClass: RateClass, countedSecond: number): Promise<void>;
}

interface Refusal {
  readonly decision: RateDecision;
  /** By this process's monotonic clock. */
  readonly untilMs: number;
  readonly generation: number;
}

/** Creates the rate limit windows over Redis. */
export function createRateWindows(deps: RedisRateDeps): RateWindows {
  const { steps, limitOf, generation, accountOf } = deps;
  const refusals = new Map<string, Refusal>();
  const nameOf = (subject: string, rateClass: RateClass): string => `${subject}:${rateClass}`;

  /** Caches a rejection; if there are too many, the oldest is removed and Redis decides again. */
  function remember(name: string, refusal: Refusal): void {
    refusals.delete(name);
    refusals.set(name, refusal);
    if (refusals.size <= ACCOUNT_LIMITS.rateWindowsMax) return;
    for (const oldest of refusals.keys()) {
      refusals.delete(oldest);
      return;
    }
  }

  const slotOf = (subject: string): string => accountOf(subject) ?? subject;

  return {
    slotOf,
    async uncount(subject, rateClass, countedSecond) {
      const name = nameOf(subject, rateClass);
      // The undone count may allow requests with a cached rejection.
      refusals.delete(name);
      // If Redis or the accounts are unavailable, the count expires within a minute. No caller waits for this promise, so it must not reject.
      try {
        await steps.run('uncount', slotOf(subject), [countedSecond], { rate: name });
      } catch {}
    },
    nameOf,
    argumentsOf: (subject, rateClass, monotonicMs) => [
      steps.time === undefined ? null : monotonicMs,
      limitOf(subject, rateClass),
    ],
    decide({ subject, rateClass, monotonicMs }, counted, serverMs) {
      const limit = limitOf(subject, rateClass);
      const allowed = numberAt(counted, 0) === 1;
      const atMs = steps.time === undefined ? serverMs : monotonicMs;
      const wallMs = steps.time === undefined ? serverMs : steps.time.now();
      const untilResetMs = numberAt(counted, 2) * 1_000 - atMs;
      const decision: RateDecision = {
        allowed,
        limit,
        remaining: Math.max(0, limit - numberAt(counted, 1)),
        resetEpochSeconds: Math.ceil((wallMs + untilResetMs) / 1_000),
        retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(untilResetMs / 1_000)),
        countedSecond: allowed ? numberAt(counted, 3) : null,
      };
      if (!allowed)
        remember(nameOf(subject, rateClass), {
          decision,
          untilMs: monotonicMs + untilResetMs,
          generation: generation(),
        });
      return decision;
    },
    refuses(subject, rateClass, monotonicMs) {
      const name = nameOf(subject, rateClass);
      const refusal = refusals.get(name);
      if (refusal === undefined) return null;
      const leftMs = refusal.untilMs - monotonicMs;
      if (leftMs > 0 && refusal.generation === generation())
        return { ...refusal.decision, retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1_000)) };
      refusals.delete(name);
      return null;
    },
  };
}

/** Creates the rate limiter over Redis. */
export function createRedisRateLimiter(
  windows: RateWindows,
  { steps, clock }: Pick<RedisRateDeps, 'steps' | 'clock'>,
): RateLimiter {
  return {
    async check(subject, rateClass, monotonicMs = clock.monotonic()) {
      const reply = await steps.run(
        'rate',
        windows.slotOf(subject),
        windows.argumentsOf(subject, rateClass, monotonicMs),
        { rate: windows.nameOf(subject, rateClass) },
      );
      return windows.decide({ subject, rateClass, monotonicMs }, listAt(reply, 1), numberAt(reply, 0));
    },
    uncount: windows.uncount,
    refuses: (subject, rateClass, monotonicMs = clock.monotonic()) =>
      windows.refuses(subject, rateClass, monotonicMs),
  };
}
