/**
 * The neutral record that every reader of a regulatory register yields: what the register says of one firm, in its own words.
 * Which exchange the firm belongs to is decided by `registers`, not here.
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
  /** 20 characters; null where the register has none. */
  readonly lei: string | null;
  /** Host names without `www.`, in lower case. */
  readonly domains: readonly string[];
  /** The register's own number of the firm; null where it gives none. */
  readonly registrationId: string | null;
  /** The legal category, in the register's own words. */
  readonly registeredAs: string;
  readonly status: RegistrationStatus;
  /** ISO dates or partial dates. */
  readonly registeredAt: string | null;
  readonly endedAt: string | null;
  /** Services as the register words them. */
  readonly services: readonly string[];
  /** Countries in which the firm may work on the strength of this registration (ISO 3166-1 alpha-2). */
  readonly passportedTo: readonly string[];
  /** What the register adds, for people. */
  readonly note: string | null;
  /** Where this entry can be read, where the register says so itself. */
  readonly sourceUrl: string | null;
  readonly provenance: Provenance;
}

/** What is known of a whole file of a register; a reader yields it exactly once a file. */
export interface RegisterHeader {
  readonly type: 'register';
  /** Registers that this file carries whole: a firm of them that is absent here is off the register. */
  readonly whole: readonly string[];
  /** ISO date, from the file or its name; null where neither says. */
  readonly publishedAt: string | null;
  readonly layout: string;
  readonly file: string;
}

export type RegisterRecord = RegisterHeader | Registration | Reject;

/** A register's reader: streams records out of one file. Bounded memory. Throws INVALID_FILE. */
export type RegisterReader = (path: string) => AsyncIterable<RegisterRecord>;

/** A LEI (ISO 17442) by its form; the check digits are not asked for, because registers misprint them and the firm is the same. */
export function readLei(text: string): string | null {
  const bare = text.replace(/[\s.\u00a0]/g, '').toUpperCase();
  return /^[0-9A-Z]{18}[0-9]{2}$/.test(bare) ? bare : null;
}

/** Text of a cell: U+00A0 is a space, U+FFFD (a letter that the register lost) goes where it stands beside a word. */
export function cleanText(text: string): string {
  return text
    .replace(/[\u00a0\s]+/g, ' ')
    .replace(/(?<![\p{L}\p{N}])\uFFFD+|\uFFFD+(?![\p{L}\p{N}])/gu, '')
    .trim();
}

const HOST = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}$/;

/** The host name in a web address as people write it, without `www.`; null where there is none. */
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

/** The distinct host names in a cell that may hold several web addresses, or none. */
export function readHosts(text: string): string[] {
  const hosts = text.split(/[\s|,;]+/).map(hostOf);
  return [...new Set(hosts.filter((host) => host !== null))];
}
