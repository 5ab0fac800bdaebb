/** Limits of deliveries to receivers, each with the reason for its value. */
export const DELIVERY_LIMITS = {
  /** Characters of a receiver's URL: longer than those of every chat service, shorter than the limit of servers. */
  receiverUrlCharsMax: 2_048,
  /** Receivers whose checked URL is kept: at most 2 MB of the longest URLs, and more than are sent to at the same time. */
  receiverTargetsKept: 1_024,
  /** Signing keys that are kept, of 0.2 KB each: more than the accounts that are sent to at the same time. */
  signingKeysKept: 1_024,
  /** Decisions: timeout for the response of a webhook. */
  deliveryTimeoutMs: 15_000,
  /** A receiver that asks for a longer delay than a day (Retry-After) does not want the alert. */
  retryAfterMaxMs: 24 * 3_600_000,
  /** Concurrent deliveries: one socket each, and systems allow 1,024 files by default. */
  deliveriesInFlightMax: 512,
  /** Concurrent deliveries to one receiver: more would overload a small one. */
  deliveriesPerReceiverMax: 4,
  /** Concurrent alert emails to the mail server: each has its own connection, and servers of hosting providers allow ten. */
  alertEmailsInFlightMax: 8,
  /** Waiting deliveries of one receiver that are read to find the next one: those of 256 wallets. */
  deliveryScanMax: 256,
  /** Bytes that are read from the response to a delivery before the connection is closed: only the status counts. */
  deliveryAnswerBytesMax: 16 * 1024,
  /** Retention of the delivery log: long enough for a receiver to notice a gap and ask for the deliveries. */
  deliveriesKeptMs: 30 * 24 * 3_600_000,
  /** Ended deliveries that are removed when a new one is added: faster than they arrive. */
  deliveriesPurgeMax: 4,
  /** Ended deliveries that one commit removes from the log of accounts without new ones: 5 ms. */
  deliveriesSweptAtOnce: 200,
  /** Waiting deliveries of a wallet that one commit cancels: some 5 ms. */
  deliveriesCancelledAtOnce: 200,
  /** Attempts stored for one delivery: ten rounds of replays. */
  deliveryAttemptsKept: 100,
  /** Alerts listed in one digest: about 150 KB of email; the rest is counted. */
  digestAlertsMax: 500,
  /**
   * Deliveries read for one page of a filtered list: about 20 ms. A page that ends at this limit is shorter, and has a cursor to continue.
   */
  deliveriesLookedMax: 2_000,
} as const;
