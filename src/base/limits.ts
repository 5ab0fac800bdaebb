/** Every cap of the program, each with the reason for its number. */

export const LIMITS = {
  /** Specification: addresses in one bulk raw-label request. */
  bulkAddressesMax: 100,
  /** Specification decisions: body of a request unless its route says otherwise. */
  bodyBytesMax: 1024 * 1024,
  /** Nobody's request nests deeper than an array of objects; recursion in a parser must stay far from the stack's end. */
  jsonDepthMax: 16,
  /** The longest known address is a ZEC unified one with all three receivers that may meet, 213 characters; receivers to come need room. */
  addressTextMax: 512,
  /** A source file unpacked: the largest list has 0.12 GB, 10 million labels as text about 1.5 GB; ten times that is a fault. */
  sourceFileBytesMax: 16 * 1024 ** 3,
  /** Real lists shrink 2 to 40 times by deflate; a file of nothing but one letter 1,000 times. Between them is a bomb. */
  sourceExpansionMax: 200,
  /** Below this size a growth ratio says nothing: tiny files of one repeated letter are harmless. */
  sourceExpansionFreeBytes: 16 * 1024 * 1024,
  /** Publishers' archives hold 1 to 10 files. */
  zipEntriesMax: 1_000,
  /** The longest line of a real list (a UK designation as JSON) has 16,000 characters; YAML and NDJSON of users may be longer. */
  sourceLineCharsMax: 4 * 1024 * 1024,
  /** undici's own default is the same; a list server's headers are below 4 KB. */
  outboundHeaderBytesMax: 16 * 1024,
  /** A publisher is asked for its files one after the other; two leave room for a redirect on the same host. */
  outboundConnectionsMax: 2,
  /** The official addresses redirect once or twice (OFAC, UN, GitHub). */
  downloadRedirectsMax: 5,
  /** The largest list on the wire (SDN.XML without compression) has 0.03 GB, all TagPacks 0.015 GB. */
  downloadBytesMax: 1024 ** 3,
  /** A list server that has not answered the connection by then is down. */
  downloadConnectMs: 15_000,
  /** OFAC's server prepares its file before it answers; 30 s have been seen. */
  downloadHeadersMs: 90_000,
  /** A connection that is silent for this long in the middle of a file is dead. */
  downloadStallMs: 30_000,
  /** 30 MB at 50 KB/s; a server that drips slower than that is no source. */
  downloadTotalMs: 15 * 60_000,
  /** What publishers remember of a file is short; more in the ETag or Last-Modified header is noise. */
  downloadValidatorCharsMax: 512,
  /** All TagPacks are 92 entries. */
  tagPackEntriesMax: 50_000,
  /** The head of a TagPack (title, source, defaults) has 1 KB; more is a file of another kind. */
  tagPackHeaderCharsMax: 256 * 1024,
  /** One tag or actor has at most 4 KB of YAML. */
  tagPackItemCharsMax: 64 * 1024,
  /** A TagPack that is not in the usual one-tag-a-block layout is parsed whole, in memory. */
  tagPackIrregularCharsMax: 16 * 1024 * 1024,
  /** The actor pack has 3,813; each is kept in memory for the join. */
  tagPackActorsMax: 200_000,
  /** One row of a CSV of labels: addresses, names and URLs are below 4 KB together. */
  labelRowCharsMax: 64 * 1024,
  /** A quoted CSV cell of a real list spans below 20 lines; an unclosed quote must not make every line be read thousands of times. */
  csvRowLinesMax: 100,
  /** Texts of one label (a name, a URL, all tags) beyond this are not meant for people. */
  labelTextCharsMax: 4_096,
  /** Names of one listed party: the longest real entry (OFAC, EU) has below 200. */
  listedNamesMax: 1_000,
  /** The longest name of a real list has 400 characters (an organisation in several languages). */
  listedNameCharsMax: 1_000,
  /** Programmes, topics and positions kept of one listed party: what a person reads. */
  listedProgramsMax: 10,
  /** Specification: names of one screening request. */
  screenedNamesMax: 50,
  /** Issue: a screened name, in characters; the longest real one has 400, with every former name inside. */
  screenedNameCharsMax: 300,
  /** Specification decisions: matches answered of each list type. */
  nameMatchesPerListType: 5,
  /** Matches of one name that are looked at and counted; a name that has more says nothing. */
  nameMatchesMax: 200,
  /** Cleared matches of one page, as other lists have it. */
  clearedPageMax: 100,
  clearedPageDefault: 50,
  /** Matches an account may clear: 500 bytes each, 50 MB. */
  clearedMatchesMax: 100_000,
  /** The pools file has 35 KB; it is read whole. */
  poolsFileBytesMax: 16 * 1024 * 1024,
  /** A stop must end: longer than the slowest answer, shorter than the 30 s after which supervisors kill. */
  shutdownMsMax: 15_000,
  /** A client that sends its headers, or takes its answer, slower than this is cut off (uWebSockets.js has the same fixed 10 s). */
  slowClientMs: 10_000,
  /** Header bytes of one request that come in pieces: what uWebSockets.js allows; the node:http twin allows no more in one piece either. */
  headerBytesMax: 4096,
  /** Above this an answer is handed to the socket in pieces as the client takes them, not copied into its buffer. */
  bufferedAnswerBytesMax: 64 * 1024,
  /** A client's own X-Request-Id is echoed up to this length; a longer one is noise in every log line. */
  requestIdTextMax: 64,
  /** A limit a minute must be finite so that "never more than N" means something; its window counts in 32 bits. */
  rateLimitMax: 1_000_000_000,
  /** Keys and classes whose last minute is remembered at once: about 400 bytes each, 40 MB. */
  rateWindowsMax: 100_000,
  /** Keys remembered as verified at once; further ones are read from the store again. About 300 bytes each. */
  verifiedKeysMax: 100_000,
  /** Nobody reads a longer name of a key. */
  keyNameMax: 100,
  /** Transfers that are written in one transaction: so many that they share pages, so few that a crash loses seconds. */
  ingestBatchTransfers: 40_000,
  /** A packed chunk of neighbours, two pages of LMDB with their header: small enough that an update of a hub costs microseconds. */
  edgeChunkBytesMax: 2 * 4096 - 16,
  /** Transfers of one address that wait to be merged: about 60, which stand beside others on a page. */
  deltaBytesMax: 1_536,
  /** The same of a hub, whose merge touches a chunk for nearly every one of its 600 transfers. */
  hubDeltaBytesMax: 16 * 1024,
  /** Counterparties from which on an address has the delta of a hub. */
  hubDeltaFromCounterparties: 2_000,
  /** Addresses whose ids a writer remembers, a power of two: about 80 bytes each, 40 MB; an export repeats its hubs. */
  transferIdsCached: 2 ** 19,
  /** Positions of fresh transactions that a writer holds of a chain: about 60 bytes each, 30 MB; read from the log in a second. */
  freshTransactionsMax: 500_000,
  /** Fresh transactions that one write moves to their place, at least: about 20 ms. */
  freshTransactionsStep: 4_096,
  /** Files of transfers from which on a bulk load is worth its sorting: about 150,000 rows. */
  bulkLoadFromBytes: 32 * 1024 * 1024,
  /** Transfers of one sorted run of a bulk load, 280 MB while they are in memory; also what a crash makes it read again. */
  bulkRunTransfers: 1_000_000,
  /** Addresses that a bulk load remembers between its runs: about 40 bytes each, 0.5 GB with growth. */
  bulkAddressesKept: 8_000_000,
  /** Transfers of one address that are merged at once where it has more: 250 bytes each while they are. */
  bulkGroupTransfers: 500_000,
  /** Blocks that can be taken back: Ethereum is final after 64 to 96, Bitcoin counts 6, the deepest reorganisation of Polygon had 157. */
  reorgBlocksKept: 192,
  /** Newest transfers kept of each pair and asset: what a person reads; the sums hold the rest. */
  recentTransfersPerEdge: 4,
  /** Days of each pair and asset of which the amount is kept: about 8 bytes each, and few pairs deal on so many. */
  edgeDaysKept: 64,
  /** Counterparties of a direction among which a screening looks for forged dealings: about a millisecond. */
  spoofingCounterpartiesRead: 1_000,
  /** Counterparties of a direction among which the one is looked for that an address imitates: the greatest; more costs a screening milliseconds. */
  realCounterpartiesRead: 200,
  /** Newest transfers kept of each address: what an answer lists. About 8 bytes each. */
  recentTransfersPerAddress: 64,
  /** Transactions that taint is followed through: 20 to 60 µs each from a warm store, so a few seconds. */
  taintTransactionsMax: 100_000,
  /** Transactions that the origin of an address's money is looked for in: about 100 ms from a warm store. */
  provenanceTransactionsMax: 2_000,
  /** Pieces of taint remembered at once: about 200 bytes each, 200 MB. */
  taintPiecesMax: 1_000_000,
  /** Tainted outputs that an answer lists, most tainted first; the sums hold the rest. */
  taintedOutputsListed: 100,
  /** Outputs of one address that are read, newest first: an exchange has millions. */
  addressOutputsMax: 10_000,
  /** A serialised block: BTC's have at most 4 MB, the largest of BSV 4 GB, of which these are nearly all smaller. */
  bitcoinBlockBytesMax: 256 * 1024 * 1024,
  /** Blocks of one set of files: the longest chain of the family has below a million, and orphans are few; 400 bytes each. */
  bitcoinBlocksMax: 2_000_000,
  /** Pairs of payer and payee of one UTXO transaction: a hundred to a hundred. Larger ones (CoinJoins of hundreds) say nothing of pairs. */
  utxoPairsMax: 10_000,
  /** Outputs of the blocks that are written in one transaction: about 200 MB while they are in memory. */
  utxoBatchOutputs: 50_000,
  /** The longest transaction id of the 36 chains is 88 characters of base58 (SOL). */
  txHashTextMax: 128,
  /** `trace:` paths of the deepest calls seen stay below this. */
  transferPositionTextMax: 64,
  /** Decisions: tracing stops at addresses of more counterparties than this; screening reads no more either. */
  counterpartiesMax: 10_000,
  /**
   * Edges of one row that are scanned for those that matter. An attacker pays for every edge; 20,000 of dust must not end a walk, and
   * 200,000 take 10 ms to read (8 MB). An address with more counterparties counts as a hub without a scan.
   */
  rowScanMax: 200_000,
  /** Assets listed of one address: airdropped spam tokens run into the thousands, and nobody reads them. */
  assetsListedMax: 50,
  /** One row of an export: the largest transaction input of mainnet is 128 KB (as hex twice that), a block row 64 KB. */
  ingestRowCharsMax: 4 * 1024 * 1024,
  /** Transactions whose sender and call are kept for the token transfers of the same command: about 300 bytes each. */
  ingestCallsMax: 500_000,
  /** Blocks whose time is kept while transactions without one are read: 5 million are about two years of Ethereum, 0.4 GB. */
  ingestBlockTimesMax: 5_000_000,
  /** Rejected rows that a report repeats; the rest are counted, and go to the rejects file. */
  ingestRejectsListedMax: 100,
  /** Bytes of the operator's list of tokens: 100,000 rows, more tokens than are worth anything. */
  ownTokensBytesMax: 8 * 1024 * 1024,
  /** One table of own prices: a price a minute of one coin for ten years has 0.2 GB; a price a day of 1,000 assets a fifth. */
  priceFileBytesMax: 64 * 1024 * 1024,
  /** Answers of a price server: 90 days by the hour, with market caps and volumes, have 0.2 MB. */
  priceAnswerBytesMax: 4 * 1024 * 1024,
  /** Windows of prices kept of a price server: 720 points each, 12 KB, 12 MB. */
  priceWindowsKept: 1_000,
  /** Addresses of one clustering run, about 70 bytes each: 4 GB. Bitcoin whole has twenty times as many, and needs another way. */
  clusterAddressesMax: 60_000_000,
  /** Above this a cluster more likely joins strangers by a mistake than it is one owner; only a few exchanges are as large. */
  superClusterSize: 1_000_000,
  /** Specification decisions: members of a cluster that an answer lists. */
  clusterMembersListed: 20,
  /** Counterparties and flagged transactions that an answer lists. */
  screeningListMax: 50,
  /** Reasons of one verdict: a label has at most a few dozen publishers. */
  oracleReasonsMax: 16,
  /** Contradictions among the labels of one address that an answer lists: more say nothing that these do not. */
  labelConflictsMax: 20,
  /** The deepest list (OFAC advanced) nests 11 elements. */
  xmlDepthMax: 64,
  /** The longest text of a real list (a UK statement of reasons) has 15,000 characters; chunks of 256 KiB are counted whole. */
  xmlTokenCharsMax: 4 * 1024 * 1024,
  /** One record as a tree: the largest real ones are OFAC's reference values (1,100) and parties with many aliases (3,000). */
  xmlElementsMax: 100_000,
  /** Unknown fields that an answer lists in `ignored`: enough to see a misspelling, too few to fill an answer. */
  bodyFieldsMax: 32,
  /** Labels that differ beyond address and dates: each costs about 1 KB while an index is built (2 GB), 0.5 KB in the snapshot. */
  labelTemplatesMax: 2_000_000,
  /** Labels of one index: 40 bytes each, and a snapshot must stay inside the 3.75 GB that one view of its map can span. */
  indexLabelsMax: 60_000_000,
  /** Below this a file of labels is read on one thread: 0.3 s, of which starting threads and joining their tables would save little. */
  importThreadsFromBytes: 32 * 1024 * 1024,
  /** Threads that read rows of one import: the one that explains and writes them keeps about four busy. */
  importThreadsMax: 4,
  /** Below this an index is built on one thread: half a second, of which starting another (40 ms) would save little. */
  buildThreadFromLabels: 500_000,
  /** Rows of a rejects file: whoever has more has the wrong file, and only counts the rest. */
  rejectsKeptMax: 1_000_000,
  /** No answer made on the main thread is near this; one that is would be a fault, and must not take all memory. */
  answerBytesMax: 16 * 1024 * 1024,
  /** Tasks that wait for the worker pool: 256 bulk requests of 100 addresses are a quarter of a second of work and 5 MB. */
  poolTasksMax: 256,
  /** Bytes of one block of a bulk file: 3,000 addresses, whose answers (1 MB) stay in the processor's cache until they are written. */
  bulkBlockBytes: 128 * 1024,
  /** Threads of one bulk run: each maps the index and takes turns at one file; more of them wait for each other. */
  bulkThreadsMax: 64,
  /** Ten times the size the index is made for; above it a typing error fills the disk. */
  synthLabelsMax: 100_000_000,
  /** Characters of a ledger reference: operation, chain and the longest address that a request may name. */
  ledgerReferenceMax: 640,
  /** Accounts whose standing is kept in memory: about 400 bytes each, 80 MB. */
  ledgerHeadsMax: 200_000,
  /** Entries behind which the index of last entries may lag: read again at a start after a crash, in 0.1 s; sorted in 3 ms. */
  ledgerIndexLagMax: 8_192,
  /** Accounts whose index is written in one commit: 1 ms of the main thread. */
  ledgerIndexSliceMax: 512,
  /** Charges of one commit: 1,000 are 10 ms of the main thread, and 256 requests in flight never fill it. */
  ledgerBatchMax: 1_000,
  /** Charges that wait for their commit: seconds of work, beyond which more of them only grow the heap. */
  ledgerQueueMax: 100_000,
  /** How long a reservation in Redis lives without its node: longer than any request works, as long as a dead node holds credits. */
  ledgerHoldMs: 120_000,
  /** How long Redis refuses a charge that was undone before it came: what waits in a socket comes within seconds of its end. */
  ledgerMarkMs: 600_000,
  /** Charges to be undone once Redis answers again: seconds of work, as the queue of charges above. */
  ledgerAmendsMax: 100_000,
  /** How long Redis knows what an event took of a quota: jobs are settled within days. */
  quotaEventMs: 100 * 24 * 3_600_000,
  /** Credits of one entry: a typing error in a grant should be seen, and sums must stay exact in doubles. */
  ledgerAmountMax: 1_000_000_000,
  /** Entries of one page of usage: what monitoring lists allow too. */
  usagePageMax: 100,
  /** Days with entries that usage sums up: a month and the day it began on. */
  usageDaysMax: 31,
  /** Decisions: an answer is kept for its Idempotency-Key this long. */
  idempotencyMs: 24 * 3_600_000,
  /** Characters of an Idempotency-Key: four UUIDs; the header limit would allow 4,000. */
  idempotencyKeyTextMax: 255,
  /** Answers that ended their 24 hours and are removed in a commit that keeps a new one: faster than they come. */
  idempotencyPurgeMax: 8,
  /** Results on loan at once: more than the tasks that threads finish while the main thread writes one; a result without a slot is copied. */
  poolSlots: 64,
  /** A bulk answer of 100 well-labelled addresses is about 100 KB; longer ones are copied. Untouched slots cost no memory. */
  poolSlotBytes: 256 * 1024,
  /** Issue: body of a bulk job. 25 million lines with an EVM address each. */
  jobBytesMax: 1024 ** 3,
  /** Lines of a job of labels or sanctions: more than a gigabyte of the shortest addresses has. */
  jobLinesMax: 50_000_000,
  /** Lines of a job over the graph, a millisecond and more each: a night's work of one machine. */
  jobGraphLinesMax: 1_000_000,
  /** A line of a job: an address and a handful of fields have below 1 KB. */
  jobLineBytesMax: 16 * 1024,
  /** Columns of a CSV of a job: exports of wallets have below 30. */
  jobColumnsMax: 100,
  /** Jobs of one account that are not ended: whoever has more to do sends larger ones. */
  jobsOpenPerAccount: 20,
  /** Jobs of one account that are kept, ended ones with them: 300 bytes each, and one look lists them all. */
  jobsPerAccount: 1_000,
  /**
   * Bytes that one account may keep in the folder of jobs, bodies and results, before another job is taken: 200 million answers of
   * labels. Lines that are wrong cost nothing, and fill the disk as others do.
   */
  jobBytesPerAccount: 64 * 1024 ** 3,
  /** What an answer that is not there yet is counted as: of labels it has 325 bytes on average, an error, which is free, 100 to 600. */
  jobAnswerBytesExpected: 256,
  /** Uploads that come in at once: two buffers of a megabyte each. */
  jobUploadsMax: 32,
  /** Of them of one account: a few that send slowly must not hold the places of all. */
  jobUploadsPerAccount: 8,
  /** Free space that uploads and results leave to the stores beside them, which must never be refused a write. */
  jobDiskFreeMin: 1024 ** 3,
  /** Attempts at one chunk: a thread may die once by accident, and once more by another. */
  jobChunkAttempts: 3,
  /** How long the files of an ended job are kept: a week-end and the days around it. */
  jobFilesKeptMs: 7 * 24 * 3_600_000,
  /** And the line that tells of it: as long as a bill is asked about. */
  jobKeptMs: 30 * 24 * 3_600_000,
  /** Rows of one file of a register: FinCEN's list, the largest, has 25,000. */
  registerRowsMax: 500_000,
  /** Files of one register: a file a day for five years. */
  registerFilesMax: 2_000,
  /** Trigrams counted to answer one misspelt name: 20,000 take 0.1 ms, and the rarest, which decide, come first. */
  registerPostingsMax: 20_000,
  /** Names measured letter by letter for one misspelt name. */
  registerCandidatesMax: 64,
  /** A name that is longer names no exchange: the longest legal name of the real registers has 90 characters. */
  exchangeNameMax: 200,
  /** Answers about exchanges kept as bytes: 5 KB each. */
  exchangeAnswersKept: 2_000,
  /** NIST SP 800-63B asks for 8 characters at least; ten resist guessing at the rate that attempts are limited to. */
  passwordCharsMin: 10,
  /** A passphrase of twenty words; scrypt hashes any length, and longer texts only cost time. */
  passwordCharsMax: 256,
  /** Passwords that are checked at once: each takes a thread about 0.2 s and 32 MiB, and screenings wait behind it. */
  passwordDerivationsMax: 8,
  /** How long failed attempts are counted. */
  attemptWindowMs: 15 * 60_000,
  /** Failed attempts at one account in that time: a person who forgot needs fewer. */
  attemptsPerAccountMax: 10,
  /** Failed attempts from one client address in that time: an office behind one address needs fewer. */
  attemptsPerAddressMax: 50,
  /** Accounts and addresses whose attempts are counted at once: about 150 bytes each, 15 MB. */
  attemptWindowsMax: 100_000,
  /** Decisions: a session ends after this. */
  sessionMs: 12 * 3_600_000,
  /** A letter that confirms a mail address may lie in a letter box for a day. */
  verifyTokenMs: 24 * 3_600_000,
  /** A letter that gives a new password should be used at once. */
  resetTokenMs: 3_600_000,
  /** RFC 5321: the longest path of a mail address. */
  emailCharsMax: 254,
  /** Letters on their way to the mail server at once: each holds a connection. */
  lettersInFlightMax: 32,
  /** A mail server that does not answer one step for this long is down. */
  smtpStepMs: 15_000,
  /** Who, from where and details of one entry of the audit log: texts for reading. */
  auditTextMax: 200,
  /** Keys of one account: listed in one answer of 60 KB. Operators may go beyond on the command line. */
  keysPerAccountMax: 200,
  /**
   * Addresses beyond the direct counterparties that one direction of a screening looks at: about 1 ms, and on the synthetic graph all
   * but 1 % of the value (500 leave 3 %, 2,000 leave 0.2 %).
   */
  exposureNodesMax: 1_000,
  /**
   * Assets without a price that one direction of a screening follows, each by itself. An address deals in few; strangers who send more
   * than these come behind what it deals in.
   */
  exposureAssetsMax: 16,
  /** Addresses that the walk of each of them looks at: half of those of the direction, so that sixteen take 8 ms. */
  exposureAssetNodesMax: 500,
  /** Edges that one direction of a screening keeps, a bound for graphs in which all trade with all: 12 MB; a usual one has 20,000. */
  exposureEdgesMax: 1_000_000,
  /** Decisions: an entry of the exposure index that waits longer than this makes an answer say GRAPH_NOT_READ. */
  exposureWaitMsMax: 10 * 60_000,
  /** Transfers that one round of an update reads: their addresses take up to 2 s at 2 ms each, and are visible after the round. */
  exposureLogARound: 500,
  /** Transfers behind which an index is built again: computing their addresses one by one would take longer (40,000 at 2 ms each). */
  exposureLogBehindMax: 20_000,
  /** Addresses that one change makes wait: 10 s of walks at 2 ms each. A sweep of everything costs less than many such changes. */
  exposureReachMax: 5_000,
  /** Entries that are computed between two commits of an update. */
  exposureBatch: 64,
  /** Milliseconds of each second that entries which wait are computed in: a fifth of one core, 100 entries. */
  exposureWorkMsASecond: 200,
  /** Exposures that an answer lists of each direction: what a person reads; the shares count all. */
  exposuresListed: 200,
  /** Transactions that a screening looks for the origin of outputs in, under each rule: about 5 ms. */
  screeningTaintTransactions: 200,
  /** Days with transfers that a screening lists: a year. */
  dailyFlowsListed: 365,
  /** Decisions: tracing stops at so many addresses. */
  traceNodesMax: 5_000,
  /** Pairs of addresses with transfers between them in one trace: two a node; more of them is the web between services. */
  traceEdgesMax: 10_000,
  /** Edges that a trace lists, one an asset: 300 bytes each, 6 MB. */
  traceAssetEdgesMax: 20_000,
  /** Paths that an answer lists: what a person compares. */
  pathsListed: 10,
  /** Addresses that a search for paths sees from both ends, most of which no answer names: about 20 ms. */
  pathNodesMax: 50_000,
  /** Begun paths that a search looks at: as long again. */
  pathStepsMax: 200_000,
  /** Paths between the parties of a KYT check that are looked at for whom they pass. */
  kytPathsMax: 5,
  /** Bridges whose other side one trace looks at, and the addresses of each: as much again as the trace itself. */
  crossingsMax: 10,
  crossingNodesMax: 500,
  /** Nodes of graphs whose labels a thread remembers: a power of two, 8 bytes each, 32 MB; more nodes take turns in the slots. */
  attributedNodesKept: 2 ** 22,
  /** Degrees of addresses that a thread remembers: a power of two, 12 bytes each, 12 MB. */
  rememberedDegrees: 2 ** 20,
  /** Attributions that differ, kept of one snapshot: an entity and category each, about 1 KB, 100 MB. */
  attributionsKept: 100_000,
  /** Bytes of one answer of a chain's endpoint: a full Ethereum block with all its call traces has 10 to 30 MB. */
  endpointAnswerBytesMax: 64 * 1024 * 1024,
  /** The same where a screening waits, whose pages have below 1 MB: more could neither come nor be read within its budget. */
  endpointShortAnswerBytesMax: 16 * 1024 * 1024,
  /** Questions with less time than this are those of a screening (2.5 s); blocks that are followed have 20 s and more. */
  endpointLongCallMs: 4_000,
  /** One attempt at one endpoint: public nodes answer within 1 s, traces of a full block within 5. */
  endpointAttemptMs: 10_000,
  /** A node that has not taken the connection by then is down. */
  endpointConnectMs: 5_000,
  /** Attempts that ended before this say nothing about the endpoint: the question had too little time left. */
  endpointFaultFromMs: 500,
  /** Failures in a row after which an endpoint that has answered before is left alone; one that never did is at the first. */
  endpointFailuresMax: 3,
  /** How long it is left alone at first; doubled with each further failure, so that a node that restarts is found soon. */
  endpointDownMsMin: 1_000,
  /** And at most: unreachable endpoints are asked twelve times an hour. */
  endpointDownMsMax: 300_000,
  /** An endpoint of another chain is asked again after this: somebody may have put it right. */
  endpointMismatchMs: 60_000,
  /** Time a question waits for an endpoint that is just being tried again: a node on the same machine answers within it. */
  endpointProbeWaitMs: 250,
  /** Times that all endpoints of a chain are tried for one question. */
  endpointRoundsMax: 3,
  /** First wait between such rounds; doubled, with jitter. */
  endpointRoundMs: 100,
  /** A Retry-After is honoured up to here; longer ones are asked again after this. */
  endpointRetryAfterMsMax: 3_600_000,
  /** Questions under way at one endpoint: nodes answer about as many in parallel, public ones allow no more. */
  endpointConcurrency: 8,
  /** Questions that wait for their turn at one endpoint. */
  endpointQueueMax: 256,
  /** Requests a second at an operator's own node, which has no other guests. */
  endpointOwnPerSecond: 500,
  /** Requests a second at a public endpoint: the slowest of them (Etherscan's free plan) allows 5 and bans above. */
  endpointPublicPerSecond: 4,
  /** Endpoints of one chain and role. */
  endpointsPerChainMax: 16,
  /** Blocks of a reorg that following undoes: the deepest by accident had 157 (Polygon, February 2023). Attacks are a person's matter. */
  reorgBlocksMax: 512,
  /** Blocks fetched ahead while following catches up: hides the way to the node, and holds at most a few full blocks. */
  followAheadBlocks: 4,
  /** Pages of one history that are read: a source whose cursor never ends is stopped here. */
  historyPagesMax: 1_000,
  /** Transfers asked of a history in one page: one page of the usual explorers, and a write of 10 ms on the main thread. */
  onDemandPageTransfers: 500,
  /** Transfers fetched of one address for one screening: as many as fit into the budget of a good source, and a day's of an exchange. */
  onDemandTransfersMax: 10_000,
  /** Addresses whose balances are remembered for a moment: 300 bytes each. */
  onDemandBalancesKept: 10_000,
  /** Characters of a cursor: those of Blockscout and Horizon have below 300. */
  historyCursorCharsMax: 2_048,
  /** Stripe's own tolerance: a signature older than this, or from further ahead, is refused. */
  webhookToleranceMs: 300_000,
  /** A receiver's URL: longer than those of every chat service, shorter than what servers refuse. */
  receiverUrlCharsMax: 2_048,
  /** Decisions: a webhook is given this long to answer. */
  deliveryTimeoutMs: 15_000,
  /** A receiver that asks for more time than a day (Retry-After) does not want the alert. */
  retryAfterMaxMs: 24 * 3_600_000,
  /** Decisions: a rotated secret signs beside the new one this long, so that a receiver can change over. */
  webhookSecretOverlapMs: 24 * 3_600_000,
  /** Deliveries on their way at once: a socket each, and systems allow 1,024 files by default. */
  deliveriesInFlightMax: 512,
  /** Deliveries to one receiver at once: more would be an attack on a small one. */
  deliveriesPerReceiverMax: 4,
  /** Alerts on their way to the mail server at once: each has a connection of its own, and servers of hosters allow ten. */
  alertLettersInFlightMax: 8,
  /** Waiting deliveries of one receiver that are looked at to find the next: those of 256 wallets. */
  deliveryScanMax: 256,
  /** Of an answer to a delivery, what is read before the connection is dropped: its status alone counts. */
  deliveryAnswerBytesMax: 16 * 1024,
  /** Delivery log: as long as a receiver may take to notice, and to ask what was sent. */
  deliveriesKeptMs: 30 * 24 * 3_600_000,
  /** Ended deliveries removed with each new one: faster than they come. */
  deliveriesPurgeMax: 4,
  /** Attempts of one delivery that are kept: ten rounds of replays. */
  deliveryAttemptsKept: 100,
  /** Alerts named in one digest: about 150 KB of mail; the rest is counted. */
  digestAlertsMax: 500,
  /** Deliveries looked through for one page of a filter: some 20 ms. A page that ends there is shorter, and says where to go on. */
  deliveriesLookedMax: 2_000,
  /** Deliveries of one page. */
  deliveriesPageMax: 100,
  /** Changes of one alert that are kept: a person's work on it, not a script's. */
  alertHistoryKept: 200,
  /** Wallets of one answer: about 500 KB. */
  walletsPageMax: 1_000,
  /** Alerts or transactions of one answer, as the specification says. */
  monitoringPageMax: 100,
  /** A request of a listener to a node: nobody waits for it, and a slow node is better than none. */
  listenerBudgetMs: 30_000,
  /** An alert waits this long for prices of a server: it should be out within a second of its block. */
  alertPriceWaitMs: 500,
  /** A wallet's label and notes: lines for people. */
  walletLabelCharsMax: 200,
  walletNotesCharsMax: 4_000,
  /** Addresses of one filter of alerts. */
  alertAddressesMax: 50,
  /** Changes of watched wallets that a listener follows one by one; one that slept longer reads all wallets. */
  watchChangesKept: 10_000,
  /** How often it is looked for wallets to be screened again: twenty range reads, and half of what a new score takes. */
  walletRefreshLookMs: 500,
  /** A wallet is screened this long after an alert: alerts of one block are one refresh. */
  walletRefreshDelayMs: 500,
  /** Least time between two refreshes of a wallet: one that alerts with each block costs at most 12 screenings a minute. */
  walletRefreshGapMs: 5_000,
  /** A screening that failed is tried again after this: a pool that is full, or a node that holds the chain, comes back in seconds. */
  walletRefreshRetryMs: 30_000,
  /** Refreshes at a time: of the smallest pool, requests keep the room of two tasks of four. */
  walletRefreshesAtOnce: 2,
  /** Scheduled refreshes of a chain a look, 20 a second: a million wallets in 14 hours, for half of one core at 25 ms each. */
  walletRefreshesScheduled: 10,
  /** Refreshes behind alerts of a chain a look, before scheduled ones of it or of other chains come to their turn. */
  walletRefreshesAlerted: 40,
  /** Wallets of an earlier version that are given their place in the schedule in one transaction. */
  walletRefreshesPlanned: 1_000,
  /** Wallets of lists that are held in memory: about 1 KB each. */
  listedWalletsHeld: 100_000,
  /** A registration waits this long for a node to name its newest block; then watching begins with what it says first. */
  headBudgetMs: 3_000,
  /** Changes of an account that a stream can go back to: a day of a busy one. */
  changesKept: 10_000,
  /** Changes read from the store at a time for a stream that missed some. */
  streamBacklogPage: 100,
  /** What waits in memory for a reader that is slower than its alerts: some 500 of them. Then it is dropped, and may resume. */
  streamBufferBytesMax: 1024 * 1024,
  /** Streams of one account at once: each is a socket. */
  streamsPerAccountMax: 20,
  /** Proxies end connections that are silent for a minute. */
  streamPingMs: 20_000,
  /** A Redis that has not answered the connection by then is down; another attempt follows. */
  redisConnectMs: 2_000,
  /** An atomic step takes under a millisecond; a fail-over of a cluster 1 to 5 s, and an API client is told before that. */
  redisCommandMs: 3_000,
  /** A start waits for a Redis that starts beside it, or fails over; then it ends with a sentence. */
  redisStartMs: 10_000,
  /** A question to the remote store of a graph: a fail-over of a cluster within it goes unnoticed, and a worker waits no longer. */
  remoteReadMs: 5_000,
  /** All that one request reads of a remote graph. Pushes keep what they replace for twice as long: clocks of machines differ. */
  remoteQuestionMs: 30_000,
  remoteGraceMs: 60_000,
  /** How long the newest version of a remote graph is believed: one round trip less for requests that follow each other. */
  remoteHeadMs: 250,
  /** Records of a remote graph that a thread remembers: the addresses that half of all traces pass. */
  remoteCacheBytes: 64 * 1024 * 1024,
  /** Parts that the records of a chain are spread over: 4 GB each of a terabyte, and even over some dozens of servers. */
  remoteBuckets: 256,
  /** Keys of one command: a megabyte of the largest chunks, which holds others up for a millisecond. */
  remoteKeysPerCommand: 128,
  /** Addresses that a walk fetches ahead: 2 MB of usual ones. */
  remoteNodesPerFetch: 4_096,
  /** Chunks of edges or of the log that are fetched ahead: 4 MB. */
  remoteChunksPerFetch: 512,
  /** Neighbours up to so many bytes stand with their address: some 25, which is more than nine in ten have. */
  remoteInlineBytes: 1_024,
  /** What a push writes at a time, over all buckets, and in one script. */
  remotePushRecords: 20_000,
  remotePushBytes: 8 * 1024 * 1024,
  remoteScriptBytes: 256 * 1024,
  /** How often a push says how far it is: what a replica is behind is less. */
  remotePushSaveMs: 2_000,
  /** Servers that stay away for longer than a fail-over end a push; it is taken up by the next. */
  remotePushPatienceMs: 30_000,
  remotePushPauseMs: 250,
  /** A push that was killed makes the next one wait for so long. */
  remotePushLeaseMs: 30_000,
  /** A question to another node's graph: as long as the slowest trace takes, and a node that dies with it is noticed and replaced. */
  graphQuestionMs: 15_000,
  /** Questions that one node asks of others at once: each is answered within milliseconds by a thread there. */
  graphQuestionsMax: 256,
  /** Questions that wait for the nodes of a placement, of all who ask: a second's work of a few threads. */
  graphQuestionsWaitingMax: 1_000,
  /** How long a write waits for replicas: they answer within milliseconds, or are away. */
  redisReplicasMs: 1_000,
  /** What a node reads is called current for this long after it heard from Redis: a revoked key is refused everywhere within a second. */
  replicaCurrentMs: 1_000,
  /** A follower hears from Redis at least this often: a few times within `replicaCurrentMs`, and a handful of tiny commands a second. */
  replicaListenMs: 200,
  /** A write is tried until then: a cluster takes 1 to 5 s to fail over. */
  replicaWriteMs: 6_000,
  /** A start waits so long for the first copy of what others wrote: some millions of records. */
  replicaReadyMs: 60_000,
  /** Write sets that a stream holds, and their bytes: what a node was away for longer than, it copies whole, in seconds. */
  replicaStreamMax: 10_000,
  replicaStreamBytesMax: 64 * 1024 * 1024,
  /** One write set: Redis does nothing else while it takes it, some 50 ms. */
  replicaWriteBytesMax: 32 * 1024 * 1024,
  /** Transactions that go to Redis together, and the bytes at which no more are added: what waits meanwhile goes with the next. */
  replicaGroupMax: 256,
  replicaGroupBytesMax: 1024 * 1024,
  /** Transactions that wait in one node: each is a request that is held. More are refused. */
  replicaWaitingMax: 20_000,
  /** Write sets of one reply, unless a single one is more. */
  replicaReplyBytesMax: 4 * 1024 * 1024,
  /** Records of one reply of a copy: some hundred KB. */
  replicaCopyPage: 500,
  /** A copy begins anew where it was overtaken by what is written: it is many times faster than that, or it never ends. */
  replicaCopiesMax: 5,
  /** Redis forgets the last write set of a process that went away. */
  replicaWriterMs: 3_600_000,
  /** One script of a filling: Redis does nothing else for a few milliseconds. */
  fillPageRecords: 1_000,
  fillPageBytes: 512 * 1024,
  /** Entries of the ledger that are read ahead, to go account by account, and accounts that are written at once. */
  fillReadAheadBytes: 8 * 1024 * 1024,
  fillAtOnce: 16,
  /** A client that sends a large body may wait for its own source, and for a line that fails; one that is silent for longer is gone. */
  uploadSilenceMs: 60_000,
  /**
   * Beyond a first while, in which its source may be slow, a sender of a large body holds one of few places: 16 KB/s is a bad mobile
   * network, and brings the largest body within 19 hours.
   */
  uploadGraceMs: 300_000,
  uploadBytesPerSecondMin: 16 * 1024,
  /** A command that is interrupted ends by itself at its next safe point; those that have none this near are ended. */
  interruptMsMax: 1_500,
  /** A server that stops after an error which it did not foresee may not come to an end by itself. Its stores are flushed long before. */
  faultMsMax: 10_000,
  /** Behind a stop everything is closed; what still holds the process then waits for a machine that is away. */
  exitMsMax: 2_000,
  /** A client that is refused while it sends reads why within this; longer, and it is not listening. */
  lingerMs: 5_000,
  /** Bulk jobs of one page, as other lists have it. */
  jobsPageMax: 100,
  /** Of a large answer, what is read at a time: a few hundred KB a client with what its socket holds, and 1 GB/s from a warm file. */
  answerPieceBytes: 128 * 1024,
  /** A release names about 20 files, and one more for each 250 firms of a register; 150 bytes each. */
  releaseBytesMax: 4 * 1024 * 1024,
  releaseFilesMax: 10_000,
  /** The largest snapshot (3.75 GB), the largest index of names (the same), and what stands beside them. */
  releaseTotalBytesMax: 8 * 1024 ** 3,
  /** Releases that a publisher keeps files of: a node in the middle of the last one can end it. Each costs a snapshot at most. */
  releasesKept: 2,
  /** The same in an object store, where room is cheap and readers are slow. */
  releasesKeptInStore: 5,
  /** Sockets of nodes that pull: one waits for news, one reads. */
  snapshotConnectionsMax: 512,
  /** How long a question for news may wait for some: below what proxies allow. */
  snapshotWaitMsMax: 25_000,
  /** A node that reads a snapshot this slowly (no byte taken for so long) is gone. */
  snapshotStallMs: 60_000,
  /** Read at a time of a file that is sent: 32 sockets hold 8 MB. */
  snapshotReadBytes: 256 * 1024,
  /** Bytes of one part of an upload, and of the largest single one: held in memory once. 10,000 parts are the most S3 takes: 312 GB. */
  uploadPartBytes: 32 * 1024 * 1024,
  /** An answer of an object store that is no file: errors and receipts have below 2 KB. */
  storeAnswerBytesMax: 64 * 1024,
  /** Links between entities and listed parties in one file: a few dozen ship; a link is checked by a person. */
  entityPartiesMax: 10_000,
  /** Proposed links in one report: a person reads them all. */
  entityProposalsMax: 1_000,
  /** A store of this size is compared with its checksums at every start, in a quarter of a second; a larger one only if it was written to. */
  checkedAtOpenBytesMax: 256 * 1024 * 1024,
} as const;
