/**
 * Applies what methods of payment report to invoices, and books the credits. Each report is three steps: store the payment; book what
 * differs in the ledger, once by name; store the entry, and the receipt if that settles the invoice. Each can be repeated, and `finish`
 * completes what a stopped process has left, so nothing is booked twice or lost.
 */
import type { Actor } from '../accounts/audit.ts';
import type { Ledger } from '../accounts/ledger.ts';
import { balanceId } from '../accounts/pools.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { EntryCause, Invoice, InvoicePayment, Seller } from './records.ts';
import type { InvoiceStore } from './store.ts';
import { bookedCredits, type InvoiceEvent, isUnbooked, transition } from './transitions.ts';

/** A method of payment as actor of the audit log. */
export const PAYMENT_ACTOR: Actor = { who: 'payments', from: 'invoice' };

/** Events that callers apply; the settlement makes the others itself. */
export type AppliedEvent = Exclude<InvoiceEvent, { readonly kind: 'booked' | 'checkout' | 'checkout-paid' }>;

export interface Settlement {
  /**
   * Applies an event and books the credits that it changes. Repeating an event is a no-op.
   *
   * @param actor - cause of the bookings in the audit log; default: the method of payment
   * @returns the invoice after all bookings
   * @throws NOT_FOUND, INVALID_REQUEST; LEDGER_UNAVAILABLE, after which the event, or `finish`, completes the bookings
   */
  apply(accountId: string, id: string, event: AppliedEvent, actor?: Actor): Promise<Invoice>;
  /** Completes interrupted bookings. Returns the number of invoices. */
  finish(): Promise<number>;
}

export interface SettlementDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly invoices: () => InvoiceStore;
  /** The ledger, with bookings in the audit log. */
  readonly ledger: (actor: Actor) => Pick<Ledger, 'book'>;
  /** The operator's details on receipts. */
  readonly seller: Seller;
}

/** Bookings of one report. Each makes the difference to the credits of a payment smaller, and few are ever needed. */
const ROUNDS_MAX = 1_000;

/** Returns why credits of a payment change. */
function causeOf(invoice: Invoice, payment: InvoicePayment, difference: number): EntryCause {
  if (!invoice.entries.some(({ paymentId }) => paymentId === payment.id)) return 'PURCHASE';
  if (payment.state !== 'CONFIRMED') return 'REVERSAL';
  if (difference < 0) return payment.refunded === '0' ? 'CORRECTION' : 'REFUND';
  return invoice.entries.some(({ paymentId, cause }) => paymentId === payment.id && cause === 'REVERSAL')
    ? 'RESTORED'
    : 'CORRECTION';
}

class LedgerSettlement implements Settlement {
  readonly #deps: SettlementDeps;

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
  }

  async apply(accountId: string, id: string, event: AppliedEvent, actor = PAYMENT_ACTOR): Promise<Invoice> {
    const { clock, invoices } = this.#deps;
    const nowMs = clock.now();
    const changed = await invoices().change(accountId, id, (invoice) => {
      const next = transition(invoice, event, nowMs);
      // A payment pays one invoice, and the first keeps it.
      if (event.kind !== 'payment' || next.references.includes(event.payment.id)) return next;
      return { ...next, references: [...next.references, event.payment.id] };
    });
    return this.#book(changed, actor);
  }

  async finish(): Promise<number> {
    let finished = 0;
    for (const { accountId, id } of this.#deps.invoices().unbooked()) {
      const invoice = this.#deps.invoices().get(accountId, id);
      if (invoice === null) continue;
      await this.#book(invoice, PAYMENT_ACTOR);
      finished++;
    }
    return finished;
  }

  async #book(first: Invoice, actor: Actor): Promise<Invoice> {
    let invoice = first;
    for (let round = 0; isUnbooked(invoice); round++) {
      if (round === ROUNDS_MAX)
        throw new AssayError('STORE_CORRUPT', `The bookings of invoice ${invoice.id} do not end.`);
      invoice = await this.#bookOne(invoice, actor);
    }
    return invoice;
  }

  /** Books the difference of one payment. */
  async #bookOne(invoice: Invoice, actor: Actor): Promise<Invoice> {
    const { clock, invoices, ledger, log, seller } = this.#deps;
    const { accountId, id, pool } = invoice;
    const payment = invoice.payments.find((one) => one.credits !== bookedCredits(invoice, one.id));
    if (payment === undefined) return invoice;
    const entries = invoice.entries.filter(({ paymentId }) => paymentId === payment.id);
    const amount = payment.credits - bookedCredits(invoice, payment.id);
    const cause = causeOf(invoice, payment, amount);
    const { entry, repeated } = await ledger(actor).book({
      accountId: balanceId(accountId, pool),
      type: cause === 'PURCHASE' ? 'PURCHASE' : 'ADJUSTMENT',
      amount,
      reference: cause === 'PURCHASE' ? null : `invoice ${id} ${cause.toLowerCase()}`,
      // The same name for every process that books this step: the entry of the first one is stored by all of them.
      once: `invoice ${id} ${payment.id} ${entries.length}`,
      mayOwe: amount < 0,
    });
    const nowMs = clock.now();
    const booked = await invoices().change(accountId, id, (current, nextReceipt) =>
      transition(
        current,
        {
          ...{ kind: 'booked', paymentId: payment.id, cause, entry },
          receipt: () => ({ number: nextReceipt(), issuedAtMs: nowMs, seller }),
        },
        nowMs,
      ),
    );
    log.info(
      {
        accountId,
        pool,
        invoice: id,
        payment: payment.id,
        cause,
        entry: entry.id,
        amount: entry.amount,
        repeated,
      },
      'invoice payment booked',
    );
    return booked;
  }
}

/** Creates the settlement of invoices that are not paid by card. */
export const createSettlement = (deps: SettlementDeps): Settlement => new LedgerSettlement(deps);
