/** `GET /billing/invoices/{id}/pro-forma`. */
import { callerOf, NO_STORE, operation, partsSource } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { BILLING, invoicePath } from './support/billing.ts';

export const invoiceProForma = operation({
  ...BILLING,
  id: 'invoiceProForma',
  sdk: 'billing.proForma',
  method: 'GET',
  path: '/billing/invoices/{id}/pro-forma',
  pathParameters: invoicePath,
  response: 'text/html',
  responseHeaders: ['Cache-Control', 'Content-Security-Policy'],
  statuses: {
    404: { description: 'The account has no such invoice, or it is not paid by wire.', schema: ErrorBody },
  },
  summary: 'Pro-forma invoice',
  description:
    'A page to print, with the account of the operator, the reference of ISO 11649, and the codes that banking apps scan: EPC for euros, and the Swiss QR code for francs and euros. If a part is paid, it is for the rest.',
  async file({ services, call, path }) {
    const { html, policy } = services.useCases.billing().proForma(callerOf(call).accountId, path.id);
    const bytes = Buffer.from(html);
    call.lines += `\r\nContent-Security-Policy: ${policy}${NO_STORE}`;
    return {
      status: 200,
      contentType: 'text/html; charset=utf-8',
      source: partsSource(bytes.length, [bytes]),
    };
  },
});
