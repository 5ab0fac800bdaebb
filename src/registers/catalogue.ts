/** What ships about registers and exchanges: data/registers.json and data/exchanges.json, read and checked. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { REGISTRATION_STATUSES, type RegistrationStatus } from '../sources/registers/registration.ts';

/** One regulatory register of the world. */
export interface RegisterFacts {
  readonly id: string;
  /** ISO 3166-1 alpha-2, or EU. */
  readonly jurisdiction: string;
  readonly authority: string;
  readonly name: string;
  /** The legal category that it registers, in its own words. */
  readonly registers: string;
  /** A page of the authority. */
  readonly url: string;
  readonly format: string;
  /** How it gets in here: `esma`, `fincen`, or `registers` (the CSV of docs/registers-csv.md). */
  readonly importer: string;
  readonly access: string;
  readonly licence: string;
  readonly checkedAt: string;
  /** False: from general knowledge, not from the register's own page or file. */
  readonly verified: boolean;
  /** Last day of the regime that the register belongs to, ISO date; left out: it has not ended. */
  readonly validUntil?: string;
}

export interface LegalEntity {
  readonly name: string;
  readonly lei: string | null;
  readonly jurisdiction: string | null;
  readonly verified: boolean;
}

/** A registration as a shipped fact. */
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
  /** ISO date or partial date on which it was known to hold. */
  readonly asOf: string;
  readonly verified: boolean;
  /** Last day on which it can have held, ISO date; left out: no end is known. The end of its register's regime counts as well. */
  readonly validUntil?: string;
  readonly note?: string;
}

/** The end of an exchange's business. */
export interface Closure {
  /** ISO date on which trading ended. */
  readonly at: string;
  readonly note: string;
  readonly sourceUrl: string;
  /** The day the source was published. */
  readonly asOf: string;
  readonly verified: boolean;
}

/** Where an exchange says itself that it does not serve. */
export interface Restrictions {
  readonly jurisdictions: readonly string[];
  readonly sourceUrl: string;
  /** The day the source was published; such lists change, and older ones say less. */
  readonly asOf: string;
  /** True where the exchange's own current terms were read. */
  readonly verified: boolean;
}

export interface ExchangeIdentity {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  /** Entity of the labels (data/entity-aliases.json); null where no label names it. */
  readonly entity: string | null;
  readonly legalEntities: readonly LegalEntity[];
  readonly domains: readonly string[];
  readonly homeJurisdiction: string | null;
  readonly registrations: readonly ShippedRegistration[];
  readonly restrictions: Restrictions | null;
  /** Left out: it is not known to have closed. */
  readonly closed?: Closure;
}

function read<T>(file: string, key: string): readonly T[] {
  const value = JSON.parse(readFileSync(shippedData(file), 'utf8')) as Record<string, unknown>;
  const rows = value[key];
  if (!Array.isArray(rows))
    throw new AssayError('INVALID_CONFIG', `data/${file}: ${key} must be a list.`, { field: key });
  return rows as readonly T[];
}

/** Whether a text is a day of the calendar as an ISO date. */
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
 * Checks rows of data/registers.json.
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

export const loadRegisterFacts = (): readonly RegisterFacts[] =>
  checkRegisterFacts(read('registers.json', 'registers'));

/**
 * Reads data/exchanges.json.
 *
 * @throws INVALID_CONFIG naming what is wrong.
 */
export const loadExchanges = (registers: readonly RegisterFacts[]): readonly ExchangeIdentity[] =>
  checkExchanges(read('exchanges.json', 'exchanges'), registers);

/**
 * Checks rows of data/exchanges.json: registers and statuses exist, and every fact has a source and dates that can be read.
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
