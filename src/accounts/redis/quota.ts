/** Monthly quotas over all nodes, counted in the state of each account. */
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { monthEnd } from '../credits.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import type { QuotaMeterName } from '../plans.ts';
import type { QuotaDecision, QuotaMeter } from '../quota.ts';
import { OUTCOME } from './account-lua.ts';
import { type AccountSteps, numberAt, type Reply } from './account-steps.ts';

export interface RedisQuotaDeps {
  readonly steps: AccountSteps;
  readonly log: Logger;
  /** Units per month of an account; null for unlimited. */
  readonly limitOf: (accountId: string, meter: QuotaMeterName) => number | null;
}

/** Returns the quota decision after `taken` units; `month` is counted from year 0. */
export const quotaDecision = (
  ok: boolean,
  limit: number | null,
  month: number,
  taken: number,
): QuotaDecision => ({
  ok,
  limit,
  remaining: limit === null ? null : Math.max(0, limit - taken),
  resetAt: monthEnd(month),
});

/** Creates the quota meter over Redis. */
export function createRedisQuotaMeter({ steps, log, limitOf }: RedisQuotaDeps): QuotaMeter {
  const returning = new Set<Promise<void>>();

  /** Decodes a reply of the outcome, the month, and the units taken so far. */
  const decide = (reply: Reply, limit: number | null): QuotaDecision =>
    quotaDecision(numberAt(reply, 0) === OUTCOME.done, limit, numberAt(reply, 1), numberAt(reply, 2));

  return {
    async take(accountId, meter, units) {
      const limit = limitOf(accountId, meter);
      return decide(await steps.run('take', accountId, [meter, units, limit]), limit);
    },
    give(accountId, meter, units) {
      const returned = steps
        .run('give', accountId, [meter, units])
        .then(() => {})
        .catch((error: unknown) =>
          log.warn({ account: accountId, reason: messageOf(error) }, 'quota units not returned'),
        )
        .finally(() => returning.delete(returned));
      returning.add(returned);
    },
    async settle(accountId, meter, once, units) {
      const limit = limitOf(accountId, meter);
      const args = [meter, units, limit, ACCOUNT_LIMITS.quotaEventMs];
      return decide(await steps.runSafely('settleUnits', accountId, args, { mark: `units:${once}` }), limit);
    },
    async used(accountId, meter) {
      return numberAt(await steps.run('used', accountId, [meter]), 2);
    },
    async monthUse(accountId, meter) {
      const reply = await steps.run('used', accountId, [meter]);
      return { used: numberAt(reply, 2), resetAt: monthEnd(numberAt(reply, 1)) };
    },
    async close() {
      await Promise.all(returning);
    },
  };
}
