/** Parts of the operations of billing. Every id is looked up together with the account of the client. */
import { ErrorBody, idText } from '../../schemas/common.ts';

/** Columns of the operations that read: any key, or a session. */
export const BILLING = { tag: 'Billing', permission: 'any', rateClass: 'entity' } as const;

export const NO_INVOICE = {
  404: { description: 'The account has no invoice of this id.', schema: ErrorBody },
} as const;

export const invoicePath = { id: idText('Id of an invoice of the account.') };
