/** Letters of scripts that omit vowels (Arabic, Hebrew) or write them by other rules (Thai), with the Latin letters that spell each. */

import { letterSet } from '../sound.ts';

/** One letter: a pattern of its Latin spellings, and the classes of consonants that these have (`''`: it may be silent). */
export interface SoundUnit {
  readonly pattern: string;
  readonly classes: readonly string[];
}

/** An unwritten vowel between two consonants. */
const SHORT = '(?:ou|ie|[aeiouy])?';

interface Letter {
  readonly spelled: string;
  readonly classes: string;
}

/** `spelled|spelled classes`; classes are those of `unvocalised`, and `_` means a silent letter. */
const CONSONANTS: Readonly<Record<string, string>> = {
  // Arabic, with the letters of Persian, Urdu and Pashto
  ب: 'b|p b',
  پ: 'p|b b',
  ت: 't|th t',
  ث: 'th|t|s ts',
  ج: 'j|dj|g|dzh|zh|dg|c|y skd',
  چ: 'ch|tch|tsch|c|tj s',
  ح: 'h|kh h',
  خ: 'kh|h|k|x hk',
  د: 'd|dh|t d',
  ذ: 'dh|d|z|th dst',
  ر: 'r r',
  ز: 'z|s|zh s',
  ژ: 'zh|j|z s',
  س: 's|c|z s',
  ش: 'sh|ch|s|sch s',
  ص: 's|c s',
  ض: 'd|dh|z|dz ds',
  ط: 't|th t',
  ظ: 'z|dh|d|th|zh sdt',
  غ: 'gh|g|kh|q|k|h kh',
  ف: 'f|v|ph|p b',
  ق: 'q|k|g|gh|c|kh k',
  ک: 'k|c|q|ck|g k',
  ك: 'k|c|q|ck|g|ch k',
  گ: 'g|k|gu k',
  ل: 'l l',
  م: 'm|n m',
  ن: 'n|m n',
  ه: 'h|_ h_',
  ټ: 't t',
  ډ: 'd d',
  ړ: 'r r',
  ځ: 'z|dz|j s',
  څ: 'ts|s|ch s',
  ښ: 'sh|kh|x sh',
  ږ: 'g|zh|j ks',
  ڼ: 'n n',
  ڤ: 'v|f b',
  ٹ: 't t',
  ڈ: 'd d',
  ڑ: 'r r',
  // Hebrew
  ב: 'b|v|w b',
  ג: 'g|j|gh k',
  ד: 'd d',
  ה: 'h|a|e|ah|eh|_ h_',
  ז: 'z|s s',
  ח: 'ch|h|kh hs',
  ט: 't t',
  כ: 'k|ch|kh|c|h ksh',
  ך: 'k|ch|kh|h ksh',
  ל: 'l l',
  מ: 'm m',
  ם: 'm m',
  נ: 'n n',
  ן: 'n n',
  ס: 's|c|z s',
  פ: 'p|f|ph b',
  ף: 'f|p|ph b',
  צ: 'ts|tz|z|s|c|cz|ch|tch s',
  ץ: 'ts|tz|z|s|c|cz|ch|tch s',
  ק: 'k|c|q|ck|g k',
  ר: 'r r',
  ש: 'sh|s|sch|ch s',
  ת: 't|th|s ts',
};

const FINAL_YA = '(?:ai|ei|ay|ey|iy|yi|ia|ya|ie|aj|ij|ah|[ayiej])';
/** Inside a word an alif is always spoken. */
const LONG_A = '(?:ae|[aeou])';

/** Letters that write vowels, or consonants and vowels. */
const VOWELS: Readonly<Record<string, string>> = {
  ا: '(?:ae|[aeiou])?',
  أ: '(?:[aeiou]{1,2})?',
  إ: '(?:[aeiy]{1,2})?',
  آ: '(?:[aeo]{1,2})?',
  ٱ: '(?:[aeiou])?',
  ى: '(?:ae|ei|[aeiy])?',
  ع: '[aeiou]{0,2}',
  ء: '',
  ئ: '(?:ie|[iey])?',
  ؤ: '(?:ou|[aeou])?',
  ة: '(?:[ae]h|[ae]t|[ae])?',
  ۀ: '(?:eh|[ae])?',
  ھ: 'h?',
  ہ: '(?:ah|h|a)?',
  ۃ: '(?:ah|a)?',
  ے: '(?:[aei]y|[eiay])?',
  و: '(?:ou|uw|ow|aw|au|aou|ouw|oa|[wvuo])',
  ي: '(?:ai|ei|ay|ey|iy|yi|ia|ya|ie|aj|ij|oy|oi|iyy|[yiejY])',
  ی: '(?:ai|ei|ay|ey|iy|yi|ia|ya|ie|aj|ij|[yiejY])',
  ې: '(?:ai|ay|ei|[eiy])',
  ۍ: '(?:ai|ay|ei|[eiy])',
  א: '(?:[aeiou]{1,2})?',
  ו: '(?:ou|[vwuof])',
  י: '(?:ay|ai|ei|ey|yi|iy|[yiej])?(?:[aeou])?',
  ע: '(?:[aeiou]{1,2})?',
};

/** The end of Allah, Nasrallah, Abdullah. */
const ALLAH = 'لله';

const THAI_CONSONANTS: readonly (readonly [letters: string, spelled: string])[] = [
  ['ก', 'g|k|c k'],
  ['ขฃคฅฆ', 'kh|k|c k'],
  ['ง', 'ng|n n'],
  ['จ', 'j|ch|c s'],
  ['ฉชฌ', 'ch|sh|c|s s'],
  ['ซศษส', 's|z s'],
  ['ญย', 'y|i|j|_ _'],
  ['ฎด', 'd|t dt'],
  ['ฏต', 't|d td'],
  ['ฐฑฒถทธ', 'th|t|d|dh td'],
  ['นณ', 'n n'],
  ['บ', 'b|p b'],
  ['ป', 'p|b b'],
  ['ผพภ', 'ph|p|bh b'],
  ['ฝฟ', 'f b'],
  ['ม', 'm m'],
  ['ร', 'r|l|n|_ rln_'],
  ['ลฬ', 'l|n|r lnr'],
  ['ว', 'w|v|u|o|_ b_'],
  ['หฮ', 'h|_ h_'],
  ['อ', '_|o|a _'],
];
const THAI = new Map(
  THAI_CONSONANTS.flatMap(([letters, spelled]) => [...letters].map((letter) => [letter, spelled] as const)),
);
const IS_THAI = /\p{Script=Thai}/u;
/** A consonant with the mark of silence, with or without a vowel sign, is not pronounced. */
const THAI_SILENT = /[ก-ฮ][ิุ]?์/gu;
/** Of two consonants before the mark of silence, the first may be silent as well. */
const THAI_MAYBE_SILENT = /([ก-ฮ])[ก-ฮ][ิุ]?์/gu;
const MAYBE = '\u0001';
/** A vowel that is written before its consonant. */
const THAI_BEFORE = /([เแโใไ])([ก-ฮ])/gu;

const letterOf = (row: string): Letter => {
  const [spelled = '', classes = ''] = row.split(' ');
  return { spelled, classes };
};

/** The consonants that a letter of Arabic or Hebrew may be heard as. */
export interface LetterClasses {
  /** The highest number of classes, with that of silence. */
  readonly count: number;
  /** The classes as letters, `a` as bit 0; 0 if the letter may be silent. */
  readonly letters: number;
}

/** By character code. */
const letterClasses = new Map<number, LetterClasses>();
for (const letter of Object.keys(VOWELS)) letterClasses.set(letter.charCodeAt(0), { count: 2, letters: 0 });
for (const [letter, row] of Object.entries(CONSONANTS)) {
  const { classes } = letterOf(row);
  const letters = classes.includes('_') ? 0 : letterSet(classes);
  letterClasses.set(letter.charCodeAt(0), { count: classes.length, letters });
}

/** Returns the classes of a letter of Arabic or Hebrew, by its character code; undefined if it has none. */
export const classesOf = (letter: number): LetterClasses | undefined => letterClasses.get(letter);

/** The units of consonants by their row and place; there are a few hundred. */
const consonants = new Map<string, SoundUnit>();

function consonant(row: string, isLast: boolean, optional = false): SoundUnit {
  const key = `${isLast ? 1 : 0}${optional ? 1 : 0}${row}`;
  let unit = consonants.get(key);
  if (unit === undefined) {
    unit = newConsonant(row, isLast, optional);
    consonants.set(key, unit);
  }
  return unit;
}

function newConsonant(row: string, isLast: boolean, optional: boolean): SoundUnit {
  const { spelled, classes } = letterOf(row);
  const silent = optional || classes.includes('_');
  const all = spelled.split('|').filter((each) => each !== '_');
  return {
    pattern: `(?:${all.sort((a, b) => b.length - a.length).join('|')})${silent ? '?' : ''}${isLast ? '(?:[aei]|ah)?' : SHORT}`,
    classes: [...[...classes].filter((each) => each !== '_'), ...(silent ? [''] : [])],
  };
}

/** Letters after which an unwritten vowel may follow, and letters that are written w or v. */
const GLIDES: ReadonlySet<string> = new Set('ویي');
const WAWS: ReadonlySet<string> = new Set('وו');

/**
 * Returns whether a vowel letter inside a word may be silent: an alif beside `ع`, which is the same vowel (`ساعاتي`), or of the article after a
 * long u (`ذوالقدر`), and the letter w of `خوا` (`Khah`).
 */
function isSilent(letters: readonly string[], at: number): boolean {
  const [before, letter, next] = [letters[at - 1], letters[at], letters[at + 1]];
  if (letter === 'ا') return before === 'ع' || next === 'ع' || (before === 'و' && next === 'ل');
  return letter === 'و' && before === 'خ' && next === 'ا';
}

/** Returns the units of a word in Arabic, Hebrew or Thai letters. */
export function abjadUnits(word: string): SoundUnit[] {
  if (IS_THAI.test(word)) return thaiUnits(word);
  const letters = [...word];
  const isAllah = word.endsWith(ALLAH);
  const units: SoundUnit[] = [{ pattern: /\p{Script=Arabic}/u.test(word) ? '(?:[aeu]l)?' : '', classes: [] }];
  for (const [at, letter] of letters.entries()) {
    const row = CONSONANTS[letter];
    // Doubled Latin letters count once, so the second of two equal letters may be unwritten in Latin.
    if (isAllah && at === letters.length - 1) units.push({ pattern: '(?:a?h|a)', classes: ['h', ''] });
    else if (row !== undefined)
      units.push(consonant(row, at === letters.length - 1, at > 0 && letters[at - 1] === letter));
    else {
      // At the end of a word, an alif without dots is a long a (`Mustafa`, `Isa`).
      const isLast = at === letters.length - 1;
      const vowel = letter === 'ا' && at > 0 ? LONG_A : letter === 'ی' && isLast ? FINAL_YA : VOWELS[letter];
      if (vowel === undefined) continue;
      const spelled = isSilent(letters, at) ? `(?:${vowel})?` : vowel;
      // A vowel letter that is written is spoken, unless it is the last or the first.
      const isEnd = at === letters.length - 1;
      const after = isEnd ? 'h?' : GLIDES.has(letter) ? SHORT : '';
      // A Hebrew yod is also written j, which sounds like z in other names.
      const classes = WAWS.has(letter) ? ['', 'b'] : letter === 'י' && !isEnd ? ['', 's'] : [];
      units.push({ pattern: spelled + after, classes });
    }
  }
  return units;
}

function thaiUnits(word: string): SoundUnit[] {
  const letters = [
    ...word.replace(THAI_MAYBE_SILENT, `$1${MAYBE}`).replace(THAI_SILENT, '').replace(THAI_BEFORE, '$2$1'),
  ];
  const units: SoundUnit[] = [];
  for (const [at, letter] of letters.entries()) {
    const row = THAI.get(letter);
    if (row !== undefined) {
      // The second of two consonants at the end of a syllable is often silent.
      const previous = letters[at - 1];
      const isCoda = previous !== undefined && THAI.has(previous) && at === letters.length - 1;
      const optional = isCoda || letters[at + 1] === MAYBE;
      units.push(consonant(row, at === letters.length - 1, optional));
    } else if (letter !== MAYBE)
      units.push({ pattern: '(?:[aeiouyw]{1,3}|am)?', classes: letter === 'ำ' ? ['m', ''] : [] });
  }
  return units;
}
