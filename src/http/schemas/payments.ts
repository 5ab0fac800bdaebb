/** Schemas of the payment webhook. */
import { Type } from 'typebox';
import { nullable, oneOf } from './fields.ts';

/** The part of a Stripe event that is read. All fields of its envelope are declared, so that none is listed as ignored. */
export const StripeEvent = Type.Object(
  {
    id: Type.String(),
    type: Type.String(),
    data: Type.Object({}),
    object: Type.Optional(Type.Unknown()),
    api_version: Type.Optional(Type.Unknown()),
    account: Type.Optional(Type.Unknown()),
    context: Type.Optional(Type.Unknown()),
    created: Type.Optional(Type.Unknown()),
    livemode: Type.Optional(Type.Unknown()),
    pending_webhooks: Type.Optional(Type.Unknown()),
    request: Type.Optional(Type.Unknown()),
  },
  { title: 'StripeEvent', description: 'A signed event of Stripe.' },
);

export const PaymentOutcome = Type.Object(
  {
    outcome: oneOf(['booked', 'repeated', 'ignored'], 'Effect of the event on the ledger.'),
    accountId: nullable(Type.String()),
    entryId: nullable(Type.String()),
  },
  { title: 'PaymentOutcome' },
);
