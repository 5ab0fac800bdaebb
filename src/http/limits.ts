/** Limits of requests, responses and pages, each with the reason for its value. */
export const HTTP_LIMITS = {
  /** Specification decisions: maximum body of a request, unless the route has its own limit. */
  bodyBytesMax: 1024 * 1024,
  /**
   * Maximum body of an operation for clients without a key or session: passwords, tokens and an email address. Anybody can have the server hold so
   * much for each connection.
   */
  openBodyBytesMax: 16 * 1024,
  /**
   * Bytes of the bodies without a response that one account may send at once: 32 of the largest, or 6,000 with 100 addresses. Bodies that arrive
   * slowly are held for a minute.
   */
  heldBodyBytesOfAccount: 32 * 1024 * 1024,
  /** The same of a client without an account, by its address: 128 of the largest. */
  heldBodyBytesOfClient: 2 * 1024 * 1024,
  /** The same of all, on one thread that accepts connections: four accounts that send as much as they may. A server of 1 GB has so much left. */
  heldBodyBytesMax: 128 * 1024 * 1024,
  /** What a chunk of a body takes besides its bytes: its two objects, and the part of the allocator. */
  heldChunkBytes: 256,
  /** No real request nests deeper than an array of objects; recursion in a parser must stay far from the end of the stack. */
  jsonDepthMax: 16,
  /**
   * Fields and elements of a body: parsing, comparing and validating them takes some 20 ms of the main thread. The largest bodies are cases with
   * answers, and an answer has one in each 22 bytes: 24,000 in 512 KB.
   */
  jsonValuesMax: 32_768,
  /** Cleared matches on one page, as for other lists. */
  clearedPageMax: 100,
  clearedPageDefault: 50,
  /** Shutdown must end: longer than the slowest response, shorter than the 30 s after which supervisors kill the process. */
  shutdownMsMax: 15_000,
  /**
   * Open files that connections leave to the rest of the process: a start has about 80 open, and lists, jobs, chains, receivers and Redis need
   * more under load. A quarter of a large limit is for streams of chains and deliveries.
   */
  reservedFilesMin: 256,
  reservedFilesShare: 0.25,
  /** Even if hardly any file may be opened, probes and an operator can connect. */
  connectionsMin: 16,
  /** Refused connections are logged at most once in this time: a flood would fill the log. */
  refusalLogMs: 60_000,
  /** Interval at which the files of the own certificate are compared: two small files, and a renewal comes weeks before the end. */
  certificateCheckMs: 60_000,
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
  /** Responses of this size and below are sent as they are: they fit in one packet, and compression would cost more than it saves. */
  uncompressedBytesMax: 1024,
  /** Responses that are compressed at the same time: twice the threads that do it. Others are then sent as they are. */
  compressionsMax: 8,
  /** A response larger than this is passed to the socket in pieces as the client reads, and is not copied into the socket's buffer. */
  bufferedAnswerBytesMax: 64 * 1024,
  /** The client's own X-Request-Id is echoed up to this length; a longer one would only bloat every log line. */
  requestIdTextMax: 64,
  /** Unknown fields that a response lists in `ignored`: enough to show a misspelling, too few to fill a response. */
  bodyFieldsMax: 32,
  /** No response built on the main thread comes near this size; a larger one would be a fault, and must not use up all memory. */
  answerBytesMax: 16 * 1024 * 1024,
  /** Entries on one page of usage, as for the lists of monitoring. */
  usagePageMax: 100,
  /** Entries of the audit log on one page, as for the ledger. */
  auditPageMax: 100,
  /**
   * Milliseconds of the main thread in each second that one account may take with free requests: others have most of the thread. A search of all
   * cases takes 20 ms a page, so a person or a program can read a dozen pages a second for good.
   */
  freeWorkMsPerSecond: 250,
  /** Milliseconds that it may take at once. Time is measured by the clock, so other programs on the machine count as well: not less than seconds. */
  freeWorkMsMax: 2_000,
  /** A shorter step is not counted: thousands of them a second are within no rate limit. */
  freeWorkStepMs: 2,
  /** Accounts in debt after which those that have paid it are dropped: 100 bytes each. */
  freeWorkAccountsMax: 1_000,
  /** Keys of one account: listed in one response of 60 KB. Operators may exceed this on the command line. */
  keysPerAccountMax: 200,
  /** Deliveries on one page. */
  deliveriesPageMax: 100,
  /** Wallets in one response: about 500 KB. */
  walletsPageMax: 1_000,
  /** Addresses in one filter of alerts. */
  alertAddressesMax: 50,
  /** A client that sends a large body may wait for its own source, or for a failing connection; if it is silent for longer, it is gone. */
  uploadSilenceMs: 60_000,
  /** Chunks of a body that is read as a whole: 20 ms of the thread that reads them. Clients that encode piece by piece send some thousand. */
  bodyChunksMax: 8_192,
  /** Average size of the chunks of a streamed body that has more than `bodyChunksMax`: half a short address, of clients that send each line in a chunk. */
  uploadChunkBytesMin: 16,
  /**
   * After a grace period, in which its source may be slow, the sender of a large body holds one of few places: 16 KB/s is a bad mobile
   * network, and transfers the largest body within 19 hours.
   */
  uploadGraceMs: 300_000,
  uploadBytesPerSecondMin: 16 * 1024,
  /** A client that is rejected while it sends reads the reason within this time; otherwise it is not reading. */
  lingerMs: 5_000,
  /** Bulk jobs on one page, as for other lists. */
  jobsPageMax: 100,
  /**
   * Bytes of a large response that are read at a time: a few hundred KB per client including its socket buffer, and 1 GB/s from a cached
   * file.
   */
  answerPieceBytes: 128 * 1024,
} as const;
