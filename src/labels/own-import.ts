/**
 * The fast path for a large plain CSV of a user's own labels: a row is read as a record only if the rest of the row is new.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { splitCsvRow } from '../sources/csv.ts';
import { readTextHead } from '../sources/open.ts';
import { type OwnMapping, parseOwnHeader } from '../sources/own/columns.ts';
import { readOwnRow } from '../sources/own/read.ts';
import type { AttributedAddress, Provenance } from '../sources/records.ts';
import type { Currencies } from './currencies.ts';
import { importPlainCsv, type RestOfRow } from './fast-import.ts';
import type { SegmentWriter } from './index/segment.ts';
import type { Mapper } from './map.ts';

export interface OwnCsvOptions {
  readonly path: string;
  readonly mapping?: OwnMapping;
  /** The latest day that a date may have, counted from 1970-01-01. */
  readonly latestDay: number;
  readonly signal?: AbortSignal;
  readonly onProgress: (rows: number) => void;
}

export interface OwnCsvDeps {
  readonly segment: SegmentWriter;
  readonly mapper: Mapper;
  readonly currencies: Currencies;
  /** Takes one record by the slow path. */
  readonly take: (record: AttributedAddress) => void;
  readonly reject: (reason: string, text: string, provenance: Provenance) => void;
}

/** Maximum length of a header: the columns of one table. */
const HEADER_CHARS_MAX = 64 * 1024;

/** Returns whether a file is a plain CSV on disk: not compressed, not UTF-16, not JSON, no quotes in its header. */
export async function isPlainCsv(path: string): Promise<boolean> {
  const head = Buffer.alloc(4);
  const file = openSync(path, 'r');
  try {
    readSync(file, head, 0, 4, 0);
  } finally {
    closeSync(file);
  }
  const packed = (head[0] === 0x1f && head[1] === 0x8b) || head.toString('latin1', 0, 2) === 'PK';
  const wide = head[0] === 0xfe || head[0] === 0xff || head[0] === 0 || head[1] === 0;
  if (packed || wide) return false;
  const line = await headerOf(path);
  return line !== null && !line.trimStart().startsWith('{') && !line.includes('"');
}

/** Returns the first line; null if it is empty or too long. */
async function headerOf(path: string): Promise<string | null> {
  const text = await readTextHead(path, HEADER_CHARS_MAX);
  const end = text.indexOf('\n');
  if (end < 0 && text.length >= HEADER_CHARS_MAX) return null;
  const line = (end < 0 ? text : text.slice(0, end)).replace(/\r$/, '');
  return line.trim() === '' ? null : line;
}

/**
 * Imports the file. The result is the same as reading it row by row: an address that does not parse on the stated chain, and
 * any unusual row, takes the slow path.
 *
 * @returns The number of records, including rejected ones.
 */
export async function importOwnCsv(options: OwnCsvOptions, deps: OwnCsvDeps): Promise<number> {
  const { path, mapping, latestDay, signal, onProgress } = options;
  const { segment, mapper, currencies, take, reject } = deps;
  const file = basename(path);
  const header = (await headerOf(path)) ?? '';
  const columns = parseOwnHeader(header, mapping, file);
  if (columns.ignored.length > 0) {
    const names = columns.ignored.map((name) => `'${name.slice(0, 60)}'`).join(', ');
    reject(`Columns that mean nothing are ignored: ${names}.`, header, { file, line: 1 });
  }
  let records = 0;

  function resolve(fields: readonly string[]): RestOfRow | null {
    // A placeholder for any address: the key has already decided which address it is.
    const cells = fields.map((text, at) => (at === columns.index.address ? '-' : text));
    if (cells.some((text) => text.includes('\uFFFD'))) return null;
    const record = readOwnRow(file, { type: 'row', line: 0, text: '', cells }, columns);
    if (record.type === 'reject') return null;
    const hint = currencies.hintOf(record.currency);
    if (hint.kind !== 'chain') return null;
    const made = mapper.labelsOn('own', record, hint.chain);
    const only = made.ok && made.labels.length === 1 ? made.labels[0] : undefined;
    return only?.when === 'always' ? { chain: hint.chain, template: only.template } : null;
  }

  function slowRow(text: string, line: number): void {
    const cells = splitCsvRow(text);
    const provenance = { file, line };
    if (typeof cells === 'string') {
      reject('A quote in the row is not closed, or text follows it.', text, provenance);
    } else if (text.includes('\uFFFD')) {
      reject('The row is not valid UTF-8.', text, provenance);
    } else {
      const record = readOwnRow(file, { type: 'row', line, text, cells }, columns);
      if (record.type === 'reject') reject(record.reason, record.text, record.provenance);
      else {
        records++;
        take(record);
      }
    }
  }

  const stats = await importPlainCsv(
    {
      path,
      columns: {
        count: columns.count,
        address: columns.index.address,
        firstSeen: columns.index.first_seen,
        lastSeen: columns.index.last_seen,
        latestDay,
      },
      resolve,
      slowRow,
      onProgress,
      ...(signal ? { signal } : {}),
    },
    { segment },
  );
  return records + stats.rows - stats.slowRows;
}
