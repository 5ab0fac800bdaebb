/**
 * The gate over the accounts of this machine. Every step returns at once, from memory or LMDB. The exception is the first request of an
 * account for quota units: it waits for a commit while other requests are processed.
 */
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import type { CounterMemo } from './counter-memo.ts';
import type { Admission, Gate, GateRequest } from './gate.ts';
import type { AnswerSlot, Reservation, StoredAnswer } from './ledger.ts';
import { balanceId } from './pools.ts';
import { quotaExhausted } from './quota.ts';
import type { EmbeddedQuotaMeter } from './quota-lmdb.ts';
import { type EmbeddedRateLimiter, rateLimited } from './rate-limit.ts';

/** The services that the gate calls synchronously. */
export interface EmbeddedGateDeps {
  readonly limiter: Pick<EmbeddedRateLimiter, 'refuses' | 'check' | 'uncount'>;
  readonly quota: Pick<EmbeddedQuotaMeter, 'leased' | 'takeLeased' | 'take'>;
  /** Opened at the first call. */
  readonly ledger: () => {
    storedAnswer(accountId: string, slot: AnswerSlot): StoredAnswer | null;
    reserve(accountId: string, amount: number): Reservation;
  };
}

type Steps = { -readonly [Step in keyof Admission]: Admission[Step] };

/** Creates a gate over the accounts of this machine. */
export function createEmbeddedGate({ limiter, quota, ledger }: EmbeddedGateDeps): Gate {
  /** Takes quota and credits from the account, after the request was counted. */
  function take(request: GateRequest, steps: Steps): void {
    const { accountId, slot, quota: wanted } = request;
    if (accountId === null) return;
    steps.storedAnswer = slot === null ? null : ledger().storedAnswer(accountId, slot);
    if (steps.storedAnswer !== null) return;
    if (wanted !== null) {
      const { meter, units } = wanted;
      steps.quota = quota.take(accountId, meter, units);
      if (!steps.quota.ok) {
        steps.refused = quotaExhausted(steps.quota, meter, units);
        return;
      }
    }
    reserve(accountId, request, steps);
  }

  function reserve(accountId: string, { pool = 'api', credits }: GateRequest, steps: Steps): void {
    if (credits === null) return;
    try {
      steps.reservation = ledger().reserve(balanceId(accountId, pool), credits);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'CREDITS_EXHAUSTED') throw error;
      steps.refused = error;
    }
  }

  /**
   * Takes what the account provides, once its units of quota are leased.
   *
   * @param mayWait - false after a lease that was not written: `take` then answers for itself
   */
  function takeWhenLeased(
    request: GateRequest,
    steps: Steps,
    mayWait: boolean,
    memo: CounterMemo | null = null,
  ): Awaitable<Admission> {
    const { accountId, slot, quota: wanted } = request;
    if (mayWait && accountId !== null && wanted !== null) {
      const { meter, units } = wanted;
      // Nearly all requests of hot operations are over after this one look-up.
      steps.quota = slot === null ? quota.takeLeased(accountId, meter, units, memo) : null;
      if (steps.quota !== null) {
        reserve(accountId, request, steps);
        return steps;
      }
      const lease = quota.leased(accountId, meter, units);
      // Other requests may have taken the lease before this one: then it waits for the next.
      if (lease !== null) return lease.then((isWritten) => takeWhenLeased(request, steps, isWritten));
    }
    take(request, steps);
    return steps;
  }

  return {
    refuses: (subject, rateClass, monotonicMs) => limiter.refuses(subject, rateClass, monotonicMs),
    uncount: (subject, rateClass, second) => limiter.uncount(subject, rateClass, second),
    admit(request, monotonicMs, memo = null) {
      const steps: Steps = { rate: null, storedAnswer: null, quota: null, reservation: null, refused: null };
      if (request.rate !== null) {
        steps.rate = limiter.check(request.rate.subject, request.rate.rateClass, monotonicMs, memo);
        if (!steps.rate.allowed) steps.refused = rateLimited(steps.rate);
      }
      return steps.refused === null ? takeWhenLeased(request, steps, true, memo) : steps;
    },
  };
}
