/**
 * Imports a plain CSV of labels at byte level: the address becomes a key directly, the dates become days, and the rest of a row
 * is looked up by its bytes, because millions of rows share it. Unusual rows (quotes, an address that does not parse, odd dates,
 * a wrong number of columns) take a slow path one by one, which decides and gives the reason.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { AssayError } from '../base/errors.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import { REFUSED } from './csv-rests.ts';
import { type FastColumns, restColumns, type WindowResult } from './csv-window.ts';
import { createInlineReader, createThreadReader, type WindowSlot } from './csv-window-threads.ts';
import type { SegmentWriter } from './index/segment.ts';
import type { LabelTemplate } from './label.ts';
import { LABEL_LIMITS } from './limits.ts';

/** The meaning of a row apart from its address and dates. */
export interface RestOfRow {
  readonly chain: ChainId;
  readonly template: LabelTemplate;
}

export interface FastImportOptions {
  /** A CSV file in UTF-8. Its first line is the header, which the caller has already read. */
  readonly path: string;
  /** Opens the bytes of the file if it is compressed. Default: `path` is read as it is. */
  readonly openBytes?: () => AsyncIterable<Uint8Array>;
  readonly columns: FastColumns;
  /**
   * Called once for every distinct rest of a row. `fields` has one text per column; address and dates are empty. Null sends
   * every row with this rest to `slowRow`.
   */
  readonly resolve: (fields: readonly string[]) => RestOfRow | null;
  /** Handles one unusual row: adds its labels to the segment or writes its reject. */
  readonly slowRow: (row: string, line: number) => void;
  readonly onProgress?: (rows: number, bytes: number) => void;
  readonly signal?: AbortSignal;
  /** Worker threads that read rows; 0 reads them on the calling thread. Default: 0 for a small file, otherwise one per core. */
  readonly threads?: number;
}

export interface FastImportDeps {
  readonly segment: SegmentWriter;
}

export interface FastImportStats {
  /** Rows after the header, without empty lines. */
  readonly rows: number;
  /** Rows that took the slow path. */
  readonly slowRows: number;
  readonly distinctRests: number;
}

/** Unusual rows between two yields to the event loop: some tens of milliseconds. */
const ROWS_A_TURN = 1_000;

const LINE_FEED = 10;
const QUOTE = 34;

/** Size of one read, and of the longest row. It is small enough to stay in the CPU cache between the passes over it. */
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * Imports the file into `deps.segment`, which stays open. The content of the segment depends on the file alone, not on the
 * number of threads or their timing: windows are explained and taken in order.
 *
 * @throws INVALID_FILE for a row longer than 4 MB.
 */
export async function importPlainCsv(
  options: FastImportOptions,
  deps: FastImportDeps,
): Promise<FastImportStats> {
  const source =
    options.openBytes === undefined ? new FileSource(options.path) : new StreamSource(options.openBytes());
  const threads = options.threads ?? threadsFor(source.size);
  const reader =
    threads === 0
      ? createInlineReader(options.columns, WINDOW_BYTES)
      : createThreadReader(options.columns, WINDOW_BYTES, threads);
  const taker = new Taker(options, deps.segment);
  const windows = new RowWindows(source);
  let answered: Promise<unknown> = Promise.resolve();
  let taken: Promise<unknown> = Promise.resolve();
  try {
    for (let number = 0; ; number++) {
      const slot = reader.slots[number % reader.slots.length] as WindowSlot;
      // Waits for the window that used this slot before; a failure of any earlier window is thrown here too.
      await slot.done;
      options.onProgress?.(taker.rows, windows.bytesRead);
      options.signal?.throwIfAborted();
      const length = await windows.next(slot.bytes);
      if (length === 0) break;
      // Both promise chains process all windows in order, so that ids and records do not depend on which thread was faster.
      const answers = inOrder(answered, reader.begin(slot, length, number === 0), (fresh) =>
        fresh === null ? null : taker.explain(fresh),
      );
      const result = answers.then((words) => reader.finish(slot, words));
      slot.done = inOrder(taken, result, (found) => taker.take(found));
      answered = answers;
      taken = slot.done;
      // The promise is awaited above when the slot is used again, or below: until then its rejection must not end the process.
      slot.done.catch(() => undefined);
    }
    await taken;
    taker.takeEnd(windows);
  } finally {
    await reader.close();
    await source.close();
  }
  return { rows: taker.rows, slowRows: taker.slowRows, distinctRests: taker.distinctRests };
}

/** Calls `then` with the result of `work`, after `before` has settled. */
const inOrder = async <T, R>(
  before: Promise<unknown>,
  work: Promise<T>,
  then: (value: T) => R | Promise<R>,
): Promise<R> => {
  const [value] = await Promise.all([work, before]);
  return then(value);
};

function threadsFor(bytes: number): number {
  const cores = availableParallelism();
  return bytes < LABEL_LIMITS.importThreadsFromBytes || cores < 2
    ? 0
    : Math.min(cores, LABEL_LIMITS.importThreadsMax);
}

/** Bytes of a file in order. */
interface ByteSource {
  /** Size in bytes; Infinity if it is not known in advance. */
  readonly size: number;
  /** Reads at most up to the end of `into`; returns 0 at the end. */
  read(into: Buffer, offset: number, length: number): number | Promise<number>;
  close(): void | Promise<void>;
}

class FileSource implements ByteSource {
  readonly size: number;
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'r');
    this.size = fstatSync(this.#file).size;
  }

  read(into: Buffer, offset: number, length: number): number {
    return readSync(this.#file, into, offset, length, null);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A decompressed stream: its chunks are copied, and the rest of a chunk is kept for the next read. */
class StreamSource implements ByteSource {
  readonly size = Number.POSITIVE_INFINITY;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async read(into: Buffer, offset: number, length: number): Promise<number> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) return 0;
      this.#rest = next.value;
    }
    const taken = Math.min(length, this.#rest.length);
    into.set(this.#rest.subarray(0, taken), offset);
    this.#rest = this.#rest.subarray(taken);
    return taken;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

/** Splits a file into windows of whole rows. */
class RowWindows {
  bytesRead = 0;
  /** The bytes after the last whole row: the start of the next window or, at the end of the file, a row that never ends. */
  rest: Buffer = Buffer.alloc(0);
  private readonly source: ByteSource;
  private ended = false;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /** Fills `into` and returns the length of its whole rows; 0 at the end, or before a row that does not end inside a window. */
  async next(into: Buffer): Promise<number> {
    this.rest.copy(into);
    let filled = this.rest.length;
    while (filled < WINDOW_BYTES && !this.ended) {
      const read = await this.source.read(into, filled, WINDOW_BYTES - filled);
      if (read === 0) this.ended = true;
      filled += read;
      this.bytesRead += read;
    }
    // If the last row has no line feed, it gets one.
    if (this.ended && filled > 0 && filled < WINDOW_BYTES && into[filled - 1] !== LINE_FEED)
      into[filled++] = LINE_FEED;
    const end = endOfRows(into.subarray(0, filled));
    this.rest = Buffer.from(into.subarray(end, filled));
    return end;
  }

  /** Whether `rest` is the end of the file and fits a window. */
  get isWhole(): boolean {
    return this.ended && this.rest.length < WINDOW_BYTES;
  }
}

/** Returns the end of the last whole row in `bytes`: a line feed with an even number of quotes before it. */
function endOfRows(bytes: Buffer): number {
  if (!bytes.includes(QUOTE)) return bytes.lastIndexOf(LINE_FEED) + 1;
  let end = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) quoted = !quoted;
    else if (byte === LINE_FEED && !quoted) end = at + 1;
  }
  return end;
}

const CHAIN_NUMBERS: ReadonlyMap<ChainId, number> = new Map(
  CHAINS.map((chain, number) => [chain.id, number]),
);

/** Splits the text of a rest into `count` columns, of which the last contains commas. A comma follows every column. */
function splitBeforeTail(text: string, count: number): string[] {
  const cells: string[] = [];
  let from = 0;
  while (cells.length < count - 1) {
    const comma = text.indexOf(',', from);
    cells.push(text.slice(from, comma));
    from = comma + 1;
  }
  return [...cells, text.slice(from, -1)];
}

/** Explains the rests of windows and takes their results, in window order. */
class Taker {
  rows = 0;
  slowRows = 0;
  private line = 1;
  private readonly options: FastImportOptions;
  private readonly segment: SegmentWriter;
  private readonly fieldNumbers: readonly number[];
  /** Chain number and template of every rest, by its text; each thread reports the same rest once. */
  private readonly known = new Map<string, readonly [chain: number, template: number]>();

  constructor(options: FastImportOptions, segment: SegmentWriter) {
    this.options = options;
    this.segment = segment;
    this.fieldNumbers = restColumns(options.columns);
  }

  get distinctRests(): number {
    return this.known.size;
  }

  /** Answers WindowReader.takeFresh. */
  async explain(fresh: Uint8Array): Promise<Int32Array<ArrayBuffer>> {
    const texts = Buffer.from(fresh.buffer, fresh.byteOffset, fresh.length).toString('utf8').split('\n');
    // The last text also ends with a line feed.
    const count = texts.length - 1;
    const answers = new Int32Array(2 * count);
    for (let from = 0; from < count; from += ROWS_A_TURN) {
      await this.turn();
      this.explainSome(texts, from, Math.min(from + ROWS_A_TURN, count), answers);
    }
    return answers;
  }

  /** A function of its own: V8 runs an async function without its optimizing compiler after an `await`. */
  private explainSome(texts: readonly string[], from: number, to: number, answers: Int32Array): void {
    for (let at = from; at < to; at++) {
      const text = texts[at] as string;
      let answer = this.known.get(text);
      if (answer === undefined) {
        answer = this.resolve(text);
        this.known.set(text, answer);
      }
      answers[2 * at] = answer[0];
      answers[2 * at + 1] = answer[1];
    }
  }

  private resolve(text: string): readonly [chain: number, template: number] {
    const { columns } = this.options;
    const cells =
      columns.hasTail === true ? splitBeforeTail(text, this.fieldNumbers.length) : text.split(',');
    const fields = new Array<string>(columns.count).fill('');
    for (const [at, column] of this.fieldNumbers.entries()) fields[column] = cells[at] as string;
    const found = this.options.resolve(fields);
    return found
      ? [CHAIN_NUMBERS.get(found.chain) as number, this.segment.template(found.template)]
      : [0, REFUSED];
  }

  async take({ records, count, slow, rows, lines }: WindowResult): Promise<void> {
    this.segment.addRecords(records, count);
    for (const [at, row] of slow.entries()) {
      if (at % ROWS_A_TURN === 0) await this.turn();
      this.options.slowRow(row.text, this.line + row.line);
    }
    this.rows += rows;
    this.slowRows += slow.length;
    this.line += lines;
  }

  /** Yields to the event loop, so that an abort is noticed: a window of slow rows alone takes seconds. */
  private async turn(): Promise<void> {
    await setImmediate();
    this.options.signal?.throwIfAborted();
  }

  /**
   * Takes the end of the file after a quote that is never closed: it is one broken row.
   *
   * @throws INVALID_FILE if it is too long for a row.
   */
  takeEnd(windows: RowWindows): void {
    if (windows.rest.length === 0) return;
    if (!windows.isWhole) {
      throw new AssayError(
        'INVALID_FILE',
        `Line ${this.line} is longer than ${WINDOW_BYTES} bytes, or a quote in it is not closed.`,
      );
    }
    this.rows++;
    this.slowRows++;
    this.options.slowRow(windows.rest.toString('utf8'), this.line);
  }
}
