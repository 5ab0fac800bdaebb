/** Words in Devanagari (Hindi, Nepali, Marathi), written as names are: `sh` and `ch` for their sounds, and vowels where they are spoken. */

const CONSONANTS: Readonly<Record<string, string>> = {
  क: 'k',
  ख: 'kh',
  ग: 'g',
  घ: 'gh',
  ङ: 'ng',
  च: 'ch',
  छ: 'ch',
  ज: 'j',
  झ: 'jh',
  ञ: 'n',
  ट: 't',
  ठ: 'th',
  ड: 'd',
  ढ: 'dh',
  ण: 'n',
  त: 't',
  थ: 'th',
  द: 'd',
  ध: 'dh',
  न: 'n',
  प: 'p',
  फ: 'ph',
  ब: 'b',
  भ: 'bh',
  म: 'm',
  य: 'y',
  र: 'r',
  ल: 'l',
  ळ: 'l',
  व: 'v',
  श: 'sh',
  ष: 'sh',
  स: 's',
  ह: 'h',
};
/** Consonants with a dot below: sounds of Persian, Arabic and Hindi. */
const DOTTED: Readonly<Record<string, string>> = {
  क: 'q',
  ख: 'kh',
  ग: 'gh',
  ज: 'z',
  फ: 'f',
  ड: 'r',
  ढ: 'rh',
};
const VOWELS: Readonly<Record<string, string>> = {
  अ: 'a',
  आ: 'a',
  इ: 'i',
  ई: 'i',
  उ: 'u',
  ऊ: 'u',
  ऋ: 'ri',
  ऍ: 'e',
  ए: 'e',
  ऐ: 'ai',
  ऑ: 'o',
  ओ: 'o',
  औ: 'au',
};
/** Vowel signs, each with the vowel letter that it stands for. */
const SIGNS = new Map(
  [
    ['\u093e', 'आ'],
    ['\u093f', 'इ'],
    ['\u0940', 'ई'],
    ['\u0941', 'उ'],
    ['\u0942', 'ऊ'],
    ['\u0943', 'ऋ'],
    ['\u0945', 'ऍ'],
    ['\u0947', 'ए'],
    ['\u0948', 'ऐ'],
    ['\u0949', 'ऑ'],
    ['\u094b', 'ओ'],
    ['\u094c', 'औ'],
  ].map(([sign, vowel]) => [sign as string, vowel as string]),
);
const NUKTA = '\u093c';
const VIRAMA = '\u094d';
const ANUSVARA = '\u0902';
const CANDRABINDU = '\u0901';
const LONG_A = 'आ';
const LABIALS: ReadonlySet<string> = new Set('पफबभम');

/** Two letters with a sound of their own (`ज्ञवाली` is Gyawali). */
const GY = /ज\u094dञ/gu;

/** Returns one spelling of a lower-case word in Devanagari in Latin letters; letters that it does not know are left out. */
export function devanagariPlain(word: string): string {
  const letters = [
    ...word
      .normalize('NFD')
      .replace(/[\u200c\u200d]/gu, '')
      .replace(GY, 'ग\u094dय'),
  ];
  let out = '';
  // Whether the syllable before has a long a, after which an unwritten vowel between two syllables is not spoken (`पासवान`, Paswan).
  let isLong = false;
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] as string;
    const vowel = VOWELS[letter];
    if (letter === ANUSVARA || letter === CANDRABINDU) out += nasal(letter, letters[at + 1]);
    if (vowel !== undefined) {
      out += vowel;
      isLong = letter === LONG_A;
      continue;
    }
    if (CONSONANTS[letter] === undefined) continue;
    const isDotted = letters[at + 1] === NUKTA;
    out += (isDotted ? DOTTED[letter] : undefined) ?? CONSONANTS[letter];
    if (isDotted) at++;
    const sign = SIGNS.get(letters[at + 1] ?? '');
    if (sign !== undefined) {
      out += VOWELS[sign];
      isLong = sign === LONG_A;
      at++;
    } else if (letters[at + 1] === VIRAMA) at++;
    else {
      if (isSpoken(letters, at, isLong)) out += 'a';
      isLong = false;
    }
  }
  return out;
}

/** Returns whether the unwritten vowel of a consonant is spoken: at the end only after two consonants (`नरेन्द्र`, Narendra). */
function isSpoken(letters: readonly string[], at: number, isAfterLong: boolean): boolean {
  const next = letters[at + 1];
  const isDotted = letters[at] === NUKTA;
  const before = letters[at - (isDotted ? 2 : 1)];
  if (next === undefined) return before === VIRAMA;
  if (!isAfterLong || before === VIRAMA || CONSONANTS[next] === undefined) return true;
  // Another consonant with a written vowel follows.
  return !SIGNS.has(letters[at + 2] ?? '');
}

function nasal(sign: string, next: string | undefined): string {
  if (next === undefined) return '';
  if (sign === ANUSVARA && next === 'ह') return 'ng';
  return LABIALS.has(next) ? 'm' : 'n';
}
