/** The port of the store of invoices. store-lmdb.ts implements it over live state: on one machine in LMDB, on many nodes in Redis. */
import type { Pool } from '../accounts/pools.ts';
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { RepeatKey } from '../state/repeats.ts';
import type { BillingEvent, NewBillingEvent } from './events.ts';
import type {
  Agreement,
  BillingPreferences,
  Currency,
  Invoice,
  InvoiceState,
  PaymentMethod,
  Rate,
} from './records.ts';

export type InvoicePage = Omit<PageRequest, 'offset'>;

export interface InvoiceFilter {
  readonly state?: InvoiceState;
  readonly method?: PaymentMethod;
}

/**
 * Computes the next version of an invoice. It may run several times, so it has no other effect than taking the number of a receipt.
 *
 * @param nextReceipt - takes the next number, in the same transaction
 */
export type InvoiceChange = (invoice: Invoice, nextReceipt: () => number) => Invoice;

/** The response to an order, and its audit entry. */
export interface InvoiceAnswerText {
  readonly invoiceId: string;
  /** The order in a few words. */
  readonly detail: string;
  /** JSON text of `data`. */
  readonly answer: string;
}

/** Changes are durable when their promise resolves. */
export interface InvoiceStore {
  /** Resolves when all invoices can be read. */
  ready(): Promise<void>;
  /**
   * Stores a new invoice. If an invoice with one of its references exists, nothing changes.
   *
   * @param openMax - maximum number of unpaid invoices of the account that can still be paid. Default: no maximum
   * @param isInstead - called with the newest invoices of the account, in the same transaction: if it is true for one, nothing changes
   * @returns the stored invoice, which may be an earlier one
   * @throws INVALID_REQUEST if the account has too many open invoices
   */
  add(invoice: Invoice, openMax?: number, isInstead?: (other: Invoice) => boolean): Promise<Invoice>;
  /**
   * Like `add`, for a request with an Idempotency-Key.
   *
   * @returns null if the invoice is stored; what an earlier request with this key got, and then nothing changes
   * @throws INVALID_REQUEST also if the body of that request was another one
   */
  addOnce(
    invoice: Invoice,
    openMax: number,
    key: RepeatKey,
    answer: InvoiceAnswerText,
  ): Promise<InvoiceAnswerText | null>;
  /**
   * Returns what an earlier request with this Idempotency-Key got; null if there was none in the last 24 hours.
   *
   * @throws INVALID_REQUEST if its body was another one
   */
  answered(key: RepeatKey): InvoiceAnswerText | null;
  /**
   * Throws if `add` with this maximum would, before a method of payment takes an address for the invoice.
   *
   * @throws INVALID_REQUEST
   */
  requireRoom(accountId: string, openMax: number): void;
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
  /** Yields the invoices without a receipt. */
  waiting(): Iterable<Invoice>;
  /** Returns the newest rate to a currency; null if the operator has given none. */
  rate(currency: Currency): Rate | null;
  setRate(rate: Rate): Promise<void>;
  /** Yields all invoices of an account, newest first. */
  ofAccount(accountId: string): Iterable<Invoice>;
  /** Yields the accounts that have set receivers, thresholds or rules. */
  watchedAccounts(): Iterable<{ readonly accountId: string; readonly preferences: BillingPreferences }>;
  /** Records whether a balance is low, and adds the event if it was not low before, once on all nodes. */
  noteBalance(
    balance: { readonly accountId: string; readonly pool: Pool; readonly isLow: boolean },
    event: NewBillingEvent,
  ): Promise<void>;
  /** Returns the receivers of an account's messages; by default none. */
  preferences(accountId: string): BillingPreferences;
  setPreferences(accountId: string, preferences: BillingPreferences): Promise<void>;
  /** Takes the next number of a counter, from 1. It is durable when it resolves, and never returned again. */
  nextNumber(counter: string): Promise<number>;
  /** Returns the last number that was taken from a counter; 0 before the first. */
  lastNumber(counter: string): number;
  /** Returns invoices with credits that wait to be booked. */
  unbooked(): readonly InvoicePlace[];
  /** Returns unpaid invoices after their time to pay, at most `limit`. */
  expired(nowMs: number, limit: number): readonly InvoicePlace[];
  /** Returns the events of an account after a number, oldest first. `first` is the oldest number that is kept, 0 if none is. */
  events(
    accountId: string,
    after: number,
    limit: number,
  ): { readonly changes: readonly BillingEvent[]; readonly first: number; readonly last: number };
  /** Adds an event that is not about an invoice. Those of invoices are added by `add` and `change`, in the same transaction. */
  addEvent(accountId: string, event: NewBillingEvent): Promise<void>;
  /** Returns events that are not handed to their receivers yet, at most `limit`. */
  unsent(limit: number): readonly BillingEvent[];
  /** Marks an event as handed over. */
  sent(event: BillingEvent): Promise<void>;
  /** Calls a listener for the account of each new event, of any node, when it is durable. */
  onEvent(listener: (event: { readonly accountId: string }) => void): void;
  close(): Promise<void>;
}

/** An invoice and its account. */
export interface InvoicePlace {
  readonly accountId: string;
  readonly id: string;
}
