/**
 * Canonical JSON by RFC 8785 (JSON Canonicalization Scheme): members sorted by UTF-16 code units, no white space, and numbers and strings as
 * ECMAScript writes them. Any client gets the same bytes from a JSON text that a proxy or a library has written again.
 */
import { createHash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { RECEIPT_LIMITS } from './limits.ts';

const refuse = (what: string): AssayError =>
  new AssayError('INVALID_REQUEST', `A JSON value has no canonical form (RFC 8785): ${what}.`);

/** A surrogate without its pair: with the flag `u`, a pair is one character. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function textOf(text: string): string {
  if (LONE_SURROGATE.test(text)) throw refuse('a string has a surrogate without its pair');
  return JSON.stringify(text);
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw refuse(`${value} is not a JSON number`);
  return JSON.stringify(value);
}

function write(value: unknown, depth: number): string {
  if (depth > RECEIPT_LIMITS.canonicalDepthMax)
    throw refuse(`it is nested deeper than ${RECEIPT_LIMITS.canonicalDepthMax} levels`);
  if (value === null || value === true || value === false) return String(value);
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object') throw refuse(`it contains a ${typeof value}`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // Sorting by code units is what RFC 8785 requires; a locale must not change it.
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${textOf(name)}:${write(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

/**
 * Returns the canonical text of a JSON value.
 *
 * @param value - JSON data; members that are undefined are left out, as JSON.stringify does
 * @throws INVALID_REQUEST if it is not JSON data, has a lone surrogate, or is nested too deeply
 */
export const canonicalJson = (value: unknown): string => write(value, 0);

/**
 * Returns the SHA-256 of the canonical text of a JSON value, hexadecimal.
 *
 * @throws INVALID_REQUEST as `canonicalJson`
 */
export const canonicalSha256 = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex');
