/** The operations of billing: the port that requests and commands use. billing.ts implements it. */
import type { Pool } from '../accounts/pools.ts';
import type { PageEnd } from '../base/paging.ts';
import type { RepeatKey } from '../state/repeats.ts';
import type { PrintedPage } from './html.ts';
import type { OrderMethod } from './methods.ts';
import type { BillingNotice } from './notices.ts';
import type { OfferedPackage, OrderRequest } from './packages.ts';
import type { Payments } from './payments.ts';
import type { Agreement, BillingPreferences, Invoice } from './records.ts';
import type { Settlement } from './settlement.ts';
import type { MonthlyStatement } from './statement.ts';
import type { InvoiceAnswerText, InvoiceFilter, InvoicePage, InvoiceStore } from './store.ts';
import type { BillingReport } from './verify.ts';

/** A client that buys. */
export interface Buyer {
  readonly accountId: string;
  readonly personId: string;
}

export interface Offer {
  /** Whether packages can be bought by card. */
  readonly checkout: 'available' | 'unavailable';
  /** Methods of payment by invoice that are configured, with what can be paid in. */
  readonly methods: readonly { readonly method: OrderMethod; readonly currencies: readonly string[] }[];
  readonly packages: readonly OfferedPackage[];
}

/** An order that is paid by invoice. */
export interface InvoiceOrder extends OrderRequest {
  readonly method: OrderMethod;
  /** Currency or asset, in any letter case. Default: the first one of the method. */
  readonly currency?: string;
}

/** Stores a notice for its receivers, once by its id. */
export type Deliver = (notice: BillingNotice) => Promise<void>;

/** An invoice that was ordered, as the response to the order. */
export interface Ordered extends InvoiceAnswerText {
  /** True if an earlier request with the same Idempotency-Key created it. */
  readonly isRepeated: boolean;
}

export interface Billing {
  offer(accountId: string): Offer;
  /**
   * Creates an invoice and the page on which it is paid by card. If that fails, no invoice remains.
   *
   * @throws PAYMENTS_NOT_CONFIGURED, PAYMENT_PROVIDER_UNAVAILABLE, PAYMENT_PROVIDER_ERROR, INVALID_REQUEST
   */
  checkout(buyer: Buyer, order: OrderRequest): Promise<{ readonly url: string; readonly invoice: Invoice }>;
  /**
   * Creates an invoice that is paid by wire or in cryptocurrency.
   *
   * @throws INVALID_REQUEST naming the field, also if the method is not configured
   */
  order(buyer: Buyer, order: InvoiceOrder): Promise<Invoice>;
  /**
   * Like `order`, and returns the response. A repeated request with the same Idempotency-Key creates no other invoice, and gets the response
   * of the first.
   *
   * @throws as `order`; INVALID_REQUEST if the first request with this key had another body
   */
  orderOnce(buyer: Buyer, order: InvoiceOrder, key: RepeatKey | null): Promise<Ordered>;
  /**
   * Ends unpaid invoices after their time to pay, completes interrupted bookings, and hands events to their receivers. Repeating it is a
   * no-op, on any number of nodes.
   *
   * @param deliver - stores a notice for its receivers, once by its id; omitted: no event is handed over
   */
  sweep(deliver?: Deliver): Promise<void>;
  /** Sweeps at intervals, and soon after each event, until `stop` or `close`. */
  start(deliver: Deliver): void;
  /** Ends the sweeps. Resolves when the running one has ended. */
  stop(): Promise<void>;
  /** Returns the receivers, thresholds and rules of an account. */
  preferences(accountId: string): BillingPreferences;
  setPreferences(accountId: string, preferences: BillingPreferences): Promise<void>;
  /** Applies what methods of payment, and operators, report. */
  settlement(): Settlement;
  /** The store of invoices and events. */
  store(): InvoiceStore;
  /** Returns invoices of an account, newest first. */
  invoices(
    accountId: string,
    filter: InvoiceFilter,
    page: InvoicePage,
  ): { readonly invoices: readonly Invoice[] } & PageEnd;
  /** @throws NOT_FOUND */
  invoice(accountId: string, id: string): Invoice;
  /**
   * Returns the receipt of a settled invoice as an HTML page that prints on one sheet.
   *
   * @throws NOT_FOUND, also for an invoice that is not settled
   */
  receipt(accountId: string, id: string): PrintedPage;
  /**
   * Returns the pro-forma invoice of a payment by wire as an HTML page to print, with the codes that banking apps scan.
   *
   * @throws NOT_FOUND, also for an invoice that is paid in another way
   */
  proForma(accountId: string, id: string): PrintedPage;
  /**
   * Returns the statement of a balance for one month, UTC.
   *
   * @param month - `YYYY-MM`
   * @throws INVALID_REQUEST
   */
  statement(accountId: string, pool: Pool, month: string): Promise<MonthlyStatement>;
  /** Returns the same as a page to print. */
  printedStatement(accountId: string, pool: Pool, month: string): Promise<PrintedPage>;
  /** Events of Stripe; null if no secret is configured. */
  payments(): Payments | null;
  /** Stores the custom package of an account; null removes it. */
  agree(accountId: string, agreement: Agreement | null): Promise<void>;
  /** Compares invoices, purchases and the ledger. */
  verify(): Promise<BillingReport>;
  /** Opens the stores now. */
  open(): void;
  close(): Promise<void>;
}
