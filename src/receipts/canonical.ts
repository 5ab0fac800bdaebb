/**
 * Canonical JSON by RFC 8785 (JSON Canonicalization Scheme): members sorted by UTF-16 code units, no white space, and numbers and strings as
 * ECMAScript writes them. Any client gets the same bytes from a JSON text that a proxy or a library has written again.
 */
import { createHash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { RECEIPT_LIMITS } from './limits.ts';

const refuse = (what: string): AssayError =>
  new AssayError('INVALID_REQUEST', `A JSON value has no canonical form (RFC 8785): ${what}.`);

/** ES2024: Node 20 has it, and the library of the compiler's target has not. */
interface WellFormed {
  isWellFormed(): boolean;
}

function textOf(text: string): string {
  if (!(text as unknown as WellFormed).isWellFormed())
    throw refuse('a string has a surrogate without its pair');
  return JSON.stringify(text);
}

/** Texts of objects that many values share and nobody changes. */
const shared = new WeakMap<object, string>();

/** Keeps the canonical text of an object that many values share, such as the state of the lists. It must not change from now on. */
export function shareCanonical(value: object): void {
  shared.set(value, canonicalJson(value));
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
  if (typeof value !== 'object') throw refuse(`it contains a ${typeof value}`);
  const known = shared.get(value);
  if (known !== undefined) return known;
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${write(item, depth + 1)}`;
    return `[${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  // Without a function, names are sorted by code units, which is what RFC 8785 requires.
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${textOf(name)}:${write(member, depth + 1)}`;
  }
  return `{${text}}`;
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
