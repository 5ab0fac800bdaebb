/** Limits of replicated stores, each with the reason for its value. */
export const REPLICA_LIMITS = {
  /** A node's replica counts as current for this long after it heard from Redis: every node rejects a revoked key within a second. */
  replicaCurrentMs: 1_000,
  /** A follower hears from Redis at least this often: a few times within `replicaCurrentMs`, and a handful of tiny commands a second. */
  replicaListenMs: 200,
  /** A write is retried for this long: a Redis Cluster takes 1 to 5 s to fail over. */
  replicaWriteMs: 6_000,
  /** Startup waits this long for the first copy of the data of other nodes: some millions of records. */
  replicaReadyMs: 60_000,
  /** Write sets that a stream holds, and their bytes: a node that missed more copies the whole store, in seconds. */
  replicaStreamMax: 10_000,
  replicaStreamBytesMax: 64 * 1024 * 1024,
  /**
   * A write set leaves its stream when it is this old, at most twice as old: data that was deleted must not stay in it. A node that was away for
   * longer copies the whole store.
   */
  replicaStreamAgeMs: 24 * 3_600_000,
  /** Interval at which each node removes old write sets, and the number that one call removes: Redis processes nothing else for some 10 ms. */
  replicaTrimMs: 3_600_000,
  replicaTrimMax: 1_000,
  /** Bytes of one write set: Redis processes nothing else while it applies it, about 50 ms. */
  replicaWriteBytesMax: 32 * 1024 * 1024,
  /**
   * Transactions that are sent to Redis together, and the size at which no more are added: transactions that arrive meanwhile go with the
   * next group.
   */
  replicaGroupMax: 256,
  replicaGroupBytesMax: 1024 * 1024,
  /** Transactions that wait in one node: each is a request that is held. Further ones are rejected. */
  replicaWaitingMax: 20_000,
  /** Bytes of the write sets in one reply, unless a single write set is larger. */
  replicaReplyBytesMax: 4 * 1024 * 1024,
  /** Records in one reply of a copy: a few hundred KB. */
  replicaCopyPage: 500,
  /**
   * Attempts at a copy. A copy starts again if the stream no longer covers the writes since its begin. Copying is many times faster than
   * writing; otherwise it would never end.
   */
  replicaCopiesMax: 5,
  /** States of a store that Redis lost and a node keeps: each has the size of the replica. */
  newerReplicasMax: 4,
  /** Redis deletes the last write set id of a process that is gone after this time. */
  replicaWriterMs: 3_600_000,
} as const;
