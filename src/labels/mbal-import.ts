/**
 * Imports the ten million rows of MBAL by the fast path: the address of a row becomes a key directly, and the few thousand different
 * rests of the rows are each read once. Lower-cased base58 addresses go into a segment of their own, which no index reads; lowered.ts
 * restores the originals among addresses seen on chain.
 */
import { splitCsvRow } from '../sources/csv.ts';
import {
  chainOfMbal,
  isLowered,
  MBAL_LAYOUT,
  MBAL_SYNTHETIC,
  mbalPart,
  readMbal,
  recordOfRest,
  restOfMbal,
} from '../sources/mbal/read.ts';
import { openBytes, openLines, type SourcePart } from '../sources/open.ts';
import type { AttributedAddress, FileHeader, Provenance } from '../sources/records.ts';
import type { Currencies } from './currencies.ts';
import { importPlainCsv, type RestOfRow } from './fast-import.ts';
import { NO_DAY } from './index/days.ts';
import type { SegmentWriter } from './index/segment.ts';
import type { LabelTemplate } from './label.ts';
import { loweredKey } from './lowered.ts';
import type { Mapper } from './map.ts';

export interface MbalOptions {
  /** The table, or the zip archive that contains it. */
  readonly path: string;
  readonly signal?: AbortSignal;
  readonly onProgress: (rows: number) => void;
}

export interface MbalDeps {
  readonly segment: SegmentWriter;
  /** Receives the lower-cased base58 addresses. */
  readonly lowered: SegmentWriter;
  readonly mapper: Mapper;
  readonly currencies: Currencies;
  readonly reject: (reason: string, text: string, provenance: Provenance) => void;
}

export interface MbalCounts {
  /** Rows with a label, or kept apart. */
  readonly records: number;
  /** Rows kept apart. */
  readonly lowered: number;
  readonly header: FileHeader;
}

/** The address of a row in which nothing else is quoted: most unusual rows. */
const PLAIN_ROW = /^([^",]*),([^",]*),(.*)$/s;

/**
 * Imports one file.
 *
 * @throws INVALID_FILE if no part of the file has the header of MBAL, or a row is longer than 4 MB.
 */
export async function importMbal(options: MbalOptions, deps: MbalDeps): Promise<MbalCounts> {
  const part = await mbalPart(options.path);
  const file = new MbalFile(part, await isSynthetic(part), deps);
  const stats = await importPlainCsv(
    {
      path: options.path,
      openBytes: () => openBytes(part),
      columns: { count: 3, address: 1, firstSeen: -1, lastSeen: -1, hasTail: true },
      resolve: ([chain = '', , tail = '']) => file.resolve(chain, tail),
      slowRow: (row, line) => file.slowRow(row, line),
      onProgress: options.onProgress,
      ...(options.signal ? { signal: options.signal } : {}),
    },
    { segment: deps.segment },
  );
  return {
    records: stats.rows - stats.slowRows + file.taken,
    lowered: file.lowered,
    header: {
      type: 'header',
      lists: [],
      // The publisher has released one version of the file, which states no date.
      publishedAt: file.synthetic ? null : '2024-02-08',
      layout: MBAL_LAYOUT,
    },
  };
}

/** Returns whether the first row marks the file as generated. */
async function isSynthetic(part: SourcePart): Promise<boolean> {
  let number = 0;
  for await (const line of openLines(part, { lenient: true }))
    if (++number === 2) return line.text.startsWith(`${MBAL_SYNTHETIC},`);
  return false;
}

class MbalFile {
  taken = 0;
  lowered = 0;
  readonly synthetic: boolean;
  readonly #part: SourcePart;
  readonly #deps: MbalDeps;
  /** Template of the lowered segment for each rest of a row; null if the rest has a fault. */
  readonly #loweredTemplates = new Map<string, number | null>();

  constructor(part: SourcePart, synthetic: boolean, deps: MbalDeps) {
    this.#part = part;
    this.synthetic = synthetic;
    this.#deps = deps;
  }

  /** Reads a rest for all rows that have it; null if each of its rows needs the slow path. */
  resolve(chain: string, tail: string): RestOfRow | null {
    const id = chainOfMbal(chain);
    if (id === null || tail.includes('\uFFFD')) return null;
    const rest = restOfMbal(chain, tail);
    if (typeof rest === 'string') return null;
    const record = recordOfRest(rest, id, '-', { file: this.#part.name, line: 0 });
    if (typeof record === 'string') return null;
    const hint = this.#deps.currencies.hintOf(record.currency);
    const template = this.#templateOf(record);
    return hint.kind === 'chain' && template !== null ? { chain: hint.chain, template } : null;
  }

  #templateOf(record: AttributedAddress): LabelTemplate | null {
    const { mapper, currencies } = this.#deps;
    const hint = currencies.hintOf(record.currency);
    if (hint.kind !== 'chain') return null;
    const made = mapper.labelsOn('mbal', record, hint.chain);
    const only = made.ok && made.labels.length === 1 ? made.labels[0] : undefined;
    if (only?.when !== 'always') return null;
    return this.synthetic ? syntheticOf(only.template) : only.template;
  }

  slowRow(row: string, line: number): void {
    const { reject } = this.#deps;
    const provenance = { file: this.#part.name, line };
    const plain = PLAIN_ROW.exec(row);
    if (plain !== null && isLowered(plain[1] as string, plain[2] as string)) {
      if (this.#keepApart(plain[1] as string, plain[2] as string, plain[3] as string)) return;
    }
    if (row.includes('\uFFFD')) {
      reject('The row is not valid UTF-8.', row, provenance);
      return;
    }
    const cells = splitCsvRow(row);
    if (typeof cells === 'string') {
      reject('A quote in the row is not closed, or text follows it.', row, provenance);
      return;
    }
    if (cells.length !== 5) {
      reject(`The row has ${cells.length} cells; expected 5.`, row, provenance);
      return;
    }
    const [chain, address, categories, entity, source] = cells as [string, string, string, string, string];
    const record = readMbal({ chain, categories, entity, source }, address, provenance);
    if (typeof record === 'string') reject(record, row, provenance);
    else this.#take(record, row);
  }

  #take(record: AttributedAddress, row: string): void {
    const { mapper, segment, reject } = this.#deps;
    const mapped = mapper.map('mbal', record);
    if (!mapped.ok) {
      reject(mapped.reason, row, record.provenance);
      return;
    }
    this.taken++;
    for (const { template } of mapped.labels) {
      const id = segment.template(this.synthetic ? syntheticOf(template) : template);
      segment.add(mapped.key, 0, mapped.key.length, id, NO_DAY, NO_DAY);
    }
  }

  /** Writes a lower-cased address to the segment that no index reads; returns false if the rest of its row has a fault. */
  #keepApart(chain: string, address: string, tail: string): boolean {
    const { lowered } = this.#deps;
    let template = this.#loweredTemplates.get(tail);
    if (template === undefined) {
      const found = this.resolve(chain, tail);
      template = found === null ? null : lowered.template(found.template);
      this.#loweredTemplates.set(tail, template);
    }
    if (template === null) return false;
    const key = loweredKey('BTC', address);
    lowered.add(key, 0, key.length, template, NO_DAY, NO_DAY);
    this.lowered++;
    this.taken++;
    return true;
  }
}

const SYNTHETIC_TEMPLATES = new WeakMap<LabelTemplate, LabelTemplate>();

/** Returns the template as a synthetic one, which counts separately; always the same object for the same template. */
function syntheticOf(template: LabelTemplate): LabelTemplate {
  let made = SYNTHETIC_TEMPLATES.get(template);
  if (made === undefined) {
    made = { ...template, synthetic: true };
    SYNTHETIC_TEMPLATES.set(template, made);
  }
  return made;
}
