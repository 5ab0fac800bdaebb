/** `GET /usage`: balance, ledger and totals of the caller's account. */
import { LIMITS } from '../../base/limits.ts';
import { callerOf } from '../pipeline/call.ts';
import { PAGE_DEFAULT, queryValue, wholeNumber } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

/** Handles `GET /usage`. */
export function usageWork({ access }: Pick<HttpDeps, 'access'>): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const caller = callerOf(call);
      const query = call.exchange.query();
      const cursor = queryValue(query, 'cursor');
      const page = await access.ledger().usage(caller.accountId, {
        limit: wholeNumber(query, 'limit', PAGE_DEFAULT, 1, LIMITS.usagePageMax),
        ...(cursor === undefined ? {} : { cursor }),
      });
      const { balance, history, nextCursor, totals, free, granted, bought, held, renewsAt } = page;
      return Buffer.from(
        JSON.stringify({
          balance,
          history,
          nextCursor,
          totals,
          credits: { free, granted, bought, held, renewsAt },
        }),
      );
    },
  };
}
