/** `GET /usage`: balance, ledger and totals of the caller's account. */
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { pageQuery } from '../schemas/common.ts';
import { UsageRecord } from '../schemas/usage.ts';
import { pageEnd } from './support/paging.ts';

export const usage = operation({
  id: 'usage',
  tag: 'Account',
  method: 'GET',
  path: '/usage',
  permission: 'any',
  query: pageQuery(HTTP_LIMITS.usagePageMax),
  response: UsageRecord,
  summary: 'Balance and ledger',
  description: 'Every entry with the balance after it, newest first, and totals by type and day.',
  async run({ services, call, query }) {
    const page = await services.access.ledger().usage(callerOf(call).accountId, query);
    const { balance, history, totals, free, granted, bought, held, renewsAt } = page;
    return {
      balance,
      history,
      ...pageEnd(query, page),
      totals,
      credits: { free, granted, bought, held, renewsAt },
    };
  },
});
