/** Limits of Redis and of stores in files, each with the reason for its value. */
export const STATE_LIMITS = {
  /** A repeated request with the same Idempotency-Key gets the first response for this long, as for charged operations. */
  repeatMs: 24 * 3_600_000,
  /** Outdated responses that one write deletes: more than it adds. */
  repeatsSwept: 4,
  /** If Redis has not accepted the connection within this time, it is down; another attempt follows. */
  redisConnectMs: 2_000,
  /**
   * Timeout of a command: an atomic step takes under a millisecond, a fail-over of Redis Cluster 1 to 5 s; an API client gets an error
   * before that.
   */
  redisCommandMs: 3_000,
  /**
   * A connection on which Redis has been silent for this long, although commands wait for replies, is opened again: longer than the timeout
   * of a command, so that a slow server is not asked twice. BullMQ has commands that wait for ten seconds.
   */
  redisSilentCommandsMs: 5_000,
  redisSilentBlockedMs: 15_000,
  /** Startup waits this long for a Redis that is starting or failing over; then it ends with an error. */
  redisStartMs: 10_000,
  /** How long a write waits for replicas: they acknowledge within milliseconds, or are away. */
  redisReplicasMs: 1_000,
  /** Records and bytes in one script of a filling: Redis processes nothing else for a few milliseconds. */
  fillPageRecords: 1_000,
  fillPageBytes: 512 * 1024,
  /**
   * A store up to this size is compared with its checksums at every start, in a quarter of a second; a larger one only if it was written
   * to.
   */
  checkedAtOpenBytesMax: 256 * 1024 * 1024,
  /** Share of the available memory for files that are read into the page cache at the start: the rest is for heaps, and for other programs. */
  pageCacheShare: 0.5,
} as const;
