/** The operations of billing: the port that requests and commands use. billing.ts implements it. */
import type { PageEnd } from '../base/paging.ts';
import type { OfferedPackage, OrderRequest } from './packages.ts';
import type { Payments } from './payments.ts';
import type { Agreement, Invoice } from './records.ts';
import type { InvoiceFilter, InvoicePage } from './store.ts';
import type { BillingReport } from './verify.ts';

/** A client that buys. */
export interface Buyer {
  readonly accountId: string;
  readonly personId: string;
}

export interface Offer {
  /** Whether packages can be bought by card. */
  readonly checkout: 'available' | 'unavailable';
  readonly packages: readonly OfferedPackage[];
}

export interface Billing {
  offer(accountId: string): Offer;
  /**
   * Creates an invoice and the page on which it is paid by card. If that fails, no invoice remains.
   *
   * @throws PAYMENTS_NOT_CONFIGURED, PAYMENT_PROVIDER_UNAVAILABLE, PAYMENT_PROVIDER_ERROR, INVALID_REQUEST
   */
  checkout(buyer: Buyer, order: OrderRequest): Promise<{ readonly url: string; readonly invoice: Invoice }>;
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
  receipt(accountId: string, id: string): { readonly html: string; readonly policy: string };
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
