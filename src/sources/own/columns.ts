/** The columns of a user's own CSV of labels: known columns, required columns, and the mapping of other names to them. */
import { AssayError } from '../../base/errors.ts';
import { separatorHint } from '../../base/separator-hint.ts';
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

/** A row without these fields is not a label; `name` may replace `entity`. */
export const OWN_REQUIRED = ['address', 'chain', 'entity', 'category'] as const satisfies readonly OwnField[];

export interface OwnColumns {
  /** Zero-based column of each field; -1 if the file does not have it. */
  readonly index: Readonly<Record<OwnField, number>>;
  /** Number of columns of a row. */
  readonly count: number;
  /** Unknown columns, as printed. */
  readonly ignored: readonly string[];
}

/** `{column: field}`: a column of the user's file, in any letter case, and the field that it contains. */
export type OwnMapping = Readonly<Record<string, string>>;

const FIELDS: ReadonlySet<string> = new Set(OWN_FIELDS);
const plain = (name: string): string => name.trim().toLowerCase();
const invalid = (file: string, field: string, sentence: string): AssayError =>
  new AssayError('INVALID_FILE', `${file}, line 1: ${sentence}`, { field });

/**
 * Validates a mapping and returns it with lower-case columns.
 *
 * @throws INVALID_REQUEST for a field that does not exist.
 */
export function checkMapping(mapping: OwnMapping): ReadonlyMap<string, OwnField> {
  const checked = new Map<string, OwnField>();
  for (const [column, field] of Object.entries(mapping)) {
    if (!FIELDS.has(plain(field))) {
      throw new AssayError(
        'INVALID_REQUEST',
        `mapping: '${column}' is mapped to '${field}', which is not a field; it must be one of ${OWN_FIELDS.join(', ')}.`,
        { field: 'mapping' },
      );
    }
    checked.set(plain(column), plain(field) as OwnField);
  }
  return checked;
}

/** Returns the field of a column (or of the key of an NDJSON object); null if the column is unknown. */
export function ownFieldOf(column: string, mapping: ReadonlyMap<string, OwnField>): OwnField | null {
  const name = plain(column);
  return mapping.get(name) ?? (FIELDS.has(name) ? (name as OwnField) : null);
}

/**
 * Parses the header of an own CSV. A mapped column takes precedence over a column that only has the field's name.
 *
 * @param file - name of the file, for errors
 * @throws INVALID_FILE if a required field is missing or two columns have the same field.
 * @throws INVALID_REQUEST if the mapping is invalid.
 */
export function parseOwnHeader(
  headerLine: string,
  mapping: OwnMapping = {},
  file = 'the header',
): OwnColumns {
  const mapped = checkMapping(mapping);
  const cells = splitCsvRow(headerLine.replace(/^\uFEFF/, '').replace(/\r?\n?$/, ''));
  if (typeof cells === 'string') throw invalid(file, 'header', 'the header has a quote that is not closed.');
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
        file,
        field,
        `columns ${index[field] + 1} ('${cells[index[field]]?.trim()}') and ${at + 1} ('${cell.trim()}') both mean ${field}.`,
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
      file,
      missing[0] as OwnField,
      `the header lacks ${missing.join(', ')}. It reads: ${cells.slice(0, 40).join(',').slice(0, 500)}.${separatorHint(cells)}`,
    );
  }
  return { index, count: cells.length, ignored };
}
