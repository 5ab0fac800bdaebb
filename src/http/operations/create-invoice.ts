/** `POST /billing/invoices`. */
import { accountOf, operation, principalOf, REPLAYED } from '../operation.ts';
import { InvoiceOrderBody, OneInvoice } from '../schemas/billing.ts';
import { requireConfirmed } from './support/billing.ts';
import { logOnce, repeatHeader, repeatKeyOf } from './support/repeats.ts';

export const createInvoice = operation({
  id: 'createInvoice',
  sdk: 'billing.order',
  tag: 'Billing',
  method: 'POST',
  path: '/billing/invoices',
  principal: 'session',
  role: 'owner',
  rateClass: 'keys',
  header: repeatHeader,
  body: InvoiceOrderBody,
  response: OneInvoice,
  responseHeaders: ['Idempotency-Replayed'],
  examples: [{ summary: 'By wire, in euros', body: { package: 'Growth', method: 'WIRE', currency: 'EUR' } }],
  summary: 'Buy credits by invoice',
  description:
    'Creates an invoice that is paid by wire or in cryptocurrency, with the price locked until it expires. The credits are booked when the payment is confirmed; read the invoice until it is SETTLED, or follow `GET /billing/stream`. The email address of the account must be confirmed.',
  async run({ services, call, body, header }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    requireConfirmed(services, accountId);
    const repeatKey = repeatKeyOf(call, accountId, header['Idempotency-Key'], body);
    const buyer = { accountId, personId: principal.actor.who };
    const ordered = await services.useCases.billing().orderOnce(buyer, body, repeatKey);
    const { invoiceId: subject, detail, answer, isRepeated } = ordered;
    await logOnce(
      services.access.audit(),
      { ...principal.actor, action: 'billing.order', accountId, subject, detail },
      isRepeated,
    );
    if (isRepeated) call.lines += REPLAYED;
    return Buffer.from(answer);
  },
});
