/** Limits of the worker pool and of queries to other nodes, each with the reason for its value. */
export const POOL_LIMITS = {
  /** Tasks that wait for the worker pool: 256 bulk requests of 100 addresses are a quarter of a second of work and 5 MB. */
  poolTasksMax: 256,
  /**
   * Timeout of a query to another node's graph: as long as the slowest trace takes; a node that dies is noticed and replaced in this time.
   */
  graphRequestMs: 15_000,
  /** Concurrent queries of one node to other nodes: each is processed within milliseconds by a thread there. */
  graphRequestsMax: 256,
  /** Queries, of all callers, that wait for the nodes of a placement: a second of work for a few threads. */
  graphRequestsWaitingMax: 1_000,
} as const;
