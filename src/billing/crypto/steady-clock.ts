/**
 * A clock for price locks: it advances by the monotonic clock, so that a jump of the machine's clock neither shortens nor prolongs a lock
 * that is running. After the new time has lasted for one lock, it is the right one: it was a correction, and no earlier lock is running.
 */
import type { Clock } from '../../base/clock.ts';

/** Differences below this are drift, which is followed at once: a lock is honoured to the second, and clocks are slewed by less. */
const DRIFT_MS = 500;

export class SteadyClock implements Clock {
  readonly #clock: Clock;
  readonly #lockMs: number;
  /** Wall time minus monotonic time. */
  #offsetMs: number;
  /** The differing offset and when it was seen first, by the monotonic clock; null while the clocks agree. */
  #jump: { readonly offsetMs: number; readonly sinceMs: number } | null = null;

  /** @param lockMs - duration of the longest lock */
  constructor(clock: Clock, lockMs: number) {
    this.#clock = clock;
    this.#lockMs = lockMs;
    this.#offsetMs = clock.now() - clock.monotonic();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  now(): number {
    const monotonicMs = this.#clock.monotonic();
    const offsetMs = this.#clock.now() - monotonicMs;
    if (Math.abs(offsetMs - this.#offsetMs) <= DRIFT_MS) {
      this.#offsetMs = offsetMs;
      this.#jump = null;
    } else if (this.#jump === null || Math.abs(offsetMs - this.#jump.offsetMs) > DRIFT_MS)
      this.#jump = { offsetMs, sinceMs: monotonicMs };
    else if (monotonicMs - this.#jump.sinceMs >= this.#lockMs) {
      this.#offsetMs = offsetMs;
      this.#jump = null;
    }
    return Math.round(monotonicMs + this.#offsetMs);
  }
}
