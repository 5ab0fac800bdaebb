/**
 * Records of billing: invoices, their payments and receipts, and agreed packages. Times are in milliseconds since 1970, money in minor
 * units. Amounts of a payment are decimal texts of integers in the smallest unit of its asset: wei exceed a number.
 */
import type { Pool } from '../accounts/pools.ts';
import type { CryptoDetails } from './crypto/details.ts';
import type { WireDetails } from './wire/details.ts';

/**
 * NEW: not paid. PROCESSING: the payment is confirmed later, as of a bank debit. SETTLED: paid, and its credits are booked. EXPIRED: not
 * paid in time. INVALID: the payment failed. HELD: money arrived that does not match the invoice, or whose sender must be checked, so an
 * operator must decide.
 */
export const INVOICE_STATES = ['NEW', 'PROCESSING', 'SETTLED', 'EXPIRED', 'INVALID', 'HELD'] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

/** PAID_PARTIAL: some money has arrived, and less than the price. PAID_OVER: more than the price. PAID_LATE: after the invoice expired. */
export const INVOICE_EXCEPTIONS = ['PAID_PARTIAL', 'PAID_OVER', 'PAID_LATE'] as const;
export type InvoiceException = (typeof INVOICE_EXCEPTIONS)[number];

export const PAYMENT_METHODS = ['CARD', 'CRYPTO', 'WIRE'] as const;
export type PaymentMethod = (typeof PAYMENT_METHODS)[number];

/** Why a payment changed the credits of an account. */
export const ENTRY_CAUSES = [
  'PURCHASE',
  'REFUND',
  'DISPUTE',
  'DISPUTE_WON',
  // Of invoices by wire and in cryptocurrency: a payment was undone, counts again, or its share of the credits changed.
  'REVERSAL',
  'RESTORED',
  'CORRECTION',
] as const;
export type EntryCause = (typeof ENTRY_CAUSES)[number];

/** The currency of the price list. */
export const CURRENCY = 'USD';

/** Currencies of prices. All of them have two decimals. */
export const CURRENCIES = [CURRENCY, 'EUR', 'CHF', 'GBP'] as const;
export type Currency = (typeof CURRENCIES)[number];

/** A dated rate: one unit of `from` is worth `value` units of `to`. */
export interface Rate {
  readonly from: string;
  readonly to: string;
  /** Decimal text, above zero. */
  readonly value: string;
  /** URL or name of the publisher. */
  readonly source: string;
  /** Time to which the rate applies. */
  readonly atMs: number;
}

/** The amount that the customer must pay, at the rate that is locked until the invoice expires. */
export interface Due {
  /** Currency or asset, for example `EUR`, `BTC` or `ETH:USDC`. */
  readonly asset: string;
  /** In the smallest unit. */
  readonly amount: string;
  /** Decimals of that unit. */
  readonly decimals: number;
}

/**
 * PENDING: seen, not confirmed. CONFIRMED: counts. HELD: waits for the operator. REVERTED: it was undone, for example by a reorg or by the
 * bank. REFUSED: the operator returned it. WRONG_ASSET: another asset or currency than that of the invoice; it does not count.
 */
export const PAYMENT_STATES = ['PENDING', 'CONFIRMED', 'HELD', 'REVERTED', 'REFUSED', 'WRONG_ASSET'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** Facts of a payment that only its method knows, such as the hash of a transaction. They are part of responses. */
export type PaymentFacts = Readonly<Record<string, string | number | boolean | null>>;

/** A payment as its method reports it. */
export interface ReportedPayment {
  /** Unique among all invoices: `stripe pi_…`, `wire <account> <reference>`, `ETH <transaction> <log index>`. */
  readonly id: string;
  readonly asset: string;
  /** Received, in the smallest unit of the asset. */
  readonly amount: string;
  /**
   * The part of the amount due that it pays, in the unit of `Due`. It differs from `amount` if the payment came after the invoice expired:
   * then the current rate applies.
   */
  readonly value: string;
  readonly state: PaymentState;
  /** Why it is HELD, REVERTED, REFUSED or WRONG_ASSET; else null. */
  readonly reason: string | null;
  /** First sight of the payment: it decides whether the payment was in time. */
  readonly seenAtMs: number;
  readonly facts: PaymentFacts;
}

/** A stored payment. */
export interface InvoicePayment extends ReportedPayment {
  /** First confirmation; null before it. Payments are credited in this order. */
  readonly confirmedAtMs: number | null;
  /** The operator has accepted it after it was HELD. */
  readonly releasedAtMs: number | null;
  /** Credits that the account has from this payment as soon as all bookings are made. */
  readonly credits: number;
  /** Refunded, in the smallest unit of the asset. */
  readonly refunded: string;
}

/** Money that the operator has returned. */
export interface Refund {
  readonly id: string;
  readonly paymentId: string;
  /** In the smallest unit of the asset of the payment. */
  readonly amount: string;
  readonly reason: string;
  readonly by: string;
  readonly atMs: number;
}

/** A change of the state or of the exceptions. */
export interface InvoiceStep {
  readonly atMs: number;
  readonly state: InvoiceState;
  readonly exceptions: readonly InvoiceException[];
  /** The cause of the change, in a few words. */
  readonly cause: string;
}

/** How to pay, by the method of the invoice: stored when it is created, and part of every response. */
export interface InvoiceDetails {
  readonly wire?: WireDetails;
  readonly crypto?: CryptoDetails;
}

/** A ledger entry that belongs to an invoice. */
export interface InvoiceEntry {
  /** Id of the entry in the ledger. */
  readonly id: string;
  readonly cause: EntryCause;
  /** The payment that caused it; absent in records of earlier versions. */
  readonly paymentId?: string;
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
  readonly currency: Currency;
  /** The balance that gets the credits. */
  readonly pool: Pool;
}

export interface Invoice extends Order {
  readonly id: string;
  readonly accountId: string;
  readonly method: PaymentMethod;
  readonly state: InvoiceState;
  /** Why the invoice is INVALID or HELD; null in every other state. */
  readonly reason: string | null;
  readonly createdAtMs: number;
  /** Id of the buyer; `stripe` for a payment that did not begin here, `top-up` for one that a rule began. */
  readonly createdBy: string;
  /** Time until which it can be paid at the locked rate. */
  readonly expiresAtMs: number;
  /** Time until which late payments are looked for. */
  readonly monitorUntilMs: number;
  /** Time at which it was settled first. */
  readonly settledAtMs: number | null;
  readonly exceptions: readonly InvoiceException[];
  /** The rate by which the price list was converted, or by which the amount due was; null if there was nothing to convert. */
  readonly rate: Rate | null;
  readonly due: Due;
  /** A payment may be short by this, in hundredths of a percent: senders subtract fees. */
  readonly toleranceBasisPoints: number;
  /** In the order of their first sight. */
  readonly payments: readonly InvoicePayment[];
  readonly refunds: readonly Refund[];
  /** Oldest first. */
  readonly history: readonly InvoiceStep[];
  readonly details: InvoiceDetails;
  /** Ids by which it is found: of the checkout session and of payments, a reference of a bank, an address. */
  readonly references: readonly string[];
  /** Oldest first. */
  readonly entries: readonly InvoiceEntry[];
  /** Refunded so far, in minor units. */
  readonly refunded: number;
  readonly dispute: 'OPEN' | 'WON' | 'LOST' | null;
  /** Null until it is settled first. */
  readonly receipt: Receipt | null;
}

/** Receivers of messages about billing, and thresholds of balances. */
export interface BillingPreferences {
  /** Receives all events, signed like alerts; null: none. */
  readonly webhookUrl: string | null;
  /** Receives an email if a balance is low; null: none. */
  readonly email: string | null;
  /** A balance below this number of credits is reported, once until it is above again; null: never. */
  readonly lowBalance: Readonly<Record<Pool, number | null>>;
  /** At most one rule for each balance; absent: none. */
  readonly topUp?: readonly TopUpRule[];
}

/** Orders credits when a balance is low. The invoice still has to be paid. */
export interface TopUpRule {
  readonly pool: Pool;
  /** Orders if fewer credits are left. */
  readonly below: number;
  readonly package: string;
  readonly quantity: number;
  readonly method: Exclude<PaymentMethod, 'CARD'>;
  /** Null: the first one of the method. */
  readonly currency: string | null;
}

/** A package that the operator has agreed with one account. */
export interface Agreement {
  readonly credits: number;
  /** Minor units. */
  readonly amount: number;
  readonly agreedAtMs: number;
}
