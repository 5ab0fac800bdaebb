/** `GET /billing/invoices/{id}`. */
import { invoiceAnswer } from '../../billing/invoice.ts';
import { callerOf, operation } from '../operation.ts';
import { OneInvoice } from '../schemas/billing.ts';
import { BILLING, invoicePath, NO_INVOICE } from './support/billing.ts';

export const oneInvoice = operation({
  ...BILLING,
  id: 'oneInvoice',
  sdk: 'billing.get',
  method: 'GET',
  path: '/billing/invoices/{id}',
  pathParameters: invoicePath,
  response: OneInvoice,
  statuses: NO_INVOICE,
  summary: 'Get an invoice',
  description: 'With its state: the credits of a SETTLED invoice are booked.',
  run({ services, call, path }) {
    const invoice = services.useCases.billing().invoice(callerOf(call).accountId, path.id);
    return { invoice: invoiceAnswer(invoice, services.clock.now()) };
  },
});
