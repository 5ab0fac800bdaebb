/** Reads and validates the rows of registers that ship: data/register-rows.json. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import {
  REGISTRATION_STATUSES,
  type RegistrationStatus,
  readLei,
} from '../sources/registers/registration.ts';
import type { RegisterFacts } from './catalogue.ts';
import type { FirmDetails, StatusSpan } from './history.ts';

/** A row of a register that ships. */
export interface ShippedRow {
  readonly details: FirmDetails;
  /** The only known status, seen on the day of the row. */
  readonly span: StatusSpan;
  /** ISO date on which the register read so. */
  readonly asOf: string;
  /** True if a file of the register itself lists the firm with this status; false if it was read in a copy. */
  readonly verified: boolean;
}

/** The rows of one register that ship. */
export interface ShippedRegister {
  readonly id: string;
  readonly asOf: string;
  /** True if the rows are all firms of the register on that day. */
  readonly whole: boolean;
  readonly rows: readonly ShippedRow[];
}

const FILE = 'register-rows.json';

const fail = (field: string, expected: string): never => {
  throw new AssayError('INVALID_CONFIG', `data/${FILE}: ${field} must be ${expected}.`, { field });
};

type Fields = Readonly<Record<string, unknown>>;

const textOf = (where: string, row: Fields, field: string): string => {
  const value = row[field];
  return typeof value === 'string' && value !== '' ? value : fail(`${where}.${field}`, 'a text');
};

const optionalText = (where: string, row: Fields, field: string): string | null =>
  row[field] === undefined ? null : textOf(where, row, field);

function textsOf(where: string, row: Fields, field: string): readonly string[] {
  const value = row[field] ?? [];
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
    ? value
    : fail(`${where}.${field}`, 'a list of texts');
}

const dayOf = (field: string, value: unknown): string =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : fail(field, 'an ISO date');

function rowOf(where: string, row: Fields, asOf: string): ShippedRow {
  const status = textOf(where, row, 'status') as RegistrationStatus;
  if (!REGISTRATION_STATUSES.includes(status)) fail(`${where}.status`, REGISTRATION_STATUSES.join(', '));
  const lei = optionalText(where, row, 'lei');
  if (lei !== null && readLei(lei) !== lei) fail(`${where}.lei`, 'a LEI');
  const sourceUrl = textOf(where, row, 'sourceUrl');
  if (!/^https?:\/\/\S+$/.test(sourceUrl)) fail(`${where}.sourceUrl`, 'an http URL');
  if (typeof row.verified !== 'boolean') fail(`${where}.verified`, 'true or false');
  const day = row.asOf === undefined ? asOf : dayOf(`${where}.asOf`, row.asOf);
  return {
    details: {
      jurisdiction: textOf(where, row, 'jurisdiction'),
      authority: textOf(where, row, 'authority'),
      legalName: textOf(where, row, 'legalName'),
      tradeNames: textsOf(where, row, 'tradeNames'),
      lei,
      domains: textsOf(where, row, 'domains'),
      registrationId: optionalText(where, row, 'registrationId'),
      note: null,
      sourceUrl,
    },
    span: {
      status,
      registeredAs: textOf(where, row, 'registeredAs'),
      registeredAt: optionalText(where, row, 'registeredAt'),
      endedAt: optionalText(where, row, 'endedAt'),
      services: textsOf(where, row, 'services'),
      passportedTo: textsOf(where, row, 'passportedTo'),
      firstSeen: day,
      lastSeen: day,
    },
    asOf: day,
    verified: row.verified === true,
  };
}

/**
 * Validates the content of data/register-rows.json.
 *
 * @throws INVALID_CONFIG naming the register, the row and the field.
 */
export function checkShippedRegisters(
  content: { readonly registers: readonly Fields[] },
  registers: readonly RegisterFacts[],
): readonly ShippedRegister[] {
  const known = new Set(registers.map((register) => register.id));
  return content.registers.map((register) => {
    const id = textOf('registers', register, 'id');
    if (!known.has(id)) fail(`${id}.id`, 'a register of data/registers.json');
    const asOf = dayOf(`${id}.asOf`, register.asOf);
    const rows = Array.isArray(register.rows) ? register.rows : fail(`${id}.rows`, 'a list');
    return {
      id,
      asOf,
      whole: register.whole === true,
      rows: rows.map((row, index) => rowOf(`${id}.rows[${index}]`, row as Fields, asOf)),
    };
  });
}

/**
 * Reads data/register-rows.json.
 *
 * @throws INVALID_CONFIG naming the register, the row and the field.
 */
export const loadShippedRegisters = (registers: readonly RegisterFacts[]): readonly ShippedRegister[] =>
  checkShippedRegisters(JSON.parse(readFileSync(shippedData(FILE), 'utf8')), registers);
