/** How an invoice is paid by wire: stored with it, so that later settings do not change an invoice that was sent. */

/** A structured address: the Swiss QR code accepts no other since November 2025. */
export interface BankAddress {
  readonly street: string | null;
  readonly postcode: string;
  readonly town: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

/** The operator's account at a bank. */
export interface BankAccount {
  /** Without spaces. */
  readonly iban: string;
  readonly bic: string | null;
  /** Owner of the account. */
  readonly holder: string;
  readonly bank: string | null;
  /** Null: no Swiss QR code. */
  readonly address: BankAddress | null;
}

export interface WireDetails extends BankAccount {
  /** ISO 11649, without spaces: the customer gives it with the payment. */
  readonly reference: string;
}
