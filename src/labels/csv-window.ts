/**
 * The kernel of the fast import: reads the whole rows of a plain CSV in a window of bytes into records of a segment. It runs on the
 * main thread for small files and on several threads for large ones. The result does not depend on how windows are distributed.
 */
import { KeyBatch } from '../chains/address/key-batch.ts';
import {
  KERNEL_ROWS,
  NO_REST,
  REFUSED,
  RestTable,
  ROW_COLUMNS,
  ROW_END,
  ROW_REST,
  UNEXPLAINED,
} from './csv-rests.ts';
import { dayFromBytes, NO_DAY } from './index/days.ts';
import { SEGMENT_RECORD_WORDS } from './index/segment.ts';
import { SLOT_WORDS, writeSlot } from './index/slot.ts';

/** Zero-based columns that are read separately from the rest of a row; -1 if the file does not have the column. */
export interface FastColumns {
  readonly count: number;
  readonly address: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** Rows with a later day need the slow path. Default: no limit. */
  readonly latestDay?: number;
  /** The last column contains the rest of the row as printed, with its commas and quotes. Default: false. */
  readonly hasTail?: boolean;
}

/** A row that needs the slow path. */
export interface SlowRow {
  readonly text: string;
  /** Number of line feeds of the window before the row. */
  readonly line: number;
}

export interface WindowResult {
  /** Records of the rows that took the fast path, in row order: see SEGMENT_RECORD_WORDS. */
  readonly records: Int32Array<ArrayBuffer>;
  readonly count: number;
  /** In line order. */
  readonly slow: readonly SlowRow[];
  /** Rows that are not empty, without the header. */
  readonly rows: number;
  /** Number of line feeds of the window. */
  readonly lines: number;
}

/** Bytes that must be readable after a window: rows are read one 4-byte word at a time. */
export const WINDOW_SLACK_BYTES = 8;

const COMMA = 44;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;

const isApart = ({ address, firstSeen, lastSeen }: FastColumns, column: number): boolean =>
  column === address || column === firstSeen || column === lastSeen;

/** Returns the columns that form the rest of a row, in order: the columns of the texts of `takeFresh`. */
export const restColumns = (columns: FastColumns): readonly number[] =>
  Array.from({ length: columns.count }, (_, column) => column).filter((column) => !isApart(columns, column));

/** Words of a row that waits for the answer about its rest. */
const WAITING_WORDS = 8;
/** Rows whose addresses are read together: as many as base58check texts are decoded together. */
const BATCH_ROWS = 128;

/** A row with a place for its record, whose address is not read yet. The address is `bytes[start, end)` of the window. */
interface UnreadRow {
  record: number;
  rest: number;
  start: number;
  end: number;
  /** The days of `firstSeen` (low half) and `lastSeen`. */
  days: number;
  rowStart: number;
  rowEnd: number;
  line: number;
}

const newUnreadRow = (): UnreadRow => ({
  record: 0,
  rest: 0,
  start: 0,
  end: 0,
  days: 0,
  rowStart: 0,
  rowEnd: 0,
  line: 0,
});

/** A window between `begin` and `finish`. */
interface OpenWindow {
  readonly bytes: Buffer;
  records: Int32Array<ArrayBuffer>;
  /** Records with a reserved place; the places of rows that turn out to be slow stay empty. */
  placed: number;
  empty: number;
  /** Rows with an unexplained rest: record, rest, start and end of address, days, start and end of row, line. */
  waiting: number[];
  slow: SlowRow[];
  rows: number;
  lines: number;
}

/**
 * Reads windows: `begin` reads all rows, `takeFresh` returns the rests that have no answer yet, `explain` takes the answers,
 * `finish` returns the records. Windows finish in the order in which they began; several may be open.
 */
export class WindowReader {
  private readonly columns: FastColumns;
  private readonly rests: RestTable;
  private readonly open: OpenWindow[] = [];
  /** The window between start and end of `begin`. */
  private beginning: OpenWindow | null = null;
  private found = 0;
  private plain = true;
  /** Index in the words of `rests` of the starts of the current row's columns; the last one marks the end of the row. */
  private row = 0;
  /** The column whose commas and quotes are text; -1 if absent. */
  private readonly tail: number;
  private readonly keys = new KeyBatch();
  /** Rows of one window: reused, and empty between two calls. */
  private readonly batch = Array.from({ length: BATCH_ROWS }, newUnreadRow);
  private batched = 0;

  /** @param useKernel - see RestTable */
  constructor(columns: FastColumns, useKernel = true) {
    this.columns = columns;
    this.tail = columns.hasTail === true ? columns.count - 1 : -1;
    this.rests = new RestTable(
      { count: columns.count, tail: this.tail, rest: restColumns(columns) },
      useKernel,
    );
  }

  /**
   * Reads the rows in `bytes[0, length)`, which ends with the line feed of a row.
   *
   * @param header Whether the first row is the header, which is skipped.
   */
  begin(bytes: Buffer, length: number, header: boolean): void {
    const view = viewOf(bytes);
    const window: OpenWindow = {
      bytes,
      records: new Int32Array(Math.max(64, length >>> 7) * SEGMENT_RECORD_WORDS),
      placed: 0,
      empty: 0,
      waiting: [],
      slow: [],
      rows: 0,
      lines: 0,
    };
    this.rests.loadWindow(bytes, length);
    this.beginning = window;
    for (let at = header ? this.beginRow(window, view, 0, true) : 0; at < length; ) {
      at = this.beginRows(window, view, at, length);
      if (at < length) at = this.beginRow(window, view, at, false);
    }
    this.readBatch(window);
    this.beginning = null;
    this.open.push(window);
  }

  /** Reads rows as long as they are plain. Returns the start of the next row. */
  private beginRows(window: OpenWindow, view: DataView, from: number, length: number): number {
    const { rests, columns } = this;
    let at = from;
    for (;;) {
      const count = rests.readRows(at, length);
      for (let index = 0; index < count; index++) {
        const row = rests.rowsAt + index * rests.rowWords;
        this.row = row + ROW_COLUMNS;
        const rest = rests.words[row + ROW_REST] as number;
        const end = rests.words[row + ROW_END] as number;
        const textEnd = (rests.words[this.row + columns.count] as number) - 1;
        window.rows++;
        if (!this.takeFast(window, view, at, textEnd, rest))
          this.takeSlowly(window, at, textEnd, window.lines);
        window.lines++;
        at = end + 1;
      }
      if (count < KERNEL_ROWS) return at;
    }
  }

  /** Reads one row of any kind. Returns the start of the next row. */
  private beginRow(window: OpenWindow, view: DataView, start: number, isHeader: boolean): number {
    const { bytes } = window;
    const { rests, columns } = this;
    this.row = rests.rowsAt + ROW_COLUMNS;
    let end = this.scan(bytes, view, start);
    if (!this.plain) end = quotedRowEnd(bytes, start);
    const textEnd = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    if (!isHeader && textEnd > start) {
      window.rows++;
      const isComplete = this.plain && this.found === columns.count;
      if (isComplete) rests.words[this.row + columns.count] = textEnd + 1;
      if (!isComplete || !this.takeFast(window, view, start, textEnd, NO_REST))
        this.takeSlowly(window, start, textEnd, window.lines);
    }
    window.lines += this.plain ? 1 : countLines(bytes, start, end + 1);
    return end + 1;
  }

  /**
   * Returns the rests that are new since the last call: UTF-8, one line each, a comma after every column; null if there are none.
   */
  takeFresh(): Uint8Array<ArrayBuffer> | null {
    return this.rests.takeFresh();
  }

  /** Takes the answers to the oldest unanswered `takeFresh`, in its order: chain number and template (or REFUSED) of each rest. */
  explain(answers: Int32Array): void {
    this.rests.explain(answers);
  }

  /** Finishes the oldest open window. */
  finish(): WindowResult {
    const window = this.open.shift();
    if (!window) throw new Error('No window is open.');
    const { waiting } = window;
    for (let at = 0; at < waiting.length; at += WAITING_WORDS) {
      const [record, rest, start, end, days, rowStart, rowEnd, line] = waiting.slice(
        at,
        at + WAITING_WORDS,
      ) as [number, number, number, number, number, number, number, number];
      if (this.rests.templateOf(rest) !== REFUSED) {
        this.addToBatch(window, record, rest, start, end, days, rowStart, rowEnd, line);
        continue;
      }
      window.empty++;
      this.takeSlowly(window, rowStart, rowEnd, line);
    }
    this.readBatch(window);
    // Rows that waited, for their batch or for an answer, come after later ones.
    window.slow.sort((a, b) => a.line - b.line);
    const count = window.empty === 0 ? window.placed : closeGaps(window.records, window.placed);
    return { records: window.records, count, slow: window.slow, rows: window.rows, lines: window.lines };
  }

  /** Returns the position of the line feed that ends the row at `from`; sets `plain` to false if a quote comes first. */
  private scan(bytes: Buffer, view: DataView, from: number): number {
    const { tail, row } = this;
    const { words } = this.rests;
    const { count } = this.columns;
    let column = 0;
    let quoted = false;
    words[row] = from;
    for (let at = from; ; ) {
      const word = view.getInt32(at, true);
      // Sets the top bit of every byte below '-' (comma, quote, line feed and a few others); only the lowest set bit is exact.
      const low = (word - 0x2d2d2d2d) & ~word & 0x80808080;
      if (low === 0) {
        at += 4;
        continue;
      }
      at += (31 - Math.clz32(low & -low)) >>> 3;
      const byte = bytes[at] as number;
      if (byte === COMMA) {
        if (column !== tail) {
          column++;
          if (column < count) words[row + column] = at + 1;
        }
      } else if (byte === LINE_FEED) {
        this.found = column + 1;
        // A line feed inside quotes: the row continues, and needs the slow path.
        this.plain = !quoted;
        return at;
      } else if (byte === QUOTE) {
        if (column !== tail) {
          this.plain = false;
          return -1;
        }
        quoted = !quoted;
      }
      at++;
    }
  }

  private takeSlowly({ bytes, slow }: OpenWindow, start: number, end: number, line: number): void {
    slow.push({ text: bytes.toString('utf8', start, end), line });
  }

  /**
   * Takes the plain row [rowStart, rowEnd) with its columns at `row`; returns false if the row needs the slow path.
   *
   * @param known - its rest; NO_REST if it has not been looked up or was not in the table yet
   */
  private takeFast(
    window: OpenWindow,
    view: DataView,
    rowStart: number,
    rowEnd: number,
    known: number,
  ): boolean {
    const { row, columns, rests } = this;
    const first = this.dayOf(rests.window, columns.firstSeen);
    const last = this.dayOf(rests.window, columns.lastSeen);
    if (first < 0 || last < 0) return false;
    const { latestDay = Number.POSITIVE_INFINITY } = columns;
    if (first > latestDay || last > latestDay) return false;
    const rest = known === NO_REST ? rests.find(window.bytes, view, row) : known;
    if (rest === NO_REST) return false;
    const template = rests.templateOf(rest);
    if (template === REFUSED) return false;
    const start = rests.words[row + columns.address] as number;
    const end = (rests.words[row + columns.address + 1] as number) - 1;
    const days = first | (last << 16);
    const record = window.placed;
    if ((record + 1) * SEGMENT_RECORD_WORDS > window.records.length) {
      const larger = new Int32Array(window.records.length * 2);
      larger.set(window.records);
      window.records = larger;
    }
    window.placed++;
    if (template === UNEXPLAINED)
      window.waiting.push(record, rest, start, end, days, rowStart, rowEnd, window.lines);
    else this.addToBatch(window, record, rest, start, end, days, rowStart, rowEnd, window.lines);
    return true;
  }

  private addToBatch(
    window: OpenWindow,
    record: number,
    rest: number,
    start: number,
    end: number,
    days: number,
    rowStart: number,
    rowEnd: number,
    line: number,
  ): void {
    const row = this.batch[this.batched++] as UnreadRow;
    row.record = record;
    row.rest = rest;
    row.start = start;
    row.end = end;
    row.days = days;
    row.rowStart = rowStart;
    row.rowEnd = rowEnd;
    row.line = line;
    if (this.batched === BATCH_ROWS) this.readBatch(window);
  }

  /** Reads the addresses of the batch. A row whose address is not right leaves its place empty, and takes the slow path. */
  private readBatch(window: OpenWindow): void {
    const { batch, batched, keys } = this;
    this.batched = 0;
    if (batched === 0) return;
    const source = window === this.beginning ? this.rests.window : window.bytes;
    keys.read(source, batch, 0, batched, ({ rest }) => this.rests.chainOf(rest));
    for (let index = 0; index < batched; index++) {
      const row = batch[index] as UnreadRow;
      if (this.writeRecord(window, row, index)) continue;
      window.empty++;
      this.takeSlowly(window, row.rowStart, row.rowEnd, row.line);
    }
  }

  /** Writes the record of an address; returns false if it does not parse or is a zero address: the slow path decides those. */
  private writeRecord({ records }: OpenWindow, { record, rest, days }: UnreadRow, index: number): boolean {
    const { rests } = this;
    const { keys, starts, lengths } = this.keys;
    const length = lengths[index] as number;
    const payload = (starts[index] as number) + 2;
    if (
      length < 6 ||
      ((keys[payload] as number) |
        (keys[payload + 1] as number) |
        (keys[payload + 2] as number) |
        (keys[payload + 3] as number)) ===
        0
    )
      return false;
    const at = record * SEGMENT_RECORD_WORDS;
    writeSlot(keys, payload - 2, length, records, at);
    records[at + SLOT_WORDS] = rests.templateOf(rest);
    records[at + SLOT_WORDS + 1] = days;
    return true;
  }

  /** Returns the day of a date column: NO_DAY if it is empty or absent, -1 if it is not a plain date. */
  private dayOf(bytes: Buffer, column: number): number {
    if (column < 0) return NO_DAY;
    const { words } = this.rests;
    const start = words[this.row + column] as number;
    const length = (words[this.row + column + 1] as number) - 1 - start;
    if (length === 0) return NO_DAY;
    return length === 10 ? dayFromBytes(bytes, start) : -1;
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Returns the end of the row that starts at `from`; line feeds inside quotes do not count. The window always contains this end. */
function quotedRowEnd(bytes: Uint8Array, from: number): number {
  let quoted = false;
  for (let at = from; ; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) quoted = !quoted;
    else if (byte === LINE_FEED && !quoted) return at;
  }
}

function countLines(bytes: Uint8Array, from: number, to: number): number {
  let lines = 0;
  for (let at = from; at < to; at++) if (bytes[at] === LINE_FEED) lines++;
  return lines;
}

/** Closes the gaps of empty records, which have chain byte zero; a key never has. Returns the number of records. */
function closeGaps(records: Int32Array, placed: number): number {
  let count = 0;
  for (let record = 0; record < placed; record++) {
    const at = record * SEGMENT_RECORD_WORDS;
    if (records[at] === 0) continue;
    if (count < record) records.copyWithin(count * SEGMENT_RECORD_WORDS, at, at + SEGMENT_RECORD_WORDS);
    count++;
  }
  return count;
}
