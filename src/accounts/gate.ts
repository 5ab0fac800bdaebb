/**
 * Authorizes a request in one step: it counts the request, looks up a stored response, and takes quota and credits from the account. One
 * step, so that it costs one round trip if accounts are stored behind a network.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { AssayError } from '../base/errors.ts';
import type { CounterMemo } from './counter-memo.ts';
import type { AnswerSlot, Reservation, StoredAnswer } from './ledger.ts';
import type { QuotaMeterName, RateClass } from './plans.ts';
import type { Pool } from './pools.ts';
import type { QuotaDecision } from './quota.ts';
import type { RateDecision } from './rate-limit.ts';

/** The needs of a request. A part that is null is skipped. */
export interface GateRequest {
  /** The subject of the rate limit: the id of a key or an account, or a client's address. */
  readonly rate: { readonly subject: string; readonly rateClass: RateClass } | null;
  /** Null if no account pays: the three fields below are then null. */
  readonly accountId: string | null;
  /** The balance of the account that pays credits. Default: `api`. */
  readonly pool?: Pool;
  /** Slot of a stored response; if it holds one, neither quota nor credits are taken. */
  readonly slot: AnswerSlot | null;
  readonly quota: { readonly meter: QuotaMeterName; readonly units: number } | null;
  /** Credits to reserve. */
  readonly credits: number | null;
}

/** The results of the steps, in their order; null for steps after a rejection. */
export interface Admission {
  readonly rate: RateDecision | null;
  /** The stored response of the slot. */
  readonly storedAnswer: StoredAnswer | null;
  readonly quota: QuotaDecision | null;
  readonly reservation: Reservation | null;
  /** Why the request is rejected: RATE_LIMITED, QUOTA_EXHAUSTED, CREDITS_EXHAUSTED; at most its count is taken then. */
  readonly refused: AssayError | null;
}

/** The interface of the gate. Every implementation passes test/conformance/gate.ts. */
export interface Gate {
  /**
   * Returns a rejection that is certain without counting, so that the body of a rejected request is not parsed. Returns null if `admit`
   * must decide.
   */
  refuses(subject: string, rateClass: RateClass, monotonicMs: number): RateDecision | null;
  /** Undoes the count of a request that was admitted in that second but could not be served. Never throws or rejects. */
  uncount(subject: string, rateClass: RateClass, countedSecond: number): Awaitable<void>;
  /**
   * Counts a request, and takes its quota and credits.
   *
   * @param monotonicMs - the current time of the monotonic clock
   * @param memo - remembers the counters of the key, if they are in this process
   * @throws NOT_READY, LEDGER_UNAVAILABLE if accounts cannot be read; nothing is taken then
   */
  admit(request: GateRequest, monotonicMs: number, memo?: CounterMemo | null): Awaitable<Admission>;
}
