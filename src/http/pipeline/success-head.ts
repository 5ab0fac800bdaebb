/** Writes the header lines of successful JSON responses as bytes: the same lines as the texts of `Call.head` and `Call.successLines`. */
import { fragment } from '../../base/byte-text.ts';
import { HeaderBytes } from '../server/header-bytes.ts';
import type { Call } from './call.ts';
import { QUOTA_HEADER } from './limit-lines.ts';

export const JSON_TYPE = '\r\nContent-Type: application/json';
export const VARY = '\r\nVary: Accept-Encoding';

const AFTER_LIMIT = '\r\nX-RateLimit-Remaining: ';
const RESET = fragment('\r\nX-RateLimit-Reset: ');
const QUOTA = fragment(`\r\n${QUOTA_HEADER}: `);
const UNLIMITED = fragment('unlimited');

/** The lines of one pipeline; the next response overwrites them. */
export class SuccessHead {
  readonly #bytes = new HeaderBytes();
  /** Constant lines at the end, by those of the operation: without Vary, and with it. */
  readonly #tails = new Map<string, readonly [Buffer, Buffer]>();
  #limit = Number.NaN;
  #limitPart = fragment('');

  /**
   * Returns the lines of a response; null if the call has lines that only a text contains.
   *
   * @param lines - lines of the operation, each preceded by its line break
   * @param isVaried - the body could have been compressed
   */
  write(call: Call, lines: string, isVaried: boolean): HeaderBytes | null {
    if (call.extraHead !== '' || call.lines !== '') return null;
    const { limits, shownQuota } = call;
    const bytes = this.#bytes;
    bytes.begin(call.requestId);
    if (limits !== null) {
      bytes.add(this.#limitLine(limits.limit));
      bytes.addNumber(limits.remaining);
      bytes.add(RESET);
      bytes.addNumber(limits.resetEpochSeconds);
    }
    if (shownQuota !== null) {
      bytes.add(QUOTA);
      if (shownQuota.remaining === null) bytes.add(UNLIMITED);
      else bytes.addNumber(shownQuota.remaining);
    }
    bytes.add(this.#tailsOf(lines)[isVaried ? 1 : 0]);
    return bytes;
  }

  /** Returns the line of a limit, which is the same for most keys, and the name of the next line. */
  #limitLine(limit: number): Buffer {
    if (limit !== this.#limit) {
      this.#limit = limit;
      this.#limitPart = fragment(`\r\nX-RateLimit-Limit: ${limit}${AFTER_LIMIT}`);
    }
    return this.#limitPart;
  }

  #tailsOf(lines: string): readonly [Buffer, Buffer] {
    const known = this.#tails.get(lines);
    if (known !== undefined) return known;
    const tails = [fragment(lines + JSON_TYPE), fragment(lines + JSON_TYPE + VARY)] as const;
    this.#tails.set(lines, tails);
    return tails;
  }
}
