/**
 * Layout of an index of names: an LMDB environment of large values, read as views of the memory map, and the hashes of keys
 * that builder and reader share. Words are little-endian.
 *
 * - `words`: for each distinct word: end of its text (1), end of its postings (1); then the texts (`<kind><script><text>`,
 * after a space the folded spelling if it differs, and after a tab the part in its own letters).
 * - `facts`: letters (1) of each word, then its shape (1, see `word-facts.ts`), then its weight (a double).
 * - `keys`: hash (1) of every key, ascending; then the word of each.
 * - `joins`: hash (1) of every whole name, and of adjacent words written as one, ascending; then the name of each.
 * - `postings`: names of each word with their classes, by class and then ascending.
 * - `weights`: weight (float) of each name.
 * - `names`: entity, flags, end of its words, end of its text for each name; then the words; then the texts.
 * - `entities`: end of each entity's JSON; then the JSON.
 * - `identifiers`: hash (1) of every identifier, ascending; then the entity of each.
 */

import type { PartyIdentifier, PartySchema } from '../../sources/records.ts';
import type { NameIndexMeta } from '../name.ts';
import type { NamePartKind } from '../name-parts.ts';
import type { NameScript } from '../transliterate.ts';

export const FORMAT_VERSION = 12;
export const ENVIRONMENT_FILE = 'names.mdb';
/** Holds the size of the finished environment in bytes. */
export const SIZE_FILE = 'names.size';
export const VALUES = [
  'words',
  'facts',
  'keys',
  'joins',
  'postings',
  'weights',
  'names',
  'entities',
  'identifiers',
] as const;
export type ValueName = (typeof VALUES)[number];

export const NAME_WORDS = 4;
export const WEAK = 1;
/** The flags of a name hold the positions of its family name (24 bits) from this bit on, then the schema of its entity (3 bits). */
export const FAMILY_SHIFT = 1;
export const FAMILY_MASK = 0xffffff;
export const SCHEMA_SHIFT = 25;
/**
 * From this bit on, the flags hold the class of a name (3 bits): the number of its words that are names, at most 7; 0 if it has initials, or
 * characters that can match in several ways.
 */
export const CLASS_SHIFT = 28;
export const CLASS_MASK = 7;
export const ALWAYS_OPEN = 0;
/** A posting is the number of a name (25 bits), and from this bit on the class of the name. */
export const POSTING_CLASS = 25;
export const POSTING_NAME = 2 ** POSTING_CLASS - 1;
export const SCHEMATA: readonly PartySchema[] = ['Person', 'Organization', 'Vessel', 'Aircraft', 'Unknown'];

export interface StoredNameMeta extends NameIndexMeta {
  readonly counts: {
    readonly words: number;
    readonly keys: number;
    readonly joins: number;
    readonly nameWords: number;
    readonly identifiers: number;
  };
}

export const KINDS: readonly NamePartKind[] = [
  'name',
  'initial',
  'number',
  'particle',
  'honorific',
  'descriptive',
  'form',
  'segment',
];
export const SCRIPTS: readonly NameScript[] = ['latin', 'abjad', 'syllabic'];

/** Hashes have 28 bits: with 25 bits of a position they sort as one exact number. */
export const HASH_BITS = 28;

/** The text of an identifier as it is hashed and stored. */
export const identifierKey = ({ kind, value }: PartyIdentifier): string => `${kind}:${value}`;

/** Hashes a text: FNV-1a of the UTF-16 units, then mixed; 28 bits. */
export const keyHash = (text: string): number => mixedHash(hashOn(HASH_START, text, 0, text.length));

/** The state of a hash before the first unit. */
const HASH_START = 0x811c9dc5 | 0;

/** Continues a hash with the units of a text from `from` to `to`. */
function hashOn(state: number, text: string, from: number, to: number): number {
  let hash = state;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

function mixedHash(state: number): number {
  let hash = state;
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> (32 - HASH_BITS);
}

/** Adds the hash of a key, a mark and a text, and then of the key without each of its letters (once for doubled letters). */
export function addKeyHashes(mark: string, text: string, isShortened: boolean, hashes: number[]): void {
  let state = hashOn(HASH_START, mark, 0, mark.length);
  const start = state;
  hashes.push(mixedHash(hashOn(start, text, 0, text.length)));
  if (!isShortened) return;
  for (let at = 0; at < text.length; at++) {
    if (at === 0 || text.charCodeAt(at) !== text.charCodeAt(at - 1))
      hashes.push(mixedHash(hashOn(state, text, at + 1, text.length)));
    state = hashOn(state, text, at, at + 1);
  }
}
