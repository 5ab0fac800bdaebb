/** `GET /billing/invoices`. */
import { Type } from 'typebox';
import { invoiceAnswer } from '../../billing/invoice.ts';
import { BILLING_LIMITS } from '../../billing/limits.ts';
import { INVOICE_STATES, PAYMENT_METHODS } from '../../billing/records.ts';
import { callerOf, operation } from '../operation.ts';
import { InvoiceList } from '../schemas/billing.ts';
import { oneOf, pageQuery } from '../schemas/fields.ts';
import { BILLING } from './support/billing.ts';
import { pageEnd } from './support/paging.ts';

export const listInvoices = operation({
  ...BILLING,
  id: 'listInvoices',
  sdk: 'billing.list',
  method: 'GET',
  path: '/billing/invoices',
  query: {
    state: Type.Optional(oneOf([...INVOICE_STATES], 'Only invoices in this state.')),
    method: Type.Optional(oneOf([...PAYMENT_METHODS], 'Only invoices that are paid in this way.')),
    ...pageQuery(BILLING_LIMITS.invoicePageMax),
  },
  response: InvoiceList,
  summary: 'List invoices',
  description:
    'Purchases of the account, newest first, with the ledger entries that each has made. Unpaid invoices are deleted after a while. A page of a filter may be short although more follow: continue while nextCursor is set.',
  async run({ services, call, query }) {
    const { limit, cursor, state, method } = query;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const filter = {
      ...(state === undefined ? {} : { state }),
      ...(method === undefined ? {} : { method }),
    };
    const result = services.useCases.billing().invoices(callerOf(call).accountId, filter, page);
    const nowMs = services.clock.now();
    return {
      invoices: result.invoices.map((invoice) => invoiceAnswer(invoice, nowMs)),
      ...pageEnd(query, result),
    };
  },
});
