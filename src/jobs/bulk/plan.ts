/**
 * The plan of a job: the offsets at which its input is cut into chunks of whole lines. It is created while the input arrives, and
 * stored in a file beside it. A chunk has two doubles in the machine's byte order: the offset after its last byte, and the number
 * of lines up to there.
 */
import { readFileSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import type { FilePart, JobKind } from '../bulk-jobs.ts';
import { JOB_LIMITS } from '../limits.ts';

/** Size of a chunk: work for about 50 ms, or 0.3 s if each line takes milliseconds. */
interface ChunkSize {
  readonly lines: number;
  readonly bytes: number;
}

/** Depends on the size of the results: a label set has about 300 bytes, a sanctions check 2 KB. */
export const CHUNK_SIZES: Readonly<Record<JobKind, ChunkSize>> = {
  labels: { lines: 32_768, bytes: 2 * 1024 * 1024 },
  sanctions: { lines: 8_192, bytes: 1024 * 1024 },
  screening: { lines: 128, bytes: 256 * 1024 },
  kyt: { lines: 128, bytes: 256 * 1024 },
};

export const LINES_MAX: Readonly<Record<JobKind, number>> = {
  labels: JOB_LIMITS.jobLinesMax,
  sanctions: JOB_LIMITS.jobLinesMax,
  screening: JOB_LIMITS.jobGraphLinesMax,
  kyt: JOB_LIMITS.jobGraphLinesMax,
};

const NEWLINE = 0x0a;
const WORD_BYTES = 4;
const NO_WORDS = new Int32Array(0);
/** A word of four line breaks; the lowest and the highest bit of each byte. */
const NEWLINES = 0x0a0a0a0a;
const LOW_BITS = 0x01010101;
const HIGH_BITS = 0x80808080;
const DOUBLES_START = 2_048;

/** Finds line ends in the arriving bytes, and decides after which of them to cut. */
export class Planner {
  readonly #size: ChunkSize;
  readonly #linesMax: number;
  #cuts = new Float64Array(DOUBLES_START);
  #used = 0;
  #offset = 0;
  #lineStart = 0;
  #lines = 0;
  #chunkStart = 0;
  #chunkLines = 0;

  constructor(kind: JobKind, size: ChunkSize = CHUNK_SIZES[kind]) {
    this.#size = size;
    this.#linesMax = LINES_MAX[kind];
  }

  get bytes(): number {
    return this.#offset;
  }

  /**
   * Takes the next bytes.
   *
   * @throws INVALID_REQUEST if a line is too long, or if there are too many lines
   */
  take(bytes: Uint8Array): void {
    const { length, buffer, byteOffset } = bytes;
    const first = Math.min(length, -byteOffset & (WORD_BYTES - 1));
    const count = Math.floor((length - first) / WORD_BYTES);
    const words = count === 0 ? NO_WORDS : new Int32Array(buffer, byteOffset + first, count);
    this.#endLines(bytes, 0, first);
    // The upload is read by the thread that answers the oracle: four bytes at a time take it a quarter of the time.
    for (let word = 0; word < count; word++) {
      const differs = (words[word] as number) ^ NEWLINES;
      // Not 0 if a byte of the word is a line break (https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord).
      if (((differs - LOW_BITS) & ~differs & HIGH_BITS) === 0) continue;
      const at = first + word * WORD_BYTES;
      this.#endLines(bytes, at, at + WORD_BYTES);
    }
    this.#endLines(bytes, first + count * WORD_BYTES, length);
    this.#offset += length;
    if (this.#offset - this.#lineStart > JOB_LIMITS.jobLineBytesMax) throw this.#tooLong();
  }

  /** Ends the lines that have their line break between two positions of the bytes that follow the offset. */
  #endLines(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; at++) if (bytes[at] === NEWLINE) this.#endLine(this.#offset + at + 1);
  }

  #tooLong(): AssayError {
    return new AssayError(
      'INVALID_REQUEST',
      `body: line ${this.#lines + 1} is longer than ${JOB_LIMITS.jobLineBytesMax} bytes.`,
      { field: 'body' },
    );
  }

  #endLine(end: number): void {
    if (end - this.#lineStart > JOB_LIMITS.jobLineBytesMax + 1) throw this.#tooLong();
    if (this.#lines === this.#linesMax)
      throw new AssayError('INVALID_REQUEST', `body: more than ${this.#linesMax} lines.`, {
        field: 'body',
      });
    this.#lines++;
    this.#lineStart = end;
    const lines = this.#lines - this.#chunkLines;
    if (lines >= this.#size.lines || end - this.#chunkStart >= this.#size.bytes) this.#cut(end);
  }

  #cut(end: number): void {
    if (this.#used === this.#cuts.length) {
      const larger = new Float64Array(this.#cuts.length * 2);
      larger.set(this.#cuts);
      this.#cuts = larger;
    }
    this.#cuts[this.#used++] = end;
    this.#cuts[this.#used++] = this.#lines;
    this.#chunkStart = end;
    this.#chunkLines = this.#lines;
  }

  /** Returns the plan of all bytes. The last line does not need a line break. */
  finish(): Plan {
    if (this.#offset > this.#lineStart) this.#endLine(this.#offset);
    if (this.#offset > this.#chunkStart) this.#cut(this.#offset);
    return new Plan(this.#cuts.slice(0, this.#used));
  }
}

/** The chunks of one job. */
export class Plan {
  readonly #cuts: Float64Array;

  constructor(cuts: Float64Array) {
    this.#cuts = cuts;
  }

  /**
   * Reads a stored plan.
   *
   * @throws INVALID_FILE
   */
  static read(path: string): Plan {
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (cause) {
      throw new AssayError('INVALID_FILE', `${path}: the plan of the job cannot be read.`, { cause });
    }
    if (bytes.length % 16 !== 0) throw new AssayError('INVALID_FILE', `${path} is not a plan of a job.`);
    return new Plan(new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)));
  }

  get fileBytes(): Uint8Array {
    return new Uint8Array(this.#cuts.buffer, this.#cuts.byteOffset, this.#cuts.byteLength);
  }

  get chunks(): number {
    return this.#cuts.length / 2;
  }

  get lines(): number {
    return this.#cuts.at(-1) ?? 0;
  }

  /** Number of lines of a chunk, including a header line. */
  linesOf(chunk: number): number {
    return (this.#cuts[chunk * 2 + 1] ?? 0) - this.#linesBefore(chunk);
  }

  #linesBefore(chunk: number): number {
    return chunk === 0 ? 0 : (this.#cuts[chunk * 2 - 1] ?? 0);
  }

  /**
   * Returns a chunk's byte range of `path` and the number of its first line.
   *
   * @param headBytes - size of the header line, which is not part of a chunk; 0 without one
   */
  partOf(chunk: number, path: string, headBytes: number): { input: FilePart; firstLine: number } {
    const end = this.#cuts[chunk * 2] ?? 0;
    if (chunk > 0)
      return {
        input: { path, start: this.#cuts[chunk * 2 - 2] ?? 0, end },
        firstLine: this.#linesBefore(chunk) + 1,
      };
    return { input: { path, start: headBytes, end }, firstLine: headBytes > 0 ? 2 : 1 };
  }
}
