/** Limits of the worker pool and of queries to other nodes, each with the reason for its value. */
export const POOL_LIMITS = {
  /** Tasks that wait for the worker pool: 256 bulk requests of 100 addresses are a quarter of a second of work and 5 MB. */
  poolTasksMax: 256,
  /**
   * A thread whose task has been the oldest one for so long hangs: a page of a disk that does not answer, or an endless loop. The slowest trace takes
   * 15 s, and a thread has four tasks.
   */
  hangingMs: 5 * 60_000,
  /**
   * Checks in this time. A process that was stopped for minutes (`SIGSTOP`, a suspended machine) makes one when it continues, so its threads are
   * not taken for hanging.
   */
  hangingChecks: 30,
  /** The other threads of a pool with one that hangs finish their tasks within this time: twice the slowest trace. */
  hangingGraceMs: 30_000,
  /**
   * Steps of niceness of the pool's threads. If the cores are busy, the Linux scheduler gives such a thread a third of the share of the main
   * thread, which answers the oracle and passes on what the threads have done.
   */
  poolNiceness: 5,
  /** Steps of niceness of the threads that process chunks of bulk jobs: a tenth of the share of the pool's threads. */
  chunkNiceness: 15,
  /**
   * Timeout of a query to another node's graph: as long as the slowest trace takes; a node that dies is noticed and replaced in this time.
   */
  graphRequestMs: 15_000,
  /** Concurrent queries of one node to other nodes: each is processed within milliseconds by a thread there. */
  graphRequestsMax: 256,
  /** Queries, of all callers, that wait for the nodes of a placement: a second of work for a few threads. */
  graphRequestsWaitingMax: 1_000,
} as const;
