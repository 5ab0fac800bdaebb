/**
 * Parses the lines of a job's input. A line has one of three forms: a JSON object, a CSV row under a header line, or an address
 * alone. An invalid line fails only that line.
 */
import { AssayError } from '../../base/errors.ts';
import { COMMA, OPEN_OBJECT, QUOTE } from '../../base/json-bytes.ts';
import { type ChainId, parseChainId } from '../../chains/registry.ts';
import type { LineReader } from '../../screening/bulk-file-thread.ts';
import type { BulkItem } from '../../screening/bulk-items.ts';
import { PLACE_NUMBERS, scanItem, UNUSUAL } from '../../screening/bulk-scan.ts';
import { splitCsvRow } from '../../sources/csv.ts';
import type { JobKind } from '../bulk-jobs.ts';
import type { ChunkTask } from '../chunks.ts';
import { JOB_LIMITS } from '../limits.ts';

/** Form of the lines of one job. */
export type LineShape = Pick<ChunkTask, 'kind' | 'format' | 'columns' | 'chain'>;

/** Fields of a line of each kind. Other fields are ignored. */
const FIELDS: Readonly<Record<JobKind, readonly string[]>> = {
  labels: ['address', 'chain'],
  sanctions: ['address', 'chain'],
  screening: ['address', 'chain', 'jurisdiction', 'asOf', 'maxHops', 'taint'],
  kyt: ['address', 'chain', 'from', 'to', 'direction'],
};
/** Numeric fields; all others are strings. */
const NUMBERS: ReadonlySet<string> = new Set(['maxHops']);
/** A first CSV line is a header if it contains one of these. */
const SUBJECTS: ReadonlySet<string> = new Set(['address', 'from', 'to']);

export type LineFields = Readonly<Record<string, string | number>>;

const invalid = (field: string, sentence: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${sentence}`, { field });

const missingChain = (): AssayError => invalid('chain', 'missing; set it in the line, or for the whole job.');

/**
 * Returns the columns of a header line; null if the first line is already an address.
 *
 * @throws INVALID_REQUEST if the header has a duplicate column or too many columns
 */
export function columnsOf(firstLine: string): readonly string[] | null {
  const cells = splitCsvRow(firstLine.trim());
  if (typeof cells === 'string') return null;
  const columns = cells.map((cell) => cell.trim());
  if (!columns.some((column) => SUBJECTS.has(column))) return null;
  if (columns.length > JOB_LIMITS.jobColumnsMax)
    throw invalid('columns', `line 1 has more than ${JOB_LIMITS.jobColumnsMax} columns.`);
  for (const column of FIELDS.kyt.concat(FIELDS.screening))
    if (columns.indexOf(column) !== columns.lastIndexOf(column))
      throw invalid(column, 'line 1 names this column twice.');
  return columns;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AssayError('INVALID_JSON', 'The line is not valid JSON.', { cause });
  }
  if (typeof value === 'string') return { address: value };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AssayError('INVALID_REQUEST', 'The line must be a JSON object, or an address.');
  return value as Record<string, unknown>;
}

function rowOf(text: string, columns: readonly string[]): Record<string, string> {
  const cells = splitCsvRow(text);
  if (typeof cells === 'string')
    throw new AssayError('INVALID_REQUEST', 'The line has a quote that is not closed.');
  const row: Record<string, string> = {};
  for (const [at, column] of columns.entries()) {
    const cell = (cells[at] ?? '').trim();
    if (cell !== '') row[column] = cell;
  }
  return row;
}

/**
 * Parses a line. If it names no chain, the chain of the job is added.
 *
 * @throws INVALID_JSON; INVALID_REQUEST with the field
 */
export function fieldsOf(text: string, shape: LineShape): LineFields {
  const { format, columns, kind, chain } = shape;
  const isObject = format === 'ndjson' && (text.startsWith('{') || text.startsWith('"'));
  const row: Readonly<Record<string, unknown>> = isObject
    ? parseObject(text)
    : columns === null
      ? { address: text }
      : rowOf(text, columns);
  const fields: Record<string, string | number> = {};
  for (const field of FIELDS[kind]) {
    if (!Object.hasOwn(row, field)) continue;
    const value = row[field];
    if (value === null || value === undefined) continue;
    if (NUMBERS.has(field)) {
      const number = isObject ? value : Number(value);
      if (typeof number !== 'number' || Number.isNaN(number)) throw invalid(field, 'must be a number.');
      fields[field] = number;
    } else if (typeof value === 'string') fields[field] = value;
    else throw invalid(field, 'must be a string.');
  }
  if (fields.chain === undefined) {
    if (chain === null) throw missingChain();
    fields.chain = chain;
  }
  return fields;
}

/** Overwrites the bytes of a line with its address. The address is never longer, unless it is invalid. */
function placeText(block: Buffer, item: BulkItem, text: string): void {
  item.end = item.start + block.write(text, item.start, item.end - item.start, 'utf8');
}

/** Caches the last chain by its text: most lines repeat the same chain, and only a different text is parsed. */
function chainReader(): (block: Buffer, start: number, end: number) => ChainId | AssayError {
  let last: Uint8Array = new Uint8Array(0);
  let chain: ChainId | AssayError = missingChain();
  return (block, start, end) => {
    let same = last.length === end - start && last.length > 0;
    for (let at = 0; same && at < last.length; at++) same = block[start + at] === last[at];
    if (same) return chain;
    last = Uint8Array.prototype.slice.call(block, start, end);
    chain = chainOf(Buffer.from(last).toString('latin1'));
    return chain;
  };
}

function chainOf(text: string): ChainId | AssayError {
  try {
    return parseChainId(text);
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
}

/** Parses a line with the general parser: any JSON, any quotes. */
function readSlowly(block: Buffer, item: BulkItem, shape: LineShape): void {
  try {
    const fields = fieldsOf(block.toString('utf8', item.start, item.end), shape);
    item.chain = chainOf(String(fields.chain));
    placeText(block, item, String(fields.address ?? ''));
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    item.chain = error;
  }
}

function objectLines(shape: LineShape): LineReader {
  const shared = shape.chain ?? missingChain();
  const readChain = chainReader();
  const places = new Int32Array(PLACE_NUMBERS);
  return (block, item) => {
    const first = block[item.start];
    if (first !== OPEN_OBJECT && first !== QUOTE) {
      item.chain = shared;
      return;
    }
    // The scan stops at the first byte that is not part of the object, at the end of the line at the latest.
    const behind = first === OPEN_OBJECT ? scanItem(block, item.start, places, 0) : UNUSUAL;
    if (behind !== item.end) return readSlowly(block, item, shape);
    const chainStart = places[2] as number;
    item.start = places[0] as number;
    item.end = places[1] as number;
    item.chain = chainStart === -1 ? shared : readChain(block, chainStart, places[3] as number);
  };
}

function columnLines(shape: LineShape, columns: readonly string[]): LineReader {
  const shared = shape.chain ?? missingChain();
  const readChain = chainReader();
  const addressAt = columns.indexOf('address');
  const chainAt = columns.indexOf('chain');
  const lastAt = Math.max(addressAt, chainAt);
  return (block, item) => {
    const { start, end } = item;
    item.start = end;
    item.chain = shared;
    let cellStart = start;
    for (let column = 0; column <= lastAt && cellStart <= end; column++) {
      let cellEnd = cellStart;
      while (cellEnd < end && block[cellEnd] !== COMMA && block[cellEnd] !== QUOTE) cellEnd++;
      if (cellEnd < end && block[cellEnd] === QUOTE) {
        item.start = start;
        item.end = end;
        return readSlowly(block, item, shape);
      }
      let from = cellStart;
      let to = cellEnd;
      while (from < to && block[from] === 0x20) from++;
      while (to > from && block[to - 1] === 0x20) to--;
      if (column === addressAt) {
        item.start = from;
        item.end = to;
      } else if (column === chainAt && to > from) item.chain = readChain(block, from, to);
      cellStart = cellEnd + 1;
    }
  };
}

/** Returns the fast line reader of a labels job; null if each line is an address of the job's chain. */
export function lineReader(shape: LineShape): LineReader | null {
  if (shape.columns !== null) return columnLines(shape, shape.columns);
  return shape.format === 'ndjson' ? objectLines(shape) : null;
}

/** Chain of lines that consist of an address alone. */
export const sharedChain = (shape: LineShape): ChainId | AssayError => shape.chain ?? missingChain();
