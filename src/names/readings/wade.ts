/** The Wade–Giles spelling of pinyin, without its apostrophes. Taiwan and older texts use it (`Mao Tse-tung`, `Chiang Ching-kuo`). */
import { letterSet } from '../sound.ts';

const INITIALS_WADE: readonly (readonly [RegExp, string])[] = [
  [/^zhi$/, 'chih'],
  [/^chi$/, 'chih'],
  [/^shi$/, 'shih'],
  [/^ri$/, 'jih'],
  [/^zi$/, 'tzu'],
  [/^ci$/, 'tzu'],
  [/^si$/, 'ssu'],
  [/^zh/, 'ch'],
  [/^z/, 'ts'],
  [/^c(?!h)/, 'ts'],
  [/^b/, 'p'],
  [/^d/, 't'],
  [/^g/, 'k'],
  [/^j/, 'ch'],
  [/^q/, 'ch'],
  [/^x/, 'hs'],
  [/^r/, 'j'],
];
const FINALS_WADE: readonly (readonly [RegExp, string])[] = [
  [/^(k|h|k)e$/, '$1o'],
  [/ian$/, 'ien'],
  [/^yan$/, 'yen'],
  [/ie$/, 'ieh'],
  [/^ye$/, 'yeh'],
  [/ong$/, 'ung'],
  [/^you$/, 'yu'],
  [/iu$/, 'iu'],
  [/ui$/, 'ui'],
  [/uo$/, 'o'],
  [/v/, 'u'],
  [/ue$/, 'ueh'],
];

/** Pinyin has about 400 syllables; other text is not kept. */
const WADE_KEPT = 2_000;
const wadeSyllables = new Map<string, string>();

/** Returns the Wade–Giles spelling of one pinyin syllable. */
export function wadeSyllable(pinyin: string): string {
  const known = wadeSyllables.get(pinyin);
  if (known !== undefined) return known;
  let wade = pinyin;
  for (const [pattern, by] of INITIALS_WADE) wade = wade.replace(pattern, by);
  for (const [pattern, by] of FINALS_WADE) wade = wade.replace(pattern, by);
  if (wadeSyllables.size < WADE_KEPT) wadeSyllables.set(pinyin, wade);
  return wade;
}

const SYLLABLE =
  /(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])(?:iang|iong|uang|iao|ian|ang|eng|ing|ong|uai|uan|ai|ei|ao|ou|an|en|in|un|ia|ie|iu|ua|ue|ui|uo|a|e|i|o|u)(?![aeiou])|a(?:i|n|ng|o)?|e(?:i|n|r)?|ou?/y;
const SYLLABLES_MAX = 3;

/** Returns the Wade–Giles spelling of a pinyin word of up to three syllables; null if the word is not pinyin or is spelled the same. */
export function wadeOf(word: string): string | null {
  let out = '';
  SYLLABLE.lastIndex = 0;
  for (let count = 0; SYLLABLE.lastIndex < word.length; count++) {
    const found = count < SYLLABLES_MAX ? SYLLABLE.exec(word) : null;
    if (found === null) return null;
    out += wadeSyllable(found[0]);
  }
  return out === word ? null : out;
}

const INITIALS = ['zh', 'ch', 'sh', ...'bpmfdtnlgkhjqxrzcsyw'];
const FINALS =
  'iang iong uang iao ian ang eng ing ong uai uan ai ei ao ou an en in un ia ie iu ua ue ui uo a e i o u'.split(
    ' ',
  );
const ALONE = ['a', 'ai', 'an', 'ang', 'ao', 'e', 'ei', 'er', 'en', 'o', 'ou'];

let spelled: ReadonlySet<string> | undefined;

/** The Wade–Giles spellings of all syllables that `SYLLABLE` finds. */
function wadeSpellings(): ReadonlySet<string> {
  spelled ??= new Set(
    [...INITIALS.flatMap((initial) => FINALS.map((final) => initial + final)), ...ALONE].map(wadeSyllable),
  );
  return spelled;
}

/** The letters of the spellings, and those at their ends, `a` as bit 0. */
let letters = 0;
let lastLetters = 0;

/** Returns whether `wadeOf` may return this word for another one: false is certain. */
export function mayBeWadeSpelling(word: string): boolean {
  if (letters === 0) {
    for (const spelling of wadeSpellings()) {
      letters |= letterSet(spelling);
      lastLetters |= letterSet(spelling.slice(-1));
    }
  }
  // Most words have other letters.
  if ((letterSet(word) & ~letters) !== 0 || (letterSet(word.slice(-1)) & ~lastLetters) !== 0) return false;
  return hasSpellings(word, SYLLABLES_MAX);
}

/** Returns whether a word consists of at most so many spellings. */
function hasSpellings(word: string, syllables: number): boolean {
  if (word === '') return true;
  if (syllables === 0 || word.length > syllables * WADE_LONGEST) return false;
  for (let end = 1; end <= word.length && end <= WADE_LONGEST; end++)
    if (wadeSpellings().has(word.slice(0, end)) && hasSpellings(word.slice(end), syllables - 1)) return true;
  return false;
}

/** Letters of the longest spelling of a syllable (`chuang`). */
const WADE_LONGEST = 6;

/** Returns whether a word is one to three pinyin syllables. */
export function isPinyin(word: string): boolean {
  SYLLABLE.lastIndex = 0;
  for (let count = 0; count < SYLLABLES_MAX; count++) {
    if (SYLLABLE.exec(word) === null) return false;
    if (SYLLABLE.lastIndex === word.length) return true;
  }
  return false;
}
