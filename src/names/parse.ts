/** Parses a name into words in Latin letters, each with its kind (name, number, legal form, title, particle) and its weight. */

import type { PartySchema } from '../sources/records.ts';
import { splitArabic } from './arabic-words.ts';
import { formAt } from './form-words.ts';
import { latinPart, makePart, type NamePart, PARTS_MAX } from './name-parts.ts';
import { type NameSegment, NO_SEGMENTS, segmentsOf } from './name-segments.ts';
import { isPinyin } from './readings/wade.ts';
import { formWord, type LatinWord } from './transliterate.ts';
import { type Vocabulary, vocabulary } from './vocabulary.ts';
import {
  latinWords,
  ONLY_LETTERS,
  plainWords,
  splitDigits,
  WORDS_MAX,
  type Written,
} from './written-words.ts';

export interface ParsedName {
  /** In the order of the name, without legal forms. */
  readonly parts: readonly NamePart[];
  /** The legal forms of the name, by kind. */
  readonly forms: readonly NamePart[];
  /** Bit mask of the positions in `parts` that the writer marked as the family name, by a comma or by capitals; 0 if there are none. */
  readonly family: number;
  /** Runs of Han characters or Hangul syllables that are written as one word. */
  readonly segments: readonly NameSegment[];
  /** The words as written, one for each part and then for each form; empty for a name of an index. */
  readonly written: readonly string[];
  /** True if the name has more words than are used. */
  readonly isCut?: boolean;
  /** True if each legal form is a word that people are named as well (`Pak Han Se`): the name may be a person's. */
  readonly mayBePerson?: boolean;
}

/** Parses a name. It never throws; a name without letters and digits has no parts. */
export const parseName = (name: string): ParsedName => parse(name, false);

/** Parses the name of a person, in which no word is a legal form (`Pak Han Se`, `Moussa, Bah Ag`). */
export const parsePerson = (name: string): ParsedName => parse(name, true);

/** Parses the name of a listed party. */
export const parseListed = (name: string, schema: PartySchema): ParsedName =>
  parse(name, schema === 'Person');

function parse(name: string, isPerson: boolean): ParsedName {
  const isPlain = ONLY_LETTERS.test(name);
  const words = isPlain ? (plainWords(name) ?? latinWords(name)) : splitDigits(latinWords(name));
  const isForeign = !isPlain && MIDDLE_DOT.test(name);
  return classify(splitArabic(words, vocabulary()), vocabulary(), isForeign, isPerson);
}

const MIDDLE_DOT = /[\u00b7\u2022\u2027\u30fb\uff0e]/;

function classify(
  words: readonly Written[],
  vocab: Vocabulary,
  isForeign: boolean,
  isOfPerson: boolean,
): ParsedName {
  const parts: NamePart[] = [];
  const forms: NamePart[] = [];
  const source: (Written | null)[] = [];
  const writtenForms: string[] = [];
  const letters: number[] = [];
  let isPerson = true;
  let mayBePerson = true;
  const add = (part: NamePart, from: Written): void => {
    parts.push(part);
    source.push(from);
    if (part.kind === 'descriptive') isPerson = false;
  };
  const isSpecial = words.map((word) => vocab.special.has(formWord(word)));
  let at = 0;
  for (; at < words.length && parts.length < PARTS_MAX; at++) {
    // Only the last word may be a form that no table has: one with a wrong letter.
    const isName = !isSpecial[at] && !isSpecial[at + 1] && !isSpecial[at + 2] && at + 1 < words.length;
    const form = isName || isOfPerson ? null : formAt(words, at, vocab);
    const word = words[at] as Written;
    // If a name consists only of a word that is also a legal form ("SE", "AG"), the word is its name.
    // `S.A.` alone may be the initials of a person (`Ivanov S.A.`); a form of several words (`S.A. de C.V.`) may not.
    const isInitials =
      form?.words === 1 && word.isLetters && word.text.length < 3 && mayBeOfPerson(words, at, vocab);
    if (form && words.length > 1 && !isInitials && !isGivenName(words, at, vocab)) {
      forms.push(makePart(form.kind, 'form', 'latin', vocab));
      mayBePerson &&= form.words === 1 && mayBeName(formWord(word), vocab);
      writtenForms.push(
        words
          .slice(at, at + form.words)
          .map((each) => each.raw)
          .join(' '),
      );
      at += form.words - 1;
      continue;
    }
    const tens = isSpecial[at] ? vocab.tens.get(word.text) : undefined;
    const ones = tens === undefined ? undefined : vocab.numbers.get(words[at + 1]?.text ?? '');
    if (tens !== undefined) {
      const together = ones !== undefined && ones > 0 && ones < 10;
      add(makePart(String(tens + (together ? ones : 0)), 'number', 'latin', vocab), word);
      if (together) at++;
      continue;
    }
    if (word.isLetters) letters.push(parts.length);
    add(partOf(word, at, isSpecial[at] === true, vocab), word);
  }
  if (parts.length === 0) {
    for (const word of words.slice(0, PARTS_MAX))
      add(makePart(word.text, 'name', word.script, vocab, word.origin), word);
    return {
      parts,
      forms: [],
      family: 0,
      segments: segmentsOf(parts, source, isForeign, vocab),
      written: source.map((word) => word?.raw ?? ''),
    };
  }
  const isCut = at < words.length || words.length >= WORDS_MAX;
  isPerson &&= forms.length === 0;
  if (isPerson && letters.length > 0) splitInitials(parts, source, letters, vocab);
  return {
    parts,
    forms,
    family: isPerson ? familyOf(parts, source) : 0,
    // The characters of an organisation before its legal form are no foreign name.
    segments: forms.length > 0 ? NO_SEGMENTS : segmentsOf(parts, source, isForeign, vocab),
    written: [...source.map((word) => word?.raw ?? ''), ...writtenForms],
    ...(isCut ? { isCut } : {}),
    ...(forms.length > 0 && mayBePerson ? { mayBePerson } : {}),
  };
}

/** Returns whether a legal form may be a name of people. A form with a wrong letter may be any name (`Atabak`). */
const mayBeName = (text: string, vocab: Vocabulary): boolean =>
  vocab.nameForms.has(text) || !vocab.forms.has(text);

/**
 * Returns whether the words beside two letters with dots may be those of a person: a single one (`Ivanov S.A.`), or usual names. Beside other
 * words, the letters are a legal form (`Inversiones Acuario, S.A.`).
 */
function mayBeOfPerson(words: readonly Written[], at: number, vocab: Vocabulary): boolean {
  const others = words.filter((word, other) => other !== at && !vocab.particles.has(word.text));
  return others.length < 2 || others.every(({ text }) => vocab.personWords.has(text));
}

/** Returns whether the last word is a Chinese or Korean given name that is also a legal form: `Li Na`, but not `Citibank NA`. */
function isGivenName(words: readonly Written[], at: number, vocab: Vocabulary): boolean {
  if (words[at]?.text !== 'na' || at + 1 < words.length || words.length > 3) return false;
  return words.slice(0, at).every(({ text }) => vocab.personWords.has(text) || isPinyin(text));
}

/** Splits letters with dots (`S.V.`) into initials, if the name has another word: alone they are an abbreviation. */
function splitInitials(
  parts: NamePart[],
  source: (Written | null)[],
  letters: readonly number[],
  vocab: Vocabulary,
): void {
  const others = parts.filter(
    (part, at) => !letters.includes(at) && part.kind === 'name' && part.text.length > 2,
  );
  if (others.length === 0 || others.length > 3) return;
  for (const at of [...letters].reverse()) {
    const { letters: all = [] } = source[at] as Written;
    if (parts.length - 1 + all.length > PARTS_MAX || vocab.honorifics.has((parts[at] as NamePart).text))
      continue;
    parts.splice(at, 1, ...all.map((text) => makePart(text, 'initial', 'latin', vocab)));
    const word = source[at] as Written;
    source.splice(at, 1, ...[...word.raw].map((raw) => ({ ...word, raw: `${raw}.` })));
  }
}

function familyOf(parts: readonly NamePart[], source: readonly (Written | null)[]): number {
  let mask = 0;
  let names = 0;
  let others = 0;
  for (const [at, part] of parts.entries()) {
    if (part.kind !== 'name') continue;
    names++;
    if (source[at]?.isFamily === true) mask |= 1 << at;
    else others++;
  }
  for (const part of parts) if (part.kind === 'initial') others++;
  // If every name is marked, or only initials are left, no name is distinguished.
  return others === 0 || names === 0 ? 0 : mask;
}

const ALL_DIGITS = /^\d+$/;
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;

function partOf(word: LatinWord, at: number, isSpecial: boolean, vocab: Vocabulary): NamePart {
  const { text, script, origin } = word;
  if (!isSpecial && script === 'latin' && text.length > 1 && !isDigit(text.charCodeAt(0)))
    return latinPart(text, 'name', vocab);
  const number =
    isDigit(text.charCodeAt(0)) && ALL_DIGITS.test(text)
      ? Number(text.slice(0, 15))
      : (vocab.numbers.get(text) ?? (at > 0 && !ROMAN_NAMES.has(text) ? vocab.roman.get(text) : undefined));
  if (number !== undefined && script === 'latin') return makePart(String(number), 'number', 'latin', vocab);
  if (text.length === 1 && script === 'latin') return makePart(text, 'initial', script, vocab);
  if (script !== 'latin') return makePart(text, 'name', script, vocab, origin);
  if (vocab.particles.has(text)) return makePart(text, 'particle', script, vocab);
  if (vocab.honorifics.has(text)) return makePart(text, 'honorific', script, vocab);
  if (vocab.descriptive.has(text)) return makePart(text, 'descriptive', script, vocab);
  return makePart(text, 'name', script, vocab);
}

/** Roman numerals that are usually Chinese and Vietnamese names. */
const ROMAN_NAMES: ReadonlySet<string> = new Set(['xi', 'vi']);
