/**
 * Limits of src/base, and those that several areas share, each with the reason for its value. The limits of an area are in its `limits.ts`.
 */
export const LIMITS = {
  /**
   * Threads that accept connections. Each has a heap and caches of its own, some 100 MB; with 16, a machine of 32 cores is busy, as half of its
   * cores do the work behind them.
   */
  acceptorsMax: 16,
  /** Equals undici's own default; the headers of a list server are below 4 KB. */
  outboundHeaderBytesMax: 16 * 1024,
  /** Files of one publisher are requested one after the other; a second connection allows a redirect on the same host. */
  outboundConnectionsMax: 2,
  /** If a list server has not accepted the connection within this time, it is down. */
  downloadConnectMs: 15_000,
  /** OFAC's server prepares its file before it answers; 30 s have been seen. */
  downloadHeadersMs: 90_000,
  /** A connection that is silent for this long in the middle of a file is dead. */
  downloadStallMs: 30_000,
  /** Decisions: a response is stored for its Idempotency-Key this long. */
  idempotencyMs: 24 * 3_600_000,
  /** Results in shared slots at once: more than the threads finish while the main thread writes one; a result without a slot is copied. */
  poolSlots: 64,
  /** A bulk response of 100 well-labelled addresses is about 100 KB; longer ones are copied. Untouched slots cost no memory. */
  poolSlotBytes: 256 * 1024,
  /** Seconds for which node:http keeps an idle connection open: longer than the 60 s after which common load balancers let go of theirs. */
  keepAliveSeconds: 75,
  /** Interval at which records past their retention are deleted: retention is in days. */
  retentionLookMs: 3_600_000,
  /** A mail server that does not respond to one step for this long is down. */
  smtpStepMs: 15_000,
} as const;
