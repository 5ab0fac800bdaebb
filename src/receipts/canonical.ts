/**
 * Canonical JSON by RFC 8785 (JSON Canonicalization Scheme): members sorted by UTF-16 code units, no white space, and numbers and strings as
 * ECMAScript writes them. Any client gets the same bytes from a JSON text that a proxy or a library has written again.
 */
import { hash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { RECEIPT_LIMITS } from './limits.ts';

const refuse = (what: string): AssayError =>
  new AssayError('INVALID_REQUEST', `A JSON value has no canonical form (RFC 8785): ${what}.`);

/** ES2024: Node 20 has it, and the library of the compiler's target has not. */
interface WellFormed {
  isWellFormed(): boolean;
}

/** Texts that need no escape: testing one takes a third of the time that JSON.stringify needs. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Returns a text as JSON.
 *
 * @throws INVALID_REQUEST if it has a lone surrogate
 */
export function textOf(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!(text as unknown as WellFormed).isWellFormed())
    throw refuse('a string has a surrogate without its pair');
  return JSON.stringify(text);
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw refuse(`${value} is not a JSON number`);
  return String(value);
}

/** The order of the members of all objects that have the same names in the same order: sorting and quoting them took half of the time. */
interface Shape {
  /** As the objects have them. */
  readonly names: readonly string[];
  readonly sorted: readonly string[];
  /** The sorted names, each quoted and with its colon. */
  readonly heads: readonly string[];
}

/** Shapes by their first name. */
let shapes = new Map<string, Shape[]>();
let shapeCount = 0;

function shapeOf(names: readonly string[]): Shape {
  const first = names[0] as string;
  const known = shapes.get(first);
  if (known !== undefined)
    for (const shape of known) {
      if (shape.names.length !== names.length) continue;
      let at = 1;
      while (at < names.length && shape.names[at] === names[at]) at += 1;
      if (at === names.length) return shape;
    }
  // Without a function, names are sorted by code units, which is what RFC 8785 requires.
  const sorted = [...names].sort();
  const shape = { names, sorted, heads: sorted.map((name) => `${textOf(name)}:`) };
  if (shapeCount >= RECEIPT_LIMITS.canonicalShapesMax) {
    shapes = new Map();
    shapeCount = 0;
  }
  shapeCount += 1;
  const same = shapes.get(first);
  if (same === undefined) shapes.set(first, [shape]);
  else same.push(shape);
  return shape;
}

type Members = Readonly<Record<string, unknown>>;

const NOTHING: ReadonlySet<string> = new Set();

function writeMembers(members: Members, depth: number, omitted: ReadonlySet<string>): string {
  const names = Object.keys(members);
  if (names.length === 0) return '{}';
  const { sorted, heads } = shapeOf(names);
  let text = '';
  for (let at = 0; at < sorted.length; at++) {
    const name = sorted[at] as string;
    const member = members[name];
    if (member === undefined || omitted.has(name)) continue;
    const value = write(member, depth);
    text += text === '' ? `${heads[at]}${value}` : `,${heads[at]}${value}`;
  }
  return `{${text}}`;
}

function write(value: unknown, depth: number): string {
  if (depth > RECEIPT_LIMITS.canonicalDepthMax)
    throw refuse(`it is nested deeper than ${RECEIPT_LIMITS.canonicalDepthMax} levels`);
  if (typeof value === 'string') return textOf(value);
  if (value === null || value === true || value === false) return String(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value !== 'object') throw refuse(`it contains a ${typeof value}`);
  if (Array.isArray(value)) {
    let text = '';
    for (const item of value) text += text === '' ? write(item, depth + 1) : `,${write(item, depth + 1)}`;
    return `[${text}]`;
  }
  return writeMembers(value as Members, depth + 1, NOTHING);
}

/**
 * Returns the canonical text of a JSON value.
 *
 * @param value - JSON data; members that are undefined are left out, as JSON.stringify does
 * @throws INVALID_REQUEST if it is not JSON data, has a lone surrogate, or is nested too deeply
 */
export const canonicalJson = (value: unknown): string => write(value, 0);

/**
 * Returns the canonical text of an object without some of its members.
 *
 * @throws INVALID_REQUEST as `canonicalJson`
 */
export const canonicalObject = (members: Members, omitted: ReadonlySet<string>): string =>
  writeMembers(members, 1, omitted);

/**
 * Returns the canonical texts of the members of an object before and after one of them, without braces. Either may be empty.
 *
 * @throws INVALID_REQUEST as `canonicalJson`
 */
export function canonicalParts(
  members: Members,
  middle: string,
): { readonly before: string; readonly after: string } {
  const { sorted, heads } = shapeOf(Object.keys(members));
  let [before, after] = ['', ''];
  for (let at = 0; at < sorted.length; at++) {
    const name = sorted[at] as string;
    const member = members[name];
    if (member === undefined || name === middle) continue;
    const text = `${heads[at]}${write(member, 1)}`;
    // In the order of RFC 8785, as the names are sorted.
    if (name < middle) before += before === '' ? text : `,${text}`;
    else after += after === '' ? text : `,${text}`;
  }
  return { before, after };
}

/** Returns the SHA-256 of a text, hexadecimal. */
export const textSha256 = (text: string): string => hash('sha256', text, 'hex');

/**
 * Returns the SHA-256 of the canonical text of a JSON value, hexadecimal.
 *
 * @throws INVALID_REQUEST as `canonicalJson`
 */
export const canonicalSha256 = (value: unknown): string => textSha256(canonicalJson(value));
