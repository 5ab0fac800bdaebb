/** Limits of chain endpoints, each with the reason for its value. */
export const ENDPOINT_LIMITS = {
  /** Bytes of one response of a chain endpoint: a full Ethereum block with all its call traces has 10 to 30 MB. */
  endpointAnswerBytesMax: 64 * 1024 * 1024,
  /**
   * The same limit if a screening waits; its pages have below 1 MB. A larger response could not be received and parsed within the budget.
   */
  endpointShortAnswerBytesMax: 16 * 1024 * 1024,
  /** Calls with less time than this belong to a screening (2.5 s); calls that follow blocks have 20 s and more. */
  endpointLongCallMs: 4_000,
  /** Timeout of one attempt at one endpoint: public nodes respond within 1 s, with traces of a full block within 5. */
  endpointAttemptMs: 10_000,
  /** A node that has not accepted the connection within this time is down. */
  endpointConnectMs: 5_000,
  /** An attempt that ended earlier does not count against the endpoint: the call had too little time left. */
  endpointFaultFromMs: 500,
  /**
   * Consecutive failures after which an endpoint that has responded before is paused; one that never responded is paused after the first.
   */
  endpointFailuresMax: 3,
  /** First pause of a failed endpoint; doubled with each further failure, so that a restarted node is used again soon. */
  endpointDownMsMin: 1_000,
  /** Longest pause of a failed endpoint: an unreachable endpoint is tried twelve times an hour. */
  endpointDownMsMax: 300_000,
  /** An endpoint that serves another chain is tried again after this time: the operator may have corrected it. */
  endpointMismatchMs: 60_000,
  /** Time that a call waits for an endpoint that is being probed: a node on the same machine responds within it. */
  endpointProbeWaitMs: 250,
  /** Number of times that all endpoints of a chain are tried for one call. */
  endpointRoundsMax: 3,
  /** First pause between such rounds; doubled, with jitter. */
  endpointRoundMs: 100,
  /** A Retry-After is honoured up to this value; if it is longer, the endpoint is tried after this time. */
  endpointRetryAfterMsMax: 3_600_000,
  /** Concurrent calls to one endpoint: nodes process about as many in parallel, and public ones allow no more. */
  endpointConcurrency: 8,
  /** Calls that wait for one endpoint. */
  endpointQueueMax: 256,
  /** Requests per second to the operator's own node, which serves no other users. */
  endpointOwnPerSecond: 500,
  /** Requests per second to a public endpoint: the slowest of them (Etherscan's free plan) allows 5 and bans clients that send more. */
  endpointPublicPerSecond: 4,
  /** Endpoints for one chain and role. */
  endpointsPerChainMax: 16,
} as const;
