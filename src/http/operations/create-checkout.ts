/** `POST /billing/checkout`. */
import { isoTime } from '../../base/clock.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { CheckoutBody, CheckoutPage } from '../schemas/billing.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { requireConfirmed } from './support/billing.ts';

export const createCheckout = operation({
  id: 'createCheckout',
  sdk: 'billing.checkout',
  tag: 'Billing',
  method: 'POST',
  path: '/billing/checkout',
  principal: 'session',
  role: 'owner',
  // Each request is one of this service at Stripe.
  rateClass: 'keys',
  body: CheckoutBody,
  response: CheckoutPage,
  statuses: {
    404: { description: 'Payments by card are not configured.', schema: ErrorBody },
    500: {
      description:
        'The payment provider did not respond, or rejected the request (X-Error-Code). Nothing was charged.',
      schema: ErrorBody,
    },
  },
  examples: [
    { summary: 'Credits for calls with a key', body: { package: 'Growth' } },
    {
      summary: 'Two packages for the dashboard',
      body: { package: 'Starter', pool: 'dashboard', quantity: 2 },
    },
  ],
  summary: 'Buy credits by card',
  description:
    'Creates an invoice and a page of Stripe on which it is paid. The credits are booked when Stripe reports the payment; read the invoice until it is SETTLED. The page expires after an hour. The email address of the account must be confirmed.',
  async run({ services, call, body }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    requireConfirmed(services, accountId);
    const { url, invoice } = await services.useCases
      .billing()
      .checkout({ accountId, personId: principal.actor.who }, body);
    const { package: name, quantity, pool, id } = invoice;
    await services.access.audit().write({
      ...principal.actor,
      action: 'billing.checkout',
      accountId,
      subject: id,
      detail: `${quantity} ${name} for ${pool}`,
    });
    return { url, invoiceId: id, expiresAt: isoTime(invoice.expiresAtMs) };
  },
});
