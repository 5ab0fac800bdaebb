/** Limits of labels and their index, each with the reason for its value. */
export const LABEL_LIMITS = {
  /** Labels that differ in more than address and dates: each costs 0.6 KB in the snapshot, and twice that while it is written (5 GB). */
  labelTemplatesMax: 4_000_000,
  /** Labels of one index: 8 partitions of 16 million. */
  indexLabelsMax: 128_000_000,
  /**
   * Labels of one partition of an index. Each label costs about 100 bytes while its partition is built, so that a build of any size stays
   * below 3 GB with 0.5 million templates; an index of at most this size has one partition.
   */
  partitionLabelsMax: 16_000_000,
  /** A smaller file of labels is read on one thread: 0.3 s, of which starting threads and merging their tables would save little. */
  importThreadsFromBytes: 32 * 1024 * 1024,
  /** Threads that read the rows of one import: the thread that explains and writes them keeps about four busy. */
  importThreadsMax: 4,
  /** A smaller index is built on one thread: half a second, of which starting another thread (40 ms) would save little. */
  buildThreadFromLabels: 500_000,
  /** Rows of a rejects file: a user with more rejects has the wrong file; further ones are only counted. */
  rejectsKeptMax: 1_000_000,
  /** Different reasons of rejected rows in a report: a person reads them all. */
  rejectReasonsMax: 50,
  /** Links between entities and listed parties in one file: a few dozen are shipped; a person checks each link. */
  entityPartiesMax: 10_000,
  /** Runs in the log: half a year of daily syncs, below 1 MB with all errors. */
  runsKept: 200,
  /** Sources of one recorded run: twice those that exist. */
  runSourcesMax: 40,
  /** Characters of a recorded error: two sentences. */
  runErrorCharsMax: 300,
  /** Proposed links in one report: a person reads them all. */
  entityProposalsMax: 1_000,
} as const;
