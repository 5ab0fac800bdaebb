/** Reads single fields of a transfer from a row of any layout. Values may be text or numbers. They are exact, or rejected. */
import { systemClock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { utcTimeOf } from '../../base/iso-times.ts';
import { parseAddress } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { RowFields } from './rows.ts';

/** The reason why a row cannot be used. The file reader catches it and reports it with the row's line. */
export class RowFault extends Error {}

/** How much of a row a reject quotes, for all sources. */
export const REJECT_TEXT_CHARS = 500;

/** Returns the message of an error in a row. Rethrows any other error. */
export function faultOf(error: unknown): string {
  if (error instanceof RowFault) return error.message;
  if (error instanceof AssayError && (error.code === 'INVALID_ADDRESS' || error.code === 'INVALID_REQUEST'))
    return error.message;
  throw error;
}

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

/** Returns a field. Null and the empty cell of a CSV count as absent. */
export function fieldOf(fields: RowFields, name: string): unknown {
  const value = fields[name];
  return value === null || value === '' ? undefined : value;
}

/** Reads a required text. Throws a RowFault if it is missing or not a text. */
export function textOf(fields: RowFields, name: string): string {
  const value = fieldOf(fields, name);
  if (typeof value === 'string') return value;
  throw new RowFault(value === undefined ? `${name} is missing.` : `${name} is ${shown(value)}, not a text.`);
}

/** Reads a non-negative whole number, as decimal digits, 0x hex, or a JSON number that a float holds exactly. */
export function integerOf(fields: RowFields, name: string): bigint {
  const value = fieldOf(fields, name);
  if (value === undefined) throw new RowFault(`${name} is missing.`);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === 'string' && /^(?:\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)) return BigInt(value);
  throw new RowFault(`${name} is ${shown(value)}, not a whole number of 0 or more.`);
}

/** Reads a non-negative whole number up to 2^53 - 1. Throws a RowFault for any other value. */
export function smallIntegerOf(fields: RowFields, name: string): number {
  const value = integerOf(fields, name);
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new RowFault(`${name} is ${value}, which is out of range.`);
}

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/;

/** Reads an EVM transaction hash, in lower case. */
export function hashOf(fields: RowFields, name: string): string {
  const text = textOf(fields, name);
  if (TRANSACTION_HASH.test(text)) return text.toLowerCase();
  throw new RowFault(`${name} is ${shown(text)}, not a transaction hash of 0x and 64 hex digits.`);
}

/**
 * How far a time may be ahead of this computer's clock. Blocks are at most two hours ahead of real time (Bitcoin has the widest rule); the
 * rest allows for a wrong clock. A later time would stay the newest of its chain, and the coverage in responses would never become old.
 * Microseconds and nanoseconds that are read as milliseconds are also further ahead than this.
 */
const TIME_AHEAD_MAX_MS = 24 * 3_600_000;

/** Returns the latest time that a row may have at this moment. */
export const latestTimeMs = (): number => systemClock.now() + TIME_AHEAD_MAX_MS;

/**
 * Returns milliseconds since the epoch from seconds, or from ISO 8601 or `YYYY-MM-DD hh:mm:ss UTC` text. Null if the field is absent.
 *
 * @throws RowFault if the value is not a time, or is in the future
 */
export function timeOf(fields: RowFields, name: string, unit: 'seconds' | 'milliseconds'): number | null {
  const value = fieldOf(fields, name);
  if (value === undefined) return null;
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  const ms = isNumber ? Number(value) * (unit === 'seconds' ? 1000 : 1) : textTime(String(value));
  if (!Number.isSafeInteger(ms) || ms < 0)
    throw new RowFault(`${name} is ${shown(value)}, not a time since 1970.`);
  if (ms > latestTimeMs()) throw new RowFault(`${name} is ${shown(value)}, which is in the future.`);
  return ms;
}

function textTime(text: string): number {
  const spaced = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?) ?(?:UTC|Z|\+00:00)?$/.exec(text);
  return Math.floor(spaced ? Date.parse(`${spaced[1]}T${spaced[2]}Z`) : utcTimeOf(text));
}

/** A cache of canonical address texts: an export repeats its hubs, and a checksum costs two microseconds. */
export class AddressTexts {
  /** The map is cleared when it has this many entries. About 200 bytes each. */
  static readonly #max = 200_000;
  readonly #known = new Map<string, string>();
  readonly #chain: ChainId;

  constructor(chain: ChainId) {
    this.#chain = chain;
  }

  /** The canonical text of a required field. Throws RowFault, or AddressError with the name of the field. */
  required(fields: RowFields, name: string): string {
    const text = textOf(fields, name);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const { canonical } = parseAddress(this.#chain, text, name);
    if (this.#known.size >= AddressTexts.#max) this.#known.clear();
    this.#known.set(text, canonical);
    return canonical;
  }

  /** Same as `required` for a field that may be empty, and then null. */
  optional(fields: RowFields, name: string): string | null {
    return fieldOf(fields, name) === undefined ? null : this.required(fields, name);
  }
}
