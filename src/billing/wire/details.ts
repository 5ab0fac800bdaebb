/** How an invoice is paid by wire: stored with it, so that later settings do not change an invoice that was sent. */

/** The operator's account at a bank. */
export interface BankAccount {
  /** Without spaces. */
  readonly iban: string;
  readonly bic: string | null;
  /** Owner of the account. */
  readonly holder: string;
  readonly bank: string | null;
}

export interface WireDetails extends BankAccount {
  /** ISO 11649, without spaces: the customer gives it with the payment. */
  readonly reference: string;
}
