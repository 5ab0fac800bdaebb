/**
 * Transliterates any script to Latin letters, word by word. Cyrillic has its own table, because
 * names are romanised as in passports and newspapers. Each syllable of Han and Hangul becomes a
 * word. Arabic and Hebrew, written without vowels, become consonants marked as `abjad`, so that
 * the other name is also compared by its consonants. any-ascii transliterates all other scripts.
 */
import anyAscii from 'any-ascii';

export type NameScript = 'latin' | 'abjad' | 'syllabic';

export interface LatinWord {
  /** Lower-case a–z and digits; not empty. */
  readonly text: string;
  readonly script: NameScript;
}

/** Romanisation of passports of the 2010s, for letters of several languages; `''` for silent letters. */
const CYRILLIC: Readonly<Record<string, string>> = {
  а: 'a',
  б: 'b',
  в: 'v',
  г: 'g',
  ґ: 'g',
  ѓ: 'gj',
  д: 'd',
  ђ: 'dj',
  е: 'e',
  ё: 'yo',
  є: 'ye',
  ж: 'zh',
  з: 'z',
  ѕ: 'dz',
  и: 'i',
  й: 'y',
  і: 'i',
  ї: 'yi',
  ј: 'j',
  к: 'k',
  ќ: 'kj',
  қ: 'q',
  л: 'l',
  љ: 'lj',
  м: 'm',
  н: 'n',
  њ: 'nj',
  ң: 'ng',
  о: 'o',
  ө: 'o',
  п: 'p',
  р: 'r',
  с: 's',
  т: 't',
  ћ: 'c',
  у: 'u',
  ў: 'u',
  ұ: 'u',
  ү: 'u',
  ф: 'f',
  х: 'kh',
  һ: 'h',
  ҳ: 'h',
  ц: 'ts',
  ч: 'ch',
  ҷ: 'j',
  џ: 'dz',
  ш: 'sh',
  щ: 'shch',
  ъ: '',
  ы: 'y',
  ь: '',
  э: 'e',
  ә: 'a',
  ғ: 'gh',
  ю: 'yu',
  я: 'ya',
};

/** A Devanagari consonant that is not followed by a vowel sign has an unwritten `a`, except at the end of a word. */
const INHERENT_VOWEL = /([\u0915-\u0939\u0958-\u095f]\u093c?)(?=[\u0904-\u0939\u0958-\u095f\u0902\u0903])/g;
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
const HAS_CYRILLIC = /\p{Script=Cyrillic}/u;
const HAS_ABJAD = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
const HAS_SYLLABLES = /[\p{Script=Han}\p{Script=Hangul}]/u;
/** The Arabic article, which Latin spelling separates or omits. */
const ARABIC_ARTICLE = /^ال(?=\p{L}{3})/u;
const MARKS = /\p{M}+/gu;
const NOT_LATIN = /[^a-z0-9]+/g;

/** Transliterates one lower-case word without spaces. Han and Hangul give several words; unreadable characters give none. */
export function transliterateWord(word: string): readonly LatinWord[] {
  if (ASCII_WORD.test(word)) return [{ text: word, script: 'latin' }];
  if (HAS_SYLLABLES.test(word)) return syllables(word);
  if (HAS_ABJAD.test(word)) {
    return latin(anyAscii(word.replace(MARKS, '').replace(ARABIC_ARTICLE, '')), 'abjad');
  }
  if (HAS_DEVANAGARI.test(word)) return latin(anyAscii(word.replace(INHERENT_VOWEL, '$1\u0905')), 'latin');
  let out = '';
  const composed = HAS_CYRILLIC.test(word) ? word.normalize('NFC') : word.normalize('NFD').replace(MARKS, '');
  for (const letter of composed) {
    const known = CYRILLIC[letter] ?? LATIN[letter];
    if (known !== undefined) out += known;
    else if (letter < '\u0080') out += letter;
    else out += anyAscii(letter.normalize('NFD').replace(MARKS, '')).toLowerCase();
  }
  return latin(out, 'latin');
}

function latin(text: string, script: NameScript): readonly LatinWord[] {
  const plain = text.toLowerCase().replace(NOT_LATIN, '');
  return plain === '' ? [] : [{ text: plain, script }];
}

/** any-ascii starts each Han or Hangul syllable with a capital, and joins them. */
function syllables(word: string): readonly LatinWord[] {
  return anyAscii(word)
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(' ')
    .filter((part) => part !== '')
    .map((text) => ({ text, script: 'syllabic' as const }));
}
