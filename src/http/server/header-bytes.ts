/**
 * Header lines as bytes, for responses of hot operations: joining and converting strings costs more than most other steps of such a
 * request. The same buffer serves all responses of a pipeline, so a server that replies later makes a text of it first.
 */
import { copyInto, integerInto } from '../../base/byte-text.ts';

/** Enough for the lines that are written here, whose values are numbers, request ids and constants of this program. */
const BYTES_MAX = 4096;

/** Name of the first line, which every response has. */
export const FIRST_HEADER = 'X-Request-Id';

export class HeaderBytes {
  readonly #buffer = Buffer.alloc(BYTES_MAX);
  /** Views of the first bytes, by their number: there are few different lengths, and a view costs an allocation. */
  readonly #views: Buffer[] = [];
  #end = 0;

  /** Begins the lines of a response with the value of FIRST_HEADER: ASCII, at most some hundred characters. */
  begin(requestId: string): void {
    let end = 0;
    for (; end < requestId.length; end++) this.#buffer[end] = requestId.charCodeAt(end);
    this.#end = end;
  }

  /** Adds parts of lines, each line preceded by its line break. */
  add(part: Buffer): void {
    this.#moveTo(copyInto(part, this.#buffer, this.#end));
  }

  addNumber(value: number): void {
    this.#moveTo(integerInto(value, this.#buffer, this.#end));
  }

  /** Returns the bytes behind the name of the first line. They are valid until the next response begins. */
  value(): Buffer {
    const known = this.#views[this.#end];
    if (known !== undefined) return known;
    const view = this.#buffer.subarray(0, this.#end);
    this.#views[this.#end] = view;
    return view;
  }

  /** Returns the lines as a text, in the form of `headerBlock`. */
  toString(): string {
    return `${FIRST_HEADER}: ${this.#buffer.toString('latin1', 0, this.#end)}`;
  }

  #moveTo(end: number): void {
    if (end < 0) throw new Error(`Header lines are longer than ${BYTES_MAX} bytes.`);
    this.#end = end;
  }
}

/** Header lines of a response: a text in the form of `headerBlock`, or bytes that are valid until `reply` returns. */
export type HeaderLines = string | HeaderBytes;
