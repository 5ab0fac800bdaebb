/** Limits of billing, each with the reason for its value. */
export const BILLING_LIMITS = {
  /** Stripe's own tolerance: a signature that is older, or further in the future, is rejected. */
  webhookToleranceMs: 300_000,
  /** Packages of one checkout: 100 of the largest are a million credits and a million dollars, the largest amount of a card payment. */
  checkoutQuantityMax: 100,
  /** Lifetime of a checkout page. Stripe allows 30 minutes to 24 hours; a payment takes minutes. */
  checkoutMs: 60 * 60_000,
  /** Unpaid checkouts of an account at the same time: a person opens a few, and each is a session at Stripe. */
  openInvoicesMax: 20,
  /** Lifetime of an invoice by wire: the usual term of payment, and rates are locked for it. */
  wireMs: 30 * 24 * 60 * 60_000,
  /** Late transfers by wire are matched for as long as a customer may claim them: correspondent banks take days, and people weeks. */
  wireMonitorMs: 180 * 24 * 60 * 60_000,
  /** Payments of one invoice. A person makes a few; anyone can send dust to an address, and each payment is some 500 bytes. */
  paymentsMax: 200,
  /** Refunds of one invoice: an operator makes a few by hand. */
  refundsMax: 100,
  /** Steps in the history of an invoice: a payment makes four, a reorg two. */
  historyMax: 200,
  /** Events of an account that a stream can be resumed from: more than a month of a busy customer. */
  eventsKept: 2_000,
  /** A rate that is older is not used for a new invoice: publishers have one each working day, and holidays last some days. */
  rateAgeMaxMs: 7 * 24 * 60 * 60_000,
  /** Characters of the source of a rate: a URL. */
  rateSourceCharsMax: 500,
  /** Invoices that an import suggests for one payment: more do not help a person to choose. */
  candidatesMax: 5,
  /** Characters of a name from a bank, which ISO 20022 limits to 140. */
  bankTextMax: 140,
  /** Characters of an operator's reason: one sentence. */
  reasonCharsMax: 300,
  /** Characters of the detail of an entry of the audit log. */
  auditDetailMax: 300,
  /** Interval between checks of the balances of accounts that ask for it: credits are spent in minutes, not seconds. */
  balanceCheckMs: 60_000,
  /** Time after an unpaid top-up before the next one: a rule must not fill the list with expired invoices. */
  topUpIntervalMs: 24 * 60 * 60_000,
  /** Entries that a statement reads, a page at a time: ten charges a second of a month, some minutes. */
  statementEntriesMax: 25_000_000,
  /** Rows of single entries of a statement, some 300 bytes each. */
  statementRowsMax: 500_000,
  /**
   * A statement reads on until a page has only entries that are older than its month by this: entries of the month can be before them if the clock
   * was set back. It is more than a wrong time zone, and a quarter more entries to read.
   */
  clockBackMs: 7 * 24 * 60 * 60_000,
  /** Events that one sweep hands to their receivers: some 100 ms. */
  noticesPage: 500,
  /** Interval between sweeps: an event of another process of this machine is seen by then, and an expired invoice ended. */
  sweepMs: 1_000,
  /** Expired invoices that one sweep ends: some 50 ms. */
  expirySweepMax: 500,
  /** Characters of the currency of an order: `POLYGON:USDC` has 12. */
  currencyTextMax: 32,
  /** An unpaid invoice is kept for this time after its page expired: Stripe repeats an event for three days, and an operator needs days too. */
  unpaidKeptMs: 7 * 24 * 60 * 60_000,
  /** Unpaid invoices of an account that are kept, ended ones included: older ones are deleted after `unpaidKeptMs`. Paid ones are never deleted. */
  unpaidInvoicesMax: 200,
  /** Invoices of one page of a list: about 1 KB each. */
  invoicePageMax: 100,
  /** Records that one page of a list reads while it searches for a state: some 10 ms. */
  invoicesReadMax: 2_000,
  /** Time for one request to Stripe. Stripe's own default is 80 s; a person waits for this response. */
  stripeTimeoutMs: 15_000,
  /** Repetitions of a failed request to Stripe, with the same idempotency key: more would outlast the patience of a person. */
  stripeRetries: 1,
  /** Characters of a text from Stripe, and of metadata (its own maximum is 500). Ids have at most 255. */
  stripeTextMax: 255,
  /** Credits of an agreed package, as of one entry of the ledger. */
  agreedCreditsMax: 1_000_000_000,
  /** Price of an agreed package in cents: Stripe's maximum, 999,999.99. */
  agreedAmountMax: 99_999_999,
  /** Entries of the ledger that the check of invoices reads at a time. */
  verifyEntriesPage: 500,
} as const;
