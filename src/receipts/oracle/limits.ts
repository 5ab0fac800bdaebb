/** Limits of verdicts and lists for contracts, each with the reason for its value. */
export const ORACLE_LIMITS = {
  /** Longest life of a signed verdict. AssayVerifier.sol refuses a longer one: lists are refreshed in minutes to hours. */
  signedVerdictSeconds: 900,
  /** Longest life of a signing key of verdicts: an owner of a contract reviews its signers at least once a year. */
  signerDaysMax: 366,
  /** Addresses that are sorted at a time: 40 MB as texts, and one pass over the snapshot for each run. */
  sortedAtOnceMax: 500_000,
  /** Addresses of a tree: building it takes one byte each. All lists of the world together have some ten thousand today. */
  treeAddressesMax: 100_000_000,
  /** Trees of one chain that stay on disk: proofs for a root that a contract still has. Eight changes of the lists take days. */
  treesKept: 8,
  /** Time since the last write after which a draft of a tree is one of a killed build: a build writes after each pass over the snapshot. */
  draftMs: 3_600_000,
  /** Time for one call of a node, with all attempts. */
  rpcCallMs: 30_000,
  /** Length of the result of a contract call: a page of the list has 130,000 characters. */
  callCharsMax: 1_000_000,
  /** Addresses that one call reads: 64 KB, and 5 million gas of a call that costs nothing. */
  listPage: 2_000,
  /** Addresses of a list that is compared: it would cost 5 billion gas. SanctionsRoot holds more. */
  listedAddressesMax: 100_000,
  /** Addresses of a transaction: 9 million gas, which is below the 16.7 million that EIP-7825 allows. */
  batchAddresses: 200,
  batchAddressesMax: 300,
  /** Gas limit of a transaction, in percent of the estimate: another transaction may change the storage before it. */
  gasPercent: 120,
  /** Time between two looks at a pending transaction: a third of a block of Ethereum. */
  pollMs: 4_000,
  /** Time after which a pending transaction is sent again with a higher fee: eight blocks of Ethereum. */
  bumpMs: 96_000,
  /** Attempts with rising fees: 25 % each time is 7 times the first fee at the tenth. */
  attemptsMax: 10,
  /** Time for a transaction and its confirmations. Afterwards the next run waits for it. */
  confirmMs: 900_000,
  /** Times that the difference is computed again because another transaction took a nonce. */
  pushRoundsMax: 5,
  /** Default and longest life of a root. SanctionsRoot.sol refuses a longer one. */
  rootHours: 24,
  rootHoursMax: 720,
} as const;
