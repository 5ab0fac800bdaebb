/** Records of billing: invoices, their receipts, and agreed packages. Times are in milliseconds since 1970, money in minor units. */
import type { Pool } from '../accounts/pools.ts';

/**
 * NEW: not paid. PROCESSING: the payment is confirmed later, as of a bank debit. SETTLED: paid, and its credits are booked. EXPIRED: not
 * paid in time. INVALID: the payment failed. HELD: money arrived that does not match the invoice, so an operator must decide.
 */
export const INVOICE_STATES = ['NEW', 'PROCESSING', 'SETTLED', 'EXPIRED', 'INVALID', 'HELD'] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

export const INVOICE_METHODS = ['CARD'] as const;
export type InvoiceMethod = (typeof INVOICE_METHODS)[number];

/** Why a payment changed the credits of an account. */
export const ENTRY_CAUSES = ['PURCHASE', 'REFUND', 'DISPUTE', 'DISPUTE_WON'] as const;
export type EntryCause = (typeof ENTRY_CAUSES)[number];

/** All prices are in this currency. */
export const CURRENCY = 'USD';

/** A ledger entry that belongs to an invoice. */
export interface InvoiceEntry {
  /** Id of the entry in the ledger. */
  readonly id: string;
  readonly cause: EntryCause;
  /** As in the ledger: negative if credits were taken back. */
  readonly credits: number;
  readonly bookedAtMs: number;
}

/** The operator's details on a receipt. */
export interface Seller {
  readonly name: string | null;
  /** Lines of the address. */
  readonly address: readonly string[];
  readonly vatId: string | null;
  /** VAT that is contained in the price, in hundredths of a percent; null: no VAT is shown. */
  readonly vatBasisPoints: number | null;
  /** Text before the number of a receipt. */
  readonly receiptPrefix: string;
}

/** Written once, when the invoice is settled: later settings do not change it. */
export interface Receipt {
  /** From 1, without gaps, in the order in which invoices were settled. */
  readonly number: number;
  readonly issuedAtMs: number;
  readonly seller: Seller;
}

/** The subject of a purchase. */
export interface Order {
  /** Name of the package. */
  readonly package: string;
  readonly quantity: number;
  /** Credits of all packages together. */
  readonly credits: number;
  /** Price of all packages together, in minor units. */
  readonly amount: number;
  readonly currency: typeof CURRENCY;
  /** The balance that gets the credits. */
  readonly pool: Pool;
}

export interface Invoice extends Order {
  readonly id: string;
  readonly accountId: string;
  readonly method: InvoiceMethod;
  readonly state: InvoiceState;
  /** Why the invoice is INVALID or HELD; null in every other state. */
  readonly reason: string | null;
  readonly createdAtMs: number;
  /** Id of the buyer; `stripe` for a payment that did not begin here. */
  readonly createdBy: string;
  /** Time until which it can be paid. */
  readonly expiresAtMs: number;
  readonly settledAtMs: number | null;
  /** Ids at the payment provider: of the checkout session and of the payment. */
  readonly references: readonly string[];
  /** Oldest first. */
  readonly entries: readonly InvoiceEntry[];
  /** Refunded so far, in minor units. */
  readonly refunded: number;
  readonly dispute: 'OPEN' | 'WON' | 'LOST' | null;
  /** Null until it is settled. */
  readonly receipt: Receipt | null;
}

/** A package that the operator has agreed with one account. */
export interface Agreement {
  readonly credits: number;
  /** Minor units. */
  readonly amount: number;
  readonly agreedAtMs: number;
}
