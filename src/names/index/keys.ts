/** The keys by which a word is found: the word itself, its sound, its consonants, its group, and the word without one letter. */
import type { NamePart } from '../name-parts.ts';
import { ARTICLE, readingOf } from '../readings/pattern.ts';
import { segmentReadings } from '../similarity.ts';
import { addKeyHashes, keyHash } from './format.ts';

/** Shorter skeletons are shared by too many words to be useful. */
const SKELETON_LEAST = 3;
const DELETION_LEAST = 3;
const CONSONANTS_LEAST = 2;
/** The words of a script without vowels that have one consonant are few. */
const OWN_CONSONANTS_LEAST = 1;

/**
 * Keys of consonants are of two kinds, because the words that share one are many: Latin words of an index, which words of queries in scripts
 * without vowels look up, and words of an index in such scripts, which all words of queries look up.
 */
const LATIN_CONSONANTS = "'";
const OWN_CONSONANTS = '"';

/** Returns the keys under which an index has a word. */
export const indexKeysOf = (part: NamePart): string[] =>
  part.origin === ''
    ? keysOf(part)
    : originKeys(part).map((key) => (key[0] === LATIN_CONSONANTS ? OWN_CONSONANTS + key.slice(1) : key));

/**
 * Returns the hashes of the keys by which a word of a query is looked up; some may occur twice. Two words share a key if their folded
 * spellings are within one edit, or if they have the same sound, group or skeleton. For Latin words these are the keys of `keysOf`, which are
 * hashed without writing them.
 */
export function queryHashesOf(part: NamePart): number[] {
  const hashes: number[] = [];
  const { kind, text, folded, skeleton, consonants, script } = part;
  if (part.origin !== '') {
    for (const key of originKeys(part)) {
      // An index has no Latin word under one consonant, and words in one script are found by more.
      if (key[0] === LATIN_CONSONANTS && key.length <= CONSONANTS_LEAST) continue;
      hashes.push(keyHash(key));
      if (key[0] === LATIN_CONSONANTS) hashes.push(keyHash(OWN_CONSONANTS + key.slice(1)));
    }
  } else if (kind === 'number') hashes.push(keyHash(`=${text}`));
  else if (kind !== 'initial' && kind !== 'form') {
    addKeyHashes(':', folded, folded.length >= DELETION_LEAST, hashes);
    for (const group of part.groups) hashes.push(keyHash(`#${group}`));
    if (text !== folded && script === 'latin') addKeyHashes(':', text, text.length >= DELETION_LEAST, hashes);
    if (skeleton.length >= SKELETON_LEAST)
      addKeyHashes('~', skeleton, skeleton.length > SKELETON_LEAST + 1, hashes);
    if (consonants.length >= OWN_CONSONANTS_LEAST && script !== 'syllabic') {
      hashes.push(keyHash(OWN_CONSONANTS + consonants));
      if (consonants.length > CONSONANTS_LEAST && ARTICLE.test(text))
        hashes.push(keyHash(OWN_CONSONANTS + consonants.slice(1)));
    }
  }
  return hashes;
}

/** Returns the keys of a word in Latin letters. */
function keysOf(part: NamePart): string[] {
  if (part.kind === 'number') return [`=${part.text}`];
  if (part.kind === 'initial' || part.kind === 'form') return [];
  const keys = [`:${part.folded}`];
  for (const group of part.groups) keys.push(`#${group}`);
  if (part.folded.length >= DELETION_LEAST)
    for (const shorter of without(part.folded)) keys.push(`:${shorter}`);
  // An error inside a digraph changes the folded spelling by more than one letter, but the spelling as written by only one.
  if (part.text !== part.folded && part.script === 'latin') {
    keys.push(`:${part.text}`);
    if (part.text.length >= DELETION_LEAST)
      for (const shorter of without(part.text)) keys.push(`:${shorter}`);
  }
  if (part.skeleton.length >= SKELETON_LEAST) {
    keys.push(`~${part.skeleton}`);
    // The skeleton without one consonant, with any vowels: two edits of a long word can leave this unchanged.
    if (part.skeleton.length > SKELETON_LEAST + 1) {
      for (const shorter of without(part.skeleton)) keys.push(`~${shorter}`);
    }
  }
  if (part.consonants.length >= CONSONANTS_LEAST && part.script !== 'syllabic') {
    keys.push(LATIN_CONSONANTS + part.consonants);
    if (part.consonants.length > CONSONANTS_LEAST && ARTICLE.test(part.text))
      keys.push(LATIN_CONSONANTS + part.consonants.slice(1));
  }
  return [...new Set(keys)];
}

/** The keys of the Latin words that spell a part in another script, and of the same part. */
function originKeys(part: NamePart): string[] {
  const readings = part.kind === 'segment' ? segmentReadings(part.origin) : [readingOf(part.origin)];
  const keys = new Set([`@${part.origin}`]);
  for (const reading of readings) for (const key of reading.keys) keys.add(key);
  if (part.script === 'abjad') keys.add(`'${part.consonants}`);
  // Characters that sound alike, and kana with one sound more or less.
  if (part.kind !== 'segment') keys.add(`:${part.folded}`);
  return [...keys];
}

function without(text: string): string[] {
  const shorter: string[] = [];
  for (let at = 0; at < text.length; at++) {
    if (at > 0 && text[at] === text[at - 1]) continue;
    shorter.push(text.slice(0, at) + text.slice(at + 1));
  }
  return shorter;
}

/**
 * Returns the key of the whole name. Names that differ only in their legal forms share it, so a name is found by it even if all of its
 * words are common or light.
 */
export const wholeKey = (parts: readonly NamePart[]): string =>
  parts.reduce((key, part) => `${key} ${sameThing(part)}`, '=');

const sameThing = ({ kind, script, text, origin, groups }: NamePart): string =>
  kind === 'descriptive' && groups.length > 0 ? `#${groups[0]}` : `${kind} ${script} ${origin || text}`;

const JOIN_LETTERS_MIN = 4;

/** Returns adjacent parts written as one word, for any run of 2 to `most` parts. */
export function joinsOf(parts: readonly NamePart[], most: number): string[] {
  const joined = new Set<string>();
  for (let at = 0; at < parts.length; at++) {
    let text = (parts[at] as NamePart).folded;
    for (let count = 2; count <= most && at + count <= parts.length; count++) {
      const next = (parts[at + count - 1] as NamePart).folded;
      // A spelling as one word has no double letter; initials are letters of their own.
      text += next.length > 1 && text.endsWith(next[0] as string) ? next.slice(1) : next;
      // Three initials are a name; two letters occur in many.
      if (text.length >= JOIN_LETTERS_MIN || (text.length === count && count === 3)) joined.add(text);
    }
  }
  return [...joined];
}

/** Returns the consonants of two adjacent words in a script without vowels, which Latin spelling often writes as one (`Nasrallah`). */
export function consonantJoinsOf(parts: readonly NamePart[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at + 1 < parts.length; at++) {
    const [one, next] = [parts[at] as NamePart, parts[at + 1] as NamePart];
    if (one.script !== 'abjad' || next.script !== 'abjad') continue;
    joined.push(...readingOf(one.origin + next.origin).keys);
  }
  return joined;
}
