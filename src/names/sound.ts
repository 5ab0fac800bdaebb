/** The sound of a Latin word, at two levels: `fold` normalises romanisations, `skeleton` keeps only classes of consonants. */

/** Applied in order. Left: variants of spelling; right: the sound. */
const FOLDS: readonly (readonly [RegExp, string])[] = [
  [/eddine?$|uddine?$|addin$|aldin$|iddin$|eldin$/, 'udin'],
  [/tsch|tch|cz/g, 'ch'],
  [/shch/g, 'sh'],
  [/sch/g, 'sh'],
  [/dzh|dj|zh/g, 'j'],
  [/kh/g, 'h'],
  [/gh/g, 'g'],
  [/ph/g, 'f'],
  [/th/g, 't'],
  [/ck|q/g, 'k'],
  [/^x/, 'sh'],
  [/x/g, 'ks'],
  [/c(?=[eiy])/g, 's'],
  [/c(?!h)/g, 'k'],
  [/w/g, 'v'],
  [/ff$/, 'v'],
  [/ou|oo/g, 'u'],
  [/ee|ie|iy|yi|ij|ii|yy/g, 'i'],
  [/ey|ei|ay|ai/g, 'e'],
  [/y/g, 'i'],
  [/ae/g, 'e'],
  [/oe|eo/g, 'o'],
  [/ue|eu/g, 'u'],
  [/([aeiou])h(?=[^aeiou]|$)/g, '$1'],
  [/(.)\1+/g, '$1'],
];

/**
 * Returns the same text for usual spellings of one name: `sergey`, `serguei` and `sergei` become equal.
 *
 * @param word a–z.
 */
export function fold(word: string): string {
  let out = word;
  for (const [pattern, heard] of FOLDS) out = out.replace(pattern, heard);
  return out;
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
  return text
    .replace(/ph/g, 'f')
    .replace(/kh/g, 'h')
    .replace(/gh/g, 'g')
    .replace(/th/g, 't')
    .replace(/dh/g, 'd')
    .replace(/sh|ch/g, 's')
    .replace(/[aeiouyw'`]/g, '')
    .replace(/[qcg]/g, 'k')
    .replace(/[zj]/g, 's')
    .replace(/[pfv]/g, 'b')
    .replace(/(.)\1+/g, '$1')
    .replace(/h$/, '');
}
