/** Parses a name into words in Latin letters, each with its kind (name, number, legal form, title, particle) and its weight. */
import { isOneEdit } from './edits.ts';
import { fold, skeleton, unvocalised } from './sound.ts';
import { type LatinWord, type NameScript, transliterateWord } from './transliterate.ts';
import { type Vocabulary, vocabulary } from './vocabulary.ts';

export type NamePartKind = 'name' | 'initial' | 'number' | 'particle' | 'honorific' | 'descriptive' | 'form';

export interface NamePart {
  /** Lower-case a–z and digits: the word itself, the number in digits, or the kind of legal form. */
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  /** The normalised spelling, the classes of consonants, and the consonants that an Arabic spelling would have. */
  readonly folded: string;
  readonly skeleton: string;
  readonly consonants: string;
  /** Groups of given names, or of words with one meaning; the numbers of the two do not overlap. */
  readonly groups: readonly number[];
  /** How distinctive the part is, 0–1. */
  readonly weight: number;
}

export interface ParsedName {
  /** In the order of the name, without legal forms. */
  readonly parts: readonly NamePart[];
  /** The legal forms of the name, by kind. */
  readonly forms: readonly NamePart[];
}

/** Maximum number of words of a name that are used: the longest real name has 40, and matching is quadratic. */
export const PARTS_MAX = 24;
/** Maximum number of letters of a word that are used. */
const WORD_MAX = 40;

const APOSTROPHES = /['’‘ʼʻʿʾ`´ʹʺ״׳]/g;
const ENGLISH_GENITIVE = /(?<=\p{L}{2})['’]s(?!\p{L})/gu;
const DOTTED_LETTERS = /(?<![\p{L}\p{N}])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;
const ORDINAL = /^(\d{1,4})(?:st|nd|rd|th)$/;
const MIXED = /^[a-z]+\d+[a-z]+$|^\d[a-z]{3,}$/;
const LEET: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't' };
const LETTERS_AND_DIGITS = /\d+|[a-z]+/g;
const ABD: LatinWord = { text: 'abd', script: 'latin' };
const ABD_ALONE = /^abd(?:[aeou]l|oul|u|u[rsntzd])?$/;
/** Matches `abdulaziz`, `abdurrahman`, `abdessalam`, but not `abdullah`. */
const ABD_GLUED = /^(?!abd[aeiou]?l+[aeou]h?i?$)abd(?:[aeiou]l|oul|[aeou]([rsntzd])(?=\1))(?=[a-z]{4,}$)/;
/** The same in Arabic consonants: `abd` with the article, before a name. */
const ABD_GLUED_ABJAD = /^bdl(?!lh)(?=[a-z]{3})/;
const DIN_GLUED_ABJAD = /(?<=[a-z]{2})ldyn$/;
const DIN_WORD: LatinWord = { text: 'din', script: 'latin' };
const DIN = /^(?:[aeu]l|[aeiou]d)?dd?(?:ine?|een|ien)$/;
const DIN_GLUED = /(?<=[a-z]{3})(?:[aeiou]dd(?:ine?|een)|ud(?:in|een)|[aeu]ldin)$/;

/** Parses a name. It never throws; a name without letters and digits has no parts. */
export function parseName(name: string): ParsedName {
  const words = splitArabic(splitDigits(latinWords(name)), vocabulary());
  return classify(words, vocabulary());
}

/** Legal forms that do not occur at the start or end of a word by chance, joined to a word (`JSCARGUMENT`, `SiemensAG`). */
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

/** `1st` is a number; `sech1n` replaces a letter with a digit; `no2` is two words. */
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

/**
 * Splits Arabic compounds: `Abd al-Rahman`, `Abdul Rahman` and `Abdurrahman` become the words abd and rahman, `Nur al-Din` and
 * `Nureddin` become nur and din. Each half can then be found alone, in any order.
 */
function splitArabic(words: readonly LatinWord[], vocab: Vocabulary): LatinWord[] {
  const out: LatinWord[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as LatinWord;
    const { text, script } = word;
    const next = words[at + 1];
    if (script === 'abjad') splitAbjad(text, out);
    else if (script !== 'latin') out.push(word);
    else if (ABD_ALONE.test(text)) {
      out.push(ABD);
      // The article between the halves belongs to neither.
      if (next && vocab.joining.has(next.text) && at + 2 < words.length) at++;
    } else if (next && vocab.joining.has(text) && DIN.test(next.text)) {
      out.push(DIN_WORD);
      at++;
    } else if (DIN.test(text)) out.push(DIN_WORD);
    else {
      const rest = text.replace(ABD_GLUED, '');
      if (rest !== text) out.push(ABD);
      const before = rest.replace(DIN_GLUED, '');
      out.push({ text: before, script });
      if (before !== rest) out.push(DIN_WORD);
    }
  }
  return out;
}

function splitAbjad(text: string, out: LatinWord[]): void {
  const rest = text.replace(ABD_GLUED_ABJAD, '');
  if (rest !== text || text === 'bd') out.push(ABD);
  if (text === 'bd') return;
  const before = rest.replace(DIN_GLUED_ABJAD, '');
  if (rest !== 'dyn') out.push({ text: before, script: 'abjad' });
  if (rest === 'dyn' || before !== rest) out.push(DIN_WORD);
}

function classify(words: readonly LatinWord[], vocab: Vocabulary): ParsedName {
  const parts: NamePart[] = [];
  const forms: NamePart[] = [];
  for (let at = 0; at < words.length && parts.length < PARTS_MAX; at++) {
    const form = formAt(words, at, vocab);
    // If a name consists only of a word that is also a legal form ("SE", "AG"), the word is its name.
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
    // A single word of two letters is a legal form only at either end: elsewhere it is part of a person's name.
    if (kind && (phrase.length > 2 || at === 0 || at + count === words.length))
      found = { kind, words: count };
  }
  const slipped = slippedFormAt(words, at, vocab);
  if (slipped !== null && slipped.words > (found?.words ?? 0)) return slipped;
  // At the beginning, two letters are a legal form only in Cyrillic and Indonesian names.
  if (found && phrase.length > 0 && at === 0) {
    const first = (words[at] as LatinWord).text;
    if (found.words === 1 && first.length === 2 && !LEADING_FORMS.has(first)) return null;
  }
  return found;
}

/**
 * Finds a legal form of several words with one wrong letter in one of them, or a long one-word form with a wrong letter at the end
 * of the name.
 */
function slippedFormAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  const text = (words[at] as LatinWord).text;
  const next = words[at + 1]?.text;
  if (next === undefined) {
    for (const [form, kind] of vocab.longForms) if (isOneEdit(text, form)) return { kind, words: 1 };
    return null;
  }
  const afterNext = words[at + 2]?.text ?? '';
  if (![text, next, afterNext].some((word) => vocab.formWords.has(word))) return null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = most; count >= 2; count--) {
    for (let wrong = 0; wrong < count; wrong++) {
      const found = vocab.formsWithout.get(withGap(words, at, count, wrong));
      const word = (words[at + wrong] as LatinWord).text;
      const form = found?.find((each) => isOneEdit(each.word, word));
      if (form) return { kind: form.kind, words: count };
    }
  }
  return null;
}

function withGap(words: readonly LatinWord[], at: number, count: number, gap: number): string {
  let phrase = '';
  for (let word = 0; word < count; word++) {
    if (word > 0) phrase += ' ';
    if (word !== gap) phrase += (words[at + word] as LatinWord).text;
  }
  return phrase;
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
  if (vocab.descriptive.has(text)) return makePart(text, 'descriptive', script, vocab);
  return makePart(text, 'name', script, vocab);
}

/** Roman numerals that are usually Chinese and Vietnamese names. */
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
/** Maximum reduction of a name's weight because it is common. */
const COMMON_LOSS = 0.5;

/** Weight of a word that is half of many names. */
const HALF_WEIGHT = 0.4;

const ROOM = 200_000;
const known = new Map<string, NamePart>();

/** Returns the part for a text and kind, cached: the same in a query and in an index. */
export function makePart(text: string, kind: NamePartKind, script: NameScript, vocab: Vocabulary): NamePart {
  const key = `${kind}:${script}:${text}`;
  const before = known.get(key);
  if (before) return before;
  const part = new Word(text, kind, script, kind === 'number' ? text : fold(text), vocab);
  // A part that is created again is equal but not identical: `isIdentical` compares texts.
  if (known.size >= ROOM) known.clear();
  known.set(key, part);
  return part;
}

/** Creates a part of an index, which stores the folded spelling and has its own cache. */
export const indexedPart = (text: string, kind: NamePartKind, script: NameScript, folded: string): NamePart =>
  new Word(text, kind, script, folded, vocabulary());

class Word implements NamePart {
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  readonly folded: string;
  readonly groups: readonly number[];
  readonly weight: number;
  private heardConsonants: string | null = null;
  private writtenConsonants: string | null = null;

  constructor(text: string, kind: NamePartKind, script: NameScript, folded: string, vocab: Vocabulary) {
    this.text = text;
    this.kind = kind;
    this.script = script;
    this.folded = folded;
    this.groups = groupsOf(text, kind, vocab);
    const common = kind === 'name' ? (vocab.commonness.get(text) ?? 0) : 0;
    this.weight =
      kind === 'name' && vocab.halves.has(text) ? HALF_WEIGHT : WEIGHTS[kind] * (1 - COMMON_LOSS * common);
  }

  get skeleton(): string {
    this.heardConsonants ??= this.kind === 'number' ? this.text : skeleton(this.folded);
    return this.heardConsonants;
  }

  get consonants(): string {
    this.writtenConsonants ??= unvocalised(this.text);
    return this.writtenConsonants;
  }
}

function groupsOf(text: string, kind: NamePartKind, vocab: Vocabulary): readonly number[] {
  if (kind === 'name') return vocab.nicknames.get(text) ?? NO_GROUPS;
  const group = kind === 'descriptive' ? vocab.descriptive.get(text) : undefined;
  return group === undefined ? NO_GROUPS : [group];
}

const NO_GROUPS: readonly number[] = [];
