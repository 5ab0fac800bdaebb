/** When a delivery that failed is tried again. */
import { LIMITS } from '../../base/limits.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits between attempts: those that Standard Webhooks proposes, to just over three days in all. */
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

/** First attempts and their repetitions, all together. */
export const ATTEMPTS_MAX = RETRY_WAITS_MS.length + 1;

/** Waits are stretched by up to this share: receivers that failed together are not asked together again. */
const JITTER = 0.1;

/**
 * Milliseconds until the next attempt, after `failed` attempts (1 or more); null where there is none. A receiver that asks for more
 * time (`Retry-After`) gets it, up to a day. `jitter` is a number from 0 to 1.
 */
export function retryWaitMs(failed: number, retryAfterMs: number | null, jitter: number): number | null {
  const wait = RETRY_WAITS_MS[failed - 1];
  if (wait === undefined) return null;
  const asked = Math.min(retryAfterMs ?? 0, LIMITS.retryAfterMaxMs);
  return Math.round(Math.max(wait, asked) * (1 + JITTER * jitter));
}

/** The longest that a failed delivery waits. One whose next attempt lies further ahead was written before the clock was set back. */
export const LONGEST_WAIT_MS = Math.round(Math.max(...RETRY_WAITS_MS, LIMITS.retryAfterMaxMs) * (1 + JITTER));

/** `Retry-After` (RFC 9110 § 10.2.3), seconds or a date, as milliseconds from `nowMs`; null where it says nothing usable. */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * SECOND;
  // An HTTP-date; Date.parse alone takes almost anything for a date.
  const at = / GMT\s*$/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
