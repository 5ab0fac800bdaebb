/** The interface of an address codec: one per address format, named in the descriptor of the chain family. */
import type { BatchForm } from './batch-form.ts';
import type { WriteKey } from './fault.ts';

export interface AddressCodec {
  readonly write: WriteKey;
  /** Formats a payload as canonical text; null for a kind byte that the chain does not have. */
  readonly format: (kindByte: number, payload: Uint8Array) => string | null;
  /** Returns whether a valid text contains a checksum. Default: every valid text does. */
  readonly hasChecksum?: (text: string) => boolean;
  /**
   * First characters of texts that are canonical if their key can be parsed: base58check and lower-case bech32 have exactly one text per
   * key. Default none: valid texts are formatted again.
   */
  readonly canonicalFirst?: string;
  /**
   * First two characters of texts that are formatted again in spite of `canonicalFirst`: bech32 in upper case may begin as base58check
   * does. Default none.
   */
  readonly notCanonical?: string;
  /** The texts that bulk look-ups read in batches. Default none. */
  readonly batch?: BatchForm;
}
