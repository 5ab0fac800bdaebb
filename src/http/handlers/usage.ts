/** GET /usage: balance, ledger and totals of the caller's account. */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Work } from '../pipeline.ts';
import type { HttpDeps } from '../ports.ts';
import { queryValue } from '../query.ts';

const PAGE_DEFAULT = 50;

function limitOf(query: string): number {
  const value = queryValue(query, 'limit');
  if (value === undefined) return PAGE_DEFAULT;
  const limit = /^\d{1,4}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= LIMITS.usagePageMax) return limit;
  throw new AssayError('INVALID_REQUEST', `limit: must be a whole number from 1 to ${LIMITS.usagePageMax}.`, {
    field: 'limit',
  });
}

export function usageWork({ access }: Pick<HttpDeps, 'access'>): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const { caller } = call;
      if (caller === null) throw new AssayError('INTERNAL', 'Usage was asked for without a key.');
      const query = call.exchange.query();
      const cursor = queryValue(query, 'cursor');
      const page = await access
        .ledger()
        .usage(caller.accountId, { limit: limitOf(query), ...(cursor === undefined ? {} : { cursor }) });
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
