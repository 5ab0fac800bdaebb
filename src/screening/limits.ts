/** Limits of screenings and traces, each with the reason for its value. */
export const SCREENING_LIMITS = {
  /** Searches of a process at the same time: each may occupy a thread for as long as it reads the transfers that wait. */
  transactionSearchesMax: 2,
  /** Specification: addresses in one bulk raw-label request. */
  bulkAddressesMax: 100,
  /** Counterparties of one direction that a screening checks for address spoofing: about a millisecond. */
  spoofingCounterpartiesRead: 1_000,
  /**
   * Counterparties of one direction, the greatest first, that are compared to find the address that a spoofing address imitates; more cost
   * a screening milliseconds.
   */
  realCounterpartiesRead: 200,
  /** Specification decisions: members of a cluster that a response lists. */
  clusterMembersListed: 20,
  /** Counterparties and flagged transactions that a response lists. */
  screeningListMax: 50,
  /** Reasons of one verdict: a label has at most a few dozen publishers. */
  oracleReasonsMax: 16,
  /** Contradictions among the labels of one address that a response lists: further ones add no information. */
  labelConflictsMax: 20,
  /** Bytes of one block of a bulk file: 3,000 addresses; their results (1 MB) stay in the CPU cache until they are written. */
  bulkBlockBytes: 128 * 1024,
  /**
   * Addresses beyond the direct counterparties that one direction of a screening examines: about 1 ms, and on the synthetic graph all but 1
   * % of the value (500 miss 3 %, 2,000 miss 0.2 %).
   */
  exposureNodesMax: 1_000,
  /**
   * Assets without a price that one direction of a screening follows, each by itself. An address trades few assets; if unknown parties send
   * more assets than these, the assets that it sent come first, and the answer says that it is partial.
   */
  exposureAssetsMax: 16,
  /** Addresses that the walk of each such asset examines: half of those of the direction, so that sixteen walks take 8 ms. */
  exposureAssetNodesMax: 500,
  /** Decisions: if an entry of the exposure index waits longer than this, the response contains GRAPH_NOT_READ. */
  exposureWaitMsMax: 10 * 60_000,
  /** Exposures that a response lists for each direction: as many as a person reads; the shares count all. */
  exposuresListed: 200,
  /** Transactions that a screening searches for the origin of outputs, under each rule: about 5 ms. */
  screeningTaintTransactions: 200,
  /** Days with transfers that a screening lists: a year. */
  dailyFlowsListed: 365,
  /** Decisions: tracing stops at this many addresses. */
  traceNodesMax: 5_000,
  /** Pairs of addresses with transfers between them in one trace: two per node; more of them are the web between services. */
  traceEdgesMax: 10_000,
  /** Edges that a trace lists, one per asset: 300 bytes each, 6 MB. */
  traceAssetEdgesMax: 20_000,
  /** Paths that a response lists: as many as a person compares. */
  pathsListed: 10,
  /** Addresses that a path search visits from both ends, most of which are not in the response: about 20 ms. */
  pathNodesMax: 50_000,
  /** Partial paths that a search examines: about as long again. */
  pathStepsMax: 200_000,
  /** Paths between the parties of a KYT check that are examined for the parties on them. */
  kytPathsMax: 5,
  /** Bridges that one trace examines on their other side, and the addresses of each: as much again as the trace itself. */
  crossingsMax: 10,
  crossingNodesMax: 500,
  /** Graph nodes with labels that a thread caches: a power of two, 8 bytes each, 32 MB; further nodes replace others in the slots. */
  attributedNodesKept: 2 ** 22,
  /** Addresses of a chain of which a thread remembers that they have no label: a bit each, 8 MB. Beyond, they take slots of the others. */
  unlabelledNodesKept: 2 ** 26,
  /** Addresses of which a thread caches the degrees: a power of two, 16 bytes each, 16 MB. */
  rememberedDegrees: 2 ** 20,
  /**
   * Rows of addresses that walks of a thread cache, a power of two (68 bytes each, 34 MB), and the memory of their edges (24 bytes each, 3.5
   * million); newer ones replace the oldest.
   */
  rememberedRows: { rows: 2 ** 19, edgeBytes: 80 * 2 ** 20 },
  /** Labels behind exposures that a thread caches, about 400 bytes each, 8 MB: the services that most answers meet are thousands. */
  shownLabelsKept: 20_000,
  /** Bytes of answers to screenings that a thread keeps: about 1,600 answers of 39 KB. */
  keptAnswerBytes: 64 * 1024 * 1024,
  /** Distinct attributions cached for one snapshot: an entity and a category each, about 1 KB, 100 MB. */
  attributionsKept: 100_000,
  /** Pages of one history that are read: a source with an endless cursor is stopped here. */
  historyPagesMax: 1_000,
  /** Transfers requested in one page of a history: one page of the usual explorers, and a write of 10 ms on the main thread. */
  onDemandPageTransfers: 500,
  /**
   * Transfers fetched for one address in one screening: as many as fit into the budget of a good source; an exchange has as many in a day.
   */
  onDemandTransfersMax: 10_000,
  /** Address balances that are cached for a short time: 300 bytes each. */
  onDemandBalancesKept: 10_000,
} as const;
