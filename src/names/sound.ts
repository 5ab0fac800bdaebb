/** The sound of a Latin word, at two levels: `fold` normalises romanisations, `skeleton` keeps only classes of consonants. */

/**
 * Applied in order. Left: variants of spelling; right: the sound; then letters that a word has if the pattern matches: all of the first, and
 * at least one of the second.
 */
const FOLDS: readonly (readonly [RegExp, string, string, string])[] = [
  [/eddine?$|uddine?$|addin$|aldin$|iddin$|eldin$/, 'udin', 'din', ''],
  // The Cyrillic letter yo is written e in passports (`Solovyov`, `Solovev`; `Fyodor`, `Fedor`).
  [/(?<=[bcdfghklmnprstvz])[iy]ov(?=a?$)/, 'ev', 'ov', 'iy'],
  [
    /(?<=^f)[iy]o(?=dor)|(?<=^sem)[iy]o(?=n)|(?<=^art)[iy]o(?=m)|(?<=^p)[iy]o(?=tr)|(?<=^al)[iy]o(?=na)/,
    'e',
    'o',
    'iy',
  ],
  [/tsch|tch|cz/g, 'ch', 'c', 'tz'],
  [/shch/g, 'sh', 'shc', ''],
  [/sch/g, 'sh', 'sch', ''],
  [/dzh|dj|zh/g, 'j', '', 'jz'],
  [/kh/g, 'h', 'kh', ''],
  [/gh/g, 'g', 'gh', ''],
  [/ph/g, 'f', 'ph', ''],
  [/th/g, 't', 'th', ''],
  [/ck|q/g, 'k', '', 'cq'],
  [/^x/, 'sh', 'x', ''],
  [/x/g, 'ks', 'x', ''],
  [/c(?=[eiy])/g, 's', 'c', 'eiy'],
  [/c(?!h)/g, 'k', 'c', ''],
  [/w/g, 'v', 'w', ''],
  [/ff$/, 'v', 'f', ''],
  [/ou|oo/g, 'u', 'o', ''],
  [/ee|ie|iy|yi|ij|ii|yy/g, 'i', '', 'eiy'],
  [/ey|ei|ay|ai/g, 'e', '', 'iy'],
  [/y/g, 'i', 'y', ''],
  [/ae/g, 'e', 'ae', ''],
  [/oe|eo/g, 'o', 'oe', ''],
  [/ue|eu/g, 'u', 'ue', ''],
  [/([aeiou])h(?=[^aeiou]|$)/g, '$1', 'h', ''],
];
const DOUBLED = /(.)\1+/g;

/** Returns the letters of a word, `a` to `z` as bits 0 to 25; other characters are bit 26. */
export function letterSet(word: string): number {
  let letters = 0;
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at) - 97;
    letters |= 1 << (code >= 0 && code < 26 ? code : 26);
  }
  return letters;
}

/** The same for a word of a–z and digits in bytes, from `from` to `to`. */
export function letterSetOf(bytes: Uint8Array, from: number, to: number): number {
  let letters = 0;
  for (let at = from; at < to; at++) {
    const code = (bytes[at] as number) - 97;
    letters |= 1 << (code >= 0 && code < 26 ? code : 26);
  }
  return letters;
}

const folds = FOLDS.map(([pattern, heard, all, any]) => ({
  pattern,
  heard,
  all: letterSet(all),
  any: any === '' ? -1 : letterSet(any),
}));

function hasDoubled(word: string): boolean {
  for (let at = 1; at < word.length; at++) if (word.charCodeAt(at) === word.charCodeAt(at - 1)) return true;
  return false;
}

/**
 * Returns the same text for usual spellings of one name: `sergey`, `serguei` and `sergei` become equal.
 *
 * @param word a–z.
 */
export function fold(word: string): string {
  let out = word;
  let letters = letterSet(word);
  for (const { pattern, heard, all, any } of folds) {
    // Most patterns need letters that a word does not have.
    if ((letters & all) !== all || (letters & any) === 0) continue;
    const before = out;
    out = out.replace(pattern, heard);
    if (out !== before) letters = letterSet(out);
  }
  return hasDoubled(out) ? out.replace(DOUBLED, '$1') : out;
}

const CLASSES: Readonly<Record<string, string>> = {
  b: 'b',
  p: 'p',
  f: 'f',
  v: 'f',
  k: 'k',
  g: 'k',
  s: 's',
  z: 's',
  j: 's',
  t: 't',
  d: 't',
  l: 'l',
  m: 'm',
  n: 'n',
  r: 'r',
};

/** Returns the classes of consonants of a folded word, without doubles; `a` if the word has no consonant. It may be one letter. */
export function skeleton(folded: string): string {
  let out = '';
  const text = folded.replace(/ch|sh/g, 's');
  for (const letter of text) {
    const heard = CLASSES[letter];
    if (heard !== undefined && !out.endsWith(heard)) out += heard;
  }
  return out === '' ? 'a' : out;
}

/**
 * Returns the consonants of a word, for scripts without written vowels. Labial sounds are one class, because Arabic has no p and v, and
 * Hebrew has one letter for b and v; so are velar ones, because Arabic q is spoken and written g in many countries.
 */
export function unvocalised(text: string): string {
  let spelled = text.includes('h')
    ? text
        .replace(/ph/g, 'f')
        .replace(/kh/g, 'h')
        .replace(/gh/g, 'g')
        .replace(/th/g, 't')
        .replace(/dh/g, 'd')
        .replace(/zh/g, 'z')
        .replace(/t?[sc]h/g, 's')
    : text;
  if (spelled.includes('dj')) spelled = spelled.replace(/dj/g, 'j');
  if (spelled.includes('c')) spelled = spelled.replace(/c(?=[eiy])/g, 's');
  let out = '';
  let last = '';
  for (let at = 0; at < spelled.length; at++) {
    const letter = spelled[at] as string;
    const heard = CONSONANTS[letter] ?? letter;
    // One consonant on both sides of a vowel is written once.
    if (heard === '' || heard === last) continue;
    out += heard;
    last = heard;
  }
  return last === 'h' ? out.slice(0, -1) : out;
}

/** The classes of consonants in scripts without vowels; empty for letters that these do not write. */
const CONSONANTS: Readonly<Record<string, string>> = {
  a: '',
  e: '',
  i: '',
  o: '',
  u: '',
  y: '',
  w: '',
  "'": '',
  '`': '',
  q: 'k',
  c: 'k',
  g: 'k',
  z: 's',
  j: 's',
  p: 'b',
  f: 'b',
  v: 'b',
};
