/** Limits of files with transfers, each with the reason for its value. */
export const INGEST_LIMITS = {
  /** Size of transfer files from which a bulk load is worth the cost of sorting: about 150,000 rows. */
  bulkLoadFromBytes: 32 * 1024 * 1024,
  /** A serialised block: BTC blocks have at most 4 MB, the largest of BSV 4 GB, although nearly all of BSV are below this limit. */
  bitcoinBlockBytesMax: 256 * 1024 * 1024,
  /** Blocks of one set of files: the longest chain of the family has fewer than a million, and orphans are few; 400 bytes each. */
  bitcoinBlocksMax: 2_000_000,
  /** One row of an export: the largest transaction input of mainnet is 128 KB (as hex twice that), a block row 64 KB. */
  ingestRowCharsMax: 4 * 1024 * 1024,
  /** Transactions with sender and call, kept for the token transfers of the same command: about 300 bytes each. */
  ingestCallsMax: 500_000,
  /** Block times kept while transactions without a time are read: 5 million are about two years of Ethereum, 0.4 GB. */
  ingestBlockTimesMax: 5_000_000,
  /** Rejected rows that a report lists; the rest are counted and written to the rejects file. */
  ingestRejectsListedMax: 100,
} as const;
