/** Creates invoices, and shows them in the form of the API. */
import { isoTime } from '../base/clock.ts';
import { cryptoAnswer } from './crypto/details.ts';
import { BILLING_LIMITS } from './limits.ts';
import type {
  Due,
  Invoice,
  InvoiceDetails,
  InvoicePayment,
  InvoiceState,
  Order,
  PaymentMethod,
  Rate,
  Receipt,
} from './records.ts';
import { bookedCredits, moneyOf } from './transitions.ts';

/** Decimals of all currencies of prices. */
export const CURRENCY_DECIMALS = 2;

/** What a method of payment adds to an order. */
export interface Terms {
  readonly method: PaymentMethod;
  readonly expiresAtMs: number;
  readonly monitorUntilMs: number;
  readonly rate: Rate | null;
  readonly due: Due;
  readonly toleranceBasisPoints: number;
  readonly references: readonly string[];
  readonly details: InvoiceDetails;
}

interface InvoiceFacts {
  readonly id: string;
  readonly accountId: string;
  readonly nowMs: number;
  readonly createdBy: string;
}

/** Returns the amount due of an order that is paid in the currency of its price. */
export const dueOf = ({ amount, currency }: Order): Due => ({
  asset: currency,
  amount: String(amount),
  decimals: CURRENCY_DECIMALS,
});

/** Returns an invoice that is not paid yet. */
export const newInvoice = (
  order: Order,
  terms: Terms,
  { id, accountId, nowMs, createdBy }: InvoiceFacts,
): Invoice => ({
  ...order,
  ...terms,
  ...{ id, accountId, createdBy },
  state: 'NEW',
  exceptions: [],
  reason: null,
  createdAtMs: nowMs,
  settledAtMs: null,
  payments: [],
  refunds: [],
  history: [{ atMs: nowMs, state: 'NEW', exceptions: [], cause: 'created' }],
  entries: [],
  refunded: 0,
  dispute: null,
  receipt: null,
});

/**
 * Returns the terms of a checkout.
 *
 * @param session - id of the checkout session, if it is known
 */
export const cardTerms = (order: Order, nowMs: number, session?: string): Terms => ({
  method: 'CARD',
  expiresAtMs: nowMs + BILLING_LIMITS.checkoutMs,
  monitorUntilMs: nowMs + BILLING_LIMITS.checkoutMs,
  rate: null,
  due: dueOf(order),
  toleranceBasisPoints: 0,
  references: session === undefined ? [] : [session],
  details: {},
});

/** A stored invoice: earlier releases stored invoices of cards, without these fields. */
export type StoredInvoice = Omit<Invoice, LaterField> & Partial<Pick<Invoice, LaterField>>;
type LaterField =
  | 'exceptions'
  | 'monitorUntilMs'
  | 'rate'
  | 'due'
  | 'toleranceBasisPoints'
  | 'payments'
  | 'refunds'
  | 'history'
  | 'details';

/** Returns a stored invoice with the fields of this release. */
export function openInvoice(stored: StoredInvoice): Invoice {
  const { createdAtMs, settledAtMs, expiresAtMs, state } = stored;
  const created = { atMs: createdAtMs, state: 'NEW', exceptions: [], cause: 'created' } as const;
  const last = {
    atMs: settledAtMs ?? expiresAtMs,
    state,
    exceptions: [],
    cause: 'stored by an earlier release',
  };
  return {
    exceptions: [],
    monitorUntilMs: expiresAtMs,
    rate: null,
    due: dueOf(stored),
    toleranceBasisPoints: 0,
    payments: [],
    refunds: [],
    history: state === 'NEW' ? [created] : [created, last],
    details: {},
    ...stored,
  };
}

/** Returns the state of an invoice now: one that can no longer be paid is expired, also before the payment provider says so. */
export const stateAt = ({ state, expiresAtMs }: Invoice, nowMs: number): InvoiceState =>
  state === 'NEW' && expiresAtMs <= nowMs ? 'EXPIRED' : state;

/** Digits of the number of a receipt: with fewer, they would not sort as texts. */
const RECEIPT_DIGITS = 6;

/** Returns the number of a receipt as it is printed. */
export const receiptNumber = ({ number, seller }: Receipt): string =>
  `${seller.receiptPrefix}${String(number).padStart(RECEIPT_DIGITS, '0')}`;

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

const rateAnswer = ({ from, to, value, source, atMs }: Rate) => ({
  from,
  to,
  value,
  source,
  at: isoTime(atMs),
});

const paymentAnswer = (payment: InvoicePayment, invoice: Invoice) => ({
  id: payment.id,
  state: payment.state,
  reason: payment.reason,
  asset: payment.asset,
  amount: payment.amount,
  value: payment.value,
  // Refunds and disputes of cards are counted by their entries.
  credits: invoice.method === 'CARD' ? bookedCredits(invoice, payment.id) : payment.credits,
  refunded: payment.refunded,
  seenAt: isoTime(payment.seenAtMs),
  confirmedAt: timeOrNull(payment.confirmedAtMs),
  facts: payment.facts,
});

function wireAnswer({ details: { wire } }: Invoice) {
  if (wire === undefined) return null;
  const { iban, bic, holder, bank, reference } = wire;
  return { iban, bic, holder, bank, reference };
}

/**
 * Returns an invoice in the form of the API.
 *
 * @param nowMs - current time: an unpaid invoice may have expired
 */
export function invoiceAnswer(invoice: Invoice, nowMs: number) {
  const { confirmed, pending, rest } = moneyOf(invoice);
  const isCard = invoice.method === 'CARD';
  return {
    id: invoice.id,
    method: invoice.method,
    state: stateAt(invoice, nowMs),
    exceptions: invoice.exceptions,
    reason: invoice.reason,
    package: invoice.package,
    quantity: invoice.quantity,
    credits: invoice.credits,
    pool: invoice.pool,
    price: { amount: invoice.amount, currency: invoice.currency },
    rate: invoice.rate === null ? null : rateAnswer(invoice.rate),
    due: invoice.due,
    // Stripe counts the money of cards.
    paid: isCard ? null : { confirmed: String(confirmed), pending: String(pending), rest: String(rest) },
    refunded: { amount: invoice.refunded, currency: invoice.currency },
    dispute: invoice.dispute,
    createdAt: isoTime(invoice.createdAtMs),
    createdBy: invoice.createdBy,
    expiresAt: isoTime(invoice.expiresAtMs),
    monitorUntil: isoTime(invoice.monitorUntilMs),
    settledAt: timeOrNull(invoice.settledAtMs),
    receiptNumber: invoice.receipt === null ? null : receiptNumber(invoice.receipt),
    wire: wireAnswer(invoice),
    crypto: invoice.details.crypto === undefined ? null : cryptoAnswer(invoice.details.crypto),
    payments: invoice.payments.map((payment) => paymentAnswer(payment, invoice)),
    refunds: invoice.refunds.map(({ id, paymentId, amount, reason, atMs }) => ({
      ...{ id, paymentId, amount, reason },
      at: isoTime(atMs),
    })),
    entries: invoice.entries.map(({ id, cause, credits, bookedAtMs, paymentId }) => ({
      ...{ id, cause, credits, paymentId: paymentId ?? null },
      bookedAt: isoTime(bookedAtMs),
    })),
    history: invoice.history.map(({ atMs, state, exceptions, cause }) => ({
      ...{ state, exceptions, cause },
      at: isoTime(atMs),
    })),
  };
}

/** An invoice in the form of the API. */
export type InvoiceAnswer = ReturnType<typeof invoiceAnswer>;
