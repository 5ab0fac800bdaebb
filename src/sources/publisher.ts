/** What is known of a publisher: who it is, and where its files stand. One row in the `download.ts` of each source folder. */

/** One file of a publisher, at its official and stable address. */
export interface PublisherFile {
  /** Plain file name: what the copy is called in its folder, and what is appended to the URL of a mirror. */
  readonly name: string;
  readonly url: string;
  /** A publisher may not have it at times; its failure is not the source's failure. */
  readonly optional?: boolean;
}

export interface PublisherSource {
  /** Source id (`ofac`, `graphsense`, …), the same as on the command line. */
  readonly id: string;
  readonly files: readonly PublisherFile[];
  /** The publishing body's name, for people and for `SanctionsEntry.authority`. */
  readonly authority: string;
  /** A page for people. */
  readonly homepage: string;
  /** Licence or terms of the data, in a few words. */
  readonly licence: string;
}
