/** Limits of source files and their readers, each with the reason for its value. */
export const SOURCE_LIMITS = {
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
  /** The official addresses redirect once or twice (OFAC, UN, GitHub). */
  downloadRedirectsMax: 5,
  /** The largest list on the wire (SDN.XML without compression) has 0.03 GB, all TagPacks 0.015 GB. */
  downloadBytesMax: 1024 ** 3,
  /** 30 MB at 50 KB/s; a slower server is not usable as a source. */
  downloadTotalMs: 15 * 60_000,
  /** Validators that publishers send (ETag, Last-Modified) are short; a longer header is ignored. */
  downloadValidatorCharsMax: 512,
  /** Requests for one file: 61 firms of the FCA, or 50 pages of 200 rows; ten times that is a fault. */
  downloadPartsMax: 1_000,
  /** One page of a register has 0.3 MB, the whole list of FinCEN 8 MB. */
  downloadPartBytesMax: 64 * 1024 * 1024,
  /** The largest page or JSON of a register has 1 MB; such files are read whole. */
  registerFileBytesMax: 64 * 1024 * 1024,
  /** Columns of a sheet of a register: the widest (KoFIU) has 15. */
  sheetColumnsMax: 256,
  /** Different texts of a workbook: a register of 100,000 rows with 10 texts each. */
  sheetTextsMax: 1_000_000,
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
  /** Unreadable rows of a sanctions list that are kept: real files have fewer than ten. With more, no party counts as gone. */
  unreadableRowsMax: 1_000,
  /** One document of a published tree: the export of Ransomwhere has 20 MB, other documents below 2 MB; each is read whole. */
  documentBytesMax: 64 * 1024 * 1024,
  /** Files of a published tree: the repository of l2beat has 60,000, that of trustwallet/assets 90,000. */
  documentEntriesMax: 1_000_000,
  /** A name, URL or comment in a published document: longer texts are not meant for people. */
  documentTextCharsMax: 1_024,
  /** Rows of a Parquet file that are decoded at a time: about 20 MB of addresses. */
  parquetRowsRead: 100_000,
  /** The pools file has 35 KB; it is read whole. */
  poolsFileBytesMax: 16 * 1024 * 1024,
  /** The deepest list (OFAC advanced) nests 11 elements. */
  xmlDepthMax: 64,
  /** The longest text of a real list (a UK statement of reasons) has 15,000 characters; chunks of 256 KiB are counted in full. */
  xmlTokenCharsMax: 4 * 1024 * 1024,
  /** One record as a tree: the largest real ones are OFAC's reference values (1,100) and parties with many aliases (3,000). */
  xmlElementsMax: 100_000,
} as const;
