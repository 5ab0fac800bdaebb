/** All limits of the program, each with the reason for its value. */

export const LIMITS = {
  /** Specification: addresses in one bulk raw-label request. */
  bulkAddressesMax: 100,
  /** Specification decisions: maximum body of a request, unless the route has its own limit. */
  bodyBytesMax: 1024 * 1024,
  /** No real request nests deeper than an array of objects; recursion in a parser must stay far from the end of the stack. */
  jsonDepthMax: 16,
  /**
   * The longest known address is a ZEC unified address with all three receivers that may occur together, 213 characters; future receivers
   * need room.
   */
  addressTextMax: 512,
  /** A source file after decompression: the largest list has 0.12 GB, 10 million labels as text about 1.5 GB; ten times that is a fault. */
  sourceFileBytesMax: 16 * 1024 ** 3,
  /**
   * Deflate shrinks real lists 2 to 40 times, and a file of a single repeated letter 1,000 times. A ratio above this limit is a
   * decompression bomb.
   */
  sourceExpansionMax: 200,
  /** Below this size the expansion ratio is not checked: small files of one repeated letter are harmless. */
  sourceExpansionFreeBytes: 16 * 1024 * 1024,
  /** Publishers' archives hold 1 to 10 files. */
  zipEntriesMax: 1_000,
  /** The longest line of a real list (a UK designation as JSON) has 16,000 characters; YAML and NDJSON of users may be longer. */
  sourceLineCharsMax: 4 * 1024 * 1024,
  /** Equals undici's own default; the headers of a list server are below 4 KB. */
  outboundHeaderBytesMax: 16 * 1024,
  /** Files of one publisher are requested one after the other; a second connection allows a redirect on the same host. */
  outboundConnectionsMax: 2,
  /** The official addresses redirect once or twice (OFAC, UN, GitHub). */
  downloadRedirectsMax: 5,
  /** The largest list on the wire (SDN.XML without compression) has 0.03 GB, all TagPacks 0.015 GB. */
  downloadBytesMax: 1024 ** 3,
  /** If a list server has not accepted the connection within this time, it is down. */
  downloadConnectMs: 15_000,
  /** OFAC's server prepares its file before it answers; 30 s have been seen. */
  downloadHeadersMs: 90_000,
  /** A connection that is silent for this long in the middle of a file is dead. */
  downloadStallMs: 30_000,
  /** 30 MB at 50 KB/s; a slower server is not usable as a source. */
  downloadTotalMs: 15 * 60_000,
  /** Validators that publishers send (ETag, Last-Modified) are short; a longer header is ignored. */
  downloadValidatorCharsMax: 512,
  /** All TagPacks are 92 entries. */
  tagPackEntriesMax: 50_000,
  /** The head of a TagPack (title, source, defaults) has 1 KB; if it is longer, the file is of another kind. */
  tagPackHeaderCharsMax: 256 * 1024,
  /** One tag or actor has at most 4 KB of YAML. */
  tagPackItemCharsMax: 64 * 1024,
  /** A TagPack that does not have the usual layout of one tag per block is parsed as a whole, in memory. */
  tagPackIrregularCharsMax: 16 * 1024 * 1024,
  /** The actor pack has 3,813 actors; each is kept in memory for the join. */
  tagPackActorsMax: 200_000,
  /** One row of a CSV of labels: addresses, names and URLs are below 4 KB together. */
  labelRowCharsMax: 64 * 1024,
  /**
   * A quoted CSV cell of a real list spans fewer than 20 lines; an unclosed quote must not cause every line to be read thousands of times.
   */
  csvRowLinesMax: 100,
  /** Texts of one label (a name, a URL, all tags) that are longer than this are not meant for people. */
  labelTextCharsMax: 4_096,
  /** Names of one listed party: the longest real entry (OFAC, EU) has fewer than 200. */
  listedNamesMax: 1_000,
  /** The longest name of a real list has 400 characters (an organisation in several languages). */
  listedNameCharsMax: 1_000,
  /** Programmes, topics and positions stored for one listed party: as many as a person reads. */
  listedProgramsMax: 10,
  /** Specification: names of one screening request. */
  screenedNamesMax: 50,
  /** Issue: maximum characters of a screened name; the longest real name has 400, including every former name. */
  screenedNameCharsMax: 300,
  /** Specification decisions: matches returned for each list type. */
  nameMatchesPerListType: 5,
  /** Matches of one name that are examined and counted; a name with more matches is not distinctive. */
  nameMatchesMax: 200,
  /** Cleared matches on one page, as for other lists. */
  clearedPageMax: 100,
  clearedPageDefault: 50,
  /** Matches that one account may clear: 500 bytes each, 50 MB. */
  clearedMatchesMax: 100_000,
  /** The pools file has 35 KB; it is read whole. */
  poolsFileBytesMax: 16 * 1024 * 1024,
  /** Shutdown must end: longer than the slowest response, shorter than the 30 s after which supervisors kill the process. */
  shutdownMsMax: 15_000,
  /**
   * A client that sends its headers or reads its response more slowly than this is disconnected (uWebSockets.js has the same fixed 10 s).
   */
  slowClientMs: 10_000,
  /** Bytes of all header fields of one request: what nginx and node:http accept, twice the largest cookie and token headers. */
  headerBytesMax: 16 * 1024,
  /** Header fields of one request: browsers behind proxies send fewer than 40. uWebSockets.js itself parses at most 98. */
  headerFieldsMax: 64,
  /**
   * Header bytes that the parsers of both servers read, so that larger headers get a complete error response. Beyond it, only the
   * parser's own refusal is sent. One connection holds no more than this.
   */
  headerReadBytesMax: 64 * 1024,
  /**
   * Seconds for which uWebSockets.js certainly keeps an idle connection open: it counts 10 s as three steps of 4 s, and the first step
   * may be short, so it closes after 8 to 12 s. It cannot be set.
   */
  uwsIdleSeconds: 7,
  /** Seconds for which node:http keeps an idle connection open: longer than the 60 s after which common load balancers let go of theirs. */
  keepAliveSeconds: 75,
  /** A response larger than this is passed to the socket in pieces as the client reads, and is not copied into the socket's buffer. */
  bufferedAnswerBytesMax: 64 * 1024,
  /** Responses of this size and below are sent as they are: they fit in one packet, and compression would cost more than it saves. */
  uncompressedBytesMax: 1024,
  /** Responses that are compressed at the same time: twice the threads that do it. Others are then sent as they are. */
  compressionsMax: 8,
  /** The client's own X-Request-Id is echoed up to this length; a longer one would only bloat every log line. */
  requestIdTextMax: 64,
  /** A limit per minute must be finite so that "never more than N" is true; its window counts in 32 bits. */
  rateLimitMax: 1_000_000_000,
  /** Keys and classes for which the last minute is kept at once: about 400 bytes each, 40 MB. */
  rateWindowsMax: 100_000,
  /** Verified keys that are cached at once; other keys are read from the store again. About 300 bytes each. */
  verifiedKeysMax: 100_000,
  /** A longer name of a key is not useful to people. */
  keyNameMax: 100,
  /** Transfers written in one transaction: enough that they share pages, few enough that a crash loses only seconds of work. */
  ingestBatchTransfers: 40_000,
  /** A packed chunk of neighbours, two LMDB pages with their header: small enough that an update of a hub costs microseconds. */
  edgeChunkBytesMax: 2 * 4096 - 16,
  /** Transfers of one address that wait to be merged: about 60, which share a page with others. */
  deltaBytesMax: 1_536,
  /** As `deltaBytesMax`, for a hub: its merge touches a chunk for nearly every one of its 600 transfers. */
  hubDeltaBytesMax: 16 * 1024,
  /** Number of counterparties from which an address uses `hubDeltaBytesMax`. */
  hubDeltaFromCounterparties: 2_000,
  /** Address ids that a writer caches, a power of two: about 80 bytes each, 40 MB; an export repeats its hubs. */
  transferIdsCached: 2 ** 19,
  /** Positions of fresh transactions that a writer holds for one chain: about 60 bytes each, 30 MB; read from the log in one second. */
  freshTransactionsMax: 500_000,
  /** Minimum number of fresh transactions that one write moves to their final position: about 20 ms. */
  freshTransactionsStep: 4_096,
  /** Size of transfer files from which a bulk load is worth the cost of sorting: about 150,000 rows. */
  bulkLoadFromBytes: 32 * 1024 * 1024,
  /** Transfers of one sorted run of a bulk load, 280 MB in memory; a crash makes the load read this many again. */
  bulkRunTransfers: 1_000_000,
  /** Addresses that a bulk load caches between its runs: about 40 bytes each, 0.5 GB with growth. */
  bulkAddressesKept: 8_000_000,
  /** Transfers of one address that are merged at a time if it has more: 250 bytes each during the merge. */
  bulkGroupTransfers: 500_000,
  /** Blocks that can be reverted: Ethereum is final after 64 to 96, Bitcoin counts 6, the deepest reorg of Polygon had 157. */
  reorgBlocksKept: 192,
  /** Newest transfers stored for each pair and asset: as many as a person reads; the sums cover the rest. */
  recentTransfersPerEdge: 4,
  /** Days for which the amount of each pair and asset is stored: about 8 bytes each, and few pairs have transfers on more days. */
  edgeDaysKept: 64,
  /** Counterparties of one direction that a screening checks for address spoofing: about a millisecond. */
  spoofingCounterpartiesRead: 1_000,
  /**
   * Counterparties of one direction, the greatest first, that are compared to find the address that a spoofing address imitates; more cost
   * a screening milliseconds.
   */
  realCounterpartiesRead: 200,
  /** Newest transfers stored for each address, for a response to list. About 8 bytes each. */
  recentTransfersPerAddress: 64,
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
  /** A serialised block: BTC blocks have at most 4 MB, the largest of BSV 4 GB, although nearly all of BSV are below this limit. */
  bitcoinBlockBytesMax: 256 * 1024 * 1024,
  /** Blocks of one set of files: the longest chain of the family has fewer than a million, and orphans are few; 400 bytes each. */
  bitcoinBlocksMax: 2_000_000,
  /**
   * Pairs of payer and payee in one UTXO transaction: a hundred times a hundred. Larger ones (CoinJoins of hundreds) do not
   * show which payer paid which payee.
   */
  utxoPairsMax: 10_000,
  /** Outputs of the blocks that are written in one transaction: about 200 MB in memory. */
  utxoBatchOutputs: 50_000,
  /** The longest transaction id of the 36 chains is 88 characters of base58 (SOL). */
  txHashTextMax: 128,
  /** The `trace:` paths of the deepest calls observed are shorter than this. */
  transferPositionTextMax: 64,
  /** Decisions: tracing stops at addresses with more counterparties than this; screening reads no more either. */
  counterpartiesMax: 10_000,
  /**
   * Edges of one row that are scanned for relevant ones. An attacker pays for every edge: 20,000 dust edges must not end a walk, and
   * 200,000 take 10 ms to read (8 MB). An address with more counterparties counts as a hub without a scan.
   */
  rowScanMax: 200_000,
  /** Assets listed for one address: airdropped spam tokens run into the thousands, and people do not read them. */
  assetsListedMax: 50,
  /** One row of an export: the largest transaction input of mainnet is 128 KB (as hex twice that), a block row 64 KB. */
  ingestRowCharsMax: 4 * 1024 * 1024,
  /** Transactions with sender and call, kept for the token transfers of the same command: about 300 bytes each. */
  ingestCallsMax: 500_000,
  /** Block times kept while transactions without a time are read: 5 million are about two years of Ethereum, 0.4 GB. */
  ingestBlockTimesMax: 5_000_000,
  /** Rejected rows that a report lists; the rest are counted and written to the rejects file. */
  ingestRejectsListedMax: 100,
  /** Bytes of the operator's token list: 100,000 rows, which is more tokens than have a price. */
  ownTokensBytesMax: 8 * 1024 * 1024,
  /**
   * One table of the operator's own prices: a price per minute of one coin for ten years has 0.2 GB; a price per day of 1,000 assets a
   * fifth of that.
   */
  priceFileBytesMax: 64 * 1024 * 1024,
  /** Responses of a price server: 90 days of hourly prices, with market caps and volumes, have 0.2 MB. */
  priceAnswerBytesMax: 4 * 1024 * 1024,
  /** Price windows cached per price server: 720 points each, 12 KB, 12 MB. */
  priceWindowsKept: 1_000,
  /** Addresses of one clustering run, about 70 bytes each: 4 GB. All of Bitcoin has twenty times as many, and needs another method. */
  clusterAddressesMax: 60_000_000,
  /** A larger cluster more likely joins unrelated owners by mistake than it belongs to one owner; only a few exchanges are as large. */
  superClusterSize: 1_000_000,
  /** Specification decisions: members of a cluster that a response lists. */
  clusterMembersListed: 20,
  /** Counterparties and flagged transactions that a response lists. */
  screeningListMax: 50,
  /** Reasons of one verdict: a label has at most a few dozen publishers. */
  oracleReasonsMax: 16,
  /** Contradictions among the labels of one address that a response lists: further ones add no information. */
  labelConflictsMax: 20,
  /** The deepest list (OFAC advanced) nests 11 elements. */
  xmlDepthMax: 64,
  /** The longest text of a real list (a UK statement of reasons) has 15,000 characters; chunks of 256 KiB are counted in full. */
  xmlTokenCharsMax: 4 * 1024 * 1024,
  /** One record as a tree: the largest real ones are OFAC's reference values (1,100) and parties with many aliases (3,000). */
  xmlElementsMax: 100_000,
  /** Unknown fields that a response lists in `ignored`: enough to show a misspelling, too few to fill a response. */
  bodyFieldsMax: 32,
  /** Labels that differ in more than address and dates: each costs about 1 KB while an index is built (2 GB), 0.5 KB in the snapshot. */
  labelTemplatesMax: 2_000_000,
  /** Labels of one index: 40 bytes each, and a snapshot must stay within the 3.75 GB that one view of its map can span. */
  indexLabelsMax: 60_000_000,
  /** A smaller file of labels is read on one thread: 0.3 s, of which starting threads and merging their tables would save little. */
  importThreadsFromBytes: 32 * 1024 * 1024,
  /** Threads that read the rows of one import: the thread that explains and writes them keeps about four busy. */
  importThreadsMax: 4,
  /** A smaller index is built on one thread: half a second, of which starting another thread (40 ms) would save little. */
  buildThreadFromLabels: 500_000,
  /** Rows of a rejects file: a user with more rejects has the wrong file; further ones are only counted. */
  rejectsKeptMax: 1_000_000,
  /** No response built on the main thread comes near this size; a larger one would be a fault, and must not use up all memory. */
  answerBytesMax: 16 * 1024 * 1024,
  /** Tasks that wait for the worker pool: 256 bulk requests of 100 addresses are a quarter of a second of work and 5 MB. */
  poolTasksMax: 256,
  /** Bytes of one block of a bulk file: 3,000 addresses; their results (1 MB) stay in the CPU cache until they are written. */
  bulkBlockBytes: 128 * 1024,
  /** Threads of one bulk run: each maps the index, and they take turns to read one file; more would wait for each other. */
  bulkThreadsMax: 64,
  /** Ten times the size for which the index is designed; above it a typing error would fill the disk. */
  synthLabelsMax: 100_000_000,
  /** Characters of a ledger reference: operation, chain and the longest address that a request may name. */
  ledgerReferenceMax: 640,
  /** Cached account states: about 400 bytes each, 80 MB. */
  ledgerHeadsMax: 200_000,
  /** Entries by which the index of last entries may lag: after a crash they are read again at the start, in 0.1 s; sorted in 3 ms. */
  ledgerIndexLagMax: 8_192,
  /** Accounts that one commit writes to the index: 1 ms of the main thread. */
  ledgerIndexSliceMax: 512,
  /** Charges of one commit: 1,000 are 10 ms of the main thread, and 256 requests in flight never fill it. */
  ledgerBatchMax: 1_000,
  /** Charges that wait for their commit: seconds of work; beyond that, more of them would only grow the heap. */
  ledgerQueueMax: 100_000,
  /**
   * Lifetime of a reservation in Redis after its node has died: longer than any request runs, and the longest time that a dead node holds
   * credits.
   */
  ledgerHoldMs: 120_000,
  /** How long Redis rejects a charge that was undone before it arrived: data that waits in a socket arrives within seconds of its end. */
  ledgerMarkMs: 600_000,
  /** Charges to undo when Redis is available again: seconds of work, as for the queue of charges above. */
  pendingStepsMax: 100_000,
  /** How long Redis remembers the quota that an event consumed: jobs are settled within days. */
  quotaEventMs: 100 * 24 * 3_600_000,
  /** Credits of one entry: a typing error in a grant should be noticed, and sums must stay exact in doubles. */
  ledgerAmountMax: 1_000_000_000,
  /** Entries on one page of usage, as for the lists of monitoring. */
  usagePageMax: 100,
  /** Days with entries that usage sums up: a month and the day on which it began. */
  usageDaysMax: 31,
  /** Decisions: a response is stored for its Idempotency-Key this long. */
  idempotencyMs: 24 * 3_600_000,
  /** Characters of an Idempotency-Key: four UUIDs; the header limit would allow 4,000. */
  idempotencyKeyTextMax: 255,
  /** Stored responses older than 24 hours that are removed in a commit that stores a new one: faster than they arrive. */
  idempotencyPurgeMax: 8,
  /** Results in shared slots at once: more than the threads finish while the main thread writes one; a result without a slot is copied. */
  poolSlots: 64,
  /** A bulk response of 100 well-labelled addresses is about 100 KB; longer ones are copied. Untouched slots cost no memory. */
  poolSlotBytes: 256 * 1024,
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
  /** Responses about exchanges cached as bytes: 5 KB each. */
  exchangeAnswersKept: 2_000,
  /** NIST SP 800-63B requires at least 8 characters; ten resist guessing at the rate to which attempts are limited. */
  passwordCharsMin: 10,
  /** A passphrase of twenty words; scrypt hashes any length, and longer texts only cost time. */
  passwordCharsMax: 256,
  /** Passwords that are checked at once: each takes a thread about 0.2 s and 32 MiB, and screenings wait for the thread. */
  passwordDerivationsMax: 8,
  /** The time window in which failed attempts are counted. */
  attemptWindowMs: 15 * 60_000,
  /** Failed attempts at one account in the time window: a person who forgot the password needs fewer. */
  attemptsPerAccountMax: 10,
  /** Failed attempts from one client address in the time window: an office behind one address needs fewer. */
  attemptsPerAddressMax: 50,
  /** Accounts and addresses with counted attempts at once: about 150 bytes each, 15 MB. */
  attemptWindowsMax: 100_000,
  /** Decisions: a session expires after this time. */
  sessionMs: 12 * 3_600_000,
  /** Lifetime of the token in a verification email: the email may stay unread for a day. */
  verifyTokenMs: 24 * 3_600_000,
  /** Lifetime of the token in a password-reset email: it should be used at once. */
  resetTokenMs: 3_600_000,
  /** RFC 5321: the longest path of an email address. */
  emailCharsMax: 254,
  /** Concurrent emails to the mail server: each holds a connection. */
  emailsInFlightMax: 32,
  /** A mail server that does not respond to one step for this long is down. */
  smtpStepMs: 15_000,
  /** Actor, origin and details of one entry of the audit log: texts that people read. */
  auditTextMax: 200,
  /** Keys of one account: listed in one response of 60 KB. Operators may exceed this on the command line. */
  keysPerAccountMax: 200,
  /**
   * Addresses beyond the direct counterparties that one direction of a screening examines: about 1 ms, and on the synthetic graph all but 1
   * % of the value (500 miss 3 %, 2,000 miss 0.2 %).
   */
  exposureNodesMax: 1_000,
  /**
   * Assets without a price that one direction of a screening follows, each by itself. An address trades few assets; if unknown parties send
   * more assets than these, the assets that it sent come first, and the answer says that it is partial.
   */
  exposureAssetsMax: 16,
  /** Addresses that the walk of each such asset examines: half of those of the direction, so that sixteen walks take 8 ms. */
  exposureAssetNodesMax: 500,
  /**
   * Edges that one direction of a screening keeps, a bound for graphs in which every address trades with every other: 12 MB; a usual one
   * has 20,000.
   */
  exposureEdgesMax: 1_000_000,
  /** Decisions: if an entry of the exposure index waits longer than this, the response contains GRAPH_NOT_READ. */
  exposureWaitMsMax: 10 * 60_000,
  /**
   * Transfers that one round of an update reads: computing their addresses takes up to 2 s at 2 ms each; the results are visible after the
   * round.
   */
  exposureLogARound: 500,
  /**
   * If an index lags by more transfers than this, it is rebuilt: computing the addresses one by one would take longer (40,000 at 2 ms
   * each).
   */
  exposureLogBehindMax: 20_000,
  /** Addresses that one change may queue for update: 10 s of walks at 2 ms each. A full sweep costs less than many such changes. */
  exposureReachMax: 5_000,
  /** Entries that are computed between two commits of an update. */
  exposureBatch: 64,
  /** Milliseconds of each second that are spent on waiting entries: a fifth of one core, 100 entries. */
  exposureWorkMsASecond: 200,
  /** Exposures that a response lists for each direction: as many as a person reads; the shares count all. */
  exposuresListed: 200,
  /** Transactions that a screening searches for the origin of outputs, under each rule: about 5 ms. */
  screeningTaintTransactions: 200,
  /** Days with transfers that a screening lists: a year. */
  dailyFlowsListed: 365,
  /** Decisions: tracing stops at this many addresses. */
  traceNodesMax: 5_000,
  /** Pairs of addresses with transfers between them in one trace: two per node; more of them are the web between services. */
  traceEdgesMax: 10_000,
  /** Edges that a trace lists, one per asset: 300 bytes each, 6 MB. */
  traceAssetEdgesMax: 20_000,
  /** Paths that a response lists: as many as a person compares. */
  pathsListed: 10,
  /** Addresses that a path search visits from both ends, most of which are not in the response: about 20 ms. */
  pathNodesMax: 50_000,
  /** Partial paths that a search examines: about as long again. */
  pathStepsMax: 200_000,
  /** Paths between the parties of a KYT check that are examined for the parties on them. */
  kytPathsMax: 5,
  /** Bridges that one trace examines on their other side, and the addresses of each: as much again as the trace itself. */
  crossingsMax: 10,
  crossingNodesMax: 500,
  /** Graph nodes with labels that a thread caches: a power of two, 8 bytes each, 32 MB; further nodes replace others in the slots. */
  attributedNodesKept: 2 ** 22,
  /** Degrees of addresses that a thread caches: a power of two, 13 bytes each, 13 MB. */
  rememberedDegrees: 2 ** 20,
  /** Distinct attributions cached for one snapshot: an entity and a category each, about 1 KB, 100 MB. */
  attributionsKept: 100_000,
  /** Bytes of one response of a chain endpoint: a full Ethereum block with all its call traces has 10 to 30 MB. */
  endpointAnswerBytesMax: 64 * 1024 * 1024,
  /**
   * The same limit if a screening waits; its pages have below 1 MB. A larger response could not be received and parsed within the budget.
   */
  endpointShortAnswerBytesMax: 16 * 1024 * 1024,
  /** Calls with less time than this belong to a screening (2.5 s); calls that follow blocks have 20 s and more. */
  endpointLongCallMs: 4_000,
  /** Timeout of one attempt at one endpoint: public nodes respond within 1 s, with traces of a full block within 5. */
  endpointAttemptMs: 10_000,
  /** A node that has not accepted the connection within this time is down. */
  endpointConnectMs: 5_000,
  /** An attempt that ended earlier does not count against the endpoint: the call had too little time left. */
  endpointFaultFromMs: 500,
  /**
   * Consecutive failures after which an endpoint that has responded before is paused; one that never responded is paused after the first.
   */
  endpointFailuresMax: 3,
  /** First pause of a failed endpoint; doubled with each further failure, so that a restarted node is used again soon. */
  endpointDownMsMin: 1_000,
  /** Longest pause of a failed endpoint: an unreachable endpoint is tried twelve times an hour. */
  endpointDownMsMax: 300_000,
  /** An endpoint that serves another chain is tried again after this time: the operator may have corrected it. */
  endpointMismatchMs: 60_000,
  /** Time that a call waits for an endpoint that is being probed: a node on the same machine responds within it. */
  endpointProbeWaitMs: 250,
  /** Number of times that all endpoints of a chain are tried for one call. */
  endpointRoundsMax: 3,
  /** First pause between such rounds; doubled, with jitter. */
  endpointRoundMs: 100,
  /** A Retry-After is honoured up to this value; if it is longer, the endpoint is tried after this time. */
  endpointRetryAfterMsMax: 3_600_000,
  /** Concurrent calls to one endpoint: nodes process about as many in parallel, and public ones allow no more. */
  endpointConcurrency: 8,
  /** Calls that wait for one endpoint. */
  endpointQueueMax: 256,
  /** Requests per second to the operator's own node, which serves no other users. */
  endpointOwnPerSecond: 500,
  /** Requests per second to a public endpoint: the slowest of them (Etherscan's free plan) allows 5 and bans clients that send more. */
  endpointPublicPerSecond: 4,
  /** Endpoints for one chain and role. */
  endpointsPerChainMax: 16,
  /**
   * Blocks of a reorg that a follower reverts: the deepest accidental reorg had 157 (Polygon, February 2023). An attack needs the attention
   * of a person.
   */
  reorgBlocksMax: 512,
  /** Blocks fetched ahead while a follower catches up: hides the latency of the node, and holds at most a few full blocks. */
  followAheadBlocks: 4,
  /** Pages of one history that are read: a source with an endless cursor is stopped here. */
  historyPagesMax: 1_000,
  /** Transfers requested in one page of a history: one page of the usual explorers, and a write of 10 ms on the main thread. */
  onDemandPageTransfers: 500,
  /**
   * Transfers fetched for one address in one screening: as many as fit into the budget of a good source; an exchange has as many in a day.
   */
  onDemandTransfersMax: 10_000,
  /** Address balances that are cached for a short time: 300 bytes each. */
  onDemandBalancesKept: 10_000,
  /** Characters of a cursor: those of Blockscout and Horizon have fewer than 300. */
  historyCursorCharsMax: 2_048,
  /** Stripe's own tolerance: a signature that is older, or further in the future, is rejected. */
  webhookToleranceMs: 300_000,
  /** Characters of a receiver's URL: longer than those of every chat service, shorter than the limit of servers. */
  receiverUrlCharsMax: 2_048,
  /** Decisions: timeout for the response of a webhook. */
  deliveryTimeoutMs: 15_000,
  /** A receiver that asks for a longer delay than a day (Retry-After) does not want the alert. */
  retryAfterMaxMs: 24 * 3_600_000,
  /** Decisions: after a rotation, the old secret signs together with the new one for this long, so that the receiver can switch. */
  webhookSecretOverlapMs: 24 * 3_600_000,
  /** Concurrent deliveries: one socket each, and systems allow 1,024 files by default. */
  deliveriesInFlightMax: 512,
  /** Concurrent deliveries to one receiver: more would overload a small one. */
  deliveriesPerReceiverMax: 4,
  /** Concurrent alert emails to the mail server: each has its own connection, and servers of hosting providers allow ten. */
  alertEmailsInFlightMax: 8,
  /** Waiting deliveries of one receiver that are read to find the next one: those of 256 wallets. */
  deliveryScanMax: 256,
  /** Bytes that are read from the response to a delivery before the connection is closed: only the status counts. */
  deliveryAnswerBytesMax: 16 * 1024,
  /** Retention of the delivery log: long enough for a receiver to notice a gap and ask for the deliveries. */
  deliveriesKeptMs: 30 * 24 * 3_600_000,
  /** Ended deliveries that are removed when a new one is added: faster than they arrive. */
  deliveriesPurgeMax: 4,
  /** Attempts stored for one delivery: ten rounds of replays. */
  deliveryAttemptsKept: 100,
  /** Alerts listed in one digest: about 150 KB of email; the rest is counted. */
  digestAlertsMax: 500,
  /**
   * Deliveries read for one page of a filtered list: about 20 ms. A page that ends at this limit is shorter, and has a cursor to continue.
   */
  deliveriesLookedMax: 2_000,
  /** Deliveries on one page. */
  deliveriesPageMax: 100,
  /** Changes stored for one alert: the work of a person on it, not of a script. */
  alertHistoryKept: 200,
  /** Wallets in one response: about 500 KB. */
  walletsPageMax: 1_000,
  /** Alerts or transactions in one response, as the specification says. */
  monitoringPageMax: 100,
  /** Timeout of a listener's request to a node: no client waits for it, and a slow node is better than none. */
  listenerBudgetMs: 30_000,
  /** Time that an alert waits for prices from a server: it should be sent within a second of its block. */
  alertPriceWaitMs: 500,
  /** A wallet's label and notes: text for people. */
  walletLabelCharsMax: 200,
  walletNotesCharsMax: 4_000,
  /** Addresses in one filter of alerts. */
  alertAddressesMax: 50,
  /** Changes of watched wallets that a listener follows one by one; a listener that missed more reads all wallets. */
  watchChangesKept: 10_000,
  /** Interval at which wallets due for screening are searched: twenty range reads, and half of the time until a new score. */
  walletRefreshLookMs: 500,
  /** Delay of a wallet's screening after an alert: the alerts of one block cause one refresh. */
  walletRefreshDelayMs: 500,
  /** Minimum time between two refreshes of a wallet: a wallet with alerts in every block costs at most 12 screenings a minute. */
  walletRefreshGapMs: 5_000,
  /** Delay before a failed screening is retried: a full pool, or the node that holds the chain, recovers within seconds. */
  walletRefreshRetryMs: 30_000,
  /** Concurrent refreshes: in the smallest pool, two of four task slots stay free for requests. */
  walletRefreshesAtOnce: 2,
  /** Scheduled refreshes per chain and search, 20 a second: a million wallets in 14 hours, for half of one core at 25 ms each. */
  walletRefreshesScheduled: 10,
  /** Refreshes after alerts per chain and search, before scheduled ones of this or other chains are run. */
  walletRefreshesAlerted: 40,
  /** Wallets of an earlier version that are added to the schedule in one transaction. */
  walletRefreshesPlanned: 1_000,
  /** Wallets of lists that are cached: about 1 KB each. */
  listedWalletsHeld: 100_000,
  /**
   * A registration waits this long for a node to return its newest block; after that, watching begins with the first block that the node
   * returns.
   */
  headBudgetMs: 3_000,
  /** Changes of an account that a stream can replay: one day of a busy account. */
  changesKept: 10_000,
  /** Changes read from the store at a time for a stream that missed some. */
  streamBacklogPage: 100,
  /** Bytes buffered for a reader that is slower than its alerts: about 500 alerts. A slower reader is disconnected, and may resume. */
  streamBufferBytesMax: 1024 * 1024,
  /** Concurrent streams of one account: each is a socket. */
  streamsPerAccountMax: 20,
  /** Interval of keep-alive messages: proxies close connections that are silent for a minute. */
  streamPingMs: 20_000,
  /** If Redis has not accepted the connection within this time, it is down; another attempt follows. */
  redisConnectMs: 2_000,
  /**
   * Timeout of a command: an atomic step takes under a millisecond, a fail-over of Redis Cluster 1 to 5 s; an API client gets an error
   * before that.
   */
  redisCommandMs: 3_000,
  /** Startup waits this long for a Redis that is starting or failing over; then it ends with an error. */
  redisStartMs: 10_000,
  /**
   * Timeout of a read from the remote store of a graph: a fail-over of Redis Cluster within it is not noticed, and a worker waits no
   * longer.
   */
  remoteReadMs: 5_000,
  /**
   * Time within which one request reads from a remote graph. Pushes keep replaced data for twice as long, because the clocks of machines
   * differ.
   */
  remoteQuestionMs: 30_000,
  remoteGraceMs: 60_000,
  /** How long the newest version of a remote graph is cached: saves one round trip for requests that follow each other. */
  remoteHeadMs: 250,
  /** Bytes of remote graph records that a thread caches: the addresses that half of all traces pass. */
  remoteCacheBytes: 64 * 1024 * 1024,
  /** Buckets over which the records of a chain are spread: 4 GB each for a terabyte, and evenly spread over some dozens of servers. */
  remoteBuckets: 256,
  /** Keys of one command: a megabyte of the largest chunks, which delays other commands for a millisecond. */
  remoteKeysPerCommand: 128,
  /** Addresses that a walk fetches ahead: 2 MB of typical ones. */
  remoteNodesPerFetch: 4_096,
  /** Chunks of edges or of the log that are fetched ahead: 4 MB. */
  remoteChunksPerFetch: 512,
  /**
   * Neighbours are stored inline with their address up to this many bytes: about 25 neighbours, which more than nine in ten addresses do
   * not exceed.
   */
  remoteInlineBytes: 1_024,
  /** Records and bytes that a push writes at a time over all buckets, and bytes in one script. */
  remotePushRecords: 20_000,
  remotePushBytes: 8 * 1024 * 1024,
  remoteScriptBytes: 256 * 1024,
  /** Interval at which a push saves its progress: a replica lags by less. */
  remotePushSaveMs: 2_000,
  /** If servers are away for longer than a fail-over takes, the push ends; the next push continues it. */
  remotePushPatienceMs: 30_000,
  remotePushPauseMs: 250,
  /** After a push was killed, the next one waits this long. */
  remotePushLeaseMs: 30_000,
  /**
   * Timeout of a query to another node's graph: as long as the slowest trace takes; a node that dies is noticed and replaced in this time.
   */
  graphRequestMs: 15_000,
  /** Concurrent queries of one node to other nodes: each is processed within milliseconds by a thread there. */
  graphRequestsMax: 256,
  /** Queries, of all callers, that wait for the nodes of a placement: a second of work for a few threads. */
  graphRequestsWaitingMax: 1_000,
  /** How long a write waits for replicas: they acknowledge within milliseconds, or are away. */
  redisReplicasMs: 1_000,
  /** A node's replica counts as current for this long after it heard from Redis: every node rejects a revoked key within a second. */
  replicaCurrentMs: 1_000,
  /** A follower hears from Redis at least this often: a few times within `replicaCurrentMs`, and a handful of tiny commands a second. */
  replicaListenMs: 200,
  /** A write is retried for this long: a Redis Cluster takes 1 to 5 s to fail over. */
  replicaWriteMs: 6_000,
  /** Startup waits this long for the first copy of the data of other nodes: some millions of records. */
  replicaReadyMs: 60_000,
  /** Write sets that a stream holds, and their bytes: a node that missed more copies the whole store, in seconds. */
  replicaStreamMax: 10_000,
  replicaStreamBytesMax: 64 * 1024 * 1024,
  /** Bytes of one write set: Redis processes nothing else while it applies it, about 50 ms. */
  replicaWriteBytesMax: 32 * 1024 * 1024,
  /**
   * Transactions that are sent to Redis together, and the size at which no more are added: transactions that arrive meanwhile go with the
   * next group.
   */
  replicaGroupMax: 256,
  replicaGroupBytesMax: 1024 * 1024,
  /** Transactions that wait in one node: each is a request that is held. Further ones are rejected. */
  replicaWaitingMax: 20_000,
  /** Bytes of the write sets in one reply, unless a single write set is larger. */
  replicaReplyBytesMax: 4 * 1024 * 1024,
  /** Records in one reply of a copy: a few hundred KB. */
  replicaCopyPage: 500,
  /**
   * Attempts at a copy. A copy starts again if the stream no longer covers the writes since its begin. Copying is many times faster than
   * writing; otherwise it would never end.
   */
  replicaCopiesMax: 5,
  /** Redis deletes the last write set id of a process that is gone after this time. */
  replicaWriterMs: 3_600_000,
  /** Records and bytes in one script of a filling: Redis processes nothing else for a few milliseconds. */
  fillPageRecords: 1_000,
  fillPageBytes: 512 * 1024,
  /** Bytes of ledger entries that are read ahead, to group them by account, and accounts that are written concurrently. */
  fillReadAheadBytes: 8 * 1024 * 1024,
  fillAtOnce: 16,
  /** A client that sends a large body may wait for its own source, or for a failing connection; if it is silent for longer, it is gone. */
  uploadSilenceMs: 60_000,
  /**
   * After a grace period, in which its source may be slow, the sender of a large body holds one of few places: 16 KB/s is a bad mobile
   * network, and transfers the largest body within 19 hours.
   */
  uploadGraceMs: 300_000,
  uploadBytesPerSecondMin: 16 * 1024,
  /** An interrupted command ends by itself at its next safe point; a command with no safe point within this time is terminated. */
  interruptMsMax: 1_500,
  /** A server that stops after an unexpected error may not end by itself. Its stores are flushed long before this time. */
  faultMsMax: 10_000,
  /** After shutdown everything is closed; a process that is still running then waits for a machine that is away. */
  exitMsMax: 2_000,
  /** A client that is rejected while it sends reads the reason within this time; otherwise it is not reading. */
  lingerMs: 5_000,
  /** Bulk jobs on one page, as for other lists. */
  jobsPageMax: 100,
  /**
   * Bytes of a large response that are read at a time: a few hundred KB per client including its socket buffer, and 1 GB/s from a cached
   * file.
   */
  answerPieceBytes: 128 * 1024,
  /** A release lists about 20 files, and one more for each 250 firms of a register; 150 bytes each. */
  releaseBytesMax: 4 * 1024 * 1024,
  releaseFilesMax: 10_000,
  /** The largest snapshot (3.75 GB), the largest name index (the same), and the files beside them. */
  releaseTotalBytesMax: 8 * 1024 ** 3,
  /**
   * Releases for which a publisher keeps the files: a node that is still pulling the previous one can finish it. Each costs at most a
   * snapshot.
   */
  releasesKept: 2,
  /** The same limit in an object store, which has more space and slower readers. */
  releasesKeptInStore: 5,
  /** Sockets of nodes that pull: each node has one that waits for a new release and one that reads. */
  snapshotConnectionsMax: 512,
  /** Timeout of a long poll for a new release: below the limit of proxies. */
  snapshotWaitMsMax: 25_000,
  /** If a node takes no byte of a snapshot for this long, it is gone. */
  snapshotStallMs: 60_000,
  /** Bytes read at a time from a file that is sent: 32 sockets hold 8 MB. */
  snapshotReadBytes: 256 * 1024,
  /**
   * Bytes of one part of an upload, and of the largest single-part upload: held in memory once. S3 accepts at most 10,000 parts: 312 GB.
   */
  uploadPartBytes: 32 * 1024 * 1024,
  /** Bytes of a response of an object store that is not a file: errors and receipts have below 2 KB. */
  storeAnswerBytesMax: 64 * 1024,
  /** Links between entities and listed parties in one file: a few dozen are shipped; a person checks each link. */
  entityPartiesMax: 10_000,
  /** Proposed links in one report: a person reads them all. */
  entityProposalsMax: 1_000,
  /**
   * A store up to this size is compared with its checksums at every start, in a quarter of a second; a larger one only if it was written
   * to.
   */
  checkedAtOpenBytesMax: 256 * 1024 * 1024,
} as const;
