/** Compression of responses on the thread pool of zlib, never on the event loop. */
import { brotliCompress, constants, gzip } from 'node:zlib';
import { HTTP_LIMITS } from '../limits.ts';
import type { Coding } from './negotiation.ts';

/** Levels that cost about 10 ms for 1 MB of JSON: higher ones save a few percent and take several times as long. */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;

/** Compresses bodies, a bounded number of them at the same time. */
export class Compressor {
  #running = 0;

  /** Whether another body may be compressed now. If not, it is sent as it is: waiting would cost more than it saves. */
  get isFree(): boolean {
    return this.#running < HTTP_LIMITS.compressionsMax;
  }

  /**
   * Compresses a body.
   *
   * @param body - must not change until the promise settles
   * @returns null if it could not be compressed
   */
  compress(body: Uint8Array, coding: Coding): Promise<Uint8Array | null> {
    this.#running++;
    return new Promise((resolve) => {
      const done = (error: Error | null, compressed: Uint8Array): void => {
        this.#running--;
        resolve(error === null ? compressed : null);
      };
      if (coding === 'gzip') {
        gzip(body, { level: GZIP_LEVEL }, done);
        return;
      }
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      };
      brotliCompress(body, { params }, done);
    });
  }
}
