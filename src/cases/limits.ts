/** Limits of cases, each with the reason for its value. */
export const CASE_LIMITS = {
  /** Title of a case, and labels of its links: one line of a list. */
  titleCharsMax: 200,
  linkLabelCharsMax: 120,
  /** An id of another record, or the hash of a transaction: the longest, of Algorand and Cardano, have fewer characters. */
  linkIdCharsMax: 200,
  /** An id, an email address or a name. */
  assigneeCharsMax: 128,
  /** A code of the organisation's own list. */
  reasonCodeCharsMax: 64,
  /** A note of a person: two pages. */
  noteCharsMax: 8_000,
  /** Cases of one page. With `linksMax`, a page is at most 10 MB, below the largest response. */
  pageMax: 100,
  /** Characters of all notes of a case, as a search reads them: 250 pages. A search and an export read all of them. */
  caseNoteCharsMax: 1_000_000,
  /** Links of a case. They are in its record, which is rewritten with each change. */
  linksMax: 100,
  /** Links that one request to create a case may have: a selection in an inbox. */
  linksAtOnceMax: 20,
  /** Version of the data of an answer: three dates and hashes. */
  dataVersionCharsMax: 200,
  /** Text of a screening, a trace or another answer that a link keeps. The largest screenings have 300 KB; a body has at most 1 MB. */
  linkedAnswerBytesMax: 512 * 1024,
  /** Answers in one page of events, in bytes: a quarter of the largest response. The page then ends early. */
  answersPageBytesMax: 4 * 1024 * 1024,
  /** Events of a case: the work of people, not of a script. A search reads all of them. */
  eventsMax: 2_000,
  /** Files of a case, and bytes of a file and of all files of an account: on many nodes, Redis keeps them in memory. */
  filesMax: 50,
  fileBytesMax: 8 * 1024 * 1024,
  accountFileBytesMax: 256 * 1024 * 1024,
  fileNameCharsMax: 120,
  /** Bytes of a file in one record: a copy of a store reads 500 records at a time. */
  filePieceBytes: 64 * 1024,
  /** Uploads of files that one node holds in memory at the same time: at most 64 MB. Further ones are refused until one has ended. */
  uploadsMax: 8,
  /** Of these, uploads of one account: others find room beside an account that sends slowly. */
  accountUploadsMax: 3,
  /** Cases of an account: 15 a day for ten years are 55,000. */
  casesMax: 100_000,
  /** Records and characters that one step of a list reads while it searches: 5 to 10 ms, in which the process answers nothing else. */
  searchRecordsMax: 500,
  searchCharsMax: 1_000_000,
  /** Steps of one page. The page may be short although more cases match; its cursor continues. */
  searchStepsMax: 10,
  /** Links and files of a case that take as long to read as one more record. */
  searchLinksOfRecord: 10,
  /** Text of a search. */
  searchTextCharsMax: 100,
  /** Cases that one transaction deletes: each may have 8,000 records, and a transaction writes at most 32 MB. */
  deletedAtOnceMax: 5,
  /** The last events of a case are reserved for its status and its decision, so that a case with very many events can still be closed. */
  eventsReserved: 20,
} as const;
