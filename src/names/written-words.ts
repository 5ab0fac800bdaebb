/** Divides a name into words in Latin letters: marks, case, prefixes of vessels, legal forms that are glued to a word, digits for letters. */
import { PARTS_MAX } from './name-parts.ts';
import { languageOf } from './readings/cyrillic.ts';
import { koreanInCyrillic } from './readings/kontsevich.ts';
import { type LatinWord, transliterateWord } from './transliterate.ts';

/** Maximum number of words that are read: several may be one legal form. */
export const WORDS_MAX = 2 * PARTS_MAX;
/** Maximum number of letters of a word that are used. */
export const WORD_MAX = 40;

const APOSTROPHES = /['’‘ʼʻʿʾ`´ʹʺ״׳]/g;
const HAS_APOSTROPHE = new RegExp(APOSTROPHES.source);
const ENGLISH_GENITIVE = /(?<=\p{L}{2})['’]s(?!\p{L})/gu;
const DOTTED_LETTERS = /(?<![\p{L}\p{N}])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;
/**
 * Invisible characters, which normalisation keeps: a name with some between its letters is the same name. The zero-width non-joiner divides
 * words of the Arabic script, and the zero-width space those of scripts that write words without spaces.
 */
const INVISIBLE =
  /(?![\u200b\u200c])\p{Default_Ignorable_Code_Point}|(?<!\p{Script=Arabic}\p{M}*)\u200c|(?<![\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*)\u200b/gu;
const ORDINAL = /^(\d{1,4})(?:st|nd|rd|th)$/;
const MIXED = /^[a-z]+\d+[a-z]+$|^\d[a-z]{3,}$/;
const LEET: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't' };
const LETTERS_AND_DIGITS = /\d+|[a-z]+/g;

/** A word of a name with what its writing says about it. */
export interface Written extends LatinWord {
  /** Written before the comma of `FAMILY, Given`, or in capitals in a name that has other words with small letters. */
  readonly isFamily: boolean;
  /** Letters with dots (`S.V.`), or two or three capitals without a vowel (`SV`): initials if the name is a person's. */
  readonly isLetters: boolean;
  /** The word as written. */
  readonly raw: string;
  /** Number of the word that it was written in. */
  readonly word: number;
  /** The letters of `isLetters`, each in Latin. */
  readonly letters?: readonly string[];
}

const HAN_OR_KANA = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Legal forms that do not occur at the start or end of a word by chance, joined to a word (`JSCARGUMENT`, `SiemensAG`). */
const GLUED_FORM_BEFORE = /^(ojsc|pjsc|cjsc|jsc|ooo|llc|oao)(?=[a-z]{4})/;
const GLUED_FORM_AFTER = /(?<=[a-z]{4})(gmbh|ojsc|pjsc|jsc|llc|ltd|ooo)$/;
const CAPITALS_AFTER = /(?<=\p{Ll}{2})(AG|SA|AB|NV|BV|SE|LLC|LTD|PLC|KG|AS|OY)(?![\p{L}\p{N}])/gu;
/**
 * The kind of a ship, before its name: motor vessel, tanker, ship or yacht, fishing, sailing, research or steam ship, tug, gas or crude oil
 * carrier. Two letters without a stroke are a kind only if no name of a person begins with them.
 */
const VESSEL_PREFIX =
  /^\s*(?:M\/[TVSY]|M\.[TVSY]\.?|M[TV]S?|MS|F\/[VB]|FV|S\/[SVY]|R\/V|T\/[BTS]|O\/T|B\/C|(?:LNG|LPG)(?:\/C|C)?|VLCC)[\s.:]+(?=\S)/i;
/** One letter with a dot. */
const DOTTED_LETTER = /(?<![\p{L}\p{N}.])(\p{L})\.(?!\p{L})/gu;
/** Marks letters that were written with dots; it does not occur in names. */
const LETTERS_MARK = '\u02ad';
const NO_VOWEL = /^[^aeiouy]{2,3}$/;
const CAPITALS = /^\p{Lu}{2,3}$/u;
const WHOLLY_CAPITAL = /^(?=.*\p{Lu})[^\p{Ll}]{2,}$/u;
const HAS_SMALL = /\p{Ll}{2}/u;

const HAS_CYRILLIC = /\p{Script=Cyrillic}/u;
/** Most names have nothing but letters, spaces, commas and hyphens. */
export const ONLY_LETTERS = /^[A-Za-z ,-]*$/;
const PLAIN_SEPARATORS = /[ ,-]+/;
const SMALL_THEN_CAPITAL = /[a-z]{2}[A-Z]/;
const TWO_CAPITALS = /[A-Z]{2}/;

/** One small letter between hyphens is a syllable of a word (`Chan-o-cha`), no initial. */
const SYLLABLE_LETTER = /(?<=\p{L}{2})-(\p{Ll})-(?=\p{L}{2})/gu;

/** Most names have none of these marks, which costs less to see than to look for each. */
function withoutMarks(name: string): string {
  let out = HAS_APOSTROPHE.test(name) ? name.replace(ENGLISH_GENITIVE, '').replace(APOSTROPHES, '') : name;
  if (out.includes('.'))
    out = out
      .replace(DOTTED_LETTERS, (letters) => ` ${LETTERS_MARK}${letters.replaceAll('.', '')} `)
      .replace(DOTTED_LETTER, ` ${LETTERS_MARK}$1 `);
  return out.includes('&') ? out.replaceAll('&', ' and ') : out;
}

const isSmall = (unit: number): boolean => unit >= 97 && unit <= 122;
const isCapital = (unit: number): boolean => unit >= 65 && unit <= 90;
const COMMA = ','.charCodeAt(0);
const HYPHEN = '-'.charCodeAt(0);
/** With these letters begin the prefixes of vessels without a stroke or a dot. */
const MAY_BE_VESSEL = /^ *[mflv]/i;

/**
 * The same as `latinWords` for a name of letters, spaces, commas and hyphens, as most are; null for the few that need its patterns: with the
 * prefix of a vessel, a small letter between hyphens, or a capital after small letters.
 */
export function plainWords(name: string): Written[] | null {
  let comma = -1;
  let hasSmall = false;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charCodeAt(at);
    if (unit === COMMA && comma < 0) comma = at;
    if (unit === HYPHEN && isSmall(name.charCodeAt(at + 1)) && name.charCodeAt(at + 2) === HYPHEN)
      return null;
    if (!isSmall(unit) || !isSmall(name.charCodeAt(at + 1))) continue;
    hasSmall = true;
    if (isCapital(name.charCodeAt(at + 2))) return null;
  }
  if (MAY_BE_VESSEL.test(name) && VESSEL_PREFIX.test(name)) return null;
  const words: Written[] = [];
  let word = 0;
  for (let from = 0; from < name.length && words.length < WORDS_MAX; ) {
    let to = from;
    let hasSmallLetter = false;
    for (; to < name.length; to++) {
      const unit = name.charCodeAt(to);
      if (isSmall(unit)) hasSmallLetter = true;
      else if (!isCapital(unit)) break;
    }
    if (to > from) {
      const raw = name.slice(from, to);
      const isCapitals = !hasSmallLetter && to - from >= 2;
      const isFamily = comma >= 0 ? from < comma : hasSmall && isCapitals;
      addPlain(raw, isFamily, isCapitals, ++word, words);
    }
    from = to + 1;
  }
  return words;
}

/** Adds a word of letters: with a legal form at an end, it is two. */
function addPlain(raw: string, isFamily: boolean, isCapitals: boolean, word: number, words: Written[]): void {
  const text = raw.toLowerCase().slice(0, WORD_MAX);
  const apart = withoutForm(text);
  const isLetters = isCapitals && raw.length <= 3 && NO_VOWEL.test(text);
  const letters = isLetters ? [...text] : undefined;
  for (const one of apart === text ? [text] : apart.split(' '))
    words.push({
      text: one,
      script: 'latin',
      origin: '',
      isFamily,
      isLetters,
      word,
      raw,
      ...(letters ? { letters } : {}),
    });
}

/** Returns the words of a name in Latin letters, at most `WORDS_MAX`. */
export function latinWords(name: string): Written[] {
  const isPlain = ONLY_LETTERS.test(name);
  const whole = (isPlain ? name : name.normalize('NFKC').replace(INVISIBLE, '')).replace(VESSEL_PREFIX, '');
  const bare = whole.includes('-') ? whole.replace(SYLLABLE_LETTER, '$1') : whole;
  const mayHaveForm = isPlain ? SMALL_THEN_CAPITAL.test(bare) : TWO_CAPITALS.test(bare);
  const named = mayHaveForm ? bare.replace(CAPITALS_AFTER, ' $1') : bare;
  const plain = isPlain || ONLY_LETTERS.test(named) ? named : withoutMarks(named);
  const comma = plain.indexOf(',');
  const hasSmall = HAS_SMALL.test(plain);
  const words: Written[] = [];
  let word = 0;
  let from = 0;
  const tokens = plain.split(isPlain ? PLAIN_SEPARATORS : SEPARATORS).filter((token) => token !== '');
  const korean =
    !isPlain && HAS_CYRILLIC.test(plain)
      ? koreanInCyrillic(tokens.map((token) => token.toLowerCase()))
      : null;
  const language = isPlain ? null : languageOf(plain.toLowerCase());
  for (const token of tokens) {
    const at = plain.indexOf(token, from);
    from = at + token.length;
    word++;
    const isMarked = token.startsWith(LETTERS_MARK);
    const written = isMarked ? token.slice(1) : token;
    const lower = written.toLowerCase();
    const isFamily = comma >= 0 ? at < comma : !isMarked && hasSmall && WHOLLY_CAPITAL.test(written);
    if (isMarked && written.length <= 3 && !HAN_OR_KANA.test(written)) {
      // Each letter is spelled alone: the initial of Yuri is `Ю`, two letters in Latin.
      const letters = [...lower].map((letter) => transliterateWord(letter)[0]?.text ?? '');
      const text = letters.join('');
      if (text !== '')
        words.push({
          text,
          script: 'latin',
          origin: '',
          isFamily,
          isLetters: true,
          word,
          raw: written,
          letters,
        });
      continue;
    }
    const spelled = korean?.[word - 1];
    const latin: readonly LatinWord[] =
      spelled === undefined
        ? transliterateWord(lower, language)
        : [{ text: spelled, script: 'latin', origin: '' }];
    for (const each of latin) {
      const raw = each.script === 'syllabic' ? each.origin : written;
      const text = each.text.slice(0, WORD_MAX);
      const apart = each.script === 'latin' ? withoutForm(text) : text;
      const isLetters = each.script === 'latin' && CAPITALS.test(written) && NO_VOWEL.test(text);
      const letters = isLetters ? [...text] : undefined;
      for (const one of apart === text ? [text] : apart.split(' '))
        words.push({
          text: one,
          script: each.script,
          origin: each.origin.slice(0, WORD_MAX),
          isFamily,
          isLetters,
          word,
          raw,
          ...(letters ? { letters } : {}),
        });
    }
    if (words.length >= WORDS_MAX) break;
  }
  return words;
}

/** Writes a legal form at the start or the end of a word apart. */
function withoutForm(text: string): string {
  if (text.length < GLUED_LEAST) return text;
  const before = FORM_BEGINS.test(text) ? text.replace(GLUED_FORM_BEFORE, '$1 ') : text;
  return FORM_ENDS.test(before) ? before.replace(GLUED_FORM_AFTER, ' $1') : before;
}

/** Letters of the shortest word with a form in it, and the first and the last letters of the forms at an end. */
const GLUED_LEAST = 7;
const FORM_BEGINS = /^[opcjl]/;
const FORM_ENDS = /[chdo]$/;

/** `1st` is a number; `sech1n` replaces a letter with a digit; `no2` is two words. */
export function splitDigits(words: readonly Written[]): Written[] {
  const out: Written[] = [];
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
