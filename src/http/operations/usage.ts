/** `GET /usage`: balance, ledger and totals of the caller's account. */
import { Type } from 'typebox';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { pageLimit } from '../schemas/common.ts';
import { UsageRecord } from '../schemas/usage.ts';

export const usage = operation({
  id: 'usage',
  tag: 'Account',
  method: 'GET',
  path: '/usage',
  permission: 'any',
  query: {
    limit: pageLimit(HTTP_LIMITS.usagePageMax),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 32, description: 'The `nextCursor` of an earlier response.' }),
    ),
  },
  response: UsageRecord,
  summary: 'Balance and ledger',
  description: 'Every entry with the balance after it, newest first, and totals by type and day.',
  async run({ services, call, query }) {
    const page = await services.access.ledger().usage(callerOf(call).accountId, query);
    const { balance, history, nextCursor, totals, free, granted, bought, held, renewsAt } = page;
    return { balance, history, nextCursor, totals, credits: { free, granted, bought, held, renewsAt } };
  },
});
