/**
 * The neutral record that every reader of a regulatory register yields: one firm's entry, in the words of the register.
 * `registers`, not this file, decides which exchange the firm belongs to.
 */
import type { Provenance, Reject } from '../records.ts';

export const REGISTRATION_STATUSES = [
  'REGISTERED',
  'AUTHORISED',
  'PENDING',
  'WITHDRAWN',
  'REVOKED',
  'WARNING',
] as const;
export type RegistrationStatus = (typeof REGISTRATION_STATUSES)[number];

/** One firm on one register. */
export interface Registration {
  readonly type: 'registration';
  /** Row of data/registers.json, or the user's own word. */
  readonly register: string;
  /** ISO 3166-1 alpha-2 of the authority. */
  readonly jurisdiction: string;
  readonly authority: string;
  readonly legalName: string;
  readonly tradeNames: readonly string[];
  /** 20 characters; null if the register has none. */
  readonly lei: string | null;
  /** Host names without `www.`, in lower case. */
  readonly domains: readonly string[];
  /** The register's own number of the firm; null if it gives none. */
  readonly registrationId: string | null;
  /** The legal category, in the register's own words. */
  readonly registeredAs: string;
  /** If the register only gives a last day, the status until then: the import compares the day with that of the file. */
  readonly status: RegistrationStatus;
  /** ISO dates or partial dates. */
  readonly registeredAt: string | null;
  readonly endedAt: string | null;
  /** Services in the words of the register. */
  readonly services: readonly string[];
  /** Countries in which this registration allows the firm to operate (ISO 3166-1 alpha-2). */
  readonly passportedTo: readonly string[];
  /** Additional text of the register, for people. */
  readonly note: string | null;
  /** URL of this entry, if the register itself gives one. */
  readonly sourceUrl: string | null;
  readonly provenance: Provenance;
}

/** Facts about a whole file of a register; a reader yields it exactly once per file. */
export interface RegisterHeader {
  readonly type: 'register';
  /** Registers that this file contains completely: a firm of them that is absent from the file is off the register. */
  readonly whole: readonly string[];
  /** ISO date, from the file or its name; null if neither has one. */
  readonly publishedAt: string | null;
  readonly layout: string;
  readonly file: string;
}

export type RegisterRecord = RegisterHeader | Registration | Reject;

/** A register's reader: streams records from one file, in bounded memory. Throws INVALID_FILE. */
export type RegisterReader = (path: string) => AsyncIterable<RegisterRecord>;

/**
 * Parses a LEI (ISO 17442) by its form. The check digits are not verified, because registers misprint them and the firm is still
 * the same.
 */
export function readLei(text: string): string | null {
  const bare = text.replace(/[\s.\u00a0]/g, '').toUpperCase();
  return /^[0-9A-Z]{18}[0-9]{2}$/.test(bare) ? bare : null;
}

/**
 * Cleans the text of a cell: U+00A0 becomes a space, and U+FFFD (a
 * letter that the register lost) is removed at the edges of words.
 */
export function cleanText(text: string): string {
  return text
    .replace(/[\u00a0\s]+/g, ' ')
    .replace(/(?<![\p{L}\p{N}])\uFFFD+|\uFFFD+(?![\p{L}\p{N}])/gu, '')
    .trim();
}

const HOST = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}$/;

/** Returns the host name of a web address as people write it, without `www.`; null if the text has no host name. */
export function hostOf(text: string): string | null {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^[a-z]{3,5}[:.]?\/\/|^h?ttps?:\/\//, '')
    .replace(/[/?#:].*$/s, '')
    .replace(/^www\./, '')
    .replace(/\.$/, '');
  return HOST.test(bare) ? bare : null;
}

/** Returns the distinct host names in a cell, which may contain several web addresses or none. */
export function readHosts(text: string): string[] {
  const hosts = text.split(/[\s|,;]+/).map(hostOf);
  return [...new Set(hosts.filter((host) => host !== null))];
}

/** Company forms after a comma belong to the name before it: `Foo, Inc.`, `Gossler & Co. KG`. */
const FORM_AFTER_COMMA =
  /^(?:inc|ltd|llc|llp|lp|limited|uab|corp|co|company|incorporated|gmbh|ag|kg|sa|se|s\.|a\.|b\.v|bv|n\.v|nv|plc|pte|pty|srl|sarl|sas|lda|d\.o\.o|a division of)\b/i;

/**
 * Splits a cell with several trade names: `Kraken, Kraken Digital Asset Exchange`, `A | B`, `A / B`, one name per line, and
 * `legal name d/b/a name`. A comma before a company form (`Foo, Inc.`) and a slash or comma inside a word do not separate names.
 *
 * @param text - The cell.
 * @param legalName - The name of the firm, which is not repeated. A cell that is this name is not split.
 * @returns Distinct names in the order of the cell.
 */
export function splitNames(text: string, legalName: string): string[] {
  const fold = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  const own = fold(legalName);
  if (fold(text) === own) return [];
  const names: string[] = [];
  for (const part of text.split(
    /\s*[|;\n\r]\s*|\s+\/\s+|\s*\b(?:d\/b\/a|dba|t\/a|trading as)\b[-:/]?\s*|\s+\bformerly known as\b\s+/i,
  )) {
    // `A, B` has two names, and `A, Inc.` has one.
    let name = '';
    for (const piece of part.split(/\s*,\s+/)) {
      if (name !== '' && !FORM_AFTER_COMMA.test(piece)) {
        names.push(name);
        name = piece;
      } else name = name === '' ? piece : `${name}, ${piece}`;
    }
    names.push(name);
  }
  const distinct = new Map<string, string>();
  for (const name of names.map((one) => one.trim().replace(/^"+|"+$/g, ''))) {
    const folded = fold(name);
    if (folded !== '' && folded !== own && !/^(?:na|none|nil)$/.test(folded) && !distinct.has(folded))
      distinct.set(folded, name);
  }
  return [...distinct.values()];
}

/** The facts that all rows of one register share. */
export interface RegisterSpec {
  readonly register: string;
  readonly jurisdiction: string;
  readonly authority: string;
  readonly registeredAs: string;
  readonly sourceUrl: string;
}

/** Fields of one row. The optional ones are empty if the register does not have them. */
export type RegistrationFields = Pick<Registration, 'legalName' | 'status'> &
  Partial<Omit<Registration, 'type' | 'provenance'>>;

/** Returns a registration from the facts of its register and the fields of its row. */
export const registrationOf = (
  spec: RegisterSpec,
  fields: RegistrationFields,
  provenance: Provenance,
): Registration => ({
  type: 'registration',
  tradeNames: [],
  lei: null,
  domains: [],
  registrationId: null,
  registeredAt: null,
  endedAt: null,
  services: [],
  passportedTo: [],
  note: null,
  ...spec,
  ...fields,
  provenance,
});

/** Returns a reject for one row. The text is cut as records.ts describes. */
export const rejectedRow = (provenance: Provenance, reason: string, text: string): Reject => ({
  type: 'reject',
  reason,
  text: text.slice(0, 500),
  provenance,
});

/** Returns the ISO date in the name of a file (`CASP20260130.csv`, `list-2026-01-30.xlsx`); null if it has none. */
export function dateInName(file: string): string | null {
  const [, year, month, day] = /(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)/.exec(file) ?? [];
  if (year === undefined) return null;
  const text = `${year}-${month}-${day}`;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text) ? text : null;
}
