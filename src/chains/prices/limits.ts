/** Limits of prices, each with the reason for its value. */
export const PRICE_LIMITS = {
  /**
   * One table of the operator's own prices: a price per minute of one coin for ten years has 0.2 GB; a price per day of 1,000 assets a
   * fifth of that.
   */
  priceFileBytesMax: 64 * 1024 * 1024,
  /** Responses of a price server: 90 days of hourly prices, with market caps and volumes, have 0.2 MB. */
  priceAnswerBytesMax: 4 * 1024 * 1024,
  /** Price windows cached per price server: 720 points each, 12 KB, 12 MB. */
  priceWindowsKept: 1_000,
} as const;
