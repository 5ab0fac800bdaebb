/** Limits of the transparency log, each with the reason for its value. */
export const LOG_LIMITS = {
  /** Bytes of a signed note: its text, and the 16 signatures that a reader must accept (C2SP signed-note), each at most 5 kB. */
  noteBytesMax: 100_000,
  /** Signatures of a note that are read; the specification asks for at least 16. */
  noteSignaturesMax: 32,
  /** Entries of the largest tree: 2^48, so that every size and index is an exact number; a log with a billion entries a day reaches it in 770 years. */
  treeSizeMax: 2 ** 48,
  /** Entries of a log of this program: 2^37, so that the index of a tile has at most three groups of digits, for which there are routes. */
  ownEntriesMax: 2 ** 37,
  /** Hashes of a proof: two for each of the 48 levels are more than any proof has. C2SP tlog-witness accepts 63. */
  proofHashesMax: 63,
  /** Bytes of a `.tlog-proof`: 63 lines of 45 bytes and a note. */
  proofBytesMax: 110_000,
  /** A checkpoint is signed at the latest this long after an entry was appended. */
  checkpointMs: 1_000,
  /** A checkpoint is signed when this many entries are not covered by one: a whole tile. */
  checkpointEntries: 256,
  /** Entries of one transaction: 16 tiles, 256 KB of writes, which a Redis or a disk takes in milliseconds. */
  batchEntries: 4_096,
  /** Entries that wait for a transaction. If the disk or Redis falls behind by more, requests are refused and not queued. */
  waitingEntriesMax: 65_536,
  /** Bytes of a tile or an entry bundle that is read from elsewhere: 256 entries of at most 65,535 bytes with their lengths. */
  tileBytesMax: 256 * (2 + 65_535),
  /** Interval at which new checkpoints are published and sent to witnesses. */
  publishMs: 1_000,
  /**
   * Interval at which the checkpoint at the place is read again: a late write of an earlier publisher may have replaced it. Each read of an
   * object store costs 0.0004 cents: a cent in three days.
   */
  placeReadMs: 10_000,
  /** Wait before a rollback is believed: the replica of a node may be a second behind what another node published. */
  auditAgainMs: 2_000,
  /** A start waits this long for the place: it must not depend on it, and a read takes less than a second. */
  auditStartMs: 5_000,
  /**
   * After Redis went back, a node appends nothing new for this long: other nodes notice it up to a second later, and may have more of the
   * entries that were lost.
   */
  othersRestoreMs: 3_000,
  /** Pause between two attempts to restore entries: Redis may be away. */
  restoreAgainMs: 500,
  /** Interval at which witnesses that did not sign the last checkpoint are asked again. */
  witnessRetryMs: 10_000,
  /** A witness verifies one proof and writes one record; one that is silent for longer is left out. */
  witnessMs: 5_000,
  /** Bytes of the response of a witness: some signature lines of at most 5 kB. */
  witnessBytesMax: 32_768,
  /** Files that are uploaded at the same time: an object store needs tens of milliseconds for each. */
  uploadsAtOnce: 8,
} as const;
