/** Reads a user's own labels: CSV with a header, or NDJSON with the same field names. The format is in docs/own-labels.md. */
import { AssayError } from '../../base/errors.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { type CsvRow, readCsv, rejectRow } from '../csv.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { openLines, openText, partName } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';
import {
  FieldFault,
  readConfidence,
  readDate,
  readJurisdiction,
  readText,
  readTruth,
  readUrl,
  readWord,
} from '../statement.ts';
import {
  checkMapping,
  OWN_FIELDS,
  type OwnColumns,
  type OwnField,
  type OwnMapping,
  ownFieldOf,
  parseOwnHeader,
} from './columns.ts';

export interface OwnOptions {
  readonly mapping?: OwnMapping;
}

/** Texts of one label by field; empty if the file has no value. */
type OwnTexts = Readonly<Record<OwnField, string>>;

/**
 * Creates a reader of own labels. The first character decides between CSV and NDJSON. Unknown columns are reported in one
 * reject at the header's line (NDJSON: at the first line that has one).
 *
 * The reader throws INVALID_FILE if a required column is missing.
 *
 * @throws INVALID_REQUEST if the mapping is invalid.
 */
export function ownReader(options: OwnOptions = {}): SourceReader {
  const { mapping = {} } = options;
  checkMapping(mapping);
  return async function* (files) {
    const layouts = new Set<string>();
    for (const path of files) {
      const json = await startsAsJson(path);
      layouts.add(json ? 'OWN_NDJSON' : 'OWN_CSV');
      yield* json ? readNdjson(path, mapping) : readCsvLabels(path, mapping);
    }
    yield {
      type: 'header',
      lists: [],
      publishedAt: null,
      layout: [...layouts].sort().join('+') || 'OWN_CSV',
    };
  };
}

async function startsAsJson(path: string): Promise<boolean> {
  for await (const chunk of openText(path)) {
    const first = chunk.trimStart()[0];
    if (first !== undefined) return first === '{';
  }
  return false;
}

async function* readCsvLabels(path: string, mapping: OwnMapping): AsyncGenerator<AttributedAddress | Reject> {
  const file = partName(path);
  let columns: OwnColumns | null = null;
  for await (const row of readCsv(path)) {
    if (row.type === 'fault') {
      yield rejectRow(file, row, row.reason);
    } else if (columns === null) {
      columns = parseOwnHeader(row.text, mapping, file);
      if (columns.ignored.length > 0) yield rejectRow(file, row, ignoredSentence(columns.ignored));
    } else {
      yield readOwnRow(file, row, columns);
    }
  }
  if (columns === null)
    throw new AssayError('INVALID_FILE', `${file}: the file has no header.`, { field: 'file' });
}

const ignoredSentence = (names: readonly string[]): string =>
  `Columns that mean nothing are ignored: ${names.map((name) => `'${name.slice(0, 60)}'`).join(', ')}.`;

/** Reads one row of a CSV of own labels, on the fast or the slow path. */
export function readOwnRow(file: string, row: CsvRow, columns: OwnColumns): AttributedAddress | Reject {
  if (row.cells.length !== columns.count) {
    return rejectRow(file, row, `The row has ${row.cells.length} cells; expected ${columns.count}.`);
  }
  const texts = Object.fromEntries(
    OWN_FIELDS.map((field) => [field, row.cells[columns.index[field]] ?? '']),
  ) as Record<OwnField, string>;
  return readLabel(file, row, texts);
}

async function* readNdjson(path: string, mapping: OwnMapping): AsyncGenerator<AttributedAddress | Reject> {
  const file = partName(path);
  const mapped = checkMapping(mapping);
  const reported = new Set<string>();
  for await (const row of openLines(path)) {
    if (row.text.trim() === '') continue;
    const fields =
      row.text.length > SOURCE_LIMITS.labelRowCharsMax ? 'The line is too long.' : parseObject(row.text);
    if (typeof fields === 'string') {
      yield rejectRow(file, row, fields);
      continue;
    }
    const texts = Object.fromEntries(OWN_FIELDS.map((field) => [field, ''])) as Record<OwnField, string>;
    const ignored: string[] = [];
    for (const [key, value] of Object.entries(fields)) {
      const field = ownFieldOf(key, mapped);
      if (field === null) {
        if (reported.size < MAX_REPORTED && !reported.has(key)) ignored.push(key);
        reported.add(key.slice(0, 60));
      } else if (texts[field] === '' || mapped.has(key.trim().toLowerCase())) {
        texts[field] = jsonText(value);
      }
    }
    if (ignored.length > 0) yield rejectRow(file, row, ignoredSentence(ignored));
    yield readLabel(file, row, texts);
  }
}

/** Maximum number of unknown keys that are reported. */
const MAX_REPORTED = 100;

/** Parses the object of a line; returns the reason if it is not an object. */
function parseObject(text: string): Readonly<Record<string, unknown>> | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'The line is not JSON.';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'The line is not a JSON object.';
  return value as Record<string, unknown>;
}

function jsonText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(jsonText).join(';');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Builds one label from the texts of its fields, in the same way for every layout. */
function readLabel(
  file: string,
  row: { line: number; text: string },
  texts: OwnTexts,
): AttributedAddress | Reject {
  try {
    const address = readText('address', texts.address, CHAIN_LIMITS.addressTextMax);
    const chain = readText('chain', texts.chain);
    const entity = readText('entity', texts.entity);
    const name = readText('name', texts.name) ?? entity;
    const category = readWord('category', texts.category);
    if (address === null) throw new FieldFault('address', 'is empty');
    if (chain === null) throw new FieldFault('chain', 'is empty');
    if (name === null) throw new FieldFault('entity', 'is empty');
    if (category === null) throw new FieldFault('category', 'is empty');
    return {
      type: 'address',
      address,
      currency: chain,
      actorId: entity,
      actorName: name,
      concepts: [],
      category,
      threatLevel: readWord('threat_level', texts.threat_level),
      tags: (readText('tags', texts.tags) ?? '')
        .split(';')
        .map((tag) => tag.trim())
        .filter((tag) => tag !== ''),
      confidence: readConfidence('confidence', texts.confidence),
      jurisdiction: readJurisdiction('jurisdiction', texts.jurisdiction),
      url: readUrl('url', texts.url),
      sourceUrl: readUrl('source_url', texts.source_url),
      firstSeen: readDate('first_seen', texts.first_seen),
      lastSeen: readDate('last_seen', texts.last_seen),
      isContract: readTruth('is_contract', texts.is_contract),
      verified: true,
      provenance: { file, line: row.line },
    };
  } catch (error) {
    if (!(error instanceof FieldFault)) throw error;
    return rejectRow(file, row, error.message);
  }
}
