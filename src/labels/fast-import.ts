/**
 * Imports plain CSV of labels byte by byte: the address goes straight into a key, the dates into days, and the rest of a row is
 * looked up by its bytes, because millions of rows share it. Whatever is out of the ordinary (quotes, an address that does not
 * parse, odd dates, a wrong number of columns) goes row by row to a slower path, which decides and explains.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import { dayFromBytes, NO_DAY } from './index/days.ts';
import type { SegmentWriter } from './index/segment.ts';
import type { LabelTemplate } from './label.ts';

/** Writes the key of the address text `bytes[start, end)` to `out`; returns its length, or a negative number for a fault. */
export type AddressKeyWriter = (
  chain: ChainId,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  outOffset: number,
) => number;

/** Zero-based columns that are read apart from the rest; -1 where the file has none. */
export interface FastColumns {
  readonly count: number;
  readonly address: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
}

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
}

export interface FastImportDeps {
  readonly segment: SegmentWriter;
  readonly writeAddressKey: AddressKeyWriter;
}

export interface FastImportStats {
  /** Rows behind the header, empty lines aside. */
  readonly rows: number;
  /** Rows that went the slower way. */
  readonly slowRows: number;
  readonly distinctRests: number;
}

const COMMA = 44;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;

/** Read at once; also the longest row. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** The longest key of the 36 chains is well below the longest address text. */
const KEY_BYTES_MAX = LIMITS.addressTextMax;

/**
 * Imports the file into `deps.segment`, which stays open. Throws INVALID_FILE for a row longer than 4 MB. Rows keep their order.
 */
export async function importPlainCsv(
  options: FastImportOptions,
  deps: FastImportDeps,
): Promise<FastImportStats> {
  const { columns, resolve, slowRow } = options;
  const { segment, writeAddressKey } = deps;
  const rests = new RestTable(columns, resolve, segment);
  const key = new Uint8Array(KEY_BYTES_MAX);
  const bytes = Buffer.allocUnsafe(WINDOW_BYTES);
  const scanner = new RowScanner(columns);
  const { starts } = scanner;
  const file = openSync(options.path, 'r');
  let filled = 0;
  let line = 1;
  let rows = 0;
  let slowRows = 0;
  let bytesRead = 0;
  let ended = false;

  /** Where the row that starts at `from` ends (its line feed), quotes respected; -1 where the window ends before. */
  const quotedRowEnd = (from: number): number => {
    let quoted = false;
    for (let at = from; at < filled; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) quoted = !quoted;
      else if (byte === LINE_FEED && !quoted) return at;
    }
    return -1;
  };

  const takeSlowly = (from: number, to: number): void => {
    const row = bytes.toString('utf8', from, to);
    slowRow(row.endsWith('\r') ? row.slice(0, -1) : row, line);
    slowRows++;
  };

  /** Takes the plain row [from, to), whose `found` columns start at `starts`; false where it needs the slower path. */
  const takeFast = (found: number, hash: number): boolean => {
    if (found !== columns.count) return false;
    const rest = rests.find(bytes, starts, hash);
    if (rest === NO_REST) return false;
    const first = dayOf(columns.firstSeen);
    const last = dayOf(columns.lastSeen);
    if (first < 0 || last < 0) return false;
    const start = starts[columns.address] as number;
    const end = (starts[columns.address + 1] as number) - 1;
    const length = writeAddressKey(rests.chains[rest] as ChainId, bytes, start, end, key, 0);
    // Zero addresses are nobody's: whether one counts is for the slower path to say.
    if (length < 6 || (key[2] as number) + (key[3] as number) + (key[4] as number) + (key[5] as number) === 0)
      return false;
    segment.add(key, 0, length, rests.templates[rest] as number, first, last);
    return true;
  };

  /** Day of a date column: NO_DAY where it is empty or absent, -1 where it is no plain date. */
  const dayOf = (column: number): number => {
    if (column < 0) return NO_DAY;
    const start = starts[column] as number;
    const length = (starts[column + 1] as number) - 1 - start;
    if (length === 0) return NO_DAY;
    return length === 10 ? dayFromBytes(bytes, start) : -1;
  };

  try {
    let at = 0;
    while (!ended || at < filled) {
      // Refill: what is left of a row moves to the front.
      bytes.copyWithin(0, at, filled);
      filled -= at;
      at = 0;
      while (filled < bytes.length && !ended) {
        const read = readSync(file, bytes, filled, bytes.length - filled, null);
        if (read === 0) ended = true;
        filled += read;
        bytesRead += read;
      }
      // A last row without a line feed gets one.
      if (ended && filled > 0 && bytes[filled - 1] !== LINE_FEED && filled < bytes.length)
        bytes[filled++] = LINE_FEED;
      options.onProgress?.(rows, bytesRead);
      options.signal?.throwIfAborted();
      await new Promise((resume) => setImmediate(resume));

      const windowStart = at;
      while (at < filled) {
        const rowStart = at;
        let rowEnd = scanner.scan(bytes, rowStart, filled);
        const { plain } = scanner;
        if (!plain) rowEnd = quotedRowEnd(rowStart);
        if (rowEnd < 0) break;
        at = rowEnd + 1;
        const ending = rowEnd > rowStart && bytes[rowEnd - 1] === CARRIAGE_RETURN ? 1 : 0;
        if (line > 1 && rowEnd - ending > rowStart) {
          rows++;
          // The end of the last column; a carriage return was hashed, the bytes are compared without it.
          if (scanner.found <= columns.count) starts[scanner.found] = rowEnd + 1 - ending;
          if (!plain || !takeFast(scanner.found, scanner.hash)) takeSlowly(rowStart, rowEnd);
        }
        line += plain ? 1 : countLines(bytes, rowStart, at);
      }
      if (at === windowStart && (ended || filled === bytes.length)) {
        if (filled < bytes.length) {
          // A quote that is never closed: the rest of the file is one broken row.
          rows++;
          takeSlowly(at, filled);
          at = filled;
          continue;
        }
        throw new AssayError(
          'INVALID_FILE',
          `Line ${line} is longer than ${WINDOW_BYTES} bytes, or a quote in it is not closed.`,
        );
      }
    }
  } finally {
    closeSync(file);
  }
  return { rows, slowRows, distinctRests: rests.size };
}

/** Finds the columns and the end of a row, and hashes what stands beside address and dates. */
class RowScanner {
  /** Where each column of the last row begins. */
  readonly starts: Int32Array;
  /** Columns of the last row. */
  found = 0;
  hash = 0;
  /** Whether the last row has no quote. */
  plain = true;
  /** Of each column whether it is read apart from the rest; one more, for rows with too many. */
  private readonly apart: Uint8Array;

  constructor(columns: FastColumns) {
    this.starts = new Int32Array(columns.count + 1);
    this.apart = Uint8Array.from({ length: columns.count + 1 }, (_, column) =>
      isApart(columns, column) ? 1 : 0,
    );
  }

  /** Position of the line feed that ends the row at `from`; -1 where the window ends before, or a quote stands in the row. */
  scan(bytes: Uint8Array, from: number, filled: number): number {
    const { starts, apart } = this;
    const last = starts.length - 1;
    let column = 0;
    let hash = 0x811c9dc5 | 0;
    starts[0] = from;
    let skipped = apart[0] === 1;
    for (let at = from; at < filled; at++) {
      const byte = bytes[at] as number;
      if (byte > COMMA) {
        if (!skipped) hash = Math.imul(hash ^ byte, 0x01000193);
      } else if (byte === COMMA) {
        column++;
        if (column <= last) {
          starts[column] = at + 1;
          skipped = apart[column] === 1;
        }
      } else if (byte === LINE_FEED) {
        this.found = column + 1;
        this.hash = hash;
        this.plain = true;
        return at;
      } else if (byte === QUOTE) {
        this.plain = false;
        return -1;
      } else if (!skipped) {
        hash = Math.imul(hash ^ byte, 0x01000193);
      }
    }
    this.plain = true;
    return -1;
  }
}

const isApart = ({ address, firstSeen, lastSeen }: FastColumns, column: number): boolean =>
  column === address || column === firstSeen || column === lastSeen;

function countLines(bytes: Uint8Array, from: number, to: number): number {
  let lines = 0;
  for (let at = from; at < to; at++) if (bytes[at] === LINE_FEED) lines++;
  return lines;
}

const NO_REST = -1;
const REFUSED = -1;

/** What stood beside address and dates in the rows seen so far: an open hash table over an arena of bytes. */
class RestTable {
  /** Of each rest: its template's id in the segment, or REFUSED. */
  readonly templates: number[] = [];
  readonly chains: ChainId[] = [];
  private readonly columns: FastColumns;
  private readonly resolve: FastImportOptions['resolve'];
  private readonly segment: SegmentWriter;
  private slots = new Int32Array(1 << 16).fill(-1);
  private readonly hashes: number[] = [];
  private readonly offsets: number[] = [0];
  private arena = Buffer.allocUnsafe(1 << 20);
  private arenaEnd = 0;
  /** First and last column of each run of columns that belong to the rest. */
  private readonly runs: (readonly [first: number, last: number])[] = [];

  constructor(columns: FastColumns, resolve: FastImportOptions['resolve'], segment: SegmentWriter) {
    this.columns = columns;
    this.resolve = resolve;
    this.segment = segment;
    for (let column = 0; column < columns.count; column++) {
      if (isApart(columns, column)) continue;
      const run = this.runs.at(-1);
      if (run && run[1] === column - 1) this.runs[this.runs.length - 1] = [run[0], column];
      else this.runs.push([column, column]);
    }
  }

  get size(): number {
    return this.templates.length;
  }

  /** The number of the rest of the row whose columns start at `starts`; NO_REST where such rows go the slower way. */
  find(bytes: Buffer, starts: Int32Array, hash: number): number {
    const mask = this.slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const rest = this.slots[slot] as number;
      if (rest < 0) break;
      if (this.hashes[rest] === hash && this.isSame(rest, bytes, starts)) {
        return this.templates[rest] === REFUSED ? NO_REST : rest;
      }
    }
    // A file whose rows share nothing gains nothing here: it goes row by row once the table is full.
    return this.size < LIMITS.labelTemplatesMax ? this.add(bytes, starts, hash, slot) : NO_REST;
  }

  private isSame(rest: number, bytes: Buffer, starts: Int32Array): boolean {
    const { arena, runs } = this;
    let at = this.offsets[rest] as number;
    const end = this.offsets[rest + 1] as number;
    for (const [first, last] of runs) {
      const from = starts[first] as number;
      // Neighbouring columns are compared in one go, commas and all.
      const length = (starts[last + 1] as number) - 1 - from;
      if (at + length >= end) return false;
      for (let index = 0; index < length; index++) {
        if (arena[at + index] !== bytes[from + index]) return false;
      }
      at += length;
      if (arena[at++] !== COMMA) return false;
    }
    return at === end;
  }

  private add(bytes: Buffer, starts: Int32Array, hash: number, slot: number): number {
    const fields: string[] = [];
    for (let column = 0; column < this.columns.count; column++) {
      if (isApart(this.columns, column)) {
        fields.push('');
        continue;
      }
      const start = starts[column] as number;
      const end = (starts[column + 1] as number) - 1;
      this.keep(bytes, start, end);
      fields.push(bytes.toString('utf8', start, end));
    }
    const resolved = this.resolve(fields);
    const rest = this.templates.push(resolved ? this.segment.template(resolved.template) : REFUSED) - 1;
    this.chains.push(resolved ? resolved.chain : 'ETH');
    this.hashes.push(hash);
    this.offsets.push(this.arenaEnd);
    this.slots[slot] = rest;
    if (this.size * 2 > this.slots.length) this.grow();
    return resolved ? rest : NO_REST;
  }

  private keep(bytes: Buffer, start: number, end: number): void {
    if (this.arenaEnd + end - start + 1 > this.arena.length) {
      const larger = Buffer.allocUnsafe((this.arena.length + end - start) * 2);
      this.arena.copy(larger, 0, 0, this.arenaEnd);
      this.arena = larger;
    }
    bytes.copy(this.arena, this.arenaEnd, start, end);
    this.arenaEnd += end - start;
    this.arena[this.arenaEnd++] = COMMA;
  }

  private grow(): void {
    const slots = new Int32Array(this.slots.length * 4).fill(-1);
    const mask = slots.length - 1;
    for (const [rest, hash] of this.hashes.entries()) {
      let slot = (hash ^ (hash >>> 15)) & mask;
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
      slots[slot] = rest;
    }
    this.slots = slots;
  }
}
