/** Parts of the operations of billing. Every id is looked up together with the account of the client. */
import { AssayError } from '../../../base/errors.ts';
import type { BillingPreferences } from '../../../billing/records.ts';
import type { Services } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText } from '../../schemas/fields.ts';

/** Columns of the operations that read: any key, or a session. */
export const BILLING = { tag: 'Billing', permission: 'any', rateClass: 'entity' } as const;

export const NO_INVOICE = {
  404: { description: 'The account has no invoice of this id.', schema: ErrorBody },
} as const;

export const invoicePath = { id: idText('Id of an invoice of the account.') };

/** Returns the settings of an account in the form of the API. */
export const settingsAnswer = ({ webhookUrl, email, lowBalance, topUp }: BillingPreferences) => ({
  settings: { webhookUrl, email, lowBalance, topUp: topUp ?? [] },
});

/**
 * Rejects a purchase by an account with an unconfirmed email address: an invitation replaces an unconfirmed registration, and nobody
 * could use the credits of its account.
 *
 * @throws FORBIDDEN
 */
export function requireConfirmed({ access }: Pick<Services, 'access'>, accountId: string): void {
  if (access.people().mayHaveFreeCredits(accountId)) return;
  throw new AssayError('FORBIDDEN', 'email: confirm your email address before you buy.', { field: 'email' });
}
