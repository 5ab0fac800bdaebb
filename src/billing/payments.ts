/**
 * Payments by card: signed Stripe events become bookings in the ledger and states of invoices. A checkout is booked once when it is paid,
 * whichever event reports it first. A refund takes back its share, a dispute takes back everything, and a won dispute returns it; the
 * result does not depend on the order of the events. Of a payment, only the account, what was bought and Stripe's ids are stored, and no
 * card data. (The other source of credits is an operator's grant, which is booked directly in the ledger.)
 * https://docs.stripe.com/webhooks#verify-manually, https://docs.stripe.com/api/events/types
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CreditPackage } from '../accounts/credits.ts';
import type { Ledger } from '../accounts/ledger.ts';
import { balanceId, POOLS, type Pool } from '../accounts/pools.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import { cardTerms, newInvoice } from './invoice.ts';
import { BILLING_LIMITS } from './limits.ts';
import { amountOf, packageNamed } from './packages.ts';
import {
  CURRENCY,
  type EntryCause,
  type Invoice,
  type Order,
  type ReportedPayment,
  type Seller,
} from './records.ts';
import { type EarlyReversal, type Reversal, reversalOf, type Taken, takeBack } from './reversals.ts';
import type { InvoiceStore } from './store.ts';
import { metadataOf } from './stripe.ts';
import { invalid, type Row, rowOf, textOf } from './stripe-rows.ts';
import { type BookedEntry, transition, withEntry } from './transitions.ts';

export const FORMAT_VERSION = 1;

/** The stored data of a paid checkout, by its payment. */
export interface Purchase extends Taken {
  readonly accountId: string;
  /** The balance that the credits were bought for; absent for `api`. */
  readonly pool?: Pool;
  /** Id of the checkout session; absent if an earlier release stored the purchase. */
  readonly session?: string;
}

export interface PaymentAnswer {
  /** `booked`: the ledger changed; `repeated`: the event was booked before; `ignored`: nothing to do. */
  readonly outcome: 'booked' | 'repeated' | 'ignored';
  /** The account with changed credits. */
  readonly accountId: string | null;
  /** Ledger entry. */
  readonly entryId: string | null;
}

export interface Payments {
  /** Verifies and books one event. Rejects with UNAUTHENTICATED if the signature is invalid, INVALID_REQUEST. */
  receive(body: Uint8Array, signature: string): Promise<PaymentAnswer>;
  /** Yields all purchases, by the id of their payment. */
  purchases(): Iterable<{ readonly payment: string; readonly purchase: Purchase }>;
  close(): Promise<void>;
}

export interface PaymentsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly ledger: () => Pick<Ledger, 'book'>;
  readonly invoices: () => InvoiceStore;
  readonly packages: readonly CreditPackage[];
  readonly accountExists: (accountId: string) => boolean;
  /** Default: a store on this machine. */
  readonly openStore?: OpenStore;
}

export interface PaymentsOptions {
  readonly path: string;
  /** The secret with which Stripe signs its events. */
  readonly secret: string;
  /** The operator's details on receipts. */
  readonly seller: Seller;
}

const badSignature = (): AssayError =>
  new AssayError('UNAUTHENTICATED', 'The Stripe-Signature header is missing, wrong, or too old.');

/**
 * Checks `t=<seconds>,v1=<hex>[,v1=…]`: HMAC-SHA256 of `<t>.<body>`. Every candidate is compared in constant time, and all of them are
 * compared.
 *
 * @throws UNAUTHENTICATED
 */
export function checkSignature(body: Uint8Array, header: string, secret: string, nowMs: number): void {
  const pairs = header.split(',').map((part) => part.trim().split('=', 2));
  const time = pairs.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(time)) throw badSignature();
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  let matches = false;
  for (const [name, value = ''] of pairs) {
    if (name !== 'v1' || !/^[0-9a-f]{64}$/.test(value)) continue;
    matches = timingSafeEqual(expected, Buffer.from(value, 'hex')) || matches;
  }
  const isRecent = Math.abs(nowMs - Number(time) * 1000) <= BILLING_LIMITS.webhookToleranceMs;
  if (!matches || !isRecent) throw badSignature();
}

/** Returns the balance for which a package was bought: a package is for one of them. */
function poolOfCheckout(checkout: Row): Pool {
  const wanted = textOf(rowOf(checkout.metadata).pool);
  const pool = wanted === '' ? 'api' : POOLS.find((known) => known === wanted.toLowerCase());
  if (pool === undefined) throw invalid('data.object.metadata.pool', `must be one of ${POOLS.join(', ')}`);
  return pool;
}

/** Checks that a payment is that of an invoice: the account, what was bought, and that the money covers the price. */
function checkPayment(invoice: Invoice, checkout: Row): void {
  const { accountId, amount, currency } = invoice;
  if (checkout.client_reference_id !== accountId)
    throw invalid('data.object.client_reference_id', 'must be the account of the invoice');
  const metadata = rowOf(checkout.metadata);
  for (const [name, value] of Object.entries(metadataOf(invoice)))
    if (metadata[name] !== value)
      throw invalid(`data.object.metadata.${name}`, `must be ${value}, as on the invoice`);
  const paid = checkout.amount_total;
  const isCovered =
    typeof paid === 'number' && paid >= amount && checkout.currency === currency.toLowerCase();
  if (!isCovered)
    throw invalid(
      'data.object.amount_total',
      `must be at least ${amount} ${currency.toLowerCase()}, as on the invoice`,
    );
}

/** Creator of the invoice of a payment that began outside this program. */
const ELSEWHERE = 'stripe';

const IGNORED: PaymentAnswer = { outcome: 'ignored', accountId: null, entryId: null };

const CAUSES: Readonly<Record<Reversal['effect']['kind'], EntryCause>> = {
  refund: 'REFUND',
  dispute: 'DISPUTE',
  won: 'DISPUTE_WON',
};

/** Returns an invoice with the money that a reversal moved. A later state is not replaced by an earlier one. */
function withReversal(invoice: Invoice, { effect }: Reversal): Invoice {
  if (effect.kind === 'refund') return { ...invoice, refunded: Math.max(invoice.refunded, effect.refunded) };
  if (effect.kind === 'won') return { ...invoice, dispute: 'WON' };
  if (effect.isLost) return { ...invoice, dispute: 'LOST' };
  return { ...invoice, dispute: invoice.dispute ?? 'OPEN' };
}

class StripePayments implements Payments {
  readonly #options: PaymentsOptions;
  readonly #deps: PaymentsDeps;
  readonly #root: ReturnType<OpenStore>['root'];
  readonly #purchases: LiveDatabase<Purchase, string>;
  /** Reversals of payments without a known checkout: events may arrive in any order. */
  readonly #early: LiveDatabase<EarlyReversal, [payment: string, subject: string]>;
  readonly #newId: () => string;
  /** Events are processed one at a time: the amount of a reversal depends on those before it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PaymentsOptions, deps: PaymentsDeps) {
    const { openStore = openLiveStore } = deps;
    this.#options = options;
    this.#deps = deps;
    this.#root = openStore(options.path, FORMAT_VERSION, { name: 'payments' }).root;
    this.#purchases = this.#root.openDB({ name: 'purchases', encoding: 'json' });
    this.#early = this.#root.openDB({ name: 'early', encoding: 'json' });
    this.#newId = createIds(deps);
  }

  async receive(body: Uint8Array, signature: string): Promise<PaymentAnswer> {
    checkSignature(body, signature, this.#options.secret, this.#deps.clock.now());
    let event: unknown;
    try {
      event = JSON.parse(Buffer.from(body).toString('utf8'));
    } catch (cause) {
      throw new AssayError('INVALID_JSON', 'The request body is not valid JSON.', { field: 'body', cause });
    }
    const turn = this.#last.then(() => this.#handle(rowOf(event)));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  *purchases(): Generator<{ readonly payment: string; readonly purchase: Purchase }> {
    this.#root.resetReadTxn();
    for (const { key, value } of this.#purchases.getRange()) yield { payment: key, purchase: value };
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#root.close();
  }

  async #handle(event: Row): Promise<PaymentAnswer> {
    const type = textOf(event.type);
    const object = rowOf(rowOf(event.data).object);
    if (textOf(event.id) === '' || type === '') throw invalid('body', 'must be a Stripe event');
    switch (type) {
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded':
        return object.payment_status === 'paid'
          ? this.#purchase(object)
          : this.#unpaid(object, 'PROCESSING', null);
      case 'checkout.session.async_payment_failed':
        return this.#unpaid(object, 'INVALID', 'The payment failed.');
      case 'checkout.session.expired':
        return this.#unpaid(object, 'EXPIRED', null);
      default: {
        const reversal = reversalOf(type, object);
        return reversal === null ? IGNORED : this.#reverse(reversal);
      }
    }
  }

  /** Records that a checkout is not paid (yet). Events arrive in any order, so a later state stays. */
  async #unpaid(
    checkout: Row,
    state: 'PROCESSING' | 'INVALID' | 'EXPIRED',
    reason: string | null,
  ): Promise<PaymentAnswer> {
    const known = this.#deps.invoices().byReference(textOf(checkout.id));
    if (known === null) return IGNORED;
    await this.#checkout(known, state, reason);
    return { ...IGNORED, accountId: known.accountId };
  }

  async #checkout(
    { accountId, id }: Invoice,
    state: 'PROCESSING' | 'INVALID' | 'EXPIRED' | 'HELD',
    reason: string | null,
  ): Promise<void> {
    const nowMs = this.#deps.clock.now();
    await this.#deps
      .invoices()
      .change(accountId, id, (invoice) => transition(invoice, { kind: 'checkout', state, reason }, nowMs));
  }

  async #purchase(checkout: Row): Promise<PaymentAnswer> {
    const known = this.#deps.invoices().byReference(textOf(checkout.id));
    // Checkouts of other products of the seller.
    if (known === null && textOf(rowOf(checkout.metadata).package) === '') return IGNORED;
    const session = textOf(checkout.id);
    const payment = textOf(checkout.payment_intent);
    const invoice = await this.#invoiceOf(known, checkout);
    if (session === '' || payment === '') throw invalid('data.object.payment_intent', 'is required');
    const { accountId, credits, pool } = invoice;
    // Stored first: after a crash below this line, Stripe sends the event again.
    const isOfOther = await this.#root.transaction(() => {
      const stored = this.#purchases.get(payment);
      if (stored !== undefined) return stored.session !== undefined && stored.session !== session;
      this.#purchases.putSync(payment, {
        ...{ accountId, credits, takenBack: {}, session },
        ...(pool === 'api' ? {} : { pool }),
      });
      return false;
    });
    // One payment pays for one checkout.
    if (isOfOther) throw invalid('data.object.payment_intent', 'must not be the payment of another checkout');
    const { entry, repeated } = await this.#deps.ledger().book({
      accountId: balanceId(accountId, pool),
      type: 'PURCHASE',
      amount: credits,
      reference: null,
      once: `stripe ${session}`,
    });
    const amount = String(checkout.amount_total);
    await this.#settle(invoice, payment, entry, { amount, asset: textOf(checkout.currency).toUpperCase() });
    this.#deps.log.info(
      { accountId, pool, package: invoice.package, invoice: invoice.id, entry: entry.id, repeated },
      'purchase booked',
    );
    await this.#reverseEarly(payment);
    return { outcome: repeated ? 'repeated' : 'booked', accountId, entryId: entry.id };
  }

  /** Returns the invoice that a payment pays. If the payment does not match it, the invoice is held, and the event is rejected. */
  async #invoiceOf(known: Invoice | null, checkout: Row): Promise<Invoice> {
    if (known === null || known.createdBy === ELSEWHERE) return this.#invoiceOfLink(checkout);
    try {
      checkPayment(known, checkout);
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      const { message } = error;
      this.#deps.log.warn({ invoice: known.id, accountId: known.accountId, reason: message }, 'payment held');
      await this.#checkout(known, 'HELD', message);
      throw error;
    }
    return known;
  }

  /**
   * Creates the invoice of a payment that began outside this program, for example with a payment link. The buyer chooses the account; the
   * seller sets the package, and the price must match it.
   */
  async #invoiceOfLink(checkout: Row): Promise<Invoice> {
    const { clock, packages, accountExists, invoices } = this.#deps;
    const accountId = textOf(checkout.client_reference_id);
    if (!accountExists(accountId))
      throw invalid('data.object.client_reference_id', 'must be the id of an existing account');
    const session = textOf(checkout.id);
    if (session === '' || textOf(checkout.payment_intent) === '')
      throw invalid('data.object.payment_intent', 'is required');
    const found = packageNamed(packages, textOf(rowOf(checkout.metadata).package));
    if (found === null)
      throw invalid(
        'data.object.metadata.package',
        `must be one of ${packages.map(({ name }) => name).join(', ')}`,
      );
    const amount = amountOf(found);
    if (checkout.currency !== 'usd' || checkout.amount_total !== amount)
      throw invalid('data.object.amount_total', `must be ${amount} usd for the package ${found.name}`);
    const order: Order = {
      ...{ package: found.name, quantity: 1, credits: found.credits, amount, currency: CURRENCY },
      pool: poolOfCheckout(checkout),
    };
    const nowMs = clock.now();
    return invoices().add(
      newInvoice(order, cardTerms(order, nowMs, session), {
        ...{ id: this.#newId(), accountId, nowMs, createdBy: ELSEWHERE },
      }),
    );
  }

  /** Marks an invoice as paid, with its entry and the next receipt. */
  async #settle(
    { accountId, id }: Invoice,
    reference: string,
    entry: BookedEntry,
    paid: { readonly amount: string; readonly asset: string },
  ): Promise<void> {
    const nowMs = this.#deps.clock.now();
    const { seller } = this.#options;
    await this.#deps.invoices().change(accountId, id, (invoice, nextReceipt) => {
      const payment: ReportedPayment = {
        ...{
          id: `stripe ${reference}`,
          ...paid,
          value: invoice.due.amount,
          state: 'CONFIRMED',
          reason: null,
        },
        ...{ seenAtMs: nowMs, facts: { payment: reference } },
      };
      const receipt = () => ({ number: nextReceipt(), issuedAtMs: nowMs, seller });
      return transition(invoice, { kind: 'checkout-paid', payment, reference, entry, receipt }, nowMs);
    });
  }

  /** Books the reversals that arrived before their purchase. */
  async #reverseEarly(payment: string): Promise<void> {
    const waiting = [...this.#early.getRange({ start: [payment, ''], end: [payment, '\u007f'] })];
    for (const { key, value } of waiting) {
      await this.#reverse(value);
      await this.#early.remove(key);
    }
  }

  async #reverse(reversal: EarlyReversal): Promise<PaymentAnswer> {
    const { payment, subject } = reversal;
    // Computed and stored in one transaction, on whichever node receives the event: the amount depends on all earlier reversals.
    const decided = await this.#root.transaction(() => {
      const purchase = this.#purchases.get(payment);
      if (purchase === undefined) {
        this.#early.putSync([payment, subject], reversal);
        return null;
      }
      const { taken, credits } = takeBack(reversal, purchase);
      if (taken !== purchase) this.#purchases.putSync(payment, { ...purchase, ...taken });
      return {
        accountId: purchase.accountId,
        pool: purchase.pool ?? 'api',
        credits,
        session: purchase.session,
      };
    });
    if (decided === null) return IGNORED;
    const { accountId, credits, pool, session } = decided;
    if (credits === 0) {
      await this.#noteReversal(reversal, session, null);
      return { outcome: 'ignored', accountId, entryId: null };
    }
    // `once` makes the booking happen once; if the process crashes before it, Stripe sends the event again.
    const { entry, repeated } = await this.#deps.ledger().book({
      accountId: balanceId(accountId, pool),
      type: 'ADJUSTMENT',
      amount: -credits,
      reference: `stripe ${reversal.effect.kind} ${payment}`,
      once: `stripe ${payment} ${subject}`,
      mayOwe: true,
    });
    await this.#noteReversal(reversal, session, entry);
    return { outcome: repeated ? 'repeated' : 'booked', accountId, entryId: entry.id };
  }

  /**
   * Adds a reversal to its invoice. Purchases of earlier releases, which have no session, have none.
   *
   * @throws NOT_READY if the invoice, or its payment, has not arrived at this node: Stripe then sends the event again
   */
  async #noteReversal(
    reversal: EarlyReversal,
    session: string | undefined,
    entry: BookedEntry | null,
  ): Promise<void> {
    const invoices = this.#deps.invoices();
    const known = invoices.byReference(reversal.payment) ?? invoices.byReference(session ?? '');
    if (known === null && session === undefined) return;
    if (known === null)
      throw new AssayError('NOT_READY', 'The invoice of this payment has not arrived at this node yet.');
    const cause = CAUSES[reversal.effect.kind];
    await invoices.change(known.accountId, known.id, (invoice) => {
      const noted = 'share' in reversal.effect ? invoice : withReversal(invoice, reversal as Reversal);
      return entry === null
        ? noted
        : withEntry(noted, { cause, entry, paymentId: `stripe ${reversal.payment}` });
    });
  }
}

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export const openPayments = (options: PaymentsOptions, deps: PaymentsDeps): Payments =>
  new StripePayments(options, deps);
