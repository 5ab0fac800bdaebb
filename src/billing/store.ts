/** The port of the store of invoices. store-lmdb.ts implements it over live state: on one machine in LMDB, on many nodes in Redis. */
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { Agreement, Invoice, InvoiceState } from './records.ts';

export type InvoicePage = Omit<PageRequest, 'offset'>;

export interface InvoiceFilter {
  readonly state?: InvoiceState;
}

/**
 * Computes the next version of an invoice. It may run several times, so it has no other effect than taking the number of a receipt.
 *
 * @param nextReceipt - takes the next number, in the same transaction
 */
export type InvoiceChange = (invoice: Invoice, nextReceipt: () => number) => Invoice;

/** Changes are durable when their promise resolves. */
export interface InvoiceStore {
  /** Resolves when all invoices can be read. */
  ready(): Promise<void>;
  /**
   * Stores a new invoice. If an invoice with one of its references exists, nothing changes.
   *
   * @param openMax - maximum number of unpaid invoices of the account that can still be paid. Default: no maximum
   * @returns the stored invoice, which may be an earlier one
   * @throws INVALID_REQUEST if the account has too many open invoices
   */
  add(invoice: Invoice, openMax?: number): Promise<Invoice>;
  /**
   * Changes an invoice in one transaction.
   *
   * @returns the stored invoice
   * @throws NOT_FOUND
   */
  change(accountId: string, id: string, change: InvoiceChange): Promise<Invoice>;
  /** Deletes an invoice that was never paid. A paid one stays. */
  removeUnpaid(accountId: string, id: string): Promise<void>;
  /** Null also for an id of another account. */
  get(accountId: string, id: string): Invoice | null;
  /** Returns the invoice with this id of a session or payment at the provider. */
  byReference(reference: string): Invoice | null;
  /** Returns invoices, newest first. Stops after `invoicesReadMax` records; a page may then be short although more match. */
  list(
    accountId: string,
    filter: InvoiceFilter,
    page: InvoicePage,
  ): { readonly invoices: readonly Invoice[] } & PageEnd;
  /** Yields the invoices of all accounts, by account, oldest first. */
  all(): Iterable<Invoice>;
  /** Returns the number of the newest receipt, or 0. */
  lastReceipt(): number;
  /** Returns the custom package of an account; null if none is agreed. */
  agreement(accountId: string): Agreement | null;
  /** Stores the custom package of an account; null removes it. */
  agree(accountId: string, agreement: Agreement | null): Promise<void>;
  close(): Promise<void>;
}
