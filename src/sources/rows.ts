/** Streams the rows of a delimited table (CSV) with the first line of each. The readers interpret the columns. */
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { AssayError, messageOf } from '../base/errors.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { type OpenTextOptions, openText, partName, type SourcePart } from './open.ts';
import type { Reject } from './records.ts';

export interface TableRow {
  /** 1-based line on which the row starts. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface TableOptions extends OpenTextOptions {
  readonly delimiter: ',' | ';' | '\t';
}

/** The last character of files made for DOS. */
const DOS_END_MARK = '\u001a';

/** Yields rows with any number of cells, without empty lines. Throws INVALID_FILE on an unclosed quote or a row that is too long. */
export async function* readRows(
  part: string | SourcePart,
  options: TableOptions,
): AsyncGenerator<TableRow, void, undefined> {
  const parser = parse({
    delimiter: options.delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: SOURCE_LIMITS.sourceLineCharsMax,
  });
  const text = Readable.from(openText(part, options));
  // An error of the source must destroy the parser; otherwise the iteration would wait forever.
  text.on('error', (error) => parser.destroy(error));
  text.pipe(parser);
  let previousLine = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      const line = previousLine + 1;
      previousLine = info.lines;
      if (record.length === 1 && record[0] === DOS_END_MARK) continue;
      yield { line, cells: record };
    }
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError(
      'INVALID_FILE',
      `${partName(part)}, line ${previousLine + 1}: not a readable table (${messageOf(error)}).`,
      { field: 'file', cause: error },
    );
  } finally {
    text.destroy();
    parser.destroy();
  }
}

/** Returns a function that reads a cell by its name in the header row: letter case, spaces and punctuation of the names do not matter. */
export function columnsOf(header: readonly string[]): (cells: readonly string[], name: string) => string {
  const fold = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');
  const at = new Map<string, number>();
  header.forEach((name, index) => {
    if (!at.has(fold(name))) at.set(fold(name), index);
  });
  return (cells, name) => cells[at.get(fold(name)) ?? -1]?.trim() ?? '';
}

export interface WholeTableOptions extends TableOptions {
  /** Number of rows above the header row that do not belong to the table. */
  readonly linesAbove?: number;
  /** Cells of each row, for a table without a header row. */
  readonly cells?: number;
}

export type WholeTableRow =
  | { readonly kind: 'above' | 'header' | 'row'; readonly line: number; readonly cells: readonly string[] }
  | { readonly kind: 'reject'; readonly reject: Reject };

/**
 * Yields the rows that have as many cells as the header row, or as `cells` requires. Any other row becomes a reject.
 *
 * @throws INVALID_FILE if the last row has another number of cells: the file is truncated.
 */
export async function* readWholeTable(
  part: string | SourcePart,
  options: WholeTableOptions,
): AsyncGenerator<WholeTableRow, void, undefined> {
  const file = partName(part);
  let above = options.linesAbove ?? 0;
  let columns = options.cells ?? 0;
  let broken: Reject | null = null;
  for await (const { line, cells } of readRows(part, options)) {
    if (above > 0) {
      above--;
      yield { kind: 'above', line, cells };
    } else if (columns === 0) {
      columns = cells.length;
      yield { kind: 'header', line, cells };
    } else {
      if (broken) yield { kind: 'reject', reject: broken };
      broken = null;
      if (cells.length === columns) yield { kind: 'row', line, cells };
      else {
        broken = {
          type: 'reject',
          reason: `Expected ${columns} cells, found ${cells.length}.`,
          text: cells.join(options.delimiter).slice(0, 500),
          provenance: { file, line },
        };
      }
    }
  }
  if (broken) {
    throw new AssayError(
      'INVALID_FILE',
      `${file}, line ${broken.provenance.line}: the last row is incomplete, so the file is truncated. ${broken.reason}`,
      { field: 'file' },
    );
  }
}
