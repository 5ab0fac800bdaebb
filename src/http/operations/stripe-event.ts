/** `POST /payments/stripe`: passes on the signed bytes and their signature. */
import { Type } from 'typebox';
import { AssayError } from '../../base/errors.ts';
import { jsonBytes, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { PaymentOutcome, StripeEvent } from '../schemas/payments.ts';

export const stripeEvent = operation({
  id: 'stripeEvent',
  sdk: null,
  tag: 'Account',
  method: 'POST',
  path: '/payments/stripe',
  principal: 'signature',
  header: {
    'Stripe-Signature': Type.String({
      default: '',
      description: 'Signature of the body, as Stripe sends it.',
    }),
  },
  body: StripeEvent,
  response: PaymentOutcome,
  statuses: { 404: { description: 'Payments by Stripe are not set up.', schema: ErrorBody } },
  summary: 'Payment webhook',
  description:
    'Events that are signed by Stripe: a paid checkout books its package once, and a refund or a dispute deducts it.',
  bytes: {
    units: () => 0,
    async run({ services, header }, body) {
      const payments = services.useCases.billing().payments();
      if (payments === null)
        throw new AssayError('NOT_FOUND', 'Payments by Stripe are not set up on this service.');
      return jsonBytes(await payments.receive(body, header['Stripe-Signature']));
    },
  },
});
