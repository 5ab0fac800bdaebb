/** Limits of graphs in Redis or Kvrocks, each with the reason for its value. */
export const REMOTE_LIMITS = {
  /**
   * Timeout of a read from the remote store of a graph: a fail-over of Redis Cluster within it is not noticed, and a worker waits no
   * longer.
   */
  remoteReadMs: 5_000,
  /**
   * Time within which one request reads from a remote graph. Pushes keep replaced data for twice as long, because the clocks of machines
   * differ.
   */
  remoteQuestionMs: 30_000,
  remoteGraceMs: 60_000,
  /** How long the newest version of a remote graph is cached: saves one round trip for requests that follow each other. */
  remoteHeadMs: 250,
  /** Bytes of remote graph records that a thread caches: the addresses that half of all traces pass. */
  remoteCacheBytes: 64 * 1024 * 1024,
  /** Buckets over which the records of a chain are spread: 4 GB each for a terabyte, and evenly spread over some dozens of servers. */
  remoteBuckets: 256,
  /** Keys of one command: a megabyte of the largest chunks, which delays other commands for a millisecond. */
  remoteKeysPerCommand: 128,
  /** Addresses that a walk fetches ahead: 2 MB of typical ones. */
  remoteNodesPerFetch: 4_096,
  /** Chunks of edges or of the log that are fetched ahead: 4 MB. */
  remoteChunksPerFetch: 512,
  /**
   * Neighbours are stored inline with their address up to this many bytes: about 25 neighbours, which more than nine in ten addresses do
   * not exceed.
   */
  remoteInlineBytes: 1_024,
  /** Records and bytes that a push writes at a time over all buckets, and bytes in one script. */
  remotePushRecords: 20_000,
  remotePushBytes: 8 * 1024 * 1024,
  remoteScriptBytes: 256 * 1024,
  /** Interval at which a push saves its progress: a replica lags by less. */
  remotePushSaveMs: 2_000,
  /** If servers are away for longer than a fail-over takes, the push ends; the next push continues it. */
  remotePushPatienceMs: 30_000,
  remotePushPauseMs: 250,
  /** After a push was killed, the next one waits this long. */
  remotePushLeaseMs: 30_000,
} as const;
