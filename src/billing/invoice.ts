/** Creates invoices, and shows them in the form of the API. */
import { isoTime } from '../base/clock.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Invoice, InvoiceState, Order, Receipt } from './records.ts';

/** Returns an invoice that is not paid yet. */
export const newInvoice = (
  order: Order,
  facts: {
    readonly id: string;
    readonly accountId: string;
    readonly nowMs: number;
    readonly createdBy: string;
    /** Id of the checkout session, if it is known. */
    readonly session?: string;
  },
): Invoice => ({
  ...order,
  id: facts.id,
  accountId: facts.accountId,
  method: 'CARD',
  state: 'NEW',
  reason: null,
  createdAtMs: facts.nowMs,
  createdBy: facts.createdBy,
  expiresAtMs: facts.nowMs + BILLING_LIMITS.checkoutMs,
  settledAtMs: null,
  references: facts.session === undefined ? [] : [facts.session],
  entries: [],
  refunded: 0,
  dispute: null,
  receipt: null,
});

/** Returns the state of an invoice now: one that can no longer be paid is expired, also before the payment provider says so. */
export const stateAt = ({ state, expiresAtMs }: Invoice, nowMs: number): InvoiceState =>
  state === 'NEW' && expiresAtMs <= nowMs ? 'EXPIRED' : state;

/** Digits of the number of a receipt: with fewer, they would not sort as texts. */
const RECEIPT_DIGITS = 6;

/** Returns the number of a receipt as it is printed. */
export const receiptNumber = ({ number, seller }: Receipt): string =>
  `${seller.receiptPrefix}${String(number).padStart(RECEIPT_DIGITS, '0')}`;

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/**
 * Returns an invoice in the form of the API.
 *
 * @param nowMs - current time: an unpaid invoice may have expired
 */
export const invoiceAnswer = (invoice: Invoice, nowMs: number) => ({
  id: invoice.id,
  method: invoice.method,
  state: stateAt(invoice, nowMs),
  reason: invoice.reason,
  package: invoice.package,
  quantity: invoice.quantity,
  credits: invoice.credits,
  pool: invoice.pool,
  price: { amount: invoice.amount, currency: invoice.currency },
  refunded: { amount: invoice.refunded, currency: invoice.currency },
  dispute: invoice.dispute,
  createdAt: isoTime(invoice.createdAtMs),
  createdBy: invoice.createdBy,
  expiresAt: isoTime(invoice.expiresAtMs),
  settledAt: timeOrNull(invoice.settledAtMs),
  receiptNumber: invoice.receipt === null ? null : receiptNumber(invoice.receipt),
  entries: invoice.entries.map(({ id, cause, credits, bookedAtMs }) => ({
    ...{ id, cause, credits },
    bookedAt: isoTime(bookedAtMs),
  })),
});
