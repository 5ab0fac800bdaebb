/** The columns of a user's own CSV of labels: which are known, which are required, and how foreign names are mapped to them. */
import { AssayError } from '../../base/errors.ts';
import { splitCsvRow } from '../csv.ts';

/** Fields of an own label, by the names of the default header. */
export const OWN_FIELDS = [
  'address',
  'chain',
  'entity',
  'name',
  'category',
  'threat_level',
  'confidence',
  'tags',
  'jurisdiction',
  'url',
  'first_seen',
  'last_seen',
  'source_url',
  'is_contract',
] as const;

export type OwnField = (typeof OWN_FIELDS)[number];

/** Without these a row is no label; `name` may stand in for `entity`. */
export const OWN_REQUIRED = ['address', 'chain', 'entity', 'category'] as const satisfies readonly OwnField[];

export interface OwnColumns {
  /** Zero-based column of each field; -1 where the file has none. */
  readonly index: Readonly<Record<OwnField, number>>;
  /** How many columns a row has. */
  readonly count: number;
  /** Columns, as printed, that mean nothing to us. */
  readonly ignored: readonly string[];
}

/** `{column: field}`: a column of the user's file, in any letter case, and the field it stands for. */
export type OwnMapping = Readonly<Record<string, string>>;

const FIELDS: ReadonlySet<string> = new Set(OWN_FIELDS);
const plain = (name: string): string => name.trim().toLowerCase();
const invalid = (field: string, sentence: string): AssayError =>
  new AssayError('INVALID_FILE', sentence, { field });

/** The mapping with its columns in lower case. Throws INVALID_REQUEST for a field that does not exist. */
export function checkMapping(mapping: OwnMapping): ReadonlyMap<string, OwnField> {
  const checked = new Map<string, OwnField>();
  for (const [column, field] of Object.entries(mapping)) {
    if (!FIELDS.has(plain(field))) {
      throw new AssayError(
        'INVALID_REQUEST',
        `mapping: '${column}' is mapped to '${field}', which is not a field. Fields: ${OWN_FIELDS.join(', ')}.`,
        { field: 'mapping' },
      );
    }
    checked.set(plain(column), plain(field) as OwnField);
  }
  return checked;
}

/** The field that a column (or the key of an NDJSON object) stands for; null where it means nothing. */
export function ownFieldOf(column: string, mapping: ReadonlyMap<string, OwnField>): OwnField | null {
  const name = plain(column);
  return mapping.get(name) ?? (FIELDS.has(name) ? (name as OwnField) : null);
}

/**
 * Reads the header of an own CSV. A mapped column wins over one that merely has the field's name. Throws INVALID_FILE where a
 * required field is missing or two columns mean the same, INVALID_REQUEST where the mapping is wrong.
 */
export function parseOwnHeader(headerLine: string, mapping: OwnMapping = {}): OwnColumns {
  const mapped = checkMapping(mapping);
  const cells = splitCsvRow(headerLine.replace(/^\uFEFF/, '').replace(/\r?\n?$/, ''));
  if (typeof cells === 'string') throw invalid('header', 'The header line has a quote that is not closed.');
  const index = Object.fromEntries(OWN_FIELDS.map((field) => [field, -1])) as Record<OwnField, number>;
  const ignored: string[] = [];
  for (const [at, cell] of cells.entries()) {
    const field = ownFieldOf(cell, mapped);
    const byMapping = mapped.has(plain(cell));
    const shadowed =
      field !== null && !byMapping && cells.some((other) => mapped.get(plain(other)) === field);
    if (field === null || shadowed) {
      ignored.push(cell.trim());
    } else if (index[field] >= 0) {
      throw invalid(
        field,
        `Columns ${index[field] + 1} ('${cells[index[field]]?.trim()}') and ${at + 1} ('${cell.trim()}') both mean ${field}.`,
      );
    } else {
      index[field] = at;
    }
  }
  const missing = OWN_REQUIRED.filter(
    (field) => index[field] < 0 && !(field === 'entity' && index.name >= 0),
  );
  if (missing.length > 0) {
    throw invalid(
      missing[0] as OwnField,
      `The header lacks ${missing.join(', ')}. It reads: ${cells.slice(0, 40).join(',').slice(0, 500)}.`,
    );
  }
  return { index, count: cells.length, ignored };
}
