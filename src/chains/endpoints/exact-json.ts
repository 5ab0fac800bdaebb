/**
 * Parses JSON without loss of digits: a number that a double cannot represent exactly becomes a string of its digits. Also has readers
 * that convert fields of responses to domain types, and throw CHAIN_BAD_ANSWER for invalid values.
 */
import { AssayError } from '../../base/errors.ts';
import { CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT } from '../../base/json-bytes.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Matches if a number in the text may have a fraction, an exponent or more than 15 digits. May also match inside a string. */
const MAY_LOSE_DIGITS = /[\d](?:[.eE]|\d{15})/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Calls in a transaction nest at most 1,024 deep, and each call is an object in a list. */
const DEPTH_MAX = 2_200;
/** Texts up to this length are not checked for depth: parsing them is fast at any depth. */
const DEPTH_FREE_CHARS = 64 * 1024;

/** Returns the offset after the closing quote of the JSON string that begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Returns the text with each number that a double cannot represent exactly as a string of its digits. Strings are not changed. */
function withExactNumbers(text: string): string {
  const quoted = (part: string): string =>
    part.replace(NUMBER, (token) =>
      /^-?\d+$/.test(token) && Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
    );
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('"', at);
    const start = next < 0 ? text.length : next;
    const between = text.slice(at, start);
    parts.push(MAY_LOSE_DIGITS.test(between) ? quoted(between) : between);
    if (start === text.length) break;
    at = endOfString(text, start);
    parts.push(text.slice(start, at));
  }
  return parts.join('');
}

/** Rejects deep nesting: a parser takes a thousand times as long for nested lists as for flat text of the same length. */
function checkDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at) - 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > DEPTH_MAX) throw badAnswer('JSON', `nested at most ${DEPTH_MAX} deep`);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
  }
}

/**
 * Parses JSON; a number literal that is not a safe integer becomes a string of its own digits.
 *
 * @throws CHAIN_BAD_ANSWER if the text is not JSON or nests too deep
 */
export function parseExactJson(text: string): Json {
  if (text.length > DEPTH_FREE_CHARS) checkDepth(text);
  const exact = MAY_LOSE_DIGITS.test(text) ? withExactNumbers(text) : text;
  try {
    return JSON.parse(exact) as Json;
  } catch (cause) {
    throw new AssayError('CHAIN_BAD_ANSWER', `Invalid response: must be JSON${startOf(text)}.`, { cause });
  }
}

/** Returns the start of a text for an error message, without line breaks. */
const startOf = (text: string): string => {
  const start = text.slice(0, 60).replace(/\s+/g, ' ').trim();
  return start === '' ? ': it is empty' : `: it begins with '${start}'`;
};

/** Creates the CHAIN_BAD_ANSWER error for an invalid field of a response. */
export function badAnswer(field: string, expected: string): AssayError {
  return new AssayError('CHAIN_BAD_ANSWER', `Invalid response: ${field} must be ${expected}.`, { field });
}

/** Returns a value that must be an object. */
export function asObject(value: Json | undefined, field: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badAnswer(field, 'an object');
  return value as JsonObject;
}

/** Returns a value that must be a list of at most `max` items. */
export function asArray(
  value: Json | undefined,
  field: string,
  max = Number.POSITIVE_INFINITY,
): readonly Json[] {
  if (!Array.isArray(value)) throw badAnswer(field, 'a list');
  if (value.length > max) throw badAnswer(field, `a list of at most ${max}`);
  return value as readonly Json[];
}

/** Returns a value that must be a string of at most `maxChars` characters. */
export function asText(value: Json | undefined, field: string, maxChars = 4_096): string {
  if (typeof value !== 'string' || value.length > maxChars)
    throw badAnswer(field, `a text of at most ${maxChars} characters`);
  return value;
}

/** Reads a non-negative integer from a number or from decimal digits; at most 2^53 - 1. */
export function asCount(value: Json | undefined, field: string): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
    throw badAnswer(field, 'a whole number, 0 or more');
  return number;
}

/** Amounts on every chain fit into 256 bits: 78 decimal digits. */
const AMOUNT_MAX = 1n << 256n;

/** Reads a non-negative integer amount from a number or from decimal digits; less than 2^256. */
export function asAmount(value: Json | undefined, field: string): bigint {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && /^\d{1,78}$/.test(text)) {
    const amount = BigInt(text);
    if (amount < AMOUNT_MAX) return amount;
  }
  throw badAnswer(field, 'a whole amount from 0 to 2^256 - 1');
}

/** Reads a decimal number or string such as `0.00012345` or `1e-8` in units of 10^-decimals. Further digits must be zero. */
export function asDecimalAmount(value: Json | undefined, decimals: number, field: string): bigint {
  const text = typeof value === 'number' ? String(value) : value;
  const parts =
    typeof text === 'string' && text.length <= 100
      ? /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text)
      : null;
  if (parts) {
    const [, whole = '', fraction = '', exponent = '0'] = parts;
    const digits = whole + fraction;
    const shift = decimals - fraction.length + Number(exponent);
    const kept = shift >= 0 ? digits : digits.slice(0, shift);
    const cut = shift >= 0 ? '' : digits.slice(shift);
    if (shift <= 100 && /^0*$/.test(cut)) {
      const amount = BigInt(kept === '' ? '0' : kept) * (shift > 0 ? 10n ** BigInt(shift) : 1n);
      if (amount < AMOUNT_MAX) return amount;
    }
  }
  throw badAnswer(field, `an amount with at most ${decimals} decimals`);
}

/** Reads 0x and hex digits, the Ethereum encoding of quantities; less than 2^256. */
export function asHexAmount(value: Json | undefined, field: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value))
    throw badAnswer(field, 'a hex quantity');
  return BigInt(value);
}

/** Reads a hex quantity that a double represents exactly. */
export function asHexCount(value: Json | undefined, field: string): number {
  const amount = asHexAmount(value, field);
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) throw badAnswer(field, 'below 2^53');
  return Number(amount);
}

/** Earliest and latest time of a block on any chain: the start of 2009 and of 2100. */
const EARLIEST_MS = Date.UTC(2009, 0, 1);
const LATEST_MS = Date.UTC(2100, 0, 1);

/** Converts seconds since the epoch to milliseconds. Zero, the time of some genesis blocks, is valid. */
export function asSecondsMs(value: Json | undefined, field: string): number {
  return asTimeMs(asCount(value, field) * 1000, field);
}

/** Converts an ISO 8601 time with a time zone to milliseconds. */
export function asIsoMs(value: Json | undefined, field: string): number {
  const text = asText(value, field, 40);
  if (!/(?:Z|[+-]\d{2}:?\d{2})$/.test(text)) throw badAnswer(field, 'a time with its zone');
  return asTimeMs(Date.parse(text), field);
}

/** Validates the time of a block in milliseconds since the epoch. */
export function asTimeMs(ms: number, field: string): number {
  if (ms === 0 || (Number.isFinite(ms) && ms >= EARLIEST_MS && ms <= LATEST_MS)) return Math.trunc(ms);
  throw badAnswer(field, 'a time from 2009 to 2100');
}
