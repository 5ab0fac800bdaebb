/**
 * The service of billing: offers packages, creates checkouts and invoices, and reads them. Credits are booked only by payments.ts (cards)
 * and settlement.ts (all other methods).
 */
import { existsSync } from 'node:fs';
import type { Actor } from '../accounts/audit.ts';
import type { CreditPackage } from '../accounts/credits.ts';
import type { Ledger } from '../accounts/ledger.ts';
import type { Pool } from '../accounts/pools.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type OpenStore, openLiveStore } from '../state/live-store.ts';
import { checkBalances, TOP_UP } from './balances.ts';
import type { PrintedPage } from './html.ts';
import { cardTerms, invoiceAnswer, newInvoice } from './invoice.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { InvoiceMethod } from './methods.ts';
import { heldNotices, noticeOf } from './notices.ts';
import { offeredPackages, orderOf } from './packages.ts';
import { openPayments, type Payments } from './payments.ts';
import { receiptHtml } from './receipt-html.ts';
import type { Agreement, BillingPreferences, Invoice, Seller } from './records.ts';
import type { Billing, Buyer, Deliver, Offer, Ordered } from './service.ts';
import { createSettlement, PAYMENT_ACTOR, type Settlement } from './settlement.ts';
import { type MonthlyStatement, monthlyStatement, statementHtml } from './statement.ts';
import type { InvoiceAnswerText, InvoiceFilter, InvoicePage, InvoiceStore } from './store.ts';
import { openInvoiceStore } from './store-lmdb.ts';
import type { CardCheckouts } from './stripe.ts';
import { type Sweeping, startSweeping } from './sweeping.ts';
import { type BillingReport, verifyBilling } from './verify.ts';
import { proFormaHtml } from './wire/pro-forma.ts';

export interface BillingOptions {
  /** Files of the stores. */
  readonly invoicesPath: string;
  readonly paymentsPath: string;
  /** The secret with which Stripe signs its events; null: no events are accepted. */
  readonly stripeSecret: string | null;
  readonly seller: Seller;
}

export interface BillingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly packages: readonly CreditPackage[];
  /** Creates checkouts; null if no key of Stripe is configured. */
  readonly checkouts: CardCheckouts | null;
  /** Creates the methods of payment that are configured, besides cards. Default: none. */
  readonly methods?: (context: MethodContext) => readonly InvoiceMethod[];
  /** The ledger, with bookings in the audit log as those of an actor. */
  readonly ledger: (actor: Actor) => Pick<Ledger, 'book' | 'usage' | 'balance'>;
  readonly accountExists: (accountId: string) => boolean;
  /** Returns all accounts, for `verify`. Default: those with an invoice. */
  readonly accounts?: () => Iterable<string>;
  /** Credits that an account is granted each month. */
  readonly freeCredits: (accountId: string) => number;
  /** URL of this service in a browser; null if it is not known. */
  readonly publicUrl: () => string | null;
  /** Default: stores on this machine. */
  readonly openStore?: OpenStore;
}

/** The parts that a method of payment works with. Stores are opened at their first use. */
export interface MethodContext {
  readonly invoices: () => InvoiceStore;
  readonly settlement: () => Settlement;
}

/** Stripe's events, as actor of the audit log. */
const STRIPE_ACTOR: Actor = { who: 'stripe', from: 'webhook' };

/** Page of the dashboard to which a customer returns. */
const RETURN_PATH = '/billing';

class InvoiceBilling implements Billing {
  readonly #options: BillingOptions;
  readonly #deps: BillingDeps;
  readonly #newId: () => string;
  #store: InvoiceStore | null = null;
  #payments: Payments | null = null;
  #settlement: Settlement | null = null;
  #sweeping: Sweeping | null = null;
  #balancesAtMs = 0;
  #methods: readonly InvoiceMethod[] | null = null;

  constructor(options: BillingOptions, deps: BillingDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#newId = createIds(deps);
  }

  #invoices(): InvoiceStore {
    this.#store ??= openInvoiceStore({ path: this.#options.invoicesPath }, this.#deps);
    return this.#store;
  }

  #configured(): readonly InvoiceMethod[] {
    this.#methods ??=
      this.#deps.methods?.({ invoices: () => this.#invoices(), settlement: () => this.settlement() }) ?? [];
    return this.#methods;
  }

  settlement(): Settlement {
    const { seller } = this.#options;
    this.#settlement ??= createSettlement({ ...this.#deps, seller, invoices: () => this.#invoices() });
    return this.#settlement;
  }

  store(): InvoiceStore {
    return this.#invoices();
  }

  offer(accountId: string): Offer {
    const { packages, checkouts, freeCredits, publicUrl } = this.#deps;
    const agreement = this.#invoices().agreement(accountId);
    return {
      checkout: checkouts === null || publicUrl() === null ? 'unavailable' : 'available',
      methods: this.#configured().map((one) => ({ method: one.method, currencies: one.currencies() })),
      packages: offeredPackages(packages, freeCredits(accountId), agreement),
    };
  }

  async checkout({ accountId, personId }: Buyer, request: Parameters<Billing['checkout']>[1]) {
    const { checkouts, packages, publicUrl, clock, log } = this.#deps;
    const baseUrl = publicUrl();
    if (checkouts === null || baseUrl === null)
      throw new AssayError(
        'PAYMENTS_NOT_CONFIGURED',
        'This service sells no credits by card: its operator has not configured payments. Nothing was charged.',
      );
    const store = this.#invoices();
    const order = orderOf(packages, store.agreement(accountId), request);
    const nowMs = clock.now();
    const facts = { id: this.#newId(), accountId, nowMs, createdBy: personId };
    // Stored first: a customer can pay as soon as the page exists.
    const draft = newInvoice(order, cardTerms(order, nowMs), facts);
    const invoice = await store.add(draft, BILLING_LIMITS.openInvoicesMax);
    const returnUrl = (state: string) => `${baseUrl}${RETURN_PATH}/${state}?invoice=${invoice.id}`;
    try {
      const { session, url } = await checkouts.create({
        ...{ invoice, successUrl: returnUrl('success'), cancelUrl: returnUrl('cancel') },
      });
      const stored = await store.change(accountId, invoice.id, (one) => ({
        ...one,
        references: [...new Set([...one.references, session])],
      }));
      log.info(
        { accountId, invoice: invoice.id, package: order.package, pool: order.pool },
        'checkout created',
      );
      return { url, invoice: stored };
    } catch (error) {
      log.warn({ err: error, accountId, invoice: invoice.id }, 'checkout failed');
      // Also if the outcome is unknown: the address of the page was given to no customer, so it cannot be paid.
      await store.removeUnpaid(accountId, invoice.id);
      throw error;
    }
  }

  order(buyer: Buyer, request: Parameters<Billing['order']>[1]): Promise<Invoice> {
    return this.#order(buyer, request);
  }

  async #order(
    buyer: Buyer,
    request: Parameters<Billing['order']>[1],
    isInstead?: (other: Invoice) => boolean,
  ): Promise<Invoice> {
    const draft = await this.#draft(buyer, request);
    const invoice = await this.#invoices().add(draft, BILLING_LIMITS.openInvoicesMax, isInstead);
    if (invoice.id === draft.id) this.#logCreated(invoice);
    return invoice;
  }

  async orderOnce(...[buyer, request, key]: Parameters<Billing['orderOnce']>): Promise<Ordered> {
    const store = this.#invoices();
    // Before a method of payment takes an address for the invoice.
    const known = key === null ? null : store.answered(key);
    if (known !== null) return { ...known, isRepeated: true };
    if (key === null) return { ...answerOf(await this.order(buyer, request)), isRepeated: false };
    const draft = await this.#draft(buyer, request);
    const answer = answerOf(draft);
    const earlier = await store.addOnce(draft, BILLING_LIMITS.openInvoicesMax, key, answer);
    if (earlier !== null) return { ...earlier, isRepeated: true };
    this.#logCreated(draft);
    return { ...answer, isRepeated: false };
  }

  /** Returns an invoice that is not stored yet. */
  async #draft(
    { accountId, personId }: Buyer,
    { method: wanted, currency, ...request }: Parameters<Billing['order']>[1],
  ): Promise<Invoice> {
    const { packages, clock } = this.#deps;
    const method = this.#configured().find((one) => one.method === wanted);
    if (method === undefined)
      throw new AssayError(
        'INVALID_REQUEST',
        `method: ${wanted} is not available, because the operator of this service has not configured it. GET /billing/packages lists the methods.`,
        { field: 'method' },
      );
    const store = this.#invoices();
    const order = orderOf(packages, store.agreement(accountId), request);
    store.requireRoom(accountId, BILLING_LIMITS.openInvoicesMax);
    const draft = { id: this.#newId(), accountId, order, currency: currency?.toUpperCase() ?? null };
    const nowMs = clock.now();
    const opened = await method.open({ ...draft, nowMs });
    return newInvoice(opened.order, opened.terms, { id: draft.id, accountId, nowMs, createdBy: personId });
  }

  #logCreated({ accountId, id, method, package: name, pool, due }: Invoice): void {
    this.#deps.log.info(
      { accountId, invoice: id, method, package: name, pool, asset: due.asset },
      'invoice created',
    );
  }

  async sweep(deliver?: Deliver): Promise<void> {
    const store = this.#invoices();
    await this.settlement().finish();
    for (const { accountId, id } of store.expired(this.#deps.clock.now(), BILLING_LIMITS.expirySweepMax))
      await this.settlement().apply(accountId, id, { kind: 'expire' });
    await this.#checkBalances();
    if (deliver === undefined) return;
    for (const event of store.unsent(BILLING_LIMITS.noticesPage)) {
      const nowMs = this.#deps.clock.now();
      const notice = noticeOf(event, store, nowMs);
      if (notice !== null) await deliver(notice);
      for (const alert of heldNotices(event, store, nowMs)) await deliver(alert);
      await store.sent(event);
    }
  }

  /** Checks balances, if the last check was long enough ago. If the clock was set back, it checks. */
  async #checkBalances(): Promise<void> {
    const nowMs = this.#deps.clock.now();
    const isDue = Math.abs(nowMs - this.#balancesAtMs) >= BILLING_LIMITS.balanceCheckMs;
    if (!isDue) return;
    this.#balancesAtMs = nowMs;
    await checkBalances({
      ...this.#deps,
      invoices: () => this.#invoices(),
      ledger: () => this.#deps.ledger(PAYMENT_ACTOR),
      order: (accountId, order, isInstead) => this.#order({ accountId, personId: TOP_UP }, order, isInstead),
    });
  }

  statement(accountId: string, pool: Pool, month: string): Promise<MonthlyStatement> {
    const ledger = this.#deps.ledger(PAYMENT_ACTOR);
    return monthlyStatement({ accountId, pool, month }, { ledger, invoices: this.#invoices() });
  }

  async printedStatement(accountId: string, pool: Pool, month: string): Promise<PrintedPage> {
    return statementHtml(await this.statement(accountId, pool, month), this.#options.seller);
  }

  start(deliver: Deliver): void {
    this.#sweeping ??= startSweeping(() => this.sweep(deliver), {
      log: this.#deps.log,
      onEvent: (wake) => this.#invoices().onEvent(wake),
    });
  }

  async stop(): Promise<void> {
    await this.#sweeping?.stop();
  }

  preferences(accountId: string): BillingPreferences {
    return this.#invoices().preferences(accountId);
  }

  async setPreferences(accountId: string, preferences: BillingPreferences): Promise<void> {
    checkRules(preferences, this.#deps.packages, this.#invoices().agreement(accountId));
    // The next sweep checks the new thresholds.
    this.#balancesAtMs = 0;
    await this.#invoices().setPreferences(accountId, preferences);
  }

  invoices(accountId: string, filter: InvoiceFilter, page: InvoicePage): ReturnType<Billing['invoices']> {
    return this.#invoices().list(accountId, filter, page);
  }

  invoice(accountId: string, id: string): Invoice {
    const invoice = this.#invoices().get(accountId, id);
    if (invoice !== null) return invoice;
    throw new AssayError('NOT_FOUND', `id: there is no invoice '${id.slice(0, 64)}'.`, { field: 'id' });
  }

  receipt(accountId: string, id: string): ReturnType<Billing['receipt']> {
    const invoice = this.invoice(accountId, id);
    const { receipt } = invoice;
    if (receipt === null)
      throw new AssayError(
        'NOT_FOUND',
        `id: the invoice is ${invoice.state}, and a receipt is issued when it is paid.`,
        {
          field: 'id',
        },
      );
    return receiptHtml(invoice, receipt);
  }

  proForma(accountId: string, id: string): ReturnType<Billing['proForma']> {
    const invoice = this.invoice(accountId, id);
    const { wire } = invoice.details;
    if (wire !== undefined) return proFormaHtml(invoice, wire, this.#options.seller);
    throw new AssayError('NOT_FOUND', `id: the invoice is paid by ${invoice.method}, not by wire.`, {
      field: 'id',
    });
  }

  payments(): Payments | null {
    const { stripeSecret: secret, paymentsPath: path, seller } = this.#options;
    if (secret === null) return null;
    this.#payments ??= openPayments(
      { path, secret, seller },
      { ...this.#deps, ledger: () => this.#deps.ledger(STRIPE_ACTOR), invoices: () => this.#invoices() },
    );
    return this.#payments;
  }

  agree(accountId: string, agreement: Agreement | null): Promise<void> {
    return this.#invoices().agree(accountId, agreement);
  }

  verify(): Promise<BillingReport> {
    const { ledger, accounts, openStore = openLiveStore } = this.#deps;
    const { paymentsPath } = this.#options;
    return verifyBilling({
      invoices: this.#invoices(),
      payments: this.payments(),
      ledger: ledger(STRIPE_ACTOR),
      accounts: accounts?.() ?? [],
      // In stores that nodes share, this file does not tell.
      hadNoCards: openStore === openLiveStore && !existsSync(paymentsPath),
    });
  }

  open(): void {
    this.#invoices();
    this.payments();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#payments?.close();
    await this.#store?.close();
  }
}

/** Returns the response to the order of an invoice. */
function answerOf(invoice: Invoice): InvoiceAnswerText {
  const { id, quantity, package: name, pool, method } = invoice;
  return {
    invoiceId: id,
    detail: `${quantity} ${name} for ${pool} by ${method}`,
    answer: JSON.stringify({ invoice: invoiceAnswer(invoice, invoice.createdAtMs) }),
  };
}

/**
 * Checks that each balance has at most one rule, and that what the rules order can be bought.
 *
 * @throws INVALID_REQUEST naming the field
 */
function checkRules(
  { topUp = [] }: BillingPreferences,
  packages: readonly CreditPackage[],
  agreement: Agreement | null,
): void {
  if (new Set(topUp.map(({ pool }) => pool)).size < topUp.length)
    throw new AssayError('INVALID_REQUEST', 'topUp: each balance has at most one rule.', { field: 'topUp' });
  for (const { pool, quantity, package: name } of topUp)
    orderOf(packages, agreement, { pool, quantity, package: name });
}

/** Creates the service of billing. Its stores are opened at their first use. */
export const createBilling = (options: BillingOptions, deps: BillingDeps): Billing =>
  new InvoiceBilling(options, deps);
