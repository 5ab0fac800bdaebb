/** Kana: the romaji of Japanese words, and the foreign sounds that katakana write. */
import type { SoundUnit } from './letters.ts';

const ROWS: Readonly<Record<string, string>> = {
  あ: 'a',
  い: 'i',
  う: 'u',
  え: 'e',
  お: 'o',
  か: 'ka',
  き: 'ki',
  く: 'ku',
  け: 'ke',
  こ: 'ko',
  が: 'ga',
  ぎ: 'gi',
  ぐ: 'gu',
  げ: 'ge',
  ご: 'go',
  さ: 'sa',
  し: 'shi',
  す: 'su',
  せ: 'se',
  そ: 'so',
  ざ: 'za',
  じ: 'ji',
  ず: 'zu',
  ぜ: 'ze',
  ぞ: 'zo',
  た: 'ta',
  ち: 'chi',
  つ: 'tsu',
  て: 'te',
  と: 'to',
  だ: 'da',
  ぢ: 'ji',
  づ: 'zu',
  で: 'de',
  ど: 'do',
  な: 'na',
  に: 'ni',
  ぬ: 'nu',
  ね: 'ne',
  の: 'no',
  は: 'ha',
  ひ: 'hi',
  ふ: 'fu',
  へ: 'he',
  ほ: 'ho',
  ば: 'ba',
  び: 'bi',
  ぶ: 'bu',
  べ: 'be',
  ぼ: 'bo',
  ぱ: 'pa',
  ぴ: 'pi',
  ぷ: 'pu',
  ぺ: 'pe',
  ぽ: 'po',
  ま: 'ma',
  み: 'mi',
  む: 'mu',
  め: 'me',
  も: 'mo',
  や: 'ya',
  ゆ: 'yu',
  よ: 'yo',
  ら: 'ra',
  り: 'ri',
  る: 'ru',
  れ: 're',
  ろ: 'ro',
  わ: 'wa',
  ゐ: 'i',
  ゑ: 'e',
  を: 'o',
  ん: 'n',
  ゔ: 'vu',
};
const SMALL: Readonly<Record<string, string>> = {
  ゃ: 'ya',
  ゅ: 'yu',
  ょ: 'yo',
  ぁ: 'a',
  ぃ: 'i',
  ぅ: 'u',
  ぇ: 'e',
  ぉ: 'o',
};

/** Foreign consonants of a Japanese one, and their classes as `skeleton` writes them. */
const LOANS: Readonly<Record<string, readonly [spelled: string, classes: string]>> = {
  k: ['k|c|q|g|ck|ch|kh|x', 'k'],
  g: ['g|gh|k|j', 'k'],
  s: ['s|th|z|c', 'st'],
  sh: ['sh|s|ch|sch|c|sy', 's'],
  z: ['z|s|th|dh', 'st'],
  j: ['j|g|z|d|zh|dj|dz', 'skt'],
  t: ['t|th|d', 't'],
  ch: ['ch|t|c|tch|cz|ts|tsch', 'st'],
  ts: ['ts|tz|z|c|t', 'st'],
  d: ['d|t|th|dh', 't'],
  n: ['n|m|ng', 'nm'],
  h: ['h|kh|ch|g|f|j', 'kf'],
  f: ['f|ph|v|h|w', 'f'],
  b: ['b|v|w', 'bf'],
  p: ['p|b', 'pb'],
  m: ['m|n', 'm'],
  y: ['y|i|j', ''],
  r: ['r|l|rr|ll', 'rl'],
  w: ['w|v|u|o', 'f'],
  v: ['v|w|f|b', 'fb'],
};

const hiragana = (text: string): string =>
  text.replace(/[\u30a1-\u30f6]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0x60));

/**
 * Splits kana into romaji of one consonant and one vowel (`タロウ` is `ta`, `ro`, `u`). Characters that are no kana, doubled consonants and long marks
 * are left out.
 */
export function morasOf(word: string): string[] {
  const out: string[] = [];
  for (const char of hiragana(word)) {
    const plain = ROWS[char];
    const small = SMALL[char];
    if (plain !== undefined) out.push(plain);
    else if (small !== undefined && out.length > 0) {
      const before = out.pop() as string;
      const onset = before.replace(/[aiueo]$/, '');
      const glide = /^(?:sh|ch|j)$/.test(onset) ? small.replace('y', '') : small;
      out.push(onset + (small.startsWith('y') ? glide : small));
    }
  }
  return out;
}

const LOAN_VOWEL = '(?:[aeiouyw]{1,3})?';

/** Returns the pattern of the Japanese spellings, and the units of a foreign name if the word is in katakana. */
export function kanaUnits(word: string): {
  readonly plain: { readonly pattern: string; readonly keys: readonly string[] };
  readonly loan: readonly SoundUnit[];
  readonly isLoan: boolean;
} {
  const all = morasOf(word);
  const text = all.join('');
  const short = text.replace(/ou|oo/g, 'o').replace(/uu/g, 'u');
  const pattern = short
    .replace(/n(?=[bmp])/g, '(?:n|m)')
    .replace(/o/g, '(?:ou|oh|o)')
    .replace(/shi/g, '(?:shi|si)')
    .replace(/tsu/g, '(?:tsu|tu)')
    .replace(/chi/g, '(?:chi|ti)');
  const loan: SoundUnit[] = all.map((mora) => {
    const onset = mora.replace(/[aiueo]+$/, '').replace(/(?<=.)y$/, '');
    const found = LOANS[onset];
    if (found === undefined) return { pattern: `[aeiouyw]{1,3}`, classes: [] };
    const [spelled, classes] = found;
    const choices = `(?:${spelled
      .split('|')
      .sort((a, b) => b.length - a.length)
      .join('|')})`;
    return { pattern: choices + LOAN_VOWEL, classes: classes === '' ? [] : [...classes] };
  });
  if (all[0] === 'u' && loan.length > 1) loan[0] = { pattern: '(?:w|v|[aeiou]{1,2})?', classes: ['', 'f'] };
  return {
    plain: { pattern, keys: [...new Set([short, text])] },
    loan,
    isLoan: /\p{Script=Katakana}/u.test(word),
  };
}
