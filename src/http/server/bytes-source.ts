/** Sends bytes that are in memory, or are read part by part, as a large response. */
import { HTTP_LIMITS } from '../limits.ts';
import type { ByteSource } from './port.ts';

/**
 * Returns a source of parts, one after the other. Their bytes are not copied.
 *
 * @param length - bytes of all parts
 * @param pieceBytes - size of the pieces that are sent, in bytes
 */
export function partsSource(
  length: number,
  parts: Iterable<Uint8Array>,
  pieceBytes: number = HTTP_LIMITS.answerPieceBytes,
): ByteSource {
  const iterator = parts[Symbol.iterator]();
  let part: Uint8Array = new Uint8Array();
  return {
    length,
    next: async () => {
      while (part.length === 0) {
        const next = iterator.next();
        if (next.done === true) throw new RangeError('A response was read past its end.');
        part = next.value;
      }
      const piece = part.subarray(0, pieceBytes);
      part = part.subarray(pieceBytes);
      return piece;
    },
    close: async () => {
      iterator.return?.();
    },
  };
}
