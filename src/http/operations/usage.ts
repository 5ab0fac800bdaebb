/** `GET /usage`: balances, ledger and totals of the caller's account. */
import type { UsagePage } from '../../accounts/ledger.ts';
import { QUOTA_METERS } from '../../accounts/plans.ts';
import { balanceId } from '../../accounts/pools.ts';
import { objectText } from '../../base/kept-json.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation, type Services } from '../operation.ts';
import { cursorParameter, pageQuery } from '../schemas/fields.ts';
import { UsageRecord } from '../schemas/usage.ts';
import { pageEnd } from './support/paging.ts';

/** Returns one balance and a page of its ledger in the form of the response. */
function balanceView(page: UsagePage, limit: number): object {
  const { balance, history, totals, free, granted, bought, held, renewsAt } = page;
  return {
    balance,
    history,
    ...pageEnd({ limit }, page),
    totals,
    credits: { free, granted, bought, held, renewsAt },
  };
}

/** Returns the plan of an account with the units of its quotas that were used this month. */
async function planView({ access }: Services, accountId: string): Promise<object> {
  const { name, creditsPerMonth, walletsMax, rateLimits, quotas } = access.planOf(accountId);
  const uses = await Promise.all(QUOTA_METERS.map((meter) => access.quota.monthUse(accountId, meter)));
  return {
    ...{ name, creditsPerMonth, walletsMax, requestsPerMinute: rateLimits },
    quotas: QUOTA_METERS.map((meter, index) => ({
      ...{ meter, limit: quotas[meter], ...uses[index] },
    })),
  };
}

export const usage = operation({
  id: 'usage',
  sdk: 'usage.get',
  tag: 'Account',
  method: 'GET',
  path: '/usage',
  permission: 'any',
  query: {
    ...pageQuery(HTTP_LIMITS.usagePageMax),
    dashboardCursor: cursorParameter('The `dashboard.nextCursor` of the previous page; with a session only.'),
  },
  response: UsageRecord,
  summary: 'Balance and ledger',
  description:
    'Every entry with the balance after it, newest first, totals by type and day, and the plan with what is used of its quotas. Calls with a key are charged to this balance, and calls with a session to `dashboard`, which only sessions see.',
  async run({ services, call, query }) {
    const { accountId } = callerOf(call);
    const { dashboardCursor, ...page } = query;
    const ledger = services.access.ledger();
    const api = {
      ...balanceView(await ledger.usage(accountId, page), page.limit),
      plan: await planView(services, accountId),
    };
    if (call.pool === 'api') return Buffer.from(objectText(api));
    const own = await ledger.usage(balanceId(accountId, 'dashboard'), {
      limit: page.limit,
      ...(dashboardCursor === undefined ? {} : { cursor: dashboardCursor }),
    });
    return Buffer.from(objectText({ ...api, dashboard: balanceView(own, page.limit) }));
  },
});
