/**
 * The gate of a request: one step that counts it, looks for an answer that was kept, and takes what it needs of its account's quota
 * and credits. One step, so that it is one round trip where accounts are kept behind a network.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { AssayError } from '../base/errors.ts';
import type { AnswerSlot, Reservation, StoredAnswer } from './ledger.ts';
import type { QuotaMeterName, RateClass } from './plans.ts';
import type { QuotaDecision } from './quota.ts';
import type { RateDecision } from './rate-limit.ts';

/** What a request needs. What is null is not asked for. */
export interface Asked {
  /** Whose requests are counted: the id of a key or an account, or a client's address. */
  readonly rate: { readonly subject: string; readonly rateClass: RateClass } | null;
  /** Null where nobody pays: then the three below are null. */
  readonly accountId: string | null;
  /** Where an answer may be kept already; where one is, neither quota nor credits are taken. */
  readonly slot: AnswerSlot | null;
  readonly quota: { readonly meter: QuotaMeterName; readonly units: number } | null;
  /** Credits to hold. */
  readonly credits: number | null;
}

/** What became of it, in the order of the steps: those behind the one that refused are null. */
export interface Admission {
  readonly rate: RateDecision | null;
  readonly kept: StoredAnswer | null;
  readonly quota: QuotaDecision | null;
  readonly reservation: Reservation | null;
  /** Why it is not let in: RATE_LIMITED, QUOTA_EXHAUSTED, CREDITS_EXHAUSTED; nothing but its count was taken then. */
  readonly refused: AssayError | null;
}

/** Every implementation passes test/conformance/gate.ts. */
export interface Gate {
  /**
   * A refusal that is certain without counting: so that the body of a request that cannot be let in is not looked at. Null where it
   * has to be asked for.
   */
  refuses(subject: string, rateClass: RateClass, monotonicMs: number): RateDecision | null;
  /** Takes back the count of a request that was let in in that second and then could not be served. Never throws or rejects. */
  uncount(subject: string, rateClass: RateClass, countedSecond: number): Awaitable<void>;
  /** Throws (or rejects with) NOT_READY, LEDGER_UNAVAILABLE where accounts cannot be read; then nothing was taken. */
  admit(asked: Asked, monotonicMs: number): Awaitable<Admission>;
}
