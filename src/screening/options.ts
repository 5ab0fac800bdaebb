/** Reads options from a request. Each function throws INVALID_REQUEST naming the field and its bound. */
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { isCountryCode } from '../risk/jurisdictions.ts';
import { JURISDICTION_DEFAULT } from './choices.ts';

const refuse = (field: string, sentence: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${sentence}`, { field });

/** Reads `jurisdiction`: ISO 3166-1 alpha-2 in any letter case; default CH. */
export function readJurisdiction(text: string | undefined): string {
  const code = (text ?? JURISDICTION_DEFAULT).toUpperCase();
  if (isCountryCode(code)) return code;
  throw refuse(
    'jurisdiction',
    `'${code.slice(0, 20)}' is not a country code of ISO 3166-1 alpha-2, such as CH.`,
  );
}

/**
 * Reads `asOf`.
 *
 * @param text - ISO date.
 * @param now - Milliseconds since the epoch.
 * @returns The date; null for now.
 * @throws INVALID_REQUEST if it is not a date, or after today (UTC).
 */
export function readAsOf(text: string | undefined, now: number): string | null {
  if (text === undefined) return null;
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || !isoTime(time).startsWith(text))
    throw refuse('asOf', `'${text.slice(0, 40)}' is not a date such as 2025-03-21.`);
  const today = isoTime(now).slice(0, 10);
  if (text > today) throw refuse('asOf', `must not be in the future: at most ${today} (got ${text}).`);
  return text;
}

/** Returns a whole number within bounds, or the default if it is missing. */
export function readWhole(
  field: string,
  value: number | undefined,
  { min, max, standard }: { readonly min: number; readonly max: number; readonly standard: number },
): number {
  if (value === undefined) return standard;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw refuse(field, `must be a whole number from ${min} to ${max}.`);
}

/** Returns one of a few words, or the default if it is missing. */
export function readWord<Word extends string>(
  field: string,
  value: string | undefined,
  words: readonly Word[],
  standard: Word,
): Word {
  if (value === undefined) return standard;
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  throw refuse(field, `must be one of ${words.join(', ')}.`);
}
