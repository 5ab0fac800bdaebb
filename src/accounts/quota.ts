/** Monthly quotas: the intel addresses and oracle calls that an account has used in this UTC calendar month. */
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import type { QuotaMeterName } from './plans.ts';

export interface QuotaDecision {
  readonly ok: boolean;
  /** Units per month; null for unlimited. */
  readonly limit: number | null;
  /** Units left after this request; null for unlimited. */
  readonly remaining: number | null;
  /** ISO 8601 UTC: the first instant of the next month, when the quota renews. */
  readonly resetAt: string;
}

/** The units taken in one month. */
export interface MonthUse {
  readonly used: number;
  /** ISO 8601 UTC: the first instant of the next month, when the quota renews. */
  readonly resetAt: string;
}

/** The interface of the quota meter. Every implementation passes test/conformance/quota.ts. */
export interface QuotaMeter {
  /** Takes `units` completely or not at all. */
  take(accountId: string, meter: QuotaMeterName, units: number): Awaitable<QuotaDecision>;
  /** Returns units that a request took and did not use, to the current month, and at most what was taken in it. */
  give(accountId: string, meter: QuotaMeterName, units: number): void;
  /**
   * Sets the units of an event to exactly `units`: takes the missing ones, completely or not at all, or returns the excess, in the month in
   * which the event first took units. Durable when it resolves; may be repeated after a crash.
   *
   * @param once - name of the event, unique among all accounts
   */
  settle(accountId: string, meter: QuotaMeterName, once: string, units: number): Promise<QuotaDecision>;
  /** Returns the units taken this month. */
  used(accountId: string, meter: QuotaMeterName): Awaitable<number>;
  /** Returns the units taken in the month that is counted, and when the quota renews: after a clock was set back, a later month is counted. */
  monthUse(accountId: string, meter: QuotaMeterName): Awaitable<MonthUse>;
  /** Writes pending changes and closes the meter. */
  close(): Promise<void>;
}

const UNITS: Readonly<Record<QuotaMeterName, string>> = { intel: 'addresses', oracle: 'oracle calls' };

/** Returns the 402 error of a rejected `take`: the quota, the units left, the units requested, and when it renews. */
export function quotaExhausted(decision: QuotaDecision, meter: QuotaMeterName, units: number): AssayError {
  return new AssayError(
    'QUOTA_EXHAUSTED',
    `Monthly ${meter} quota exceeded: ${decision.remaining} of ${decision.limit} ${UNITS[meter]} left, and this request needs ${units}. The quota renews at ${decision.resetAt}.`,
  );
}
