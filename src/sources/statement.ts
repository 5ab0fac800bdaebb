import { isUrl } from '../base/url.ts';
import { SOURCE_LIMITS } from './limits.ts';
/** Reads and validates the fields that the seed and a user's own files share (category, confidence, dates). */

/** A field with an invalid value: the reason of a reject. */
export class FieldFault extends Error {
  constructor(field: string, why: string) {
    super(`${field}: ${why}.`);
    this.name = 'FieldFault';
  }
}

const shown = (text: string): string => `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;

/**
 * Returns the trimmed text; null if it is empty.
 *
 * @throws FieldFault if it is too long or contains control characters.
 */
export function readText(
  field: string,
  text: string,
  charsMax: number = SOURCE_LIMITS.labelTextCharsMax,
): string | null {
  const trimmed = text.trim();
  if (trimmed.length > charsMax) throw new FieldFault(field, `is longer than ${charsMax} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) throw new FieldFault(field, 'contains a control character');
  return trimmed === '' ? null : trimmed;
}

/**
 * Reads a category or threat level in any letter case; returns upper-case letters, digits and `_`. The labels decide whether the
 * word is known.
 *
 * @throws FieldFault if it is not a word.
 */
export function readWord(field: string, text: string): string | null {
  const word = readText(field, text)?.toUpperCase().replace(/[\s-]/g, '_') ?? null;
  if (word !== null && !/^[A-Z0-9_]{1,64}$/.test(word))
    throw new FieldFault(field, `${shown(text)} is not a word`);
  return word;
}

/**
 * Reads `YYYY-MM-DD`, or the date of an ISO time; returns null if the text is empty.
 *
 * @throws FieldFault if it is not a date.
 */
export function readDate(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  const date = /^(\d{4}-\d{2}-\d{2})(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.exec(trimmed)?.[1];
  const day = date === undefined ? Number.NaN : Date.parse(`${date}T00:00:00Z`);
  // Some engines parse 2025-02-30 as a date in March: converting the date back detects this.
  if (date === undefined || Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) {
    throw new FieldFault(field, `${shown(text)} is not an ISO date such as 2026-01-31`);
  }
  return date;
}

/**
 * Reads a number from 0 to 1; returns it as text, or null if the text is empty.
 *
 * @throws FieldFault if it is not such a number.
 */
export function readConfidence(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  const value = Number(trimmed);
  if (!(value >= 0 && value <= 1)) throw new FieldFault(field, `${shown(text)} is not a number from 0 to 1`);
  return String(value);
}

/**
 * Reads an http or https URL; returns null if the text is empty.
 *
 * @throws FieldFault if it is not such a URL.
 */
export function readUrl(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  if (!/^https?:\/\//i.test(trimmed) || !isUrl(trimmed)) {
    throw new FieldFault(field, `${shown(text)} is not an http or https URL`);
  }
  return trimmed;
}

/**
 * Reads an ISO 3166-1 alpha-2 code; returns it in upper case, or null if the text is empty.
 *
 * @throws FieldFault if it does not have two letters.
 */
export function readJurisdiction(field: string, text: string): string | null {
  const code = readText(field, text)?.toUpperCase() ?? null;
  if (code !== null && !/^[A-Z]{2}$/.test(code)) {
    throw new FieldFault(field, `${shown(text)} is not a two-letter country code`);
  }
  return code;
}

const TRUTHS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/**
 * Reads a boolean word (true, yes, 1, false, no, 0); returns null if the text is empty.
 *
 * @throws FieldFault if it is another word.
 */
export function readTruth(field: string, text: string): boolean | null {
  const word = readText(field, text)?.toLowerCase();
  if (word === undefined) return null;
  const value = TRUTHS.get(word);
  if (value === undefined) throw new FieldFault(field, `${shown(text)} must be true or false`);
  return value;
}
