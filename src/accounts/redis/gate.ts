/** The gate over accounts in Redis: rate limit, stored response, quota and credits in one script and one round trip. */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { STATE_LIMITS } from '../../state/limits.ts';
import type { Admission, Gate, GateRequest } from '../gate.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import type { QuotaMeterName } from '../plans.ts';
import { balanceId } from '../pools.ts';
import { quotaExhausted } from '../quota.ts';
import { rateLimited } from '../rate-limit.ts';
import { OUTCOME } from './account-lua.ts';
import { type AccountSteps, bytesAt, numberAt, type Reply } from './account-steps.ts';
import type { RedisLedger } from './ledger.ts';
import { quotaDecision } from './quota.ts';
import type { RateWindows } from './rate-limit.ts';

export interface RedisGateDeps {
  readonly steps: AccountSteps;
  readonly windows: RateWindows;
  readonly clock: Clock;
  /** Opened at the first call. */
  readonly ledger: () => RedisLedger;
  readonly freeCredits: (accountId: string) => number;
  readonly quotaOf: (accountId: string, meter: QuotaMeterName) => number | null;
}

type Step = { -readonly [Name in keyof Admission]: Admission[Name] };

const NOTHING: Admission = { rate: null, storedAnswer: null, quota: null, reservation: null, refused: null };

/** Creates a gate over accounts in Redis. */
export function createRedisGate(deps: RedisGateDeps): Gate {
  const { steps, windows, clock, ledger, freeCredits, quotaOf } = deps;
  /** The server's clock minus the monotonic clock of this process, by the last reply; null before the first. */
  let aheadMs: number | null = null;

  /** Converts the reply of the account to the results of the steps. */
  function admission(
    request: GateRequest,
    limit: number | null,
    nonce: string,
    reply: Reply,
    monotonicMs: number,
  ): Step {
    const { rate, accountId, pool = 'api', quota, credits } = request;
    const [outcome, serverMs] = [numberAt(reply, 0), numberAt(reply, 1)];
    const step: Step = { ...NOTHING };
    if (rate !== null) step.rate = windows.decide({ ...rate, monotonicMs }, reply.slice(2, 6), serverMs);
    if (outcome === OUTCOME.rateLimited && step.rate !== null) step.refused = rateLimited(step.rate);
    if (outcome === OUTCOME.kept)
      step.storedAnswer = { bodyHash: bytesAt(reply, 10), body: bytesAt(reply, 11) };
    if (step.refused !== null || step.storedAnswer !== null || accountId === null) return step;
    if (quota !== null) {
      const ok = outcome !== OUTCOME.quotaExhausted;
      step.quota = quotaDecision(ok, limit, numberAt(reply, 6), numberAt(reply, 7));
      if (!ok) step.refused = quotaExhausted(step.quota, quota.meter, quota.units);
    }
    if (credits === null || step.refused !== null) return step;
    const [balance, holding] = [numberAt(reply, 8), numberAt(reply, 9)];
    const payer = balanceId(accountId, pool);
    if (outcome === OUTCOME.creditsExhausted)
      step.refused = ledger().shortage(payer, credits, balance, holding, serverMs);
    else step.reservation = ledger().addHold(payer, credits, nonce, serverMs);
    return step;
  }

  /**
   * Runs the step with a deadline: if it reaches the server after its client got an error, it does nothing, so a server that hung does not
   * count queued requests when it resumes. If the server's clock was set forward, the second try has the new difference.
   */
  async function inTime(run: (deadlineMs: number | null) => Promise<Reply>): Promise<Reply> {
    for (let tries = 0; tries < 2; tries++) {
      const isTimed = steps.time === undefined && aheadMs !== null;
      const reply = await run(
        isTimed ? Math.ceil(clock.monotonic() + (aheadMs ?? 0) + STATE_LIMITS.redisCommandMs) : null,
      );
      aheadMs = numberAt(reply, 1) - clock.monotonic();
      if (numberAt(reply, 0) !== OUTCOME.expired) return reply;
    }
    throw new AssayError('NOT_READY', 'Redis responded too late; nothing was charged. Retry the request.', {
      retryAfterSeconds: 1,
    });
  }

  return {
    uncount: (subject, rateClass, second) => windows.uncount(subject, rateClass, second),
    refuses: (subject, rateClass, monotonicMs) => windows.refuses(subject, rateClass, monotonicMs),
    async admit(request, monotonicMs) {
      const { rate, accountId, pool = 'api', slot, quota, credits } = request;
      const place = accountId ?? (rate === null ? null : windows.slotOf(rate.subject));
      const isNeeded = rate !== null || slot !== null || quota !== null || credits !== null;
      if (place === null || !isNeeded) return NOTHING;
      const payer = balanceId(place, pool);
      const limit = quota === null ? null : quotaOf(place, quota.meter);
      const nonce = steps.nonce();
      const args = [
        ...(rate === null ? [null, null] : windows.argumentsOf(rate.subject, rate.rateClass, monotonicMs)),
        slot === null ? null : LIMITS.idempotencyMs,
        ...(quota === null ? [null, null, null] : [quota.meter, quota.units, limit]),
        ...(credits === null
          ? [null, null, null, null]
          : [credits, nonce, ACCOUNT_LIMITS.ledgerHoldMs, freeCredits(payer)]),
      ];
      const keys = {
        ...(slot === null ? {} : { slot }),
        ...(credits === null ? {} : { mark: nonce }),
        ...(rate === null ? {} : { rate: windows.nameOf(rate.subject, rate.rateClass) }),
      };
      let reply: Reply;
      try {
        reply = await inTime((deadlineMs) => steps.run('admit', payer, [...args, deadlineMs], keys));
        // The node that stored the response may not know whether enough replicas have it.
        if (numberAt(reply, 0) === OUTCOME.kept && steps.redis.replicas > 0)
          await steps.runSafely('confirm', payer, []);
      } catch (error) {
        const isUnknown = error instanceof AssayError && error.code === 'NOT_READY';
        if (credits !== null && isUnknown) ledger().releaseUncertain(payer, credits, nonce);
        throw error;
      }
      return admission(request, limit, nonce, reply, monotonicMs);
    },
  };
}
