/** The text of a saved answer as it is stored: compressed, because a store on many nodes is kept in memory. The bytes come back exactly. */
import { createHash } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { AssayError } from '../base/errors.ts';
import { SAVED_LIMITS } from './limits.ts';
import type { SavedScreening } from './records.ts';
import type { SavedStore } from './store.ts';

/**
 * Returns the stored form of a text. Synchronous: at the fastest level, the largest answer takes some 5 ms.
 *
 * @param text - UTF-8
 */
export const packed = (text: Uint8Array): Buffer =>
  deflateRawSync(text, { level: constants.Z_BEST_SPEED, memLevel: 9 });

/**
 * Returns the text of a stored form.
 *
 * @throws if the stored form is damaged, or is that of a text above the limit
 */
export const unpacked = (stored: Uint8Array): Buffer =>
  inflateRawSync(stored, { maxOutputLength: SAVED_LIMITS.savedAnswerBytesMax });

/** Returns the SHA-256 of a text, hexadecimal. */
export const sha256Of = (text: Uint8Array): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns the text of a screening: the bytes of `data` that its client got.
 *
 * @throws STORE_CORRUPT if the stored bytes do not have the hash of the answer: altered evidence is worse than none
 */
export function storedText(store: Pick<SavedStore, 'content'>, screening: SavedScreening): Buffer {
  const { id, sha256 } = screening;
  let text: Buffer | null = null;
  let cause: unknown;
  try {
    text = unpacked(store.content(screening));
  } catch (error) {
    cause = error;
  }
  if (text !== null && sha256Of(text) === sha256) return text;
  throw new AssayError('STORE_CORRUPT', `The answer of the saved screening ${id} is damaged.`, { cause });
}
