/** Limits of UTXO outputs and taint, each with the reason for its value. */
export const UTXO_LIMITS = {
  /** Transactions through which taint is followed: 20 to 60 µs each from a warm store, so a few seconds. */
  taintTransactionsMax: 100_000,
  /** Transactions that are searched for the origin of an address's money: about 100 ms from a warm store. */
  provenanceTransactionsMax: 2_000,
  /** Pieces of taint kept in memory at once: about 200 bytes each, 200 MB. */
  taintPiecesMax: 1_000_000,
  /** Tainted outputs that a response lists, most tainted first; the sums cover the rest. */
  taintedOutputsListed: 100,
  /** Outputs of one address that are read, newest first: an exchange has millions. */
  addressOutputsMax: 10_000,
  /**
   * Pairs of payer and payee in one UTXO transaction: a hundred times a hundred. Larger ones (CoinJoins of hundreds) do not
   * show which payer paid which payee.
   */
  utxoPairsMax: 10_000,
  /** Outputs of the blocks that are written in one transaction: about 200 MB in memory. */
  utxoBatchOutputs: 50_000,
} as const;
