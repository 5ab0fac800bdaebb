/** Bills bulk jobs. */
import type { Access } from '../accounts/access.ts';
import { balanceId } from '../accounts/pools.ts';
import { quotaExhausted } from '../accounts/quota.ts';
import { OPERATIONS } from '../http/operations/index.ts';
import type { JobBilling } from '../jobs/bulk/billing.ts';

/** Bills jobs at the prices of single requests, under the name of the job: quota units for addresses, or credits for each request. */
export function jobBilling(access: () => Access): JobBilling {
  const creditsOf = (path: string): number => OPERATIONS.find((one) => one.path === path)?.credits ?? 0;
  return {
    priceOf: (kind) =>
      kind === 'labels' || kind === 'sanctions'
        ? { unit: 'intel', perLine: 1 }
        : { unit: 'credits', perLine: creditsOf(`/${kind}`) },
    async settle({ id, accountId, kind, pool = 'api' }, units) {
      const once = `job:${id}`;
      if (kind === 'labels' || kind === 'sanctions') {
        const decision = await access().quota.settle(accountId, 'intel', once, units);
        if (!decision.ok) throw quotaExhausted(decision, 'intel', units);
        return;
      }
      const type = kind === 'screening' ? 'SCREENING' : 'DEDUCTION';
      await access()
        .ledger()
        .settle({
          accountId: balanceId(accountId, pool),
          type,
          once,
          total: units,
          reference: `jobs/${id} ${kind}`,
        });
    },
  };
}
