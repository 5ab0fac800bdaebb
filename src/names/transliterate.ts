/**
 * Transliterates any script to Latin letters, word by word. Cyrillic, Devanagari and Thai have
 * their own tables (readings/), because names are romanised as in passports and newspapers. Each syllable of Han and Hangul becomes a
 * word. These, kana, Arabic, Hebrew and Thai keep their own letters as well, because they have no
 * single Latin spelling (readings/). any-ascii transliterates all other scripts.
 */
import anyAscii from 'any-ascii';
import { cyrillicLetter, type NameLanguage, withoutYo } from './readings/cyrillic.ts';
import { devanagariPlain } from './readings/devanagari.ts';
import { pinyinOf, simplifiedOf } from './readings/han.ts';
import { hangulPlain, isHangul } from './readings/hangul.ts';
import { repeated } from './readings/japanese.ts';
import { thaiPlain } from './readings/thai.ts';

export type NameScript = 'latin' | 'abjad' | 'syllabic';

export interface LatinWord {
  /** Lower-case a–z and digits; not empty. */
  readonly text: string;
  readonly script: NameScript;
  /**
   * The word in its own letters, if these have no single Latin spelling: a word of Arabic, Hebrew, Thai or kana, a Han character
   * (simplified), or a Hangul syllable. Empty for other scripts.
   */
  readonly origin: string;
}

/** Returns a word as legal forms have it: in its own letters, if these write no vowels (the consonants of `اصل` are not the form `SL`). */
export const formWord = ({ text, script, origin }: LatinWord): string => (script === 'abjad' ? origin : text);

const HAS_DEVANAGARI = /\p{Script=Devanagari}/u;

/** Latin letters that Unicode normalisation does not decompose. */
const LATIN: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
  ə: 'a',
  ħ: 'h',
  ŋ: 'ng',
  ƙ: 'k',
  ɓ: 'b',
  ɗ: 'd',
  ŧ: 't',
};

const ASCII_WORD = /^[a-z0-9]+$/;
/** Latin letters with diacritics, which no other script has. */
const LATIN_WORD = /^[a-z0-9\u00df-\u00f6\u00f8-\u024f]+$/;
const HAS_CYRILLIC = /\p{Script=Cyrillic}/u;
const HAS_GREEK = /\p{Script=Greek}/u;
const HAS_ARMENIAN = /\p{Script=Armenian}/u;
const HAS_ABJAD = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thai}]/u;
const HAS_SYLLABLES = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const SYLLABLES = /[\p{Script=Hiragana}\p{Script=Katakana}ー]+|[\p{Script=Han}\p{Script=Hangul}]|[a-z0-9]+/gu;
/** Letters with one form in several languages of the Arabic script. */
const ARABIC_LETTERS: Readonly<Record<string, string>> = {
  ي: 'ی',
  ى: 'ی',
  ك: 'ک',
  أ: 'ا',
  إ: 'ا',
  ٱ: 'ا',
  ہ: 'ه',
  ھ: 'ه',
  ۃ: 'ة',
};
/** Pairs of letters that write one sound. */
const GREEK: readonly (readonly [RegExp, string])[] = [
  [/^μπ/g, 'b'],
  [/μπ/g, 'mp'],
  [/^ντ/g, 'd'],
  [/ντζ/g, 'tz'],
  [/γκ|γγ/g, 'g'],
  [/ου/g, 'ou'],
  [/αυ(?=[θκξπστφχψς]|$)/g, 'af'],
  [/ευ(?=[θκξπστφχψς]|$)/g, 'ef'],
  [/αυ/g, 'av'],
  [/ευ/g, 'ev'],
  [/χ/g, 'ch'],
  [/η/g, 'i'],
];
/** The Arabic article, which Latin spelling separates or omits. */
const ARABIC_ARTICLE = /^ال(?=\p{L}{3}|ح[قيی]$)/u;
/** `Amr` has a letter w that distinguishes it from `Umar`, and is not spoken. */
const AMR = /^عمرو$/u;
const MARKS = /\p{M}+/gu;
const NOT_LATIN = /[^a-z0-9]+/g;

/**
 * Transliterates one lower-case word without spaces. Han and Hangul give several words; unreadable characters give none.
 *
 * @param language That of the name, as `languageOf` returns it.
 */
export function transliterateWord(word: string, language: NameLanguage | null = null): readonly LatinWord[] {
  if (ASCII_WORD.test(word)) return [{ text: word, script: 'latin', origin: '' }];
  if (LATIN_WORD.test(word)) return latin(spelledByLetter(word, language), 'latin');
  if (HAS_SYLLABLES.test(word)) return syllables(word);
  if (HAS_ABJAD.test(word)) return abjad(word);
  if (HAS_GREEK.test(word)) {
    let greek = word.normalize('NFD').replace(MARKS, '');
    for (const [pattern, spelled] of GREEK) greek = greek.replace(pattern, spelled);
    return latin(anyAscii(greek), 'latin');
  }
  if (HAS_ARMENIAN.test(word)) return latin(anyAscii(word.replace(/ու/g, 'u').replace(/և/g, 'ev')), 'latin');
  if (HAS_DEVANAGARI.test(word)) return latin(devanagariPlain(word), 'latin');
  return latin(spelledByLetter(word, language), 'latin');
}

/** Spells a word in Latin or Cyrillic letters, or in those of another alphabet, letter by letter. */
function spelledByLetter(word: string, language: NameLanguage | null): string {
  let out = '';
  const composed = HAS_CYRILLIC.test(word) ? withoutYo(word) : word.normalize('NFD').replace(MARKS, '');
  for (const letter of composed) {
    const known = cyrillicLetter(letter, language) ?? LATIN[letter];
    if (known !== undefined) out += known;
    else if (letter < '\u0080') out += letter;
    else out += anyAscii(letter.normalize('NFD').replace(MARKS, '')).toLowerCase();
  }
  return out;
}

function latin(text: string, script: NameScript, origin = ''): readonly LatinWord[] {
  const plain = text.toLowerCase().replace(NOT_LATIN, '');
  return plain === '' ? [] : [{ text: plain, script, origin }];
}

/** Arabic and Hebrew marks are vowels that names omit; the marks of Thai are vowels and tones that it always writes. */
function abjad(word: string): readonly LatinWord[] {
  if (/\p{Script=Thai}/u.test(word)) return latin(thaiPlain(word), 'abjad', word);
  const bare = word
    .normalize('NFC')
    .replace(MARKS, '')
    .replace(/[\u0640\u200c\u200d]/g, '')
    .replace(ARABIC_ARTICLE, '');
  const text = anyAscii(bare);
  return latin(
    text,
    'abjad',
    bare.replace(AMR, 'عمر').replace(/./gu, (letter) => ARABIC_LETTERS[letter] ?? letter),
  );
}

/** Han characters and Hangul syllables are words of their own; kana are one word. */
function syllables(word: string): readonly LatinWord[] {
  const words: LatinWord[] = [];
  for (const [text] of repeated(word).matchAll(SYLLABLES)) {
    if (/^[a-z0-9]/.test(text)) words.push({ text, script: 'latin', origin: '' });
    else if (isHangul(text)) words.push({ text: hangulPlain(text), script: 'syllabic', origin: text });
    else {
      const origin = text.length === 1 ? simplifiedOf(text) : text;
      const plain = (pinyinOf(origin) ?? anyAscii(text)).toLowerCase().replace(NOT_LATIN, '');
      if (plain !== '') words.push({ text: plain, script: 'syllabic', origin });
    }
  }
  return words;
}
