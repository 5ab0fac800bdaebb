/** A name taken apart: words in Latin letters, each with what it is (name, number, form, title, particle) and how much it says. */
import { fold, skeleton, unvocalised } from './sound.ts';
import { type LatinWord, type NameScript, transliterateWord } from './transliterate.ts';
import { type Vocabulary, vocabulary } from './vocabulary.ts';

export type NamePartKind = 'name' | 'initial' | 'number' | 'particle' | 'honorific' | 'descriptive' | 'form';

export interface NamePart {
  /** Lower-case a–z and digits: the word itself, the number in digits, or the kind of legal form. */
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  /** The spelling levelled, classes of consonants, and the consonants as Arabic would write them. */
  readonly folded: string;
  readonly skeleton: string;
  readonly consonants: string;
  /** Groups of given names. */
  readonly groups: readonly number[];
  /** How much the part says about who it is, 0–1. */
  readonly weight: number;
}

export interface ParsedName {
  /** In the order of the name, legal forms apart. */
  readonly parts: readonly NamePart[];
  /** Kinds of its legal forms. */
  readonly forms: readonly NamePart[];
}

/** Words of a name that are looked at: the longest real one has 40, and matching is quadratic. */
const PARTS_MAX = 24;
/** Letters of a word that are looked at. */
const WORD_MAX = 40;

const APOSTROPHES = /['’‘ʼʻʿʾ`´ʹʺ״׳]/g;
const ENGLISH_GENITIVE = /(?<=\p{L}{2})['’]s(?!\p{L})/gu;
const DOTTED_LETTERS = /(?<![\p{L}\p{N}])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;
const ORDINAL = /^(\d{1,4})(?:st|nd|rd|th)$/;
const MIXED = /^[a-z]+\d+[a-z]+$|^\d[a-z]{3,}$/;
const LEET: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't' };
const LETTERS_AND_DIGITS = /\d+|[a-z]+/g;
const ABD = /^(?!abd[aeou]?l+[aeou]h?$)abd(?:[aeou]l?|[aeou]([rsntzd])(?=\1))?(?=[a-z]{4,}$)/;
const DIN = /^(?:din|deen|dine|dien|ddin)$/;

/** Takes a name apart. Never throws; a name of signs alone has no parts. */
export function parseName(name: string): ParsedName {
  const words = joinArabic(splitDigits(latinWords(name)), vocabulary());
  return classify(words, vocabulary());
}

/** Forms that no word begins or ends with by chance, where something was glued to them (`JSCARGUMENT`, `SiemensAG`). */
const GLUED_FORM_BEFORE = /^(ojsc|pjsc|cjsc|jsc|ooo|llc|oao)(?=[a-z]{4})/;
const GLUED_FORM_AFTER = /(?<=[a-z]{4})(gmbh|ojsc|pjsc|jsc|llc|ltd|ooo)$/;
const CAPITALS_AFTER = /(?<=\p{Ll}{2})(AG|SA|AB|NV|BV|SE|LLC|LTD|PLC|KG|AS|OY)(?![\p{L}\p{N}])/gu;

function latinWords(name: string): LatinWord[] {
  const plain = name
    .normalize('NFKC')
    .replace(CAPITALS_AFTER, ' $1')
    .toLowerCase()
    .replace(ENGLISH_GENITIVE, '')
    .replace(APOSTROPHES, '')
    .replace(DOTTED_LETTERS, (letters) => letters.replaceAll('.', ''))
    .replaceAll('&', ' and ');
  const words: LatinWord[] = [];
  for (const word of plain.split(SEPARATORS)) {
    if (word === '') continue;
    for (const each of transliterateWord(word)) {
      const text = each.text.slice(0, WORD_MAX);
      const apart =
        each.script === 'latin'
          ? text.replace(GLUED_FORM_BEFORE, '$1 ').replace(GLUED_FORM_AFTER, ' $1')
          : text;
      for (const one of apart.split(' ')) words.push({ text: one, script: each.script });
    }
    if (words.length >= PARTS_MAX * 2) break;
  }
  return words;
}

/** `1st` is a number; `sech1n` hides a letter; `no2` is two words. */
function splitDigits(words: readonly LatinWord[]): LatinWord[] {
  const out: LatinWord[] = [];
  for (const word of words) {
    if (!/\d/.test(word.text)) out.push(word);
    else if (ORDINAL.test(word.text)) out.push({ ...word, text: word.text.replace(ORDINAL, '$1') });
    else if (MIXED.test(word.text)) {
      out.push({ ...word, text: word.text.replace(/\d/g, (digit) => LEET[digit] ?? digit) });
    } else {
      for (const part of word.text.match(LETTERS_AND_DIGITS) ?? []) out.push({ ...word, text: part });
    }
  }
  return out;
}

/** Abd al-Rahman, Abdul Rahman and Abdurrahman become one word; Nur al-Din and Nureddin too. */
function joinArabic(words: readonly LatinWord[], vocab: Vocabulary): LatinWord[] {
  const out: LatinWord[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as LatinWord;
    const next = words[at + 1];
    const afterNext = words[at + 2];
    if (word.script === 'abjad' && word.text === 'bd' && next?.script === 'abjad') {
      out.push({ text: `bd${next.text.replace(/^l(?=[a-z`']{3})/, '')}`, script: 'abjad' });
      at++;
    } else if (word.text === 'abd' && next && afterNext && vocab.joining.has(next.text)) {
      out.push({ text: `abdul${afterNext.text}`, script: word.script });
      at += 2;
    } else if (/^ab[du]+[aeou]?l$|^abdu[rsn]?$|^abd$/.test(word.text) && next && next.text.length > 2) {
      out.push({ text: `abdul${next.text}`, script: word.script });
      at++;
    } else if (word.script === 'latin' && ABD.test(word.text)) {
      out.push({ text: word.text.replace(ABD, 'abdul'), script: word.script });
    } else if (next && vocab.joining.has(next.text) && afterNext && DIN.test(afterNext.text)) {
      out.push({ text: `${word.text}udin`, script: word.script });
      at += 2;
    } else out.push(word);
  }
  return out;
}

function classify(words: readonly LatinWord[], vocab: Vocabulary): ParsedName {
  const parts: NamePart[] = [];
  const forms: NamePart[] = [];
  for (let at = 0; at < words.length && parts.length < PARTS_MAX; at++) {
    const form = formAt(words, at, vocab);
    // A name that is nothing but a word which is also a form ("SE", "AG") keeps it as its name.
    if (form && (form.words < words.length || words.length > 1)) {
      forms.push(makePart(form.kind, 'form', 'latin', vocab));
      at += form.words - 1;
      continue;
    }
    const word = words[at] as LatinWord;
    const tens = vocab.tens.get(word.text);
    const ones = tens === undefined ? undefined : vocab.numbers.get(words[at + 1]?.text ?? '');
    if (tens !== undefined) {
      const together = ones !== undefined && ones > 0 && ones < 10;
      parts.push(makePart(String(tens + (together ? ones : 0)), 'number', 'latin', vocab));
      if (together) at++;
      continue;
    }
    parts.push(partOf(word, at, vocab));
  }
  if (parts.length === 0) {
    for (const word of words.slice(0, PARTS_MAX)) parts.push(makePart(word.text, 'name', word.script, vocab));
    return { parts, forms: [] };
  }
  return { parts, forms };
}

function formAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  let phrase = '';
  let found: { kind: string; words: number } | null = null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = 1; count <= most; count++) {
    phrase += (count === 1 ? '' : ' ') + (words[at + count - 1] as LatinWord).text;
    const kind = vocab.forms.get(phrase);
    // One word of two letters is a form only at either end: elsewhere it is part of a person's name.
    if (kind && (phrase.length > 2 || at === 0 || at + count === words.length))
      found = { kind, words: count };
  }
  // At the beginning, two letters are a form only of Cyrillic and Indonesian custom.
  if (found && phrase.length > 0 && at === 0) {
    const first = (words[at] as LatinWord).text;
    if (found.words === 1 && first.length === 2 && !LEADING_FORMS.has(first)) return null;
  }
  return found;
}

const LEADING_FORMS: ReadonlySet<string> = new Set(['ao', 'pt', 'ad', 'at', 'ag']);

function partOf(word: LatinWord, at: number, vocab: Vocabulary): NamePart {
  const { text, script } = word;
  const number = /^\d+$/.test(text)
    ? Number(text.slice(0, 15))
    : (vocab.numbers.get(text) ?? (at > 0 && !ROMAN_NAMES.has(text) ? vocab.roman.get(text) : undefined));
  if (number !== undefined && script === 'latin') return makePart(String(number), 'number', 'latin', vocab);
  if (text.length === 1 && script === 'latin') return makePart(text, 'initial', script, vocab);
  if (script !== 'latin') return makePart(text, 'name', script, vocab);
  if (vocab.particles.has(text)) return makePart(text, 'particle', script, vocab);
  if (vocab.honorifics.has(text)) return makePart(text, 'honorific', script, vocab);
  const descriptive = vocab.descriptive.get(text);
  if (descriptive !== undefined) return makePart(descriptive, 'descriptive', script, vocab);
  return makePart(text, 'name', script, vocab);
}

/** Roman numerals that are Chinese and Vietnamese names first. */
const ROMAN_NAMES: ReadonlySet<string> = new Set(['xi', 'vi']);

const WEIGHTS: Readonly<Record<NamePartKind, number>> = {
  name: 1,
  initial: 0.3,
  number: 0.6,
  particle: 0.12,
  honorific: 0.08,
  descriptive: 0.5,
  form: 0.1,
};
/** What commonness takes off the weight of a name at most. */
const COMMON_LOSS = 0.5;

const ROOM = 200_000;
const known = new Map<string, NamePart>();

/** A part from its text and kind alone: the same in a question and in an index. */
export function makePart(text: string, kind: NamePartKind, script: NameScript, vocab: Vocabulary): NamePart {
  const key = `${kind}:${script}:${text}`;
  const before = known.get(key);
  if (before) return before;
  const folded = kind === 'number' ? text : fold(text);
  const common = kind === 'name' ? (vocab.commonness.get(text) ?? 0) : 0;
  const part: NamePart = {
    text,
    kind,
    script,
    folded,
    skeleton: kind === 'number' ? text : skeleton(folded),
    consonants: unvocalised(text),
    groups: kind === 'name' ? (vocab.nicknames.get(text) ?? []) : [],
    weight: WEIGHTS[kind] * (1 - COMMON_LOSS * common),
  };
  // A part that is made again is equal, not the same: `isIdentical` compares texts.
  if (known.size >= ROOM) known.clear();
  known.set(key, part);
  return part;
}
