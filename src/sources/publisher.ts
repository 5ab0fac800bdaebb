/** The files that a publisher offers for download. */

/** One request of a file that consists of several responses. */
export interface PartRequest {
  /** Fields of a form; the request is then a POST. */
  readonly form?: Readonly<Record<string, string>>;
}

/**
 * Sends one request and returns the body. Cookies of earlier responses of the same file are sent to the same host.
 *
 * @throws Error if the response is not HTTP 200, is too large, or is one request too many.
 */
export type FetchPart = (url: string, request?: PartRequest) => Promise<Buffer>;

/** One file of a publisher, at its official and stable address. */
export interface PublisherFile {
  /** Plain file name: the name of the copy in its folder, and the part that is appended to the URL of a mirror. */
  readonly name: string;
  readonly url: string;
  /** The publisher may not always have this file; if it is missing, the source does not fail. */
  readonly optional?: boolean;
  /** The file is itself a web page. Default: a web page in place of the file is an error. */
  readonly webPage?: boolean;
  /** Default: `assay`. Some publishers answer only user agents that begin like those of browsers. */
  readonly userAgent?: string;
  /** The publisher requires credentials; the text says which settings contain them. A mirror requires none. */
  readonly credentials?: string;
  /**
   * Yields the contents of a file that the publisher has in parts: pages of an API, or a file at an address that another
   * response contains. A mirror has the whole file. Default: one GET of `url`.
   */
  readonly collect?: (fetchPart: FetchPart) => AsyncIterable<string | Uint8Array>;
}

/** A source with files to download. */
export interface PublisherSource {
  /** Source id (`ofac`, `graphsense`, …), the same as on the command line. */
  readonly id: string;
  readonly files: readonly PublisherFile[];
}

/** The list of a bucket (S3, ListBucketResult): the files of a publisher whose names change. */
export interface FileListing extends PublisherFile {
  /** Keys of the files; the last part of a key is the name of the file. */
  readonly key: RegExp;
}
