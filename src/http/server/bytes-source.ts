/** Sends bytes that are in memory as a large response, piece by piece. */
import { HTTP_LIMITS } from '../limits.ts';
import type { ByteSource } from './port.ts';

/**
 * Returns a source of bytes, which are not copied.
 *
 * @param pieceBytes - size of a piece, in bytes
 */
export function bytesSource(
  bytes: Uint8Array,
  pieceBytes: number = HTTP_LIMITS.answerPieceBytes,
): ByteSource {
  let at = 0;
  return {
    length: bytes.length,
    next: async () => {
      const piece = bytes.subarray(at, at + pieceBytes);
      at += piece.length;
      return piece;
    },
    close: async () => {},
  };
}
