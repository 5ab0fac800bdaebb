/** Limits of derived labels, each with the reason for its value. */
export const ATTRIBUTION_LIMITS = {
  /** Confidence from which a label names the owner of a collecting wallet: the design of the rule. */
  anchorConfidenceMin: 0.8,
  /**
   * Senders of a collecting wallet, at least. A labelled address with fewer is more likely a single deposit address that its publisher
   * lists, and its senders are customers.
   */
  anchorSendersMin: 10,
  /** Addresses outside of its entity that a wallet paid, at least, to be no deposit address: one forwards only to wallets of the entity. */
  anchorReceiversMin: 10,
  /**
   * Senders that a wallet without so many receivers shares with one that has them, at least: wallets between which deposit addresses rotate
   * share thousands, and a customer who pays another customer of the entity rarely pays its wallets too.
   */
  anchorSendersShared: 3,
  /** Senders of such a wallet that are read, most valuable first: 2 ms, and a fiftieth of them is enough. */
  anchorSendersRead: 256,
  /** Receivers of a deposit address, at most: an exchange rotates a few collecting wallets, a person pays many. */
  depositReceiversMax: 64,
  /** Time within which a deposit is forwarded: the design of the rule. */
  forwardWithinMs: 86_400_000,
  /** Assets of an account that are judged: deposits of many tokens exist, but each account that forwards one is found with the first ones. */
  depositAssetsMax: 16,
  /**
   * Forwardings kept as evidence of one account, the newest ones. More than fit into its 64 newest transfers, so that judging those again
   * never counts one twice; ten give the highest confidence.
   */
  forwardingsKept: 64,
  /** Part of its outgoing payments that may not match a deposit: a sweep that came late, or that joined another one. */
  unmatchedShareMax: 0.2,
  /** Transfers of one account that are judged: a deposit address has hundreds at most, and one partition must fit into memory. */
  accountEventsMax: 20_000,
  /** Events of one partition of a sweep: 40 bytes each, so 160 MB while one is judged. */
  partitionEvents: 4_000_000,
  /** New transfers from which a sweep of the whole log is quicker than judging each account again. */
  followTransfersMax: 2_000_000,
  /** Transfers between two commits of a sweep's progress: half a minute of work at most is repeated after a stop. */
  sweepCommitTransfers: 10_000_000,
  /** Accounts in one transaction of the store: 20 MB of dirty pages. */
  storeBatch: 20_000,
  /** Transactions that an explanation lists: a person reads them all. */
  evidenceListed: 24,
  /** Newest blocks whose coinbases the first run reads, unless it names a first block: a month of Bitcoin, an hour of a node's time. */
  coinbaseBlocksFirst: 4_320,
  /** Blocks that a pool mined for an address, at least, to label it: the tag of one block may be a prank. */
  coinbaseBlocksMin: 2,
  /** Blocks from which the label is believed more. */
  coinbaseBlocksSure: 10,
  /** Labels that a report is shown with. An address has one or two of a source; a list of reports stays small. */
  reportedLabelsMax: 10,
  /**
   * Newest blocks whose creations the first run reads, unless it names a first block: a day of Ethereum, some minutes of a node's time.
   * Each block is read with its transactions.
   */
  creationBlocksFirst: 7_200,
  /** Blocks that are read at the same time, 200 KB each. */
  creationBlocksAtOnce: 8,
  /** Newest blocks whose events of proxies the first run reads, unless it names a first block: a week of Ethereum, 26 requests for logs. */
  proxyBlocksFirst: 50_400,
  /** Contracts whose state is read at the same time, with two to five requests each. */
  proxiesAtOnce: 8,
  /** Confidence from which a label of a creator or implementation names what it created, or what delegates to it. */
  namingConfidenceMin: 0.5,
  /** Characters of a name that is put into another one; a longer one is cut. */
  namingCharsMax: 120,
  /** Characters of a reason or note: a paragraph. It is shown whole in lists and in the audit log of the operator. */
  reportReasonCharsMax: 1_000,
  /** Open reports of one account: a person checks each. */
  openReportsPerAccountMax: 100,
  /** Reports of an installation: 1.5 KB each, 30 MB. The ones decided first make room for new ones. */
  reportsMax: 20_000,
  /** Reports that one step of a list reads, 5 ms, and steps of a page: enough for all of them. */
  reportsReadMax: 500,
  reportStepsMax: 40,
  /** Reports on one page: 150 KB. */
  reportsPageMax: 100,
  /** Disputes, which are in one file of 10 MB at most; more than that are an import of own labels. */
  disputesMax: 10_000,
  /** Blocks of one eth_getLogs request: what public and own nodes accept without a special setting. */
  logBlocksMax: 2_000,
} as const;
