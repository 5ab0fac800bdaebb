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
