/** Limits of keys, people, credits and quotas, each with the reason for its value. */
export const ACCOUNT_LIMITS = {
  /** A limit per minute must be finite so that "never more than N" is true; its window counts in 32 bits. */
  rateLimitMax: 1_000_000_000,
  /** Keys and classes for which the last minute is kept at once: about 400 bytes each, 40 MB. */
  rateWindowsMax: 100_000,
  /** Windows in memory that acceptors share: 288 bytes each, 5 MB. Keys beyond it are counted by the main thread alone. */
  sharedWindowsMax: 16_384,
  /** Accounts and meters with leased units in memory that acceptors share: 64 bytes each, 4 MB. Others are counted by the main thread. */
  sharedUnitsMax: 65_536,
  /** Verified keys that are cached at once; other keys are read from the store again. About 300 bytes each. */
  verifiedKeysMax: 100_000,
  /** A longer name of a key is not useful to people. */
  keyNameMax: 100,
  /** Characters of a ledger reference: operation, chain and the longest address that a request may name. */
  ledgerReferenceMax: 640,
  /** Cached account states: about 400 bytes each, 80 MB. */
  ledgerHeadsMax: 200_000,
  /** Entries by which the index of last entries may lag: after a crash they are read again at the start, in 0.1 s; sorted in 3 ms. */
  ledgerIndexLagMax: 8_192,
  /** Accounts that one commit writes to the index: 1 ms of the main thread. */
  ledgerIndexSliceMax: 512,
  /** Charges of one commit: 1,000 are 10 ms of the main thread, and 256 requests in flight never fill it. */
  ledgerBatchMax: 1_000,
  /** Charges that wait for their commit: seconds of work; beyond that, more of them would only grow the heap. */
  ledgerQueueMax: 100_000,
  /** Steps on accounts in one script in Redis, which processes nothing else for a few milliseconds. */
  stepsPerScriptMax: 64,
  /**
   * Lifetime of a reservation in Redis after its node has died: longer than any request runs, and the longest time that a dead node holds
   * credits.
   */
  ledgerHoldMs: 120_000,
  /** How long Redis rejects a charge that was undone before it arrived: data that waits in a socket arrives within seconds of its end. */
  ledgerMarkMs: 600_000,
  /** Charges to undo when Redis is available again: seconds of work, as for the queue of charges above. */
  pendingStepsMax: 100_000,
  /** How long Redis remembers the quota that an event consumed: jobs are settled within days. */
  quotaEventMs: 100 * 24 * 3_600_000,
  /** Credits of one entry: a typing error in a grant should be noticed, and sums must stay exact in doubles. */
  ledgerAmountMax: 1_000_000_000,
  /** Days with entries that usage sums up: a month and the day on which it began. */
  usageDaysMax: 31,
  /** Entries of the first pages of usage that are kept, with their JSON text: about 500 bytes each, 30 MB for a thousand busy accounts. */
  usageEntriesKept: 60_000,
  /** Characters of an Idempotency-Key: four UUIDs; the header limit would allow 4,000. */
  idempotencyKeyTextMax: 255,
  /** Stored responses older than 24 hours that are removed in a commit that stores a new one: faster than they arrive. */
  idempotencyPurgeMax: 8,
  /** Of these, and of ended sessions and tokens, that one commit of the hourly sweep removes: 1 ms. */
  endedSweptAtOnce: 100,
  /** NIST SP 800-63B requires at least 8 characters; ten resist guessing at the rate to which attempts are limited. */
  passwordCharsMin: 10,
  /** A passphrase of twenty words; scrypt hashes any length, and longer texts only cost time. */
  passwordCharsMax: 256,
  /** Passwords that are checked at once: each takes a thread about 0.2 s and 32 MiB, and screenings wait for the thread. */
  passwordDerivationsMax: 8,
  /** The time window in which failed attempts are counted. */
  attemptWindowMs: 15 * 60_000,
  /** Failed attempts at one account in the time window: a person who forgot the password needs fewer. */
  attemptsPerAccountMax: 10,
  /** Failed attempts from one client address in the time window: an office behind one address needs fewer. */
  attemptsPerAddressMax: 50,
  /** The longer window of wrong codes of authenticator apps: ten in 15 minutes would be 960 guesses a day. */
  codeWindowMs: 24 * 3_600_000,
  /**
   * Wrong codes of one account in the longer window. Three of the million codes are valid at a time, so 50 guesses a day find one with a
   * probability of 0.015 %, or 5 % in a year; a person with a wrong clock tries a few times.
   */
  codesPerAccountMax: 50,
  /** Accounts and addresses with counted attempts of one kind at once: about 150 bytes each, 15 MB. */
  attemptWindowsMax: 100_000,
  /** Decisions: a session expires after this time. */
  sessionMs: 12 * 3_600_000,
  /** Lifetime of the token in a verification email: the email may stay unread for a day. */
  verifyTokenMs: 24 * 3_600_000,
  /** Lifetime of the token in a password-reset email: it should be used at once. */
  resetTokenMs: 3_600_000,
  /** Lifetime of an invitation: a colleague may be away for some days. */
  inviteTokenMs: 7 * 24 * 3_600_000,
  /** People of an account and invitations to it: a compliance department has fewer, and one list holds them all. */
  peoplePerAccountMax: 100,
  /** How exactly the last use of a session is known: a write of each session in five minutes is nothing beside its requests. */
  sessionUseMs: 5 * 60_000,
  /** Sessions with a remembered last write of a use in memory: about 100 bytes each, 1 MB. */
  sessionUsesMax: 10_000,
  /** Sessions of one person that have not ended: one list holds them all. A further one ends the oldest. */
  sessionsPerPersonMax: 100,
  /** Characters of a User-Agent header that are stored: those of browsers have about 120. */
  userAgentMax: 200,
  /** Recovery codes of a second factor: enough for years, and they fit on a card. */
  recoveryCodes: 10,
  /** Bytes of a recovery code: 80 bits cannot be guessed from its hash, and are 16 characters without padding. */
  recoveryCodeBytes: 10,
  /** RFC 5321: the longest path of an email address. */
  emailCharsMax: 254,
  /** The time window in which requested emails are counted: the lifetime of a reset token, so that each may be requested again. */
  emailWindowMs: 3_600_000,
  /**
   * Emails of one kind (registration, password reset) that clients may request for one address in the window: a person who does not find
   * the first asks again once or twice, and six an hour of both kinds do not fill an inbox.
   */
  emailsPerAddressMax: 3,
  /** Emails that one client may request in the window, for any addresses: the new colleagues of an office behind one address need fewer. */
  emailsPerClientMax: 20,
  /** Registrations, reset requests and refused logins with work after their response: each takes milliseconds. */
  requestsAfterAnswerMax: 32,
  /** Concurrent emails to the mail server: each holds a connection. */
  emailsInFlightMax: 32,
  /** Actor, origin and details of one entry of the audit log: texts that people read. */
  auditTextMax: 200,
  /** Bytes of ledger entries that are read ahead, to group them by account, and accounts that are written concurrently. */
  fillReadAheadBytes: 8 * 1024 * 1024,
  fillAtOnce: 16,
} as const;

/**
 * Requests in any 60 seconds of one session, for the classes in which a person who works in the dashboard needs more than a key has. The
 * other classes have the limit of the plan, which never lowers these. A stolen cookie gains little: data about addresses costs credits or
 * counts towards a monthly quota, and the rest is what the account stores itself.
 */
export const SESSION_RATE_LIMITS = {
  /** A person opens a row of a list every two seconds at most, and some of them twice. */
  screening: 40,
  /** One for each address that is expanded in the picture: a press every two seconds. */
  trace: 30,
  /** A name is corrected and screened again every two seconds. */
  names: 40,
  /**
   * Wallets, alerts, cases and jobs: an alert is handled by keyboard in a second, with one request to change it and one to show the next.
   * All that an account may store, 10,000 wallets, still takes many minutes to page through, and the audit log shows the session.
   */
  monitoring: 120,
  /** Pages of keys, usage, people and the audit log ask for up to four of them at once: thirty pages a minute. Passwords have limits of their own. */
  keys: 120,
} as const;
