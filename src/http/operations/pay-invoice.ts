/** `POST /billing/invoices/{id}/authorizations`. */
import { authorizationAnswer } from '../../billing/x402/invoice-authorizations.ts';
import { authorizationOf } from '../../billing/x402/wire.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { OneAuthorization, SignedAuthorizationBody } from '../schemas/gasless.ts';
import { invoicePath, NO_INVOICE } from './support/billing.ts';
import { gaslessOf, UNAVAILABLE_NOW } from './support/gasless.ts';

export const payInvoice = operation({
  id: 'payInvoice',
  sdk: 'billing.authorize',
  tag: 'Billing',
  method: 'POST',
  path: '/billing/invoices/{id}/authorizations',
  principal: 'session or key',
  role: 'owner',
  // Each request is several calls of a node.
  rateClass: 'keys',
  pathParameters: invoicePath,
  body: SignedAuthorizationBody,
  response: OneAuthorization,
  statuses: { ...NO_INVOICE, ...UNAVAILABLE_NOW },
  examples: [
    {
      summary: 'The authorization of the typed data, and its signature',
      body: {
        authorization: {
          from: '0x28c6c06298d514db089934071355e5743bf21d60',
          to: '0x9858effd232b4033e47d90003d41ec34ecaeda94',
          value: '199000000',
          validAfter: '0',
          validBefore: '1795768500',
          nonce: `0x${'5a'.repeat(32)}`,
        },
        signature: `0x${'1b'.repeat(65)}`,
      },
    },
  ],
  summary: 'Pay an invoice by a signature',
  description:
    'Takes a signed authorization of `GET /billing/invoices/{id}/typed-data`. It is checked (asset, amount, receiver, time, signature, balance), its payer is screened, and it is stored; then the gas-paying account of the operator sends it. Sending it again is a no-op. The credits are booked when the transfer has the confirmations of the invoice: read the invoice until it is SETTLED, and `GET` of this path to see why an authorization FAILED.',
  async run({ services, call, path, body }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    const sent = authorizationOf(body.authorization, body.signature, 'authorization');
    const payment = await gaslessOf(services, accountId, path.id).pay(accountId, path.id, sent);
    await services.access.audit().write({
      ...principal.actor,
      action: 'billing.authorize',
      accountId,
      subject: path.id,
      detail: `part ${payment.part} of ${payment.authorization.from}`,
    });
    return { authorization: authorizationAnswer(payment) };
  },
});
