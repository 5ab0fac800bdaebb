/** Limits of payments by a signed authorization, each with the reason for its value. */
export const X402_LIMITS = {
  /** Characters of a PAYMENT-SIGNATURE header: a payment has some 1,500, and a wallet that is a contract signs with a few thousand. */
  headerCharsMax: 12_288,
  /** Bytes of a signature: an account has 65; contracts with several owners have 65 for each. */
  signatureBytesMax: 2_048,
  /** Characters of a payment identifier, as the extension defines them. */
  paymentIdCharsMin: 16,
  paymentIdCharsMax: 128,
  /** Life of an authorization that clients are asked for: a few blocks of a slow chain, and a look by a person. */
  validSeconds: 300,
  /** Longest life that is accepted: until it ends, a payment that failed on chain is watched. */
  validSecondsMax: 86_400,
  /** Shortest rest of a life: a transaction must be in a block before it. */
  marginSeconds: 10,
  /** Time that a request waits for its settlement. Proxies end a request after 60 s. */
  waitMs: 45_000,
  /** Retry-After of a payment that is not settled yet: a few blocks. */
  retrySeconds: 5,
  /** Interval between looks at the chain while a payment is open: a fraction of the fastest block. */
  settlePollMs: 400,
  /** Interval between looks at payments that a reorg may still remove. */
  deepPollMs: 15_000,
  /** Blocks on top of a payment after which it is not looked at again: four epochs of Ethereum are 128, and rollups have blocks of 2 s. */
  finalBlocks: 128,
  /** Time for one call of a node, with all attempts. */
  nodeCallMs: 10_000,
  /** Characters of a result of a node: logs of one transaction. */
  resultCharsMax: 200_000,
  /** Logs of one transaction: a payment has two, and a bundle of another sender some hundred. */
  logsMax: 2_000,
  /** Gas limit of a transaction, in percent of the estimate. */
  transferGasPercent: 120,
  /** Gas of a payment at most: USDC takes 60,000 to 90,000, and the check of a contract's signature some 100,000 more. */
  gasMax: 400_000,
  /** Time after which a pending transaction is sent again unchanged: a node may have dropped it. */
  resendMs: 15_000,
  /** Time after which it is sent again with a higher fee: several blocks. */
  feeBumpMs: 45_000,
  /** Percent of the last fee: nodes accept a replacement from 10 % more on. */
  bumpPercent: 125,
  /** Attempts with rising fees: 25 % each time is 7 times the first fee at the tenth. */
  feeAttemptsMax: 10,
  /** Payments that wait for their settlement on one chain: a hundred transactions are in a few blocks. */
  openMax: 200,
  /** Transactions of the gas-paying account that are pending at the same time: nodes keep 16 of an account in their pool. */
  inFlightMax: 16,
  /** Payments of one client that failed on chain, in an hour: each cost gas and brought nothing. */
  failuresPerClientMax: 3,
  /** The same of all clients: then nothing is settled for the rest of the hour. */
  failuresMax: 60,
  failuresMs: 3_600_000,
  /** Time for which a payment is reserved for one request. If it takes longer, a second one repeats the work, and the ledger books one. */
  servingMs: 15_000,
  /** Time after which it is no longer known whether an answer was charged: stored answers last for 24 hours. */
  answerMs: 23 * 3_600_000,
  /** Blocks that are searched for the use of an authorization by another sender: two days of a chain with blocks of 2 s would be 86,400; nodes limit a query to some thousand. */
  useBlocksMax: 2_000,
  /** Authorizations of one payer for one invoice: a person pays in one or two parts, and each is one more look at the chain. */
  partsMax: 20,
  /** Records of one invoice that are listed: some parts of some payers. Each costs gas, so there are few. */
  shownMax: 100,
  /** Addresses of the payment key that the gas-paying account must not be one of: wallets show the first few, and people choose among them. */
  relayIndexesMax: 100,
  /** Interval between looks at the coins of the gas-paying account: it is refilled by a person. */
  gasLookMs: 60_000,
  /** Gas of a usual payment: USDC takes 60,000 to 90,000, and the limit of a transaction is 20 % more. */
  gasUsual: 110_000,
  /** With gas for fewer payments than this, the account is low: a busy hour, in which a person can refill it. */
  gasLowPayments: 50,
  /**
   * Days for which the record of a finished payment is kept. An authorization lasts for one day at most and a stored answer for one, so after
   * two days the chain alone refuses a repetition; the rest is for questions of payers, such as those of a monthly account.
   */
  keptDays: 90,
  /** Records that one transaction deletes: some 50 ms. */
  deletedAtOnce: 500,
} as const;
