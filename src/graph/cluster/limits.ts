/** Limits of clusters, each with the reason for its value. */
export const CLUSTER_LIMITS = {
  /** Addresses of one clustering run, about 70 bytes each: 4 GB. All of Bitcoin has twenty times as many, and needs another method. */
  clusterAddressesMax: 60_000_000,
  /** A larger cluster more likely joins unrelated owners by mistake than it belongs to one owner; only a few exchanges are as large. */
  superClusterSize: 1_000_000,
} as const;
