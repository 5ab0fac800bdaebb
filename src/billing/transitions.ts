/**
 * The states of an invoice. `transition` is the only function that changes one: it applies what a method of payment reports, and derives
 * the state, the exceptions and the credits of each payment from all payments. So the result does not depend on how often a report is
 * repeated. It is pure; settlement.ts stores its result and books the credits.
 */
import { isDeepStrictEqual } from 'node:util';
import { AssayError } from '../base/errors.ts';
import { BILLING_LIMITS } from './limits.ts';
import type {
  EntryCause,
  Invoice,
  InvoiceEntry,
  InvoiceException,
  InvoicePayment,
  InvoiceState,
  Receipt,
  Refund,
  ReportedPayment,
} from './records.ts';

/** An entry of the ledger, as its interface returns it. */
export interface BookedEntry {
  readonly id: string;
  readonly amount: number;
  readonly createdAt: string;
}

export type InvoiceEvent =
  /** The state of a payment as its method sees it now: at first sight, and whenever it changes. */
  | { readonly kind: 'payment'; readonly payment: ReportedPayment }
  /** The operator accepts a HELD payment. */
  | { readonly kind: 'release'; readonly paymentId: string }
  /** The operator has returned a payment that was not credited. */
  | { readonly kind: 'refuse'; readonly paymentId: string; readonly reason: string }
  /** The operator has returned a credited payment, or a part of it. */
  | { readonly kind: 'refund'; readonly refund: Refund }
  /** The ledger has booked credits of a payment. */
  | {
      readonly kind: 'booked';
      readonly paymentId: string;
      readonly cause: EntryCause;
      readonly entry: BookedEntry;
      /** Takes the next receipt. Called if the invoice is settled for the first time. */
      readonly receipt: () => Receipt;
    }
  /** Its time to pay has passed. */
  | { readonly kind: 'expire' }
  /** It will not be paid. */
  | { readonly kind: 'invalidate'; readonly reason: string }
  /** An event of a checkout that does not pay it. */
  | {
      readonly kind: 'checkout';
      readonly state: 'PROCESSING' | 'INVALID' | 'EXPIRED' | 'HELD';
      readonly reason: string | null;
    }
  /** A checkout is paid, and its credits are booked. */
  | {
      readonly kind: 'checkout-paid';
      readonly payment: ReportedPayment;
      readonly reference: string;
      readonly entry: BookedEntry;
      readonly receipt: () => Receipt;
    };

const BASIS_POINTS = 10_000n;

const invalid = (field: string, text: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${text}`, { field });

/** Returns the credits of an invoice that a payment has changed so far. */
export const bookedCredits = ({ entries }: Pick<Invoice, 'entries'>, paymentId: string): number =>
  entries.reduce((sum, entry) => (entry.paymentId === paymentId ? sum + entry.credits : sum), 0);

/** Whether credits of a payment wait to be booked. Those of a card are booked before its invoice changes. */
export const isUnbooked = (invoice: Invoice): boolean =>
  invoice.method !== 'CARD' &&
  invoice.payments.some(({ id, credits }) => credits !== bookedCredits(invoice, id));

const sumOf = (payments: readonly InvoicePayment[]): bigint =>
  payments.reduce((sum, { value }) => sum + BigInt(value), 0n);

/** Returns the lowest sum that pays an invoice. */
const thresholdOf = ({ due, toleranceBasisPoints }: Invoice): bigint => {
  const tolerated = (BigInt(due.amount) * BigInt(toleranceBasisPoints)) / BASIS_POINTS;
  return BigInt(due.amount) - tolerated;
};

/** The money of an invoice, in the unit of the amount due. */
export interface MoneyOf {
  readonly confirmed: bigint;
  readonly pending: bigint;
  /** What is missing; 0 if it is paid. */
  readonly rest: bigint;
}

/** Returns how much of an invoice is paid. */
export function moneyOf(invoice: Invoice): MoneyOf {
  const of = (state: InvoicePayment['state']): bigint =>
    sumOf(invoice.payments.filter((payment) => payment.state === state));
  const confirmed = of('CONFIRMED');
  const pending = of('PENDING');
  const missing = BigInt(invoice.due.amount) - confirmed - pending;
  const isCovered = confirmed + pending >= thresholdOf(invoice);
  return { confirmed, pending, rest: isCovered || missing < 0n ? 0n : missing };
}

/** Returns the credits that a sum buys: the whole package from the threshold on, and one more for each part of the surplus. */
function creditsOf(invoice: Invoice, sum: bigint): bigint {
  const due = BigInt(invoice.due.amount);
  const credits = BigInt(invoice.credits);
  if (sum < thresholdOf(invoice)) return (sum * credits) / due;
  return sum <= due ? credits : credits + ((sum - due) * credits) / due;
}

/** Returns payments with the credits that each adds to those before it, less its refunds. Before the invoice is paid, they have none. */
function withCredits(invoice: Invoice, isCredited: boolean): readonly InvoicePayment[] {
  const order = invoice.payments
    .map((payment, index) => ({ payment, index }))
    .filter(({ payment }) => isCredited && payment.state === 'CONFIRMED')
    .toSorted((a, b) => (a.payment.confirmedAtMs ?? 0) - (b.payment.confirmedAtMs ?? 0) || a.index - b.index);
  const credits = new Map<string, number>();
  let sum = 0n;
  for (const { payment } of order) {
    const own = creditsOf(invoice, sum + BigInt(payment.value)) - creditsOf(invoice, sum);
    sum += BigInt(payment.value);
    const amount = BigInt(payment.amount);
    // A refunded fraction of a credit takes back the whole credit, as for cards.
    const returned = amount === 0n ? 0n : (own * BigInt(payment.refunded) + amount - 1n) / amount;
    credits.set(payment.id, Number(own - returned));
  }
  return invoice.payments.map((payment) => {
    const own = credits.get(payment.id) ?? 0;
    return own === payment.credits ? payment : { ...payment, credits: own };
  });
}

function exceptionsOf(invoice: Invoice, { confirmed, pending }: MoneyOf): readonly InvoiceException[] {
  const total = confirmed + pending;
  const isLate = invoice.payments.some(
    ({ state, seenAtMs }) =>
      (state === 'CONFIRMED' || state === 'PENDING') && seenAtMs >= invoice.expiresAtMs,
  );
  return [
    ...(total > 0n && total < thresholdOf(invoice) ? (['PAID_PARTIAL'] as const) : []),
    ...(total > BigInt(invoice.due.amount) ? (['PAID_OVER'] as const) : []),
    ...(isLate ? (['PAID_LATE'] as const) : []),
  ];
}

/** Returns an invoice with another state or other exceptions, and the step in its history. */
function moved(
  invoice: Invoice,
  { state, exceptions = invoice.exceptions, reason }: MovedTo,
  cause: string,
  nowMs: number,
): Invoice {
  const isSame = state === invoice.state && exceptions.join() === invoice.exceptions.join();
  if (isSame) return reason === invoice.reason ? invoice : { ...invoice, reason };
  const history = [...invoice.history, { atMs: nowMs, state, exceptions, cause }];
  const { historyMax } = BILLING_LIMITS;
  // The first step stays.
  const shown =
    history.length > historyMax ? [...history.slice(0, 1), ...history.slice(1 - historyMax)] : history;
  return { ...invoice, state, exceptions, reason, history: shown };
}

interface MovedTo {
  readonly state: InvoiceState;
  readonly exceptions?: readonly InvoiceException[];
  readonly reason: string | null;
}

/** Derives everything that depends on the payments of an invoice. */
function derived(invoice: Invoice, cause: string, nowMs: number, receipt: (() => Receipt) | null): Invoice {
  const money = moneyOf(invoice);
  const held = invoice.payments.find(({ state }) => state === 'HELD');
  const isPaid = money.confirmed >= thresholdOf(invoice);
  const isCredited = invoice.settledAtMs !== null || (isPaid && held === undefined);
  const credited = { ...invoice, payments: withCredits(invoice, isCredited) };
  const isSettled = isPaid && (invoice.settledAtMs !== null || !isUnbooked(credited));
  const unpaid = invoice.state === 'INVALID' ? 'INVALID' : nowMs >= invoice.expiresAtMs ? 'EXPIRED' : 'NEW';
  const isWaiting = isPaid || money.pending > 0n;
  const state = held !== undefined ? 'HELD' : isSettled ? 'SETTLED' : isWaiting ? 'PROCESSING' : unpaid;
  const reason = held?.reason ?? (state === 'INVALID' ? invoice.reason : null);
  const next = moved(credited, { state, exceptions: exceptionsOf(credited, money), reason }, cause, nowMs);
  if (state !== 'SETTLED' || next.settledAtMs !== null || receipt === null) return next;
  return { ...next, settledAtMs: nowMs, receipt: next.receipt ?? receipt() };
}

/** Returns an invoice with a payment that its method reports, first or again. */
function withPayment(invoice: Invoice, reported: ReportedPayment, nowMs: number): Invoice {
  const { payments } = invoice;
  const index = payments.findIndex(({ id }) => id === reported.id);
  const known = payments[index];
  if (known === undefined) {
    if (payments.length >= BILLING_LIMITS.paymentsMax)
      throw invalid('payment', `an invoice has at most ${BILLING_LIMITS.paymentsMax} payments.`);
    const confirmedAtMs = reported.state === 'CONFIRMED' ? nowMs : null;
    const first = { ...reported, confirmedAtMs, releasedAtMs: null, credits: 0, refunded: '0' };
    return { ...invoice, payments: [...payments, first] };
  }
  // A decision of the operator stays until the payment itself is undone.
  const isDecided =
    (known.releasedAtMs !== null && reported.state === 'HELD') ||
    (known.state === 'REFUSED' && reported.state !== 'REVERTED');
  const { state, reason } = isDecided ? known : reported;
  const confirmedAtMs = known.confirmedAtMs ?? (state === 'CONFIRMED' ? nowMs : null);
  const seenAtMs = Math.min(known.seenAtMs, reported.seenAtMs);
  const next = { ...known, ...reported, state, reason, confirmedAtMs, seenAtMs };
  return { ...invoice, payments: payments.with(index, next) };
}

/** Returns an invoice with a changed payment. Throws NOT_FOUND. */
function withChanged(
  invoice: Invoice,
  paymentId: string,
  change: (payment: InvoicePayment) => InvoicePayment,
): Invoice {
  const index = invoice.payments.findIndex(({ id }) => id === paymentId);
  const payment = invoice.payments[index];
  if (payment === undefined)
    throw new AssayError(
      'NOT_FOUND',
      `payment: invoice ${invoice.id} has no payment '${paymentId.slice(0, 128)}'.`,
      {
        field: 'payment',
      },
    );
  return { ...invoice, payments: invoice.payments.with(index, change(payment)) };
}

function released(payment: InvoicePayment, nowMs: number): InvoicePayment {
  if (payment.releasedAtMs !== null) return payment;
  if (payment.state !== 'HELD') throw invalid('payment', `must be HELD (it is ${payment.state}).`);
  const confirmedAtMs = payment.confirmedAtMs ?? nowMs;
  return { ...payment, state: 'CONFIRMED', reason: null, confirmedAtMs, releasedAtMs: nowMs };
}

function refused(payment: InvoicePayment, reason: string): InvoicePayment {
  if (payment.state === 'REFUSED') return payment;
  const isCredited = payment.credits > 0;
  if (isCredited || payment.state === 'REVERTED')
    throw invalid(
      'payment',
      isCredited ? 'is credited; refund it instead.' : 'is reverted; no money is here.',
    );
  return { ...payment, state: 'REFUSED', reason };
}

/** Returns an invoice with a refund, once by its id. */
function withRefund(invoice: Invoice, refund: Refund): Invoice {
  if (invoice.refunds.some(({ id }) => id === refund.id)) return invoice;
  if (invoice.refunds.length >= BILLING_LIMITS.refundsMax)
    throw invalid('invoice', `has ${BILLING_LIMITS.refundsMax} refunds, the maximum.`);
  const changed = withChanged(invoice, refund.paymentId, (payment) => {
    const left = BigInt(payment.amount) - BigInt(payment.refunded);
    const amount = BigInt(refund.amount);
    if (payment.state !== 'CONFIRMED')
      throw invalid('payment', `must be CONFIRMED to be refunded (it is ${payment.state}).`);
    if (amount <= 0n || amount > left)
      throw invalid(
        'amount',
        `must be from 1 to ${left}, what is left of the payment (got ${refund.amount}).`,
      );
    return { ...payment, refunded: String(BigInt(payment.refunded) + amount) };
  });
  const due = BigInt(invoice.due.amount);
  // In the unit of the price: refunds of all payments by their value.
  const refunded = changed.payments.reduce((sum, { amount, value, refunded: own }) => {
    const total = BigInt(amount);
    return total === 0n ? sum : sum + (BigInt(own) * BigInt(value)) / total;
  }, 0n);
  return {
    ...changed,
    refunds: [...invoice.refunds, refund],
    refunded: due === 0n ? 0 : Number((refunded * BigInt(invoice.amount)) / due),
  };
}

/** Returns an invoice with an entry of the ledger, once. */
export function withEntry(
  invoice: Invoice,
  {
    cause,
    entry,
    paymentId,
  }: { readonly cause: EntryCause; readonly entry: BookedEntry; readonly paymentId?: string },
): Invoice {
  if (invoice.entries.some(({ id }) => id === entry.id)) return invoice;
  const { id, amount: credits, createdAt } = entry;
  const added: InvoiceEntry = {
    ...{ id, cause, credits, bookedAtMs: Date.parse(createdAt) },
    ...(paymentId === undefined ? {} : { paymentId }),
  };
  return { ...invoice, entries: [...invoice.entries, added] };
}

const CHECKOUT_CAUSES = {
  PROCESSING: 'paid, to be confirmed',
  INVALID: 'payment failed',
  EXPIRED: 'expired',
  HELD: 'payment differs from the invoice',
} as const;

/** States of a checkout from which each event leads on. Events arrive in any order, so a later state stays. */
const CHECKOUT_FROM: Readonly<Record<keyof typeof CHECKOUT_CAUSES, readonly InvoiceState[]>> = {
  PROCESSING: ['NEW'],
  INVALID: ['NEW', 'PROCESSING'],
  EXPIRED: ['NEW'],
  HELD: ['NEW', 'PROCESSING', 'EXPIRED', 'INVALID', 'HELD'],
};

/**
 * Applies an event to an invoice.
 *
 * @param nowMs - time of the server: it decides whether an unpaid invoice has expired
 * @returns the invoice itself if nothing changed
 * @throws INVALID_REQUEST, NOT_FOUND if the event does not fit the invoice
 */
export function transition(invoice: Invoice, event: InvoiceEvent, nowMs: number): Invoice {
  const next = applied(invoice, event, nowMs);
  return isDeepStrictEqual(next, invoice) ? invoice : next;
}

function applied(invoice: Invoice, event: InvoiceEvent, nowMs: number): Invoice {
  switch (event.kind) {
    case 'payment': {
      const { state, id } = event.payment;
      return derived(withPayment(invoice, event.payment, nowMs), `payment ${id}: ${state}`, nowMs, null);
    }
    case 'release': {
      const next = withChanged(invoice, event.paymentId, (payment) => released(payment, nowMs));
      return derived(next, `payment ${event.paymentId}: accepted by the operator`, nowMs, null);
    }
    case 'refuse': {
      const next = withChanged(invoice, event.paymentId, (payment) => refused(payment, event.reason));
      return derived(next, `payment ${event.paymentId}: returned by the operator`, nowMs, null);
    }
    case 'refund':
      return derived(withRefund(invoice, event.refund), `refund ${event.refund.id}`, nowMs, null);
    case 'booked':
      return derived(withEntry(invoice, event), `entry ${event.entry.id} booked`, nowMs, event.receipt);
    case 'expire':
      if (invoice.method !== 'CARD') return derived(invoice, 'expired', nowMs, null);
      return applied(invoice, { kind: 'checkout', state: 'EXPIRED', reason: null }, nowMs);
    case 'invalidate':
      if (!['NEW', 'EXPIRED'].includes(invoice.state))
        throw invalid('invoice', `must be NEW or EXPIRED (it is ${invoice.state}).`);
      return moved(invoice, { state: 'INVALID', reason: event.reason }, 'cancelled', nowMs);
    case 'checkout': {
      const { state, reason } = event;
      if (!CHECKOUT_FROM[state].includes(invoice.state)) return invoice;
      return moved(invoice, { state, reason }, CHECKOUT_CAUSES[state], nowMs);
    }
    case 'checkout-paid': {
      if (invoice.state === 'SETTLED') return invoice;
      const { payment, entry, reference, receipt } = event;
      const paid = withEntry(
        {
          ...invoice,
          payments: [
            ...invoice.payments,
            { ...payment, ...CARD_PAYMENT, credits: entry.amount, confirmedAtMs: nowMs },
          ],
        },
        { cause: 'PURCHASE', entry, paymentId: payment.id },
      );
      return {
        ...moved(paid, { state: 'SETTLED', reason: null }, 'paid', nowMs),
        settledAtMs: nowMs,
        references: [...new Set([...invoice.references, reference])],
        receipt: receipt(),
      };
    }
  }
}

const CARD_PAYMENT = { releasedAtMs: null, refunded: '0' } as const;
