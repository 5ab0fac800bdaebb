/** Reads CSV files in the browser. */

/** A record of a file. */
export interface CsvLine {
  /** Number of its line in the file, from 1; a record in quotes may have several, and this is its first. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Returns the separator of a file: the most frequent one in its first line. */
function separatorOf(text: string): string {
  const [first = ''] = text.split(/\r?\n/, 1);
  const counted = [',', ';', '\t'].map((mark) => ({ mark, count: first.split(mark).length }));
  return counted.toSorted((a, b) => b.count - a.count)[0]?.mark ?? ',';
}

/** Splits a file into cells (RFC 4180), with commas, semicolons or tabs. Empty lines are no records. */
export function parseCsv(text: string): readonly CsvLine[] {
  const content = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(content);
  const lines: CsvLine[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let began = 1;
  const endRecord = (): void => {
    cells.push(cell);
    if (cells.some((one) => one.trim() !== '')) lines.push({ line: began, cells });
    cells = [];
    cell = '';
  };
  for (let at = 0; at < content.length; at++) {
    const char = content[at] as string;
    if (char === '\n') line++;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (content[at + 1] === '"') {
        cell += '"';
        at++;
      } else isQuoted = false;
    } else if (char === '"' && cell.trim() === '') {
      cell = '';
      isQuoted = true;
    } else if (char === separator) {
      cells.push(cell);
      cell = '';
    } else if (char === '\n') {
      endRecord();
      began = line;
    } else if (char !== '\r') cell += char;
  }
  endRecord();
  return lines;
}
