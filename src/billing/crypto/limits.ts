/** Limits of cryptocurrency invoices, each with the reason for its value. Values that operators may tune are in data/payments.json. */
export const CRYPTO_LIMITS = {
  /** Characters of a key or descriptor: an origin of 255 steps does not exist in practice; wallets write at most some 200. */
  keyTextMax: 512,
  /** Steps between the key and its addresses: wallets use one or two. */
  keyStepsMax: 8,
  /** Largest index of a child that a public key can derive (BIP-32). */
  childIndexMax: 0x7fff_ffff,
  /** Digits after the point of an amount that a person types: 18 would not fit into the field of a wallet. */
  shownDecimalsMax: 8,
  /** Payers of a payment that its facts show; all of them are checked. An exchange spends hundreds of outputs at once. */
  payersShownMax: 5,
  /** Blocks of a new branch after which a transaction of the old one is given up: nodes keep it and include it within a few. */
  reinclusionBlocks: 12,
  /** Looks at the pool of a node without a transaction until it counts as replaced: nodes behind one address differ for a moment. */
  poolMissesMax: 2,
  /** Interval between two looks at the pool of an own node: first sight decides whether a payment is in time. */
  poolPollMs: 1_000,
  /** The same for public nodes, which limit requests. */
  poolPollPublicMs: 15_000,
  /** Transactions of the pool that one look reads: more than Bitcoin receives in a minute; a full pool is read within minutes. */
  poolReadsMax: 1_000,
  /** Parallel requests for them: below the queue of an endpoint. */
  poolReadsAtOnce: 16,
  /** Interval between two checks of the chains to follow, of late rates and of held payments. */
  checkMs: 1_000,
  /**
   * Processed blocks whose position is stored together, if no payment needs it before: a transaction for each one costs half as much again as
   * all else that a block costs. A start reads at most as many again.
   */
  unstoredBlocksMax: 32,
  /** Time after which the position is stored with the next block, however few blocks there were: a minute of Ethereum's is five. */
  unstoredMs: 60_000,
  /** Time for one request to a node, including fail-over. */
  requestBudgetMs: 10_000,
  /** Time for the requests while a customer waits for an invoice. */
  openBudgetMs: 5_000,
  /** Reference keys of Solana that are looked up at the same time. */
  referencesAtOnce: 8,
  /** Reference keys that one look reads, the ones that were not read for longest: an own node answers hundreds per second. */
  referencesPerLook: 64,
  /** Interval between two looks: finality takes 13 seconds. */
  referencesPollMs: 2_000,
  /** Transactions of one reference key: a customer pays once or twice. */
  referenceTransactionsMax: 25,
  /** Pause after a failure of a chain, doubled up to the maximum. */
  retryMs: 500,
  retryMaxMs: 30_000,
} as const;
