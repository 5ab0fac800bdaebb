/** Limits of releases and snapshots between nodes, each with the reason for its value. */
export const REPLICATION_LIMITS = {
  /** A release lists about 20 files, and one more for each 250 firms of a register; 150 bytes each. */
  releaseBytesMax: 4 * 1024 * 1024,
  releaseFilesMax: 10_000,
  /** The largest snapshot (3.75 GB), the largest name index (the same), and the files beside them. */
  releaseTotalBytesMax: 8 * 1024 ** 3,
  /**
   * Releases for which a publisher keeps the files: a node that is still pulling the previous one can finish it. Each costs at most a
   * snapshot.
   */
  releasesKept: 2,
  /** The same limit in an object store, which has more space and slower readers. */
  releasesKeptInStore: 5,
  /** Sockets of nodes that pull: each node has one that waits for a new release and one that reads. */
  snapshotConnectionsMax: 512,
  /** Timeout of a long poll for a new release: below the limit of proxies. */
  snapshotWaitMsMax: 25_000,
  /** If a node takes no byte of a snapshot for this long, it is gone. */
  snapshotStallMs: 60_000,
  /** Bytes read at a time from a file that is sent: 32 sockets hold 8 MB. */
  snapshotReadBytes: 256 * 1024,
  /**
   * Bytes of one part of an upload, and of the largest single-part upload: held in memory once. S3 accepts at most 10,000 parts: 312 GB.
   */
  uploadPartBytes: 32 * 1024 * 1024,
  /** Bytes of a response of an object store that is not a file: errors and receipts have below 2 KB. */
  storeAnswerBytesMax: 64 * 1024,
} as const;
