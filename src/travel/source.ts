/** Where a node pulls releases from, whatever carries them. Implemented by http-source.ts and s3-store.ts. */
import type { ReleaseFile } from './release.ts';

/** What a look at the newest release says. */
export type Latest =
  | { readonly state: 'new'; readonly envelope: Uint8Array; readonly tag: string | null }
  /** The same as at the look that gave `tag`. */
  | { readonly state: 'unchanged' }
  /** The publisher is there and has published nothing yet. */
  | { readonly state: 'none' };

export interface ReleaseSource {
  /** For messages: says where, never with what secret. */
  readonly name: string;
  /** Milliseconds between two looks, for a source that cannot be waited at. */
  readonly lookMs: number;
  /**
   * The newest release. `tag`: of the last one seen; the source may then wait up to `waitMs` for a newer one. Throws SOURCE_UNAVAILABLE.
   */
  latest(tag: string | null, waitMs: number, signal: AbortSignal): Promise<Latest>;
  /**
   * The bytes of a file from `from` on. Throws SourceFault (the connection, the server: it may pass) or SOURCE_UNAVAILABLE (it will
   * not). The bytes are not checked.
   */
  read(file: ReleaseFile, from: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** A failure that may pass: another attempt is worth its while. */
export class SourceFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceFault';
  }
}
