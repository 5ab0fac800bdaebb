/** Monthly quotas: what an account took of its intel addresses and oracle calls in this UTC calendar month. */
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import type { QuotaMeterName } from './plans.ts';

export interface QuotaDecision {
  readonly ok: boolean;
  /** Units a month; null is unlimited. */
  readonly limit: number | null;
  /** Units left after this; null is unlimited. */
  readonly remaining: number | null;
  /** ISO 8601 UTC: the first instant of the next month, when the quota renews. */
  readonly resetAt: string;
}

/** Every implementation passes test/conformance/quota.ts. */
export interface QuotaMeter {
  /** Takes `units` whole or not at all. */
  take(accountId: string, meter: QuotaMeterName, units: number): Awaitable<QuotaDecision>;
  /** Gives back what a request took and did not use: to the month of now, and at most what was taken in it. */
  give(accountId: string, meter: QuotaMeterName, units: number): void;
  /**
   * Makes what an event has taken exactly `units`: takes what is missing, whole or not at all, or gives back what is too much, to
   * the month in which it first took. Durable when it resolves, and may be repeated after any crash. `once` names the event, among
   * those of all accounts.
   */
  settle(accountId: string, meter: QuotaMeterName, once: string, units: number): Promise<QuotaDecision>;
  /** Units taken this month. */
  used(accountId: string, meter: QuotaMeterName): Awaitable<number>;
  /** Writes what is batched and closes. */
  close(): Promise<void>;
}

const UNITS: Readonly<Record<QuotaMeterName, string>> = { intel: 'addresses', oracle: 'oracle calls' };

/** The 402 of a refused `take`: what the quota is, what is left, what was asked, and when it renews. */
export function quotaExhausted(decision: QuotaDecision, meter: QuotaMeterName, units: number): AssayError {
  return new AssayError(
    'QUOTA_EXHAUSTED',
    `The monthly ${meter} quota of ${decision.limit} ${UNITS[meter]} leaves ${decision.remaining}, and this request needs ${units}. It renews at ${decision.resetAt}.`,
  );
}
