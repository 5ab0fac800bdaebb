import { DELIVERY_LIMITS } from './limits.ts';

/** Retry schedule of failed deliveries. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits between attempts as proposed by Standard Webhooks, just over three days in total. */
export const RETRY_WAITS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Maximum number of attempts: the first one and its retries. */
export const ATTEMPTS_MAX = RETRY_WAITS_MS.length + 1;

/** Waits are extended by up to this share, so that receivers that failed together are not retried together. */
const JITTER = 0.1;

/**
 * Returns the wait until the next attempt, in milliseconds; null if no attempt is left.
 *
 * @param failed - number of failed attempts, 1 or more
 * @param retryAfterMs - the wait that the receiver asked for (`Retry-After`); honoured up to a day
 * @param jitter - a number from 0 to 1
 */
export function retryWaitMs(failed: number, retryAfterMs: number | null, jitter: number): number | null {
  const wait = RETRY_WAITS_MS[failed - 1];
  if (wait === undefined) return null;
  const asked = Math.min(retryAfterMs ?? 0, DELIVERY_LIMITS.retryAfterMaxMs);
  return Math.round(Math.max(wait, asked) * (1 + JITTER * jitter));
}

/** The longest wait of a failed delivery. If the next attempt is further ahead, it was stored before the clock was set back. */
export const LONGEST_WAIT_MS = Math.round(
  Math.max(...RETRY_WAITS_MS, DELIVERY_LIMITS.retryAfterMaxMs) * (1 + JITTER),
);

/**
 * Parses `Retry-After` (RFC 9110 § 10.2.3), in seconds or as a date.
 *
 * @returns milliseconds from `nowMs`; null if the header is absent or invalid
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * SECOND;
  // An HTTP-date; Date.parse alone accepts almost any text as a date.
  const at = / GMT\s*$/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
