/** Limits of the transfer graph, each with the reason for its value. */
export const GRAPH_LIMITS = {
  /** Transfers written in one transaction: enough that they share pages, few enough that a crash loses only seconds of work. */
  ingestBatchTransfers: 40_000,
  /** A packed chunk of neighbours, two LMDB pages with their header: small enough that an update of a hub costs microseconds. */
  edgeChunkBytesMax: 2 * 4096 - 16,
  /** Transfers of one address that wait to be merged: about 60, which share a page with others. */
  deltaBytesMax: 1_536,
  /** As `deltaBytesMax`, for a hub: its merge touches a chunk for nearly every one of its 600 transfers. */
  hubDeltaBytesMax: 16 * 1024,
  /**
   * Halves of recent transfers that wait for their move to the deltas, two for each transfer. A new process reads all of them at its
   * first query, in about 16 ms.
   */
  recentHalvesMax: 16_384,
  /** Number of counterparties from which an address uses `hubDeltaBytesMax`. */
  hubDeltaFromCounterparties: 2_000,
  /** Address ids that a writer caches, a power of two: about 80 bytes each, 40 MB; an export repeats its hubs. */
  transferIdsCached: 2 ** 19,
  /** Positions of fresh transactions that a writer holds for one chain: about 60 bytes each, 30 MB; read from the log in one second. */
  freshTransactionsMax: 500_000,
  /** Minimum number of fresh transactions that one write moves to their final position: about 20 ms. */
  freshTransactionsStep: 4_096,
  /**
   * Newest transfers of the log that are searched for a transaction that an older version stored without its place: about 0.2 s a million,
   * in a thread of the pool that also answers screenings.
   */
  transactionScanMax: 500_000,
  /** Transfers listed for one transaction: distributions and mixes have hundreds, and people do not read more. */
  transfersPerTransaction: 1_000,
  /** Transfers of one sorted run of a bulk load, 280 MB in memory; a crash makes the load read this many again. */
  bulkRunTransfers: 1_000_000,
  /** Addresses that a bulk load caches between its runs: about 40 bytes each, 0.5 GB with growth. */
  bulkAddressesKept: 8_000_000,
  /** Transfers of one new address that are packed at once: up to 150 bytes each. An address with more is merged. */
  bulkPackedTransfers: 2_000_000,
  /** Transfers of one address that are merged at a time if it has more: 250 bytes each during the merge. */
  bulkGroupTransfers: 500_000,
  /** Blocks that can be reverted: Ethereum is final after 64 to 96, Bitcoin counts 6, the deepest reorg of Polygon had 157. */
  reorgBlocksKept: 192,
  /** Newest transfers stored for each pair and asset: as many as a person reads; the sums cover the rest. */
  recentTransfersPerEdge: 4,
  /** Days for which the amount of each pair and asset is stored: about 8 bytes each, and few pairs have transfers on more days. */
  edgeDaysKept: 64,
  /** Newest transfers stored for each address, for a response to list. About 8 bytes each. */
  recentTransfersPerAddress: 64,
  /** The longest transaction id of the 36 chains is 88 characters of base58 (SOL). */
  txHashTextMax: 128,
  /** Decisions: tracing stops at addresses with more counterparties than this; screening reads no more either. */
  counterpartiesMax: 10_000,
  /**
   * Edges of one row that are scanned for relevant ones. An attacker pays for every edge: 20,000 dust edges must not end a walk, and
   * 200,000 take 10 ms to read (8 MB). An address with more counterparties counts as a hub without a scan.
   */
  rowScanMax: 200_000,
  /**
   * Greatest edges that are kept of an address beyond `rowScanMax`, for queries of `counterpartiesMax` and 2,000 changed edges: finding them
   * reads 8 KB for each 120 of all its edges.
   */
  hubEdgesKept: 12_000,
  /** Directions of such addresses that a thread keeps for a chain: 0.9 MB each. Few addresses have so many counterparties. */
  hubsKept: 8,
  /** Assets listed for one address: airdropped spam tokens run into the thousands, and people do not read them. */
  assetsListedMax: 50,
  /**
   * Edges that one direction of a screening keeps, a bound for graphs in which every address trades with every other: 12 MB; a usual one
   * has 20,000.
   */
  exposureEdgesMax: 1_000_000,
} as const;
