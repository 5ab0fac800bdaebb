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
}

function read<T>(file: string, key: string): readonly T[] {
  const value = JSON.parse(readFileSync(shippedData(file), 'utf8')) as Record<string, unknown>;
  const rows = value[key];
  if (!Array.isArray(rows))
    throw new AssayError('INVALID_CONFIG', `data/${file}: ${key} must be a list.`, { field: key });
  return rows as readonly T[];
}

export const loadRegisterFacts = (): readonly RegisterFacts[] => read('registers.json', 'registers');

/** Throws INVALID_CONFIG where a registration names a register or a status that does not exist. */
export function loadExchanges(registers: readonly RegisterFacts[]): readonly ExchangeIdentity[] {
  const known = new Set(registers.map((register) => register.id));
  const exchanges = read<ExchangeIdentity>('exchanges.json', 'exchanges');
  for (const { id, registrations } of exchanges) {
    for (const { register, status } of registrations) {
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
