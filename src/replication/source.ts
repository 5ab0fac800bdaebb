/** The interface of a source of releases. Implemented by http/source.ts and s3/source.ts. */
import type { ReleaseFile } from './release.ts';

/** The result of a query for the newest release. */
export type Latest =
  | { readonly state: 'new'; readonly envelope: Uint8Array; readonly tag: string | null }
  /** The same release as that of `tag`. */
  | { readonly state: 'unchanged' }
  /** The publisher responds, but has published nothing yet. */
  | { readonly state: 'none' };

export interface ReleaseSource {
  /** Name for messages: the location, without secrets. */
  readonly name: string;
  /** Polling interval in milliseconds, for a source without long polling. */
  readonly pollMs: number;
  /**
   * Returns the newest release. Throws SOURCE_UNAVAILABLE.
   *
   * @param tag - tag of the last release seen; the source may then wait up to `waitMs` for a newer one
   */
  latest(tag: string | null, waitMs: number, signal: AbortSignal): Promise<Latest>;
  /**
   * Returns the bytes of a file from `from` on. The bytes are not verified. Throws SourceFault for a temporary fault (connection, server)
   * or SOURCE_UNAVAILABLE for a permanent one.
   */
  read(file: ReleaseFile, from: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** A temporary failure; the caller should retry. */
export class SourceFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceFault';
  }
}
