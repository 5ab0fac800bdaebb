/** Limits of clusters, each with the reason for its value. */
export const CLUSTER_LIMITS = {
  /** A larger cluster more likely joins unrelated owners by mistake than it belongs to one owner; only a few exchanges are as large. */
  superClusterSize: 1_000_000,
  /**
   * Two to the power of this many addresses are joined in memory at once: 16.8 million at 16 bytes each, 270 MB. A billion addresses are 60
   * buckets, and all 4.3 billion possible numbers are 256.
   */
  bucketBits: 24,
  /** Members that are sorted by cluster in memory at once, with at most half as many clusters: 64 MB and 128 MB. */
  sortedMembersMax: 2 ** 24,
  /**
   * Blocks below the newest ones that are kept as final, so that the next run reads only later ones. No chain of outputs reverted as many
   * (Bitcoin's own rule: a coinbase can be spent after 100).
   */
  settledBlocks: 100,
  /** Transactions after which the work is recorded, so that a killed run continues there: half a minute. */
  transactionsPerRecord: 2_000_000,
} as const;
