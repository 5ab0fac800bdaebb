/** Letters of scripts that omit vowels (Arabic, Hebrew), with the Latin letters that spell each. */

import { letterSet } from '../sound.ts';

/** One letter: a pattern of its Latin spellings, and the classes of consonants that these have (`''`: it may be silent). */
export interface SoundUnit {
  /** The usual spellings. */
  readonly pattern: string;
  /** Spellings that are usually those of another letter (`s` for ش, `h` for خ); absent if there are none. */
  readonly rare?: string;
  readonly classes: readonly string[];
}

/** An unwritten vowel between two consonants. */
const SHORT = '(?:ou|ie|[aeiouy])?';

interface Letter {
  readonly spelled: string;
  readonly rare: string;
  readonly classes: readonly string[];
}

/**
 * `spelled|spelled;rare|rare classes`; classes are those of `unvocalised`, one letter each or separated by commas, and `_` means a silent
 * letter. A spelling is rare if it is usually that of another letter.
 */
const CONSONANTS: Readonly<Record<string, string>> = {
  // Arabic, with the letters of Persian, Urdu and Pashto
  ب: 'b|p b',
  پ: 'p;b b',
  ت: 't;th t',
  ث: 'th|t|s;ts ts',
  ج: 'j|dj|g;dzh|zh|dg|c|y skd',
  چ: 'ch|tch|tsch|c;tj s',
  ح: 'h;kh h',
  خ: 'kh|x;h|k hk',
  د: 'd;dh|t d',
  ذ: 'dh|d|z;th dst',
  ر: 'r r',
  ز: 'z;s|zh s',
  ژ: 'zh|j;z s',
  س: 's|c;z s',
  ش: 'sh|ch|sch;s s',
  ص: 's;c s',
  ض: 'd|dh|z;dz ds',
  ط: 't;th t',
  ظ: 'z|dh|d;th|zh sdt',
  غ: 'gh|g;kh|q|k|h kh',
  ف: 'f|v|ph;p b',
  ق: 'q|k|g|gh|c;kh k',
  ک: 'k|c|ck;q|g k',
  ك: 'k|c|ck;q|g|ch k',
  گ: 'g|gu;k k',
  ل: 'l l',
  م: 'm;n m',
  ن: 'n;m n',
  ه: 'h;_ h_',
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
  ה: 'h|a|e|ah|eh;_ h_',
  ז: 'z;s|j|zh s',
  ח: 'ch|h|kh hs',
  ט: 't t',
  כ: 'k|ch|kh|c;h ksh',
  ך: 'k|ch|kh;h ksh',
  ל: 'l l',
  מ: 'm m',
  ם: 'm m',
  נ: 'n n',
  ן: 'n n',
  ס: 's;c|z s',
  פ: 'p|f|ph b',
  ף: 'f|p|ph b',
  צ: 'ts|tz|z;s|c|cz|ch|tch s,ts',
  ץ: 'ts|tz|z;s|c|cz|ch|tch s,ts',
  ק: 'k|c|q|ck;g k',
  ר: 'r r',
  ש: 'sh|s|sch;ch s',
  ת: 't|th;s ts',
};

/** The last letter of a word is i or, more rarely, a: Persian writes both without dots. */
const FINAL_YA = '(?:ai|ei|ay|ey|iy|yi|ia|ya|ie|[yiej])';
const FINAL_YA_OR_A = '(?:ai|ei|ay|ey|iy|yi|ia|ya|ie|aj|ij|ah|[ayiej])';
/** Names that end in a, without the last letter. */
const FINAL_A: ReadonlySet<string> = new Set(
  'موس مصطف عیس یحی لیل سلم من هد مرتض مجتب رض نجو سلو بشر لبن ضح ند مه یسر'.split(' '),
);

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

const letterOf = (row: string): Letter => {
  const [spellings = '', classes = ''] = row.split(' ');
  const [spelled = '', rare = ''] = spellings.split(';');
  return { spelled, rare, classes: classes.includes(',') ? classes.split(',') : [...classes] };
};

/** The consonants that a letter of Arabic or Hebrew may be heard as. */
export interface LetterClasses {
  /** The highest number of classes, with that of silence. */
  readonly count: number;
  /** The classes as letters, `a` as bit 0; 0 if the letter may be silent. */
  readonly letters: number;
}

/** By character code: the letters of Arabic and Hebrew have codes below 0x800. */
const letterClasses = new Array<LetterClasses | undefined>(0x800).fill(undefined);
for (const letter of Object.keys(VOWELS)) letterClasses[letter.charCodeAt(0)] = { count: 2, letters: 0 };
for (const [letter, row] of Object.entries(CONSONANTS)) {
  const { classes } = letterOf(row);
  const letters = classes.includes('_') ? 0 : letterSet(classes.join(''));
  letterClasses[letter.charCodeAt(0)] = { count: classes.length, letters };
}

/** Returns the classes of a letter of Arabic or Hebrew, by its character code; undefined if it has none. */
export const classesOf = (letter: number): LetterClasses | undefined =>
  letter < letterClasses.length ? letterClasses[letter] : undefined;

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

const FINAL_VOWEL = '(?:[aei]|ah)';

function newConsonant(row: string, isLast: boolean, optional: boolean): SoundUnit {
  const { spelled, rare, classes } = letterOf(row);
  const isSilent = classes.includes('_');
  const usual = oneOf(spelled, optional);
  // A vowel after the last consonant is seldom that of the name: it is another name of the same root (`Nasr`, `Nasri`).
  const all = oneOf(rare === '' ? spelled : `${spelled}|${rare}`, optional || isSilent);
  const whole = isLast ? `${all}${FINAL_VOWEL}?` : all + SHORT;
  return {
    pattern: isLast ? usual : usual + SHORT,
    ...(isLast || rare !== '' ? { rare: whole } : {}),
    classes: [...classes.filter((each) => each !== '_'), ...(optional || isSilent ? [''] : [])],
  };
}

/** Returns the pattern of spellings, the longest first. */
function oneOf(spelled: string, optional: boolean): string {
  const all = spelled.split('|').filter((each) => each !== '_');
  return `(?:${all.sort((a, b) => b.length - a.length).join('|')})${optional ? '?' : ''}`;
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

/** Returns the units of a word in Arabic or Hebrew letters. */
export function abjadUnits(word: string): SoundUnit[] {
  const letters = [...word];
  const isAllah = word.endsWith(ALLAH);
  const units: SoundUnit[] = [{ pattern: /\p{Script=Arabic}/u.test(word) ? '(?:[aeu]l)?' : '', classes: [] }];
  for (const [at, letter] of letters.entries()) {
    const row = CONSONANTS[letter];
    const isLast = at === letters.length - 1;
    // Doubled Latin letters count once, so the second of two equal letters may be unwritten in Latin.
    if (isAllah && isLast) units.push({ pattern: '(?:a?h|a)', classes: ['h', ''] });
    else if (isLast && FINAL_H.has(letter))
      units.push({ pattern: '(?:[ae]h?|h[ae]?)', rare: '[aei]?h?', classes: ['h', ''] });
    else if (row !== undefined) units.push(consonant(row, isLast, at > 0 && letters[at - 1] === letter));
    else {
      const vowel = vowelUnit(letters, at);
      if (vowel !== null) units.push(vowel);
    }
  }
  return units;
}

/** Letters that are written h, or not at all, at the end of a word, after an unwritten vowel. */
const FINAL_H: ReadonlySet<string> = new Set('هה');
/** Letters that are spoken at the beginning of a word, unless another vowel letter follows. */
const INITIAL_VOWELS: ReadonlySet<string> = new Set('اأإآٱعאע');
const VOWEL_LETTERS: ReadonlySet<string> = new Set([...'او', ...'یي', ...'וי']);

function vowelUnit(letters: readonly string[], at: number): SoundUnit | null {
  const letter = letters[at] as string;
  const isLast = at === letters.length - 1;
  // A Hebrew yod is also written j, which sounds like z in other names.
  const classes = WAWS.has(letter) ? ['', 'b'] : letter === 'י' && !isLast ? ['', 's'] : [];
  const after = isLast ? 'h?' : GLIDES.has(letter) ? SHORT : '';
  if (at === 0 && INITIAL_VOWELS.has(letter) && !VOWEL_LETTERS.has(letters[1] ?? ''))
    return { pattern: '[aeiou]{1,2}', rare: '[aeiou]{0,2}', classes };
  if (letter === 'ו') return hebrewVav(letters, at);
  // At the end of a word, an alif without dots is a long a (`Mustafa`, `Isa`). Inside a word an alif is always spoken.
  if (letter === 'ا' && at > 0) {
    const optional = isSilent(letters, at) ? '?' : '';
    const rare = `[aeou]${optional}${after}`;
    // Before l it may be the article in the middle of a word, with the vowel of a case (`Habibullah`).
    return { pattern: letters[at + 1] === 'ل' ? rare : `(?:ae|[ae])${optional}${after}`, rare, classes };
  }
  if (letter === 'ی' && isLast) {
    const isA = FINAL_A.has(letters.slice(0, -1).join(''));
    return isA
      ? { pattern: FINAL_YA_OR_A + after, classes }
      : { pattern: FINAL_YA + after, rare: FINAL_YA_OR_A + after, classes };
  }
  const vowel = VOWELS[letter];
  if (vowel === undefined) return null;
  // A vowel letter that is written is spoken, unless it is the last or the first.
  const spelled = isSilent(letters, at) ? `(?:${vowel})?` : vowel;
  if (letter === 'י' && at === 0)
    return { pattern: '(?:y|j|i)[aeiou]{0,2}', rare: `${spelled}${after}`, classes };
  return { pattern: spelled + after, classes };
}

/** A Hebrew vav is a vowel or the consonant v, which is written twice inside a word. */
function hebrewVav(letters: readonly string[], at: number): SoundUnit {
  const isDoubled = letters[at - 1] === 'ו';
  if (isDoubled) return { pattern: '(?:[vw][aeiou]{0,2})?', classes: ['', 'b'] };
  const isLast = at === letters.length - 1;
  return { pattern: isLast ? '(?:ou|[vwuof])' : '(?:ou|[uof]|[vw][aeiou]{0,2})', classes: ['', 'b'] };
}
