/** Limits of watched wallets, alerts and their streams, each with the reason for its value. */
export const MONITORING_LIMITS = {
  /** Decisions: after a rotation, the old secret signs together with the new one for this long, so that the receiver can switch. */
  webhookSecretOverlapMs: 24 * 3_600_000,
  /** Decrypted signing secrets that are kept in memory: 200 KB, and those of more accounts than alerts are sent for at the same time. */
  openedSecretsKept: 1_024,
  /** Changes stored for one alert: the work of a person on it, not of a script. */
  alertHistoryKept: 200,
  /** Notes of one alert, and their length: a page of 100 alerts stays below 8 MB. A case has room for more. */
  alertNotesMax: 50,
  alertNoteCharsMax: 500,
  /** An id, an email address or a name. */
  alertAssigneeCharsMax: 128,
  /** Transactions that one commit of the retention deletes: 3 ms, and well below the 32 MB that a commit writes. */
  retentionDeletedAtOnce: 100,
  /**
   * Transactions that one revert reads for the dealings before the reverted ones: 50 ms, and enough for a reorg of some blocks. A revert of
   * hundreds of blocks keeps the other counterparties.
   */
  revertedDealingsLook: 10_000,
  /** Wallets whose oldest transaction one step of the retention reads: 2 ms. */
  retentionWalletsLook: 200,
  /** Alerts or transactions in one response, as the specification says. */
  monitoringPageMax: 100,
  /** Unpaid wallets that are completed in one look: those that one crash leaves are as many as requests were running. */
  pendingWalletsLook: 100,
  /** Age from which a node completes the purchase of a wallet that another node began: a request takes seconds from there to its response. */
  pendingWalletMs: 30_000,
  /** Time without a new block after which a chain counts as not followed: 25 blocks of the slowest monitored chain. */
  followStallMs: 300_000,
  /** Timeout of a listener's request to a node: no client waits for it, and a slow node is better than none. */
  listenerBudgetMs: 30_000,
  /** Time that an alert waits for prices from a server: it should be sent within a second of its block. */
  alertPriceWaitMs: 500,
  /** A wallet's label and notes: text for people. */
  walletLabelCharsMax: 200,
  walletNotesCharsMax: 4_000,
  /** Changes of watched wallets that a listener follows one by one; a listener that missed more reads all wallets. */
  watchChangesKept: 10_000,
  /** Interval at which wallets due for screening are searched: twenty range reads, and half of the time until a new score. */
  walletRefreshLookMs: 500,
  /** Delay of a wallet's screening after an alert: the alerts of one block cause one refresh. */
  walletRefreshDelayMs: 500,
  /** Minimum time between two refreshes of a wallet: a wallet with alerts in every block costs at most 12 screenings a minute. */
  walletRefreshGapMs: 5_000,
  /** Delay before a failed screening is retried: a full pool, or the node that holds the chain, recovers within seconds. */
  walletRefreshRetryMs: 30_000,
  /** Concurrent refreshes: in the smallest pool, two of four task slots stay free for requests. */
  walletRefreshesAtOnce: 2,
  /** Scheduled refreshes per chain and search, 20 a second: a million wallets in 14 hours, for half of one core at 25 ms each. */
  walletRefreshesScheduled: 10,
  /** Refreshes after alerts per chain and search, before scheduled ones of this or other chains are run. */
  walletRefreshesAlerted: 40,
  /** Wallets of an earlier version that are added to the schedule in one transaction. */
  walletRefreshesPlanned: 1_000,
  /** Wallets of lists that are cached: about 1 KB each. */
  listedWalletsHeld: 100_000,
  /**
   * A registration waits this long for a node to return its newest block; after that, watching begins with the first block that the node
   * returns.
   */
  headBudgetMs: 3_000,
  /** Reverts of a chain that are kept: one is needed until its blocks are read again, some seconds later. */
  revertsKept: 64,
  /** Changes of an account that a stream can replay: one day of a busy account. */
  changesKept: 10_000,
  /** Changes read from the store at a time for a stream that missed some. */
  streamBacklogPage: 100,
  /** Bytes buffered for a reader that is slower than its alerts: about 500 alerts. A slower reader is disconnected, and may resume. */
  streamBufferBytesMax: 1024 * 1024,
  /** Concurrent streams of one account: each is a socket. */
  streamsPerAccountMax: 20,
  /** Interval at which open streams are checked for a revoked key or an ended session: soon for a person who revokes a leaked key. */
  streamCheckMs: 2_000,
  /** Interval of keep-alive messages: proxies close connections that are silent for a minute. */
  streamPingMs: 20_000,
} as const;
