/** `GET /billing/statements/{month}`. */
import { Type } from 'typebox';
import { POOLS } from '../../accounts/pools.ts';
import { statementCsv } from '../../billing/statement.ts';
import { callerOf, NO_STORE, operation, partsSource } from '../operation.ts';
import { oneOf } from '../schemas/fields.ts';
import { BILLING } from './support/billing.ts';

export const billingStatement = operation({
  ...BILLING,
  id: 'billingStatement',
  sdk: 'billing.statement',
  method: 'GET',
  path: '/billing/statements/{month}',
  pathParameters: {
    month: Type.String({
      pattern: '^20\\d\\d-(0[1-9]|1[0-2])$',
      description: 'Month (UTC).',
      examples: ['2026-11'],
    }),
  },
  query: {
    pool: Type.Optional(oneOf([...POOLS], 'The balance. Default `api`.')),
    format: Type.Optional(oneOf(['csv', 'html'], '`html`: a page to print. Default `csv`.')),
  },
  response: 'text/csv',
  otherTypes: ['text/html'],
  responseHeaders: ['Cache-Control', 'Content-Security-Policy'],
  summary: 'Monthly statement',
  description:
    'Opening balance, purchases, grants, refunds and adjustments one by one with their invoices, the charges of each day, and the closing balance, in UTC. Every row has the balance after it.',
  async file({ services, call, path, query }) {
    const { accountId } = callerOf(call);
    const billing = services.useCases.billing();
    const pool = query.pool ?? 'api';
    if (query.format === 'html') {
      const { html, policy } = await billing.printedStatement(accountId, pool, path.month);
      call.lines += `\r\nContent-Security-Policy: ${policy}${NO_STORE}`;
      const bytes = Buffer.from(html);
      return {
        status: 200,
        contentType: 'text/html; charset=utf-8',
        source: partsSource(bytes.length, [bytes]),
      };
    }
    call.lines += NO_STORE;
    const bytes = Buffer.from(statementCsv(await billing.statement(accountId, pool, path.month)));
    return {
      status: 200,
      contentType: 'text/csv; charset=utf-8',
      source: partsSource(bytes.length, [bytes]),
    };
  },
});
