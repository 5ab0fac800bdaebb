/** Reads the facts that ship with the product: NDJSON in the format of data/seed/README.md. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { shippedData } from '../../base/paths.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { rejectRow } from '../csv.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { openLines, partName } from '../open.ts';
import type { AttributedAddress, SourceReader, SourceRecord, StatedSanction } from '../records.ts';
import {
  FieldFault,
  readConfidence,
  readDate,
  readJurisdiction,
  readText,
  readUrl,
  readWord,
} from '../statement.ts';

/** Returns the shipped seed files, ordered by name. */
export async function seedFiles(): Promise<string[]> {
  const names = await readdir(shippedData('seed'));
  return names
    .filter((name) => name.endsWith('.ndjson'))
    .sort()
    .map((name) => join(shippedData('seed'), name));
}

/**
 * Creates a reader of facts. It yields the facts, then the header; a line that breaks the format becomes a reject.
 *
 * @param lists - Ids of the sanctions lists that a fact can name, in addition to OTHER.
 */
export function seedReader(lists: readonly string[]): SourceReader {
  const known = [...lists, 'OTHER'];
  return (files) => readSeed(files, known);
}

async function* readSeed(
  files: readonly string[],
  lists: readonly string[],
): AsyncGenerator<SourceRecord, void, undefined> {
  let newest: string | null = null;
  for (const path of files) {
    const file = partName(path);
    for await (const row of openLines(path)) {
      if (row.text.trim() === '' || row.text.startsWith('#')) continue;
      try {
        const record = readFact(row.text, lists, { file, line: row.line });
        if (record.lastSeen !== null && (newest === null || record.lastSeen > newest))
          newest = record.lastSeen;
        yield record;
      } catch (error) {
        if (!(error instanceof FieldFault)) throw error;
        yield rejectRow(file, row, error.message);
      }
    }
  }
  yield { type: 'header', lists: [], publishedAt: newest, layout: 'SEED' };
}

const FIELDS: ReadonlySet<string> = new Set([
  'chain',
  'address',
  'entity',
  'name',
  'category',
  'threatLevel',
  'jurisdiction',
  'url',
  'tags',
  'confidence',
  'sourceUrl',
  'date',
  'verified',
  'isContract',
  'sanctions',
]);

const SANCTION_FIELDS: ReadonlySet<string> = new Set([
  'list',
  'entityId',
  'program',
  'listedAt',
  'delistedAt',
]);

type Row = Readonly<Record<string, unknown>>;

/** Reads one line of the seed as a record. Throws FieldFault. */
function readFact(
  text: string,
  lists: readonly string[],
  provenance: AttributedAddress['provenance'],
): AttributedAddress {
  if (text.length > SOURCE_LIMITS.labelRowCharsMax) throw new FieldFault('line', 'is too long');
  const row = readObject('line', parseJson(text));
  for (const field of Object.keys(row)) {
    if (!FIELDS.has(field)) throw new FieldFault(field, 'is not a field of the seed');
  }
  const entity = required('entity', textOf(row, 'entity'));
  if (!/^[a-z0-9][a-z0-9:._-]*$/.test(entity)) throw new FieldFault('entity', `'${entity}' is not a slug`);
  const { tags, confidence, verified, isContract } = row;
  if (!Array.isArray(tags) || !tags.every((tag): tag is string => typeof tag === 'string')) {
    throw new FieldFault('tags', 'must be an array of texts');
  }
  if (typeof confidence !== 'number') throw new FieldFault('confidence', 'must be a number from 0 to 1');
  if (typeof verified !== 'boolean') throw new FieldFault('verified', 'must be true or false');
  if (isContract !== undefined && isContract !== null && typeof isContract !== 'boolean') {
    throw new FieldFault('isContract', 'must be true or false');
  }
  return {
    type: 'address',
    address: required('address', textOf(row, 'address', CHAIN_LIMITS.addressTextMax)),
    currency: required('chain', textOf(row, 'chain')),
    actorId: entity,
    actorName: required('name', textOf(row, 'name')),
    concepts: [],
    category: required('category', readWord('category', raw(row, 'category'))),
    threatLevel: readWord('threatLevel', raw(row, 'threatLevel')),
    tags: tags.map((tag) => required('tags', readText('tags', tag))),
    confidence: readConfidence('confidence', String(confidence)),
    jurisdiction: readJurisdiction('jurisdiction', raw(row, 'jurisdiction')),
    url: readUrl('url', raw(row, 'url')),
    sourceUrl: required('sourceUrl', readUrl('sourceUrl', raw(row, 'sourceUrl'))),
    firstSeen: null,
    lastSeen: required('date', readDate('date', raw(row, 'date'))),
    isContract: isContract ?? null,
    verified,
    sanctions:
      row.sanctions === undefined || row.sanctions === null ? null : readSanction(row.sanctions, lists),
    provenance,
  };
}

function readSanction(value: unknown, lists: readonly string[]): StatedSanction {
  const row = readObject('sanctions', value);
  for (const field of Object.keys(row)) {
    if (!SANCTION_FIELDS.has(field)) throw new FieldFault(`sanctions.${field}`, 'is not a field of the seed');
  }
  const list = required('sanctions.list', textOf(row, 'list'));
  if (!lists.includes(list))
    throw new FieldFault('sanctions.list', `must be one of ${lists.join(', ')} (got '${list}')`);
  return {
    list,
    entityId: required('sanctions.entityId', textOf(row, 'entityId')),
    program: textOf(row, 'program'),
    listedAt: readDate('sanctions.listedAt', raw(row, 'listedAt')),
    delistedAt: readDate('sanctions.delistedAt', raw(row, 'delistedAt')),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FieldFault('line', 'is not JSON');
  }
}

function readObject(field: string, value: unknown): Row {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Row;
  throw new FieldFault(field, 'must be a JSON object');
}

/** Returns the text of a field; empty if the field is absent or null. */
function raw(row: Row, field: string): string {
  const value = row[field];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new FieldFault(field, 'must be a text');
  return value;
}

const textOf = (row: Row, field: string, charsMax?: number): string | null =>
  readText(field, raw(row, field), charsMax);

function required<T>(field: string, value: T | null): T {
  if (value === null) throw new FieldFault(field, 'is required');
  return value;
}
