/** Limits of registers of exchanges, each with the reason for its value. */
export const REGISTER_LIMITS = {
  /** Rows of one file of a register: FinCEN's list, the largest, has 25,000. */
  registerRowsMax: 500_000,
  /** Files of one register: one file per day for five years. */
  registerFilesMax: 2_000,
  /** Trigrams counted to look up one misspelt name: 20,000 take 0.1 ms, and the rarest, which decide, come first. */
  registerPostingsMax: 20_000,
  /** Names compared letter by letter for one misspelt name. */
  registerCandidatesMax: 64,
  /** A longer name is not the name of an exchange: the longest legal name of the real registers has 90 characters. */
  exchangeNameMax: 200,
  /** Responses about exchanges cached as bytes: 5 KB each, for the 475 names, domains and LEIs that ship in eight jurisdictions each. */
  exchangeAnswersKept: 4_000,
} as const;
