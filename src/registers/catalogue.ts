/** Reads and validates the shipped data about registers and exchanges: data/registers.json and data/exchanges.json. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { REGISTRATION_STATUSES, type RegistrationStatus } from '../sources/registers/registration.ts';

/** One regulatory register. */
export interface RegisterFacts {
  readonly id: string;
  /** ISO 3166-1 alpha-2, or EU. */
  readonly jurisdiction: string;
  readonly authority: string;
  readonly name: string;
  /** The legal category of the registered firms, in the register's own words. */
  readonly registers: string;
  /** A page of the authority. */
  readonly url: string;
  readonly format: string;
  /** The source that reads its files; `registers` is the CSV of docs/registers-csv.md. */
  readonly importer: string;
  readonly access: string;
  readonly licence: string;
  readonly checkedAt: string;
  /** False if the facts come from general knowledge and not from the register's own page or file. */
  readonly verified: boolean;
  /** The number by which the register identifies firms; null if it has none, or it is not known. */
  readonly idName: string | null;
  /** Last day of the regime of the register, ISO date; omitted if it has not ended. */
  readonly validUntil?: string;
}

export interface LegalEntity {
  readonly name: string;
  readonly lei: string | null;
  readonly jurisdiction: string | null;
  readonly verified: boolean;
}

/** A registration that ships as a fact. */
export interface ShippedRegistration {
  readonly register: string;
  readonly jurisdiction: string;
  readonly authority: string;
  readonly status: RegistrationStatus;
  readonly registrationId: string | null;
  readonly registeredAs: string;
  readonly legalName: string;
  readonly registeredAt: string | null;
  readonly passportedTo: readonly string[];
  readonly sourceUrl: string;
  /** ISO date or partial date on which the registration was known to be valid. */
  readonly asOf: string;
  readonly verified: boolean;
  /**
   * Last day on which the registration can have been valid, ISO date; omitted if no end is known. The end of its register's regime also
   * applies.
   */
  readonly validUntil?: string;
  readonly note?: string;
}

/** The end of an exchange's business. */
export interface Closure {
  /** ISO date on which trading ended. */
  readonly at: string;
  readonly note: string;
  readonly sourceUrl: string;
  /** Publication date of the source. */
  readonly asOf: string;
  readonly verified: boolean;
}

/** The jurisdictions that an exchange says it does not serve. */
export interface Restrictions {
  readonly jurisdictions: readonly string[];
  readonly sourceUrl: string;
  /** Publication date of the source; such lists change, so an older one is less reliable. */
  readonly asOf: string;
  /** True if the exchange's own current terms were read. */
  readonly verified: boolean;
}

export interface ExchangeIdentity {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  /** Entity of the labels (data/entity-aliases.json); null if no label names the exchange. */
  readonly entity: string | null;
  readonly legalEntities: readonly LegalEntity[];
  readonly domains: readonly string[];
  readonly homeJurisdiction: string | null;
  readonly registrations: readonly ShippedRegistration[];
  readonly restrictions: Restrictions | null;
  /** Omitted if the exchange is not known to have closed. */
  readonly closed?: Closure;
}

function read<T>(file: string, key: string): readonly T[] {
  const value = JSON.parse(readFileSync(shippedData(file), 'utf8')) as Record<string, unknown>;
  const rows = value[key];
  if (!Array.isArray(rows))
    throw new AssayError('INVALID_CONFIG', `data/${file}: ${key} must be a list.`, { field: key });
  return rows as readonly T[];
}

/** Returns true if a text is a valid ISO date. */
function isDay(text: unknown): boolean {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function requireDay(file: string, field: string, value: unknown): void {
  if (isDay(value)) return;
  throw new AssayError('INVALID_CONFIG', `data/${file}: ${field} must be an ISO date such as 2026-07-01.`, {
    field,
  });
}

function requireUrl(file: string, field: string, value: unknown): void {
  if (typeof value === 'string' && /^https?:\/\/[^\s]+$/.test(value)) return;
  throw new AssayError('INVALID_CONFIG', `data/${file}: ${field} must be an http URL.`, { field });
}

/**
 * Validates rows of data/registers.json.
 *
 * @throws INVALID_CONFIG naming the field.
 */
export function checkRegisterFacts(registers: readonly RegisterFacts[]): readonly RegisterFacts[] {
  const file = 'registers.json';
  for (const { id, url, checkedAt, validUntil } of registers) {
    requireUrl(file, `${id}.url`, url);
    requireDay(file, `${id}.checkedAt`, checkedAt);
    if (validUntil !== undefined) requireDay(file, `${id}.validUntil`, validUntil);
  }
  return registers;
}

/**
 * Reads data/registers.json.
 *
 * @throws INVALID_CONFIG naming the field.
 */
export const loadRegisterFacts = (): readonly RegisterFacts[] =>
  checkRegisterFacts(read('registers.json', 'registers'));

/**
 * Reads data/exchanges.json.
 *
 * @throws INVALID_CONFIG naming the exchange and the field.
 */
export const loadExchanges = (registers: readonly RegisterFacts[]): readonly ExchangeIdentity[] =>
  checkExchanges(read('exchanges.json', 'exchanges'), registers);

/**
 * Validates rows of data/exchanges.json: registers and statuses exist, and every fact has a source and valid dates.
 *
 * @throws INVALID_CONFIG naming the exchange and the field.
 */
export function checkExchanges(
  exchanges: readonly ExchangeIdentity[],
  registers: readonly RegisterFacts[],
): readonly ExchangeIdentity[] {
  const file = 'exchanges.json';
  const known = new Set(registers.map((register) => register.id));
  for (const { id, registrations, closed } of exchanges) {
    if (closed !== undefined) {
      requireDay(file, `${id}.closed.at`, closed.at);
      requireDay(file, `${id}.closed.asOf`, closed.asOf);
      requireUrl(file, `${id}.closed.sourceUrl`, closed.sourceUrl);
    }
    for (const { register, status, sourceUrl, validUntil } of registrations) {
      requireUrl(file, `${id}.registrations.sourceUrl`, sourceUrl);
      if (validUntil !== undefined) requireDay(file, `${id}.registrations.validUntil`, validUntil);
      if (!known.has(register))
        throw new AssayError(
          'INVALID_CONFIG',
          `data/exchanges.json: ${id} names the register '${register}'.`,
        );
      if (!(REGISTRATION_STATUSES as readonly string[]).includes(status))
        throw new AssayError('INVALID_CONFIG', `data/exchanges.json: ${id} has the status '${status}'.`);
    }
  }
  return exchanges;
}
