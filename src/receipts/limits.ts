/** Limits of receipts, each with the reason for its value. */
export const RECEIPT_LIMITS = {
  /** Life of a receipt with a verdict that a contract or a service may act on: lists and labels are refreshed in minutes to hours. */
  verdictSeconds: 900,
  /** A receipt as text, before it is parsed. The largest has two subjects, all lists and reasons: some 6 KB. */
  receiptBytesMax: 64 * 1024,
  /** A file with an answer and its receipt: the largest screenings have 300 KB, and evidence may have as much. */
  receiptFileBytesMax: 4 * 1024 * 1024,
  /** Evidence of one answer as JSON text: that of an address with all counterparties that a screening reads has some 500 KB. */
  evidenceBytesMax: 2 * 1024 * 1024,
  /** Bytes of stored evidence in one record: a copy of a store reads 500 records at a time. */
  pieceBytes: 64 * 1024,
  /** Receipts of one stored record: reading one of them reads and inflates all, 40 KB. */
  groupReceiptsMax: 64,
  /** Bytes of a receipt with its own evidence as JSON text that is stored in a record with others; larger ones have records of their own. */
  groupedBytesMax: 16 * 1024,
  /** Bytes of the labels of an address, as text, that are stored with their first receipt: more than nearly all entities have. */
  groupedLabelsMax: 2 * 1024,
  /** Labels of addresses, as text, with their stored part: 8 MB with the 4 KB of most. */
  labelPartsMax: 2_048,
  /** JSON text of one stored record of many receipts: as much as one piece. */
  groupBytesMax: 64 * 1024,
  /** Receipts of one transaction: some 1 MB of writes. */
  receiptsCommittedAtOnceMax: 1_024,
  /** Nesting of a JSON value with a canonical form: a call for each level. Answers and bodies have 12 at most. */
  canonicalDepthMax: 64,
  /** Sets of names in one order, of objects with a canonical form, whose sorted order is kept: answers and evidence have fewer than 100. */
  canonicalShapesMax: 512,
  /** A batch is signed this long after its first answer. */
  batchMs: 1_000,
  /** Answers of a batch: the largest second of one node. A proof hashes all of its leaves again: 20 ms for 16,384. */
  batchLinesMax: 16_384,
  /** Answers of a batch that a thread hashes together: 0.5 ms of work, for a message of some 10 µs. */
  batchChunkLines: 256,
  /** Fewer answers are hashed where they are, if the thread has nothing to do: a batch of a quiet second. */
  batchChunkLinesMin: 32,
  /** Bytes of the answers that a thread hashes together: 256 with 1 KB each; most have 600 bytes. */
  batchChunkBytes: 256 * 1024,
  /** Chunks that are filled or hashed: 10 ms of answers. If the thread has all of them, the thread of the requests hashes as well. */
  batchChunks: 8,
  /** Batches that wait because the store or the log is not ready: 8 MB. More answers are refused rather than lost. */
  batchesWaitingMax: 16,
  /** Addresses of a receipt: the sender and the receiver of a transfer. */
  subjectsMax: 2,
  /** Lists of a receipt: 20 are known today. */
  listsMax: 200,
  /** Codes of reasons and flags: each is listed once, and fewer than 60 exist. */
  reasonCodesMax: 100,
  /** Templates of the receipts of one second: 1 MB. Each verdict with its score and reasons has one, most answers have one of ten. */
  templatesMax: 256,
  /** Narrowed fields of a receipt: two exist. */
  narrowedMax: 8,
  /** Chains with graphs that an answer is based on. */
  graphsMax: 64,
  /** Length of any text of a receipt. */
  textMax: 500,
  /** Signing keys, retired ones included: one a month for 16 years. The JSON document of all of them has 40 KB. */
  signingKeysMax: 200,
  /**
   * A node signs with a retired key for at most this long: it sees the records of other nodes after a second. The rest is for clocks that
   * differ, which is why a new key is valid from this much before its time.
   */
  retireGraceSeconds: 60,
  /** Receipts of one turn of the event loop from which on they are signed together on a thread: a message there and back costs as much as two signatures. */
  signedByThreadMin: 4,
  /**
   * Receipts that are signed together: the thread starts with the first ones while the next are made, and a message there and back costs each
   * of them half a microsecond.
   */
  signedAtOnceMax: 32,
  /** Bytes of receipts that are signed together: 32 with 6 KB each. */
  signedAtOnceBytes: 192 * 1024,
  /** Groups that are signed, filled or read: 512 receipts, 3 MB. If all are in use, the thread of the requests signs as well. */
  signedGroupsMax: 16,
  /** Seconds for which a client may keep the JWKS. A new key signs at once, so a verifier that lacks it fetches the document again. */
  jwksAgeSeconds: 300,
  /** Receipts, or shared parts, that one transaction of the retention deletes: each has a few pieces, and a transaction writes at most 32 MB. */
  receiptsDeletedAtOnceMax: 50,
} as const;
