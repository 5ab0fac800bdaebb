/** Rate limits over all nodes: the window of a key and class stands in Redis, and what it refused is refused here until it ends. */
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import type { RateClass } from '../plans.ts';
import type { RateDecision, RateLimiter } from '../rate-limit.ts';
import { type AccountSteps, listAt, numberAt, type Reply } from './account-steps.ts';

export interface RedisRateDeps {
  readonly steps: AccountSteps;
  readonly clock: Clock;
  /** Requests in any 60 seconds of a key and class. */
  readonly limitOf: (subject: string, rateClass: RateClass) => number;
  /** Changes when an answer of `limitOf` may have changed. */
  readonly generation: () => number;
  /** The account of a key, in whose slot its window stands; null for a subject that is no key. */
  readonly accountOf: (subject: string) => string | null;
}

/** How the gate asks for a window, and what it makes of the reply. */
export interface RateWindows {
  /** The account whose slot holds the windows of a subject. */
  slotOf(subject: string): string;
  /** Name of a window in its slot. */
  nameOf(subject: string, rateClass: RateClass): string;
  /** Time and limit as a step takes them. */
  askedOf(subject: string, rateClass: RateClass, monotonicMs: number): readonly [number | null, number];
  /** `counted`: whether it was let in, requests in the window, the second that frees, the one it counts in; `serverMs`: the time of the step. */
  decide(
    asked: { readonly subject: string; readonly rateClass: RateClass; readonly monotonicMs: number },
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

export function createRateWindows(deps: RedisRateDeps): RateWindows {
  const { steps, limitOf, generation, accountOf } = deps;
  const refusals = new Map<string, Refusal>();
  const nameOf = (subject: string, rateClass: RateClass): string => `${subject}:${rateClass}`;

  /** What is forgotten is asked for again: the oldest of too many makes room. */
  function remember(name: string, refusal: Refusal): void {
    refusals.delete(name);
    refusals.set(name, refusal);
    if (refusals.size <= LIMITS.rateWindowsMax) return;
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
      // What was refused because of it may be allowed now.
      refusals.delete(name);
      // If Redis is away, the count ends by itself within a minute.
      await steps.run('uncount', slotOf(subject), [countedSecond], { rate: name }).catch(() => undefined);
    },
    nameOf,
    askedOf: (subject, rateClass, monotonicMs) => [
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

export function createRedisRateLimiter(
  windows: RateWindows,
  { steps, clock }: Pick<RedisRateDeps, 'steps' | 'clock'>,
): RateLimiter {
  return {
    async check(subject, rateClass, monotonicMs = clock.monotonic()) {
      const reply = await steps.run(
        'rate',
        windows.slotOf(subject),
        windows.askedOf(subject, rateClass, monotonicMs),
        { rate: windows.nameOf(subject, rateClass) },
      );
      return windows.decide({ subject, rateClass, monotonicMs }, listAt(reply, 1), numberAt(reply, 0));
    },
    uncount: windows.uncount,
    refuses: (subject, rateClass, monotonicMs = clock.monotonic()) =>
      windows.refuses(subject, rateClass, monotonicMs),
  };
}
