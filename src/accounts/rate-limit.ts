/** Rate limits: never more than N requests of a key and class in any 60 seconds, a rested key may use all N at once. */
import type { RateClass } from './plans.ts';

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
}

/** Every implementation passes test/conformance/rate-limit.ts. */
export interface RateLimiter {
  /** Counts a request where it is allowed; a refused one is not counted. `monotonicMs` never goes back; default: the clock's. */
  check(keyId: string, rateClass: RateClass, monotonicMs?: number): RateDecision;
}
