/** Recognises a slip: two names that differ by one letter of one word, or by two letters in another order. */

import type { AlignedPair, Alignment } from './align.ts';
import { isOneEdit } from './edits.ts';
import type { NamePart } from './name-parts.ts';
import type { ParsedName } from './parse.ts';

/**
 * Minimum number of letters in a name, as it is longer, for which one wrong letter counts as an error, not as another name; and the same for
 * two letters in the wrong order, which are seldom another name.
 */
const SLIP_LETTERS = 6;
const TURNED_LETTERS = 5;

/** Returns whether two aligned names differ by a slip, and are the same otherwise. */
export function isSlip(left: ParsedName, right: ParsedName, aligned: Alignment): boolean {
  let unlike: AlignedPair | null = null;
  let lettersLeft = 0;
  let lettersRight = 0;
  for (const pair of aligned.pairs) {
    for (const at of pair.left) lettersLeft += (left.parts[at] as NamePart).text.length;
    for (const at of pair.right) lettersRight += (right.parts[at] as NamePart).text.length;
    if (pair.meeting.similarity >= 0.97) continue;
    if (unlike !== null || pair.meeting.kind !== 'spelling' || isSyllable(left, pair.left)) return false;
    unlike = pair;
  }
  const letters = Math.max(lettersLeft, lettersRight);
  if (unlike === null || letters < TURNED_LETTERS) return false;
  const joined = (name: ParsedName, at: readonly number[], key: 'text' | 'origin'): string =>
    at.map((position) => (name.parts[position] as NamePart)[key]).join('');
  const key = isOwnScript(left, unlike.left) && isOwnScript(right, unlike.right) ? 'origin' : 'text';
  const [here, there] = [joined(left, unlike.left, key), joined(right, unlike.right, key)];
  if (!isOneEdit(here, there)) return false;
  if (key === 'origin') return isOwnSlip(here, there);
  return letters >= SLIP_LETTERS || isTurned(here, there);
}

/**
 * Minimum number of letters of a word in a script without vowels for which one wrong consonant is an error: in shorter words, and with another
 * vowel, it is usually another name (`حسن`, `حسین`; `سلمان`, `سلیمان`).
 */
const OWN_SLIP_LETTERS = 6;
const OWN_VOWELS = /[\u0627\u0622\u0648\u06cc\u064a\u0629\u0647\u05d5\u05d9\u05d4]/gu;

const isOwnSlip = (one: string, other: string): boolean =>
  Math.max(one.length, other.length) >= OWN_SLIP_LETTERS &&
  one.replace(OWN_VOWELS, '') !== other.replace(OWN_VOWELS, '');

const isOwnScript = (name: ParsedName, at: readonly number[]): boolean =>
  at.every((position) => (name.parts[position] as NamePart).origin !== '');

/** Returns whether the one edit between two words turns two letters: it is then the only one that changes two places. */
function isTurned(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let places = 0;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) places++;
  return places === 2;
}

/** A syllable of Han or Hangul is one character: it cannot contain an error in one letter. */
export const isSyllable = (name: ParsedName, at: readonly number[]): boolean =>
  at.some((position) => (name.parts[position] as NamePart).script === 'syllabic');
