/** `POST /billing/invoices`. */
import { invoiceAnswer } from '../../billing/invoice.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { InvoiceOrderBody, OneInvoice } from '../schemas/billing.ts';
import { requireConfirmed } from './support/billing.ts';

export const createInvoice = operation({
  id: 'createInvoice',
  tag: 'Billing',
  method: 'POST',
  path: '/billing/invoices',
  principal: 'session',
  role: 'owner',
  rateClass: 'keys',
  body: InvoiceOrderBody,
  response: OneInvoice,
  examples: [{ summary: 'By wire, in euros', body: { package: 'Growth', method: 'WIRE', currency: 'EUR' } }],
  summary: 'Buy credits by invoice',
  description:
    'Creates an invoice that is paid by wire or in cryptocurrency, with the price locked until it expires. The credits are booked when the payment is confirmed; read the invoice until it is SETTLED, or follow `GET /billing/stream`. The email address of the account must be confirmed.',
  async run({ services, call, body }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    requireConfirmed(services, accountId);
    const buyer = { accountId, personId: principal.actor.who };
    const invoice = await services.useCases.billing().order(buyer, body);
    const { package: name, quantity, pool, id, method } = invoice;
    await services.access.audit().write({
      ...principal.actor,
      action: 'billing.order',
      accountId,
      subject: id,
      detail: `${quantity} ${name} for ${pool} by ${method}`,
    });
    return { invoice: invoiceAnswer(invoice, services.clock.now()) };
  },
});
