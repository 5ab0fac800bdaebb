/** Description of a publisher and of its files. One row in the `download.ts` of each source folder. */

/** One file of a publisher, at its official and stable address. */
export interface PublisherFile {
  /** Plain file name: the name of the copy in its folder, and the part that is appended to the URL of a mirror. */
  readonly name: string;
  readonly url: string;
  /** The publisher may not always have this file; if it is missing, the source does not fail. */
  readonly optional?: boolean;
}

export interface PublisherSource {
  /** Source id (`ofac`, `graphsense`, …), the same as on the command line. */
  readonly id: string;
  readonly files: readonly PublisherFile[];
  /** The publishing body's name, for people and for `SanctionsEntry.authority`. */
  readonly authority: string;
  /** Web page for people. */
  readonly homepage: string;
  /** Licence or terms of the data, in a few words. */
  readonly licence: string;
}
