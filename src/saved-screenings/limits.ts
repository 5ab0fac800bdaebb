/** Limits of saved screenings, each with the reason for its value. */
export const SAVED_LIMITS = {
  /** Text of one saved answer. The largest screenings have 300 KB. A link of a case takes as much (`linkedAnswerBytesMax`). */
  savedAnswerBytesMax: 512 * 1024,
  /** Saved screenings of an account: 25 a day for ten years are 90,000. */
  savedScreeningsMax: 100_000,
  /**
   * Compressed bytes of all answers of an account: on many nodes, Redis keeps them in memory. Answers compress to a fifth, if most
   * of their text are hashes and addresses, or less: room for 80,000 of 16 KB, or for 2,700 of the largest kind.
   */
  savedAccountBytesMax: 256 * 1024 * 1024,
  /** Compressed bytes of an answer in one record: a copy of a store reads 500 records at a time. */
  savedPieceBytes: 64 * 1024,
  /** Screenings of one page: their facts only, some 1.5 KB each. */
  savedPageMax: 100,
  /** Records that one step of a list reads while it searches: 5 to 10 ms, in which the process answers nothing else. */
  savedRecordsReadMax: 500,
  /** Steps of one page. The page may be short although more match; its cursor continues. */
  savedStepsMax: 10,
  /** Unpaid screenings that are completed in one look: those that one crash leaves are as many as requests were running. */
  stagedScreeningsLook: 100,
  /** Age from which a node completes the purchase of a screening that another node began: a request takes seconds from there on. */
  stagedScreeningMs: 30_000,
  /** Outdated Idempotency-Keys that one write deletes: more than it adds. */
  savedSlotsSwept: 4,
  /** Screenings that one transaction of the retention deletes: each has a few pieces, and a transaction writes at most 32 MB. */
  savedDeletedAtOnceMax: 50,
} as const;
