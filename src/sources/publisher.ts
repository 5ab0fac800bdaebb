/** The files that a publisher offers for download. */

/** One file of a publisher, at its official and stable address. */
export interface PublisherFile {
  /** Plain file name: the name of the copy in its folder, and the part that is appended to the URL of a mirror. */
  readonly name: string;
  readonly url: string;
  /** The publisher may not always have this file; if it is missing, the source does not fail. */
  readonly optional?: boolean;
}

/** A source with files to download. */
export interface PublisherSource {
  /** Source id (`ofac`, `graphsense`, …), the same as on the command line. */
  readonly id: string;
  readonly files: readonly PublisherFile[];
}
