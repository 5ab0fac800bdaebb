/** Time as a dependency: the only module that reads the machine's clocks, so that a test can inject its own. */

export interface Clock {
  /** Milliseconds since the epoch. Can jump; for timestamps. */
  now(): number;
  /** Milliseconds from an arbitrary start. Never decreases; for durations and limits. */
  monotonic(): number;
}

/** The clocks of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Returns the time at which this thread's monotonic clock was 0, by a clock that all threads of the process share. */
export const monotonicOriginMs = (): number => Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * Returns the clocks with the monotonic time of another thread of this process: that of each thread begins with it.
 *
 * @param originMs - `monotonicOriginMs` of the other thread
 */
export function clockOf(originMs: number): Clock {
  const ahead = monotonicOriginMs() - originMs;
  return { now: systemClock.now, monotonic: () => performance.now() + ahead };
}

const DAY_MS = 24 * 3_600_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
/** Days whose dates are kept, a power of two: the transfers of an answer are of a few hundred days. */
const KEPT_DAYS = 4096;
const keptDays = new Float64Array(KEPT_DAYS).fill(Number.NaN);
const keptDates = new Array<string>(KEPT_DAYS).fill('');

/**
 * Formats milliseconds since the epoch as ISO 8601 UTC with milliseconds, as `Date` does. Pages, logs and answers format many times of
 * the same days, so the dates of some are kept.
 *
 * @throws RangeError if it is not a time
 */
export function isoTime(epochMs: number): string {
  const time = Math.trunc(epochMs);
  const day = Math.floor(time / DAY_MS);
  const place = day & (KEPT_DAYS - 1);
  if (keptDays[place] !== day) {
    const text = new Date(time).toISOString();
    keptDates[place] = text.slice(0, text.indexOf('T') + 1);
    keptDays[place] = day;
    return text;
  }
  const ms = time - day * DAY_MS;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const rest = String(ms % 1_000).padStart(3, '0');
  return `${keptDates[place]}${TWO_DIGITS[hours]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}.${rest}Z`;
}
