/**
 * The law of each jurisdiction (data/jurisdictions.json). The whole file is validated on load, so a wrong row prevents the start.
 */
import { readFileSync } from 'node:fs';
import countries from 'i18n-iso-countries/index.js';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';

/** The source of a fact. */
export interface FactSource {
  readonly sourceUrl: string;
  /** Day on which the source was published; for a page without a date, the day on which the row was written. */
  readonly date: string;
  /** True only if the wording was compared with the publisher's own text. */
  readonly verified: boolean;
}

/** The days on which a fact holds; null if a bound is not known. */
export interface Validity {
  /** First day, ISO date. */
  readonly validFrom: string | null;
  /** Last day, ISO date. */
  readonly validUntil: string | null;
}

/** A fact with its source and the days on which it holds. */
export type Fact = FactSource & Validity;

/**
 * Returns true if a fact holds on a day.
 *
 * @param day - ISO date.
 */
export const isInForceOn = ({ validFrom, validUntil }: Validity, day: string): boolean =>
  (validFrom === null || validFrom <= day) && (validUntil === null || day <= validUntil);

export interface NamedAuthority extends Fact {
  readonly name: string;
}

export const DUTIES = [
  'AUTHORISATION',
  'DUE_DILIGENCE',
  'ENHANCED_DUE_DILIGENCE',
  'REPORTING',
  'SANCTIONS',
] as const;

/** The subject of a statute. */
export type Duty = (typeof DUTIES)[number];

export interface Statute extends Fact {
  readonly duty: Duty;
  readonly law: string;
  /** Null if only the name of the law is known. */
  readonly article: string | null;
}

export interface TravelRule extends Fact {
  /** Amount from which a transfer must carry particulars of both sides; null if every transfer must. */
  readonly threshold: number | null;
  /** ISO 4217. */
  readonly currency: string;
  readonly law: string;
  readonly article: string | null;
  readonly note: string | null;
}

export interface Jurisdiction {
  /** ISO 3166-1 alpha-2. */
  readonly code: string;
  /** English name of the country. */
  readonly name: string;
  /** Id of the union that legislates beside the country. This row already contains its statutes and its travel rule. */
  readonly union: string | null;
  readonly regulator: NamedAuthority;
  /** The financial intelligence unit. */
  readonly reportingTo: NamedAuthority;
  readonly sanctionsAuthority: NamedAuthority;
  /** Null if no travel rule is known. */
  readonly travelRule: TravelRule | null;
  /** National statutes first, then those of the union. */
  readonly statutes: readonly Statute[];
}

export interface Jurisdictions {
  readonly version: string;
  /** Returns the row of a country; null if it has none. */
  of(code: string): Jurisdiction | null;
  readonly all: readonly Jurisdiction[];
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns readers for the fields of one JSON document. Their errors name the file and the field. */
export function documentFields(file: string) {
  const wrong = (field: string, expected: string): AssayError =>
    new AssayError('INVALID_FILE', `${file}: ${field} must be ${expected}.`, { field });
  const object = (value: unknown, field: string): Json => {
    if (isObject(value)) return value;
    throw wrong(field, 'an object');
  };
  const list = (value: unknown, field: string): readonly unknown[] => {
    if (Array.isArray(value)) return value;
    throw wrong(field, 'an array');
  };
  const text = (value: unknown, field: string): string => {
    if (typeof value === 'string' && value.trim() !== '') return value;
    throw wrong(field, 'a string');
  };
  const day = (value: unknown, field: string): string => {
    const date = text(value, field);
    const time = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : Number.NaN;
    if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(date)) return date;
    throw wrong(field, 'an ISO date such as 2026-06-19');
  };
  const validity = (row: Json, field: string): Validity => {
    const bound = (name: keyof Validity): string | null =>
      row[name] === undefined || row[name] === null ? null : day(row[name], `${field}.${name}`);
    const validFrom = bound('validFrom');
    const validUntil = bound('validUntil');
    if (validFrom !== null && validUntil !== null && validUntil < validFrom)
      throw wrong(`${field}.validUntil`, 'on or after validFrom');
    return { validFrom, validUntil };
  };
  const source = (row: Json, field: string): FactSource => {
    const sourceUrl = text(row.sourceUrl, `${field}.sourceUrl`);
    if (!/^https?:\/\/[^\s]+$/.test(sourceUrl)) throw wrong(`${field}.sourceUrl`, 'an http URL');
    const date = day(row.date, `${field}.date`);
    if (typeof row.verified !== 'boolean') throw wrong(`${field}.verified`, 'true or false');
    return { sourceUrl, date, verified: row.verified };
  };
  const country = (value: unknown, field: string): string => {
    const code = text(value, field);
    if (isCountryCode(code)) return code;
    throw wrong(field, 'a country code of ISO 3166-1 alpha-2 in upper case');
  };
  const fact = (row: Json, field: string): Fact => ({ ...source(row, field), ...validity(row, field) });
  return { wrong, object, list, text, source, validity, fact, country };
}

type Fields = ReturnType<typeof documentFields>;

let countryNames: Intl.DisplayNames | null = null;

/** The names take 50 ms to load, at the start of each thread that screens, and most requests need none. */
function countryName(code: string): string {
  countryNames ??= new Intl.DisplayNames(['en'], { type: 'region' });
  return countryNames.of(code) ?? code;
}

/** Returns true if a text is an assigned country code of ISO 3166-1 alpha-2, in upper case. */
export const isCountryCode = (code: string): boolean => /^[A-Z]{2}$/.test(code) && countries.isValid(code);

function authority(value: unknown, field: string, { object, text, fact }: Fields): NamedAuthority {
  const row = object(value, field);
  return { name: text(row.name, `${field}.name`), ...fact(row, field) };
}

function articleIn(row: Json, field: string, { text }: Fields): string | null {
  return row.article === null ? null : text(row.article, `${field}.article`);
}

function statute(value: unknown, field: string, fields: Fields): Statute {
  const row = fields.object(value, field);
  const duty = DUTIES.find((known) => known === row.duty);
  if (duty === undefined) throw fields.wrong(`${field}.duty`, `one of ${DUTIES.join(', ')}`);
  return {
    duty,
    law: fields.text(row.law, `${field}.law`),
    article: articleIn(row, field, fields),
    ...fields.fact(row, field),
  };
}

function travelRule(value: unknown, field: string, fields: Fields): TravelRule | null {
  if (value === null) return null;
  const row = fields.object(value, field);
  const { threshold } = row;
  if (threshold !== null && !(typeof threshold === 'number' && threshold > 0 && Number.isFinite(threshold)))
    throw fields.wrong(`${field}.threshold`, 'a number above 0, or null for none');
  const currency = fields.text(row.currency, `${field}.currency`);
  if (!/^[A-Z]{3}$/.test(currency)) throw fields.wrong(`${field}.currency`, 'a currency code such as CHF');
  return {
    threshold,
    currency,
    law: fields.text(row.law, `${field}.law`),
    article: articleIn(row, field, fields),
    note: row.note === null ? null : fields.text(row.note, `${field}.note`),
    ...fields.fact(row, field),
  };
}

interface Union {
  readonly statutes: readonly Statute[];
  readonly travelRule: TravelRule | null;
}

/** Duties for which every row must have a law, its own or that of its union. */
const REQUIRED: readonly Duty[] = ['DUE_DILIGENCE', 'REPORTING', 'SANCTIONS'];

function jurisdiction(value: unknown, field: string, unions: ReadonlyMap<string, Union>, fields: Fields) {
  const row = fields.object(value, field);
  const code = fields.country(row.code, `${field}.code`);
  const at = `${field} (${code})`;
  const unionId = row.union === null ? null : fields.text(row.union, `${at}.union`);
  const union = unionId === null ? null : unions.get(unionId);
  if (union === undefined) throw fields.wrong(`${at}.union`, 'the id of a row of unions, or null');
  const own = fields
    .list(row.statutes, `${at}.statutes`)
    .map((item, index) => statute(item, `${at}.statutes[${index}]`, fields));
  const statutes = [...own, ...(union?.statutes ?? [])];
  for (const duty of REQUIRED) {
    if (!statutes.some((known) => known.duty === duty))
      throw fields.wrong(`${at}.statutes`, `an array with an entry of duty ${duty}`);
  }
  return {
    code,
    get name() {
      return countryName(code);
    },
    union: unionId,
    regulator: authority(row.regulator, `${at}.regulator`, fields),
    reportingTo: authority(row.reportingTo, `${at}.reportingTo`, fields),
    sanctionsAuthority: authority(row.sanctionsAuthority, `${at}.sanctionsAuthority`, fields),
    travelRule: travelRule(row.travelRule, `${at}.travelRule`, fields) ?? union?.travelRule ?? null,
    statutes,
  };
}

/**
 * Reads a document of jurisdictions.
 *
 * @throws INVALID_FILE naming the field.
 */
export function parseJurisdictions(document: unknown): Jurisdictions {
  const fields = documentFields('jurisdictions.json');
  const top = fields.object(document, 'the document');
  const version = fields.text(top.version, 'version');
  const unions = new Map<string, Union>();
  for (const [index, value] of fields.list(top.unions, 'unions').entries()) {
    const field = `unions[${index}]`;
    const row = fields.object(value, field);
    unions.set(fields.text(row.id, `${field}.id`), {
      statutes: fields
        .list(row.statutes, `${field}.statutes`)
        .map((item, place) => statute(item, `${field}.statutes[${place}]`, fields)),
      travelRule: travelRule(row.travelRule, `${field}.travelRule`, fields),
    });
  }
  const byCode = new Map<string, Jurisdiction>();
  for (const [index, value] of fields.list(top.jurisdictions, 'jurisdictions').entries()) {
    const row = jurisdiction(value, `jurisdictions[${index}]`, unions, fields);
    if (byCode.has(row.code)) throw fields.wrong(`jurisdictions[${index}].code`, 'listed once');
    byCode.set(row.code, row);
  }
  return { version, of: (code) => byCode.get(code) ?? null, all: [...byCode.values()] };
}

/**
 * Parses one of the JSON files that ship with the product.
 *
 * @throws INVALID_FILE naming the path.
 */
export function readDocument(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new AssayError('INVALID_FILE', `${path}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Reads data/jurisdictions.json.
 *
 * @throws INVALID_FILE naming the field.
 */
export const loadJurisdictions = (path: string = shippedData('jurisdictions.json')): Jurisdictions =>
  parseJurisdictions(readDocument(path));
