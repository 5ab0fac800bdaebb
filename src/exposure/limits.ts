/** Limits of the exposure index, each with the reason for its value. */
export const EXPOSURE_LIMITS = {
  /**
   * Transfers that one round of an update reads: computing their addresses takes up to 2 s at 2 ms each; the results are visible after the
   * round.
   */
  exposureLogARound: 500,
  /**
   * If an index lags by more transfers than this, it is rebuilt: computing the addresses one by one would take longer (40,000 at 2 ms
   * each).
   */
  exposureLogBehindMax: 20_000,
  /** Addresses that one change may queue for update: 10 s of walks at 2 ms each. A full sweep costs less than many such changes. */
  exposureReachMax: 5_000,
  /** Entries that are computed between two commits of an update. */
  exposureBatch: 64,
  /** Milliseconds of each second that are spent on waiting entries: a fifth of one core, 100 entries. */
  exposureWorkMsASecond: 200,
} as const;
