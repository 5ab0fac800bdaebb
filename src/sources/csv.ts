/**
 * Reads comma-separated rows (RFC 4180) from a stream of lines, with the first line of each row. A bad row affects only itself.
 */

import { SOURCE_LIMITS } from './limits.ts';
import { type OpenTextOptions, openLines, type SourcePart, type TextLine } from './open.ts';
import type { Reject } from './records.ts';

export interface CsvRow {
  readonly type: 'row';
  /** 1-based line on which the row begins. */
  readonly line: number;
  /** The row as printed. */
  readonly text: string;
  readonly cells: readonly string[];
}

export interface CsvFault {
  readonly type: 'fault';
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/**
 * Splits a row into cells: `"` opens a quoted cell only at the beginning of the cell, and `""` inside it means `"`.
 *
 * @returns The cells; `'open'` if the row continues on the next line, `'broken'` if text follows a closing quote.
 */
export function splitCsvRow(text: string): readonly string[] | 'open' | 'broken' {
  if (!text.includes('"')) return text.split(',');
  const cells: string[] = [];
  for (let at = 0; ; at++) {
    if (text[at] !== '"') {
      const comma = text.indexOf(',', at);
      if (comma < 0) return [...cells, text.slice(at)];
      cells.push(text.slice(at, comma));
      at = comma;
      continue;
    }
    let cell = '';
    for (at++; ; at += 2) {
      const quote = text.indexOf('"', at);
      if (quote < 0) return 'open';
      cell += text.slice(at, quote);
      at = quote;
      if (text[at + 1] !== '"') break;
      cell += '"';
    }
    at++;
    cells.push(cell);
    if (at >= text.length) return cells;
    if (text[at] !== ',') return 'broken';
  }
}

/**
 * Streams the rows of a file, without empty lines. A row that cannot be read is a fault; reading continues at the next line.
 */
export async function* readCsv(
  part: string | SourcePart,
  options: OpenTextOptions = {},
): AsyncGenerator<CsvRow | CsvFault, void, undefined> {
  const rows = new RowReader();
  for await (const line of openLines(part, options)) yield* rows.take(line);
  yield* rows.end();
}

/** Joins lines to rows. Each line is scanned once, or again if an open quote turns out to be a fault. */
class RowReader {
  /** The lines of a row with a quoted cell that is still open. */
  private open: TextLine[] = [];
  private openChars = 0;

  *take(line: TextLine): Generator<CsvRow | CsvFault> {
    const waiting = [line];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { result, again } = this.accept(next);
      if (result !== null) yield result;
      waiting.push(...again.reverse());
    }
  }

  *end(): Generator<CsvRow | CsvFault> {
    while (this.open.length > 0) {
      const [first, ...rest] = this.close();
      yield faultAt(first as TextLine, 'A quote is opened and never closed.');
      for (const line of rest) yield* this.take(line);
    }
  }

  private close(): TextLine[] {
    const lines = this.open;
    this.open = [];
    this.openChars = 0;
    return lines;
  }

  /** Takes a line: returns the row or fault that it completes, and the lines that must be read again on their own. */
  private accept(line: TextLine): { result: CsvRow | CsvFault | null; again: TextLine[] } {
    const first = this.open[0] ?? line;
    // A line that continues a quoted cell is scanned as if it began with a quote.
    const scanned = splitCsvRow(this.open.length > 0 ? `"${line.text}` : line.text);
    this.open.push(line);
    this.openChars += line.text.length + 1;
    const tooLong =
      this.openChars > SOURCE_LIMITS.labelRowCharsMax || this.open.length > SOURCE_LIMITS.csvRowLinesMax;
    if (scanned === 'open' && !tooLong) return { result: null, again: [] };
    const lines = this.close();
    const again = lines.slice(1);
    if (tooLong) return { result: faultAt(first, tooLongReason()), again };
    const text = lines.map((one) => one.text).join('\n');
    const cells = lines.length === 1 ? scanned : splitCsvRow(text);
    if (typeof cells === 'string') return { result: faultAt(first, 'Text follows a closing quote.'), again };
    return { result: text.trim() === '' ? null : { type: 'row', line: first.line, text, cells }, again: [] };
  }
}

/** A function, because formatting the first number takes 7 ms of a start. */
const tooLongReason = (): string =>
  `The row is longer than ${SOURCE_LIMITS.labelRowCharsMax.toLocaleString('en')} characters or ` +
  `${SOURCE_LIMITS.csvRowLinesMax} lines, or a quote is never closed.`;

const faultAt = (line: TextLine, reason: string): CsvFault => ({
  type: 'fault',
  line: line.line,
  text: line.text,
  reason,
});

/** Returns a reject for one row of a file, with its text cut as described in records.ts. */
export function rejectRow(file: string, row: { line: number; text: string }, reason: string): Reject {
  return { type: 'reject', reason, text: row.text.slice(0, 500), provenance: { file, line: row.line } };
}
