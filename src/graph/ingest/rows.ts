/**
 * Rows of a file of transfers in any layout: JSON lines, one JSON array, or CSV with a header, each also as .gz or .zip. The layout is
 * detected from the content. Whole numbers that do not fit a float stay exact, as text. Streams the file; an invalid row is reported as a
 * fault at its place.
 */
import { Readable } from 'node:stream';
import { parse as parseCsv } from 'csv-parse';
import { AssayError, messageOf } from '../../base/errors.ts';
import { openText } from '../../sources/open.ts';
import { INGEST_LIMITS } from './limits.ts';

export type RowFields = Readonly<Record<string, unknown>>;

export type Row =
  | { readonly ok: true; readonly line: number; readonly fields: RowFields; readonly text: string }
  | { readonly ok: false; readonly line: number; readonly reason: string; readonly text: string };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
/** From this many digits on, a JSON number may not fit a float. */
const EXACT_DIGITS = 16;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/**
 * Quotes every whole number of 16 or more digits outside strings, so that JSON.parse keeps all its digits. ethereum-etl writes token
 * amounts as bare numbers of up to 78 digits.
 */
export function quoteLongIntegers(json: string): string {
  if (!/[0-9]{16}/.test(json)) return json;
  let out = '';
  let copied = 0;
  let at = 0;
  let inText = false;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (inText) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inText = false;
      at++;
      continue;
    }
    if (code === QUOTE) {
      inText = true;
      at++;
      continue;
    }
    if (!isDigit(code)) {
      at++;
      continue;
    }
    let end = at + 1;
    while (isDigit(json.charCodeAt(end))) end++;
    const before = json[at - 1];
    const after = json[end];
    const isWhole =
      before !== '.' && after !== '.' && after !== 'e' && after !== 'E' && !/[eE+]/.test(before ?? '');
    if (isWhole && end - at >= EXACT_DIGITS) {
      const start = before === '-' ? at - 1 : at;
      out += `${json.slice(copied, start)}"${json.slice(start, end)}"`;
      copied = end;
    }
    at = end;
  }
  return out + json.slice(copied);
}

function jsonRow(text: string, line: number): Row {
  try {
    const fields: unknown = JSON.parse(quoteLongIntegers(text));
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields))
      return { ok: true, line, fields: fields as RowFields, text };
    return { ok: false, line, reason: 'The row is not a JSON object.', text };
  } catch (error) {
    return { ok: false, line, reason: `The row is not JSON: ${messageOf(error)}`, text };
  }
}

const tooLong = (line: number, text: string): Row => ({
  ok: false,
  line,
  reason: `The row is longer than ${INGEST_LIMITS.ingestRowCharsMax} characters.`,
  text: text.slice(0, 500),
});

async function* jsonLines(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let rest = '';
  let line = 1;
  let skipping = false;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      if (skipping) skipping = false;
      else if (text.length > INGEST_LIMITS.ingestRowCharsMax) yield tooLong(line, text);
      else if (text.trim() !== '') yield jsonRow(text, line);
      line++;
    }
    if (rest.length <= INGEST_LIMITS.ingestRowCharsMax) continue;
    if (!skipping) yield tooLong(line, rest);
    skipping = true;
    rest = '';
  }
  if (!skipping && rest.trim() !== '') yield jsonRow(rest, line);
}

/** Yields the elements of one top-level array, each with the line on which it starts. Throws INVALID_FILE if the array is not closed. */
async function* jsonArray(chunks: AsyncIterable<string>, file: string): AsyncGenerator<Row> {
  let line = 1;
  let depth = 0;
  let inText = false;
  let escaped = false;
  let element = '';
  let elementLine = 1;
  let closed = false;
  const broken = (what: string): AssayError =>
    new AssayError('INVALID_FILE', `${file}, line ${line}: ${what}`);
  for await (const chunk of chunks) {
    let start = element === '' ? -1 : 0;
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at);
      if (code === NEWLINE) line++;
      if (inText) {
        if (escaped) escaped = false;
        else if (code === BACKSLASH) escaped = true;
        else if (code === QUOTE) inText = false;
        continue;
      }
      const char = chunk[at] as string;
      if (depth === 0) {
        if (char === '[' && !closed) depth = 1;
        else if (char.trim() !== '') throw broken('there is text outside the JSON array.');
        continue;
      }
      const isEnd = depth === 1 && (char === ',' || char === ']');
      if (isEnd) {
        if (start >= 0) element += chunk.slice(start, at);
        if (element.trim() !== '') yield jsonRow(element, elementLine);
        element = '';
        start = -1;
        if (char === ']') {
          depth = 0;
          closed = true;
        }
        continue;
      }
      if (start < 0 && element === '' && char.trim() !== '') {
        start = at;
        elementLine = line;
      }
      if (code === QUOTE) inText = true;
      else if (char === '{' || char === '[') depth++;
      else if (char === '}' || char === ']') depth--;
    }
    if (start >= 0) element += chunk.slice(start);
    if (element.length > INGEST_LIMITS.ingestRowCharsMax)
      throw broken(`an element is longer than ${INGEST_LIMITS.ingestRowCharsMax} characters.`);
  }
  if (!closed) throw broken('the JSON array is not closed.');
}

async function* csvRows(
  chunks: AsyncIterable<string>,
  onColumns: (columns: readonly string[]) => void,
): AsyncGenerator<Row> {
  const parser = parseCsv({
    columns: (header: string[]) => {
      onColumns(header);
      return header;
    },
    info: true,
    raw: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: INGEST_LIMITS.ingestRowCharsMax,
  });
  type Parsed = { record: RowFields; raw: string; info: { lines: number; error?: { message: string } } };
  const source = Readable.from(chunks);
  // An error of the source must destroy the parser; otherwise the iteration would wait forever.
  source.on('error', (error) => parser.destroy(error));
  try {
    for await (const { record, raw, info } of source.pipe(parser) as AsyncIterable<Parsed>) {
      const line = info.lines;
      if (info.error) yield { ok: false, line, reason: info.error.message, text: raw };
      else yield { ok: true, line, fields: record, text: raw };
    }
  } finally {
    source.destroy();
    parser.destroy();
  }
}

/** Reads the first non-empty chunk to detect the layout, and returns it together with the rest. */
async function peek(chunks: AsyncGenerator<string>): Promise<{ first: string; all: AsyncGenerator<string> }> {
  let first = '';
  while (first.trim() === '') {
    const { value, done } = await chunks.next();
    if (done) break;
    first += value;
  }
  async function* all(): AsyncGenerator<string> {
    try {
      yield first;
      yield* chunks;
    } finally {
      // A consumer that stops inside the first chunk never iterated `chunks`, so its file is closed here.
      await chunks.return(undefined);
    }
  }
  return { first: first.trimStart(), all: all() };
}

/**
 * Yields the rows of a file in their order. When aborted, it throws the signal's reason.
 *
 * @param onColumns - Called with the header of a CSV, also if no row follows it.
 * @throws INVALID_FILE if the file cannot be read
 */
export async function* readRows(
  file: string,
  signal?: AbortSignal,
  onColumns: (columns: readonly string[]) => void = () => {},
): AsyncGenerator<Row> {
  try {
    const { first, all } = await peek(untilAborted(openText(file), signal));
    if (first === '') return;
    if (first.startsWith('[')) yield* jsonArray(all, file);
    else if (first.startsWith('{')) yield* jsonLines(all);
    else yield* csvRows(all, onColumns);
  } catch (error) {
    if (error instanceof AssayError || signal?.aborted) throw error;
    throw new AssayError('INVALID_FILE', `${file}: ${messageOf(error)}`, { cause: error });
  }
}

async function* untilAborted(
  chunks: AsyncIterable<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    yield chunk;
  }
}
