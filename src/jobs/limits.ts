/** Limits of bulk jobs, each with the reason for its value. */
export const JOB_LIMITS = {
  /** Issue: maximum body of a bulk job. 25 million lines with an EVM address each. */
  jobBytesMax: 1024 ** 3,
  /** Lines of a job of labels or sanctions: a gigabyte of the shortest addresses has fewer. */
  jobLinesMax: 50_000_000,
  /** Lines of a job over the graph, a millisecond or more each: one night of work for one machine. */
  jobGraphLinesMax: 1_000_000,
  /** A line of a job: an address and a handful of fields have below 1 KB. */
  jobLineBytesMax: 16 * 1024,
  /** Columns of a CSV of a job: exports of wallets have below 30. */
  jobColumnsMax: 100,
  /** Open jobs of one account: a user with more work sends larger jobs. */
  jobsOpenPerAccount: 20,
  /** Jobs stored for one account, including ended ones: 300 bytes each, and one read lists them all. */
  jobsPerAccount: 1_000,
  /**
   * Bytes that one account may keep in the folder of jobs (bodies and results) before it may submit another job: 200 million label results.
   * Invalid lines are free of charge, and fill the disk like others.
   */
  jobBytesPerAccount: 64 * 1024 ** 3,
  /** Expected bytes of a result that does not exist yet: a label result has 325 bytes on average, an error, which is free, 100 to 600. */
  jobAnswerBytesExpected: 256,
  /** Jobs that one count for operators reads: 500 bytes each, 5 ms. */
  jobsCountedMax: 1_000,
  /** Concurrent uploads: two buffers of a megabyte each. */
  jobUploadsMax: 32,
  /** Concurrent uploads of one account: a few slow senders must not hold all places. */
  jobUploadsPerAccount: 8,
  /** Free space that uploads and results leave for the stores on the same disk: their writes must never fail. */
  jobDiskFreeMin: 1024 ** 3,
  /** Attempts at one chunk: a thread may die once by accident, and a second time by another one. */
  jobChunkAttempts: 3,
  /** How long the files of an ended job are kept: a weekend and the days around it. */
  jobFilesKeptMs: 7 * 24 * 3_600_000,
  /** How long the record of an ended job is kept: as long as customers ask about a bill. */
  jobKeptMs: 30 * 24 * 3_600_000,
} as const;
