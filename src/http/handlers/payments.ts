/** `POST /payments/stripe`: passes on the signed bytes and their signature. */
import { AssayError } from '../../base/errors.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';
import { visitOf } from './auth.ts';

/** Handles `POST /payments/stripe`. */
export function stripeWork({ access }: Pick<HttpDeps, 'access'>): Work {
  return {
    kind: 'bytes',
    units: () => 0,
    answer: async (call, body) => {
      const received = access.payments();
      if (received === null)
        throw new AssayError(
          'NOT_FOUND',
          'Payments by Stripe are not set up: ASSAY_STRIPE_SECRET is not set.',
        );
      const answer = await received.receive(body, visitOf(call).signature);
      return Buffer.from(JSON.stringify(answer));
    },
  };
}
