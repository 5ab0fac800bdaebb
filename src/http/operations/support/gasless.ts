/** Parts of the operations that pay an invoice by a signature. */
import { AssayError } from '../../../base/errors.ts';
import type { InvoiceAuthorizations } from '../../../billing/x402/invoice-authorizations.ts';
import type { Services } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';

export const UNAVAILABLE_NOW = {
  500: {
    description:
      'The sanctions lists are stale, the chain cannot be reached, or too much is waiting. Nothing was taken.',
    schema: ErrorBody,
  },
} as const;

/**
 * Returns the payments by a signature.
 *
 * @throws NOT_FOUND if the account has no such invoice; INVALID_REQUEST if the operator has not configured them
 */
export function gaslessOf(services: Services, accountId: string, invoiceId: string): InvoiceAuthorizations {
  const gasless = services.gasless?.() ?? null;
  if (gasless !== null) return gasless;
  services.useCases.billing().invoice(accountId, invoiceId);
  throw new AssayError(
    'INVALID_REQUEST',
    'id: the operator of this service has not configured payments by a signature. Send a transfer to the address of the invoice.',
    { field: 'id' },
  );
}
