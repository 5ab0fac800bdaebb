/**
 * Counts the chunks of a body. A chunk of one byte takes the thread that reads it as long as one of many kilobytes, so a body in very many small
 * chunks would stop all others.
 */
import { HTTP_LIMITS } from '../limits.ts';

/** The chunks of one body that is read as a whole. */
export class ChunkCount {
  #chunks = 0;

  /** Counts a chunk. Returns true from the first one on that is too many. */
  isExceeded(): boolean {
    return ++this.#chunks > HTTP_LIMITS.bodyChunksMax;
  }

  /** As `isExceeded`, for a streamed body: very many chunks are allowed if they are not very small. */
  isExceededFor(receivedBytes: number): boolean {
    return this.isExceeded() && receivedBytes < this.#chunks * HTTP_LIMITS.uploadChunkBytesMin;
  }
}
