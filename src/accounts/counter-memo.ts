/**
 * References to the counters of a key. A look-up of one key among thousands waits for memory, so the cached record of the key has
 * this object, and the next request of the key finds its counters without one.
 */
export interface CounterMemo {
  /** A window of the rate limiter; null before the first request. Only the limiter reads it, and checks its key. */
  window: object | null;
  /** A counter of the quota meter, likewise. */
  units: object | null;
}

/** Returns the references of a key that has not been used yet. */
export const newCounterMemo = (): CounterMemo => ({ window: null, units: null });
