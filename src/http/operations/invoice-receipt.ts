/** `GET /billing/invoices/{id}/receipt`. */
import { callerOf, NO_STORE, operation, partsSource } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { BILLING, invoicePath } from './support/billing.ts';

export const invoiceReceipt = operation({
  ...BILLING,
  id: 'invoiceReceipt',
  sdk: 'billing.receipt',
  method: 'GET',
  path: '/billing/invoices/{id}/receipt',
  pathParameters: invoicePath,
  response: 'text/html',
  responseHeaders: ['Cache-Control', 'Content-Security-Policy'],
  statuses: {
    404: { description: 'The account has no such invoice, or it is not settled.', schema: ErrorBody },
  },
  summary: 'Receipt of an invoice',
  description:
    'A page to print, with the details of the operator and the VAT that the price contains. The numbers of receipts have no gaps.',
  async file({ services, call, path }) {
    const { html, policy } = services.useCases.billing().receipt(callerOf(call).accountId, path.id);
    const bytes = Buffer.from(html);
    call.lines += `\r\nContent-Security-Policy: ${policy}${NO_STORE}`;
    return {
      status: 200,
      contentType: 'text/html; charset=utf-8',
      source: partsSource(bytes.length, [bytes]),
    };
  },
});
