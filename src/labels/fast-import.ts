/**
 * Imports plain CSV of labels byte by byte: the address goes straight into a key, the dates into days, and the rest of a row is
 * looked up by its bytes, because millions of rows share it. Whatever is out of the ordinary (quotes, an address that does not
 * parse, odd dates, a wrong number of columns) goes row by row to a slower path, which decides and explains.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import { type FastColumns, REFUSED, restColumns, type WindowResult } from './csv-window.ts';
import { createInlineReader, createThreadReader, type WindowSlot } from './csv-window-threads.ts';
import type { SegmentWriter } from './index/segment.ts';
import type { LabelTemplate } from './label.ts';

/** What a row means beside its address and dates. */
export interface RestOfRow {
  readonly chain: ChainId;
  readonly template: LabelTemplate;
}

export interface FastImportOptions {
  /** An uncompressed CSV file in UTF-8 whose first line is the header, already read by the caller. */
  readonly path: string;
  readonly columns: FastColumns;
  /**
   * Asked once for every distinct rest of a row. `fields` has one text a column, empty for address and dates. Null sends every
   * such row to `slowRow`.
   */
  readonly resolve: (fields: readonly string[]) => RestOfRow | null;
  /** Deals with one row that is out of the ordinary: adds its labels to the segment or writes its reject. */
  readonly slowRow: (row: string, line: number) => void;
  readonly onProgress?: (rows: number, bytes: number) => void;
  readonly signal?: AbortSignal;
  /** Threads beside this one that read rows; 0 reads them here. Default: none for a small file, else one a core. */
  readonly threads?: number;
}

export interface FastImportDeps {
  readonly segment: SegmentWriter;
}

export interface FastImportStats {
  /** Rows behind the header, empty lines aside. */
  readonly rows: number;
  /** Rows that went the slower way. */
  readonly slowRows: number;
  readonly distinctRests: number;
}

/** Rows out of the ordinary between two turns of the event loop: some tens of milliseconds. */
const ROWS_A_TURN = 1_000;

const LINE_FEED = 10;
const QUOTE = 34;

/** Read at once; also the longest row. Small enough to stay in the cache between the passes over it. */
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * Imports the file into `deps.segment`, which stays open. Throws INVALID_FILE for a row longer than 4 MB. What the segment holds
 * depends on the file alone, not on the number of threads or their timing: windows are explained and taken in their order.
 */
export async function importPlainCsv(
  options: FastImportOptions,
  deps: FastImportDeps,
): Promise<FastImportStats> {
  const file = openSync(options.path, 'r');
  const threads = options.threads ?? threadsFor(fstatSync(file).size);
  const reader =
    threads === 0
      ? createInlineReader(options.columns, WINDOW_BYTES)
      : createThreadReader(options.columns, WINDOW_BYTES, threads);
  const taker = new Taker(options, deps.segment);
  const windows = new RowWindows(file);
  let answered: Promise<unknown> = Promise.resolve();
  let taken: Promise<unknown> = Promise.resolve();
  try {
    for (let number = 0; ; number++) {
      const slot = reader.slots[number % reader.slots.length] as WindowSlot;
      // The window that stood here before; a fault of any window before it comes up here too.
      await slot.done;
      options.onProgress?.(taker.rows, windows.bytesRead);
      options.signal?.throwIfAborted();
      const length = windows.next(slot.bytes);
      if (length === 0) break;
      // Both chains run through all windows in their order, so that ids and records do not depend on which thread was faster.
      const answers = inOrder(answered, reader.begin(slot, length, number === 0), (fresh) =>
        fresh === null ? null : taker.explain(fresh),
      );
      const result = answers.then((words) => reader.finish(slot, words));
      slot.done = inOrder(taken, result, (found) => taker.take(found));
      answered = answers;
      taken = slot.done;
      // Awaited above when the slot comes round again, or below: a rejection that nobody awaits yet must not end the process.
      slot.done.catch(() => undefined);
    }
    await taken;
    taker.takeEnd(windows);
  } finally {
    await reader.close();
    closeSync(file);
  }
  return { rows: taker.rows, slowRows: taker.slowRows, distinctRests: taker.distinctRests };
}

/** Runs `then` with the outcome of `work`, after everything before. */
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
  return bytes < LIMITS.importThreadsFromBytes || cores < 2 ? 0 : Math.min(cores, LIMITS.importThreadsMax);
}

/** Cuts a file into windows of whole rows. */
class RowWindows {
  bytesRead = 0;
  /** What stands behind the last whole row: the start of the next window, or at the end of the file a row that never ends. */
  rest: Buffer = Buffer.alloc(0);
  private readonly file: number;
  private ended = false;

  constructor(file: number) {
    this.file = file;
  }

  /** Fills `into` and returns how much of it are whole rows; 0 at the end, or before a row that does not end inside a window. */
  next(into: Buffer): number {
    this.rest.copy(into);
    let filled = this.rest.length;
    while (filled < WINDOW_BYTES && !this.ended) {
      const read = readSync(this.file, into, filled, WINDOW_BYTES - filled, null);
      if (read === 0) this.ended = true;
      filled += read;
      this.bytesRead += read;
    }
    // A last row without a line feed gets one.
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

/** Where the last row of `bytes` that ends in them ends: a line feed with an even number of quotes before it. */
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

/** What windows are explained by and handed to, in their order. */
class Taker {
  rows = 0;
  slowRows = 0;
  private line = 1;
  private readonly options: FastImportOptions;
  private readonly segment: SegmentWriter;
  private readonly fieldNumbers: readonly number[];
  /** Chain number and template of every rest, by its text; threads meet the same rest each for itself. */
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
    // The last one ends with a line feed, too.
    const answers = new Int32Array(2 * (texts.length - 1));
    for (let at = 0; at < answers.length; at += 2) {
      if (at % (2 * ROWS_A_TURN) === 0) await this.turn();
      const text = texts[at >>> 1] as string;
      let answer = this.known.get(text);
      if (answer === undefined) {
        answer = this.resolve(text);
        this.known.set(text, answer);
      }
      answers[at] = answer[0];
      answers[at + 1] = answer[1];
    }
    return answers;
  }

  private resolve(text: string): readonly [chain: number, template: number] {
    const cells = text.split(',');
    const fields = new Array<string>(this.options.columns.count).fill('');
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

  /** Lets the event loop hear of a signal: a window of nothing but slow rows takes seconds. */
  private async turn(): Promise<void> {
    await setImmediate();
    this.options.signal?.throwIfAborted();
  }

  /** A quote that is never closed: the rest of the file is one broken row. Throws INVALID_FILE where it is too long for one. */
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
