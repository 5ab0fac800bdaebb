/**
 * Facts stated in our own words: reads the fields that the seed and a user's own files share (category, confidence, dates),
 * and says what is wrong with one.
 */
import { LIMITS } from '../base/limits.ts';

/** A field that breaks its rule: the reason of a reject. */
export class FieldFault extends Error {
  constructor(field: string, why: string) {
    super(`${field}: ${why}.`);
    this.name = 'FieldFault';
  }
}

const shown = (text: string): string => `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;

/** The text, trimmed; null where it is empty. Throws where it is beyond what a person would read, or holds control characters. */
export function readText(
  field: string,
  text: string,
  charsMax: number = LIMITS.labelTextCharsMax,
): string | null {
  const trimmed = text.trim();
  if (trimmed.length > charsMax) throw new FieldFault(field, `is longer than ${charsMax} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) throw new FieldFault(field, 'holds a control character');
  return trimmed === '' ? null : trimmed;
}

/** A category or threat level: upper-case letters and `_`, in any letter case. Whether it is one of ours is for the labels. */
export function readWord(field: string, text: string): string | null {
  const word = readText(field, text)?.toUpperCase().replace(/[\s-]/g, '_') ?? null;
  if (word !== null && !/^[A-Z0-9_]{1,64}$/.test(word))
    throw new FieldFault(field, `${shown(text)} is not a word`);
  return word;
}

/** `YYYY-MM-DD`, or an ISO time of which the date is kept. */
export function readDate(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  const date = /^(\d{4}-\d{2}-\d{2})(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.exec(trimmed)?.[1];
  const day = date === undefined ? Number.NaN : Date.parse(`${date}T00:00:00Z`);
  // 2025-02-30 parses as a date of March in some engines: the round trip finds it.
  if (date === undefined || Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) {
    throw new FieldFault(field, `${shown(text)} is not an ISO date such as 2026-01-31`);
  }
  return date;
}

/** A number from 0 to 1 as text. */
export function readConfidence(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  const value = Number(trimmed);
  if (!(value >= 0 && value <= 1)) throw new FieldFault(field, `${shown(text)} is not a number from 0 to 1`);
  return String(value);
}

/** An http or https URL. */
export function readUrl(field: string, text: string): string | null {
  const trimmed = readText(field, text);
  if (trimmed === null) return null;
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) {
    throw new FieldFault(field, `${shown(text)} is not an http or https URL`);
  }
  return trimmed;
}

/** ISO 3166-1 alpha-2, in upper case. */
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

export function readTruth(field: string, text: string): boolean | null {
  const word = readText(field, text)?.toLowerCase();
  if (word === undefined) return null;
  const value = TRUTHS.get(word);
  if (value === undefined) throw new FieldFault(field, `${shown(text)} is neither true nor false`);
  return value;
}
