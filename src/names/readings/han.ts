/** Readings of Han characters: the table of `data/names/han.json`, and the usual Latin spellings of one character in each language. */
import { readShipped } from '../shipped.ts';
import { hangulSpellings } from './hangul.ts';
import { charReadings } from './japanese.ts';
import { wadeSyllable } from './wade.ts';

interface HanRow {
  readonly mandarin: readonly string[];
  readonly cantonese: readonly string[];
  readonly korean: string;
  readonly japanese: readonly string[];
}

interface HanTable {
  readonly rows: ReadonlyMap<string, string>;
  readonly simplified: ReadonlyMap<string, string>;
}

let loaded: HanTable | undefined;

function table(): HanTable {
  if (loaded === undefined) {
    const { readings, simplified } = readShipped<{ readings: string[]; simplified: string }>(
      'names',
      'han.json',
    );
    const pairs = [...simplified];
    loaded = {
      rows: new Map(readings.map((row) => [row[0] as string, row.slice(2)])),
      simplified: new Map(
        pairs.flatMap((char, at) => (at % 2 === 0 ? [[char, pairs[at + 1] as string]] : [])),
      ),
    };
  }
  return loaded;
}

/** Returns the simplified form of a character; a name in traditional characters is the same name. */
export const simplifiedOf = (char: string): string => table().simplified.get(char) ?? char;

function rowOf(char: string): HanRow | null {
  const row = table().rows.get(char);
  if (row === undefined) return null;
  const [mandarin = '', cantonese = '', korean = '', japanese = ''] = row.split(' ');
  const list = (text: string): string[] => (text === '' ? [] : text.split(','));
  return { mandarin: list(mandarin), cantonese: list(cantonese), korean, japanese: list(japanese) };
}

/** Every traditional character of a simplified one, so that its Cantonese, Korean and Japanese readings are found. */
let traditional: Map<string, string[]> | undefined;
function formsOf(char: string): readonly string[] {
  if (traditional === undefined) {
    traditional = new Map();
    for (const [from, to] of table().simplified) {
      const known = traditional.get(to);
      if (known) known.push(from);
      else traditional.set(to, [from]);
    }
  }
  return [char, ...(traditional.get(char) ?? [])];
}

export type HanLanguage = 'mandarin' | 'cantonese' | 'korean' | 'japanese';
/** Japanese is the last: it is left out for words of one character. */
export const HAN_LANGUAGES: readonly HanLanguage[] = ['mandarin', 'cantonese', 'korean', 'japanese'];

const spellings = new Map<string, readonly string[]>();

/** Returns the usual Latin spellings of a simplified character in one language, the most frequent first. */
export function hanSpellings(char: string, language: HanLanguage): readonly string[] {
  const key = language + char;
  const known = spellings.get(key);
  if (known) return known;
  const found = new Set<string>();
  if (language === 'japanese')
    for (const each of charReadings(char)) for (const one of longVowels(each)) found.add(one);
  for (const form of formsOf(char)) {
    const row = rowOf(form);
    if (row === null) continue;
    if (language === 'mandarin')
      for (const each of row.mandarin) for (const one of mandarinSpellings(each)) found.add(one);
    if (language === 'cantonese')
      for (const each of row.cantonese) for (const one of cantoneseSpellings(each)) found.add(one);
    if (language === 'korean')
      for (const each of row.korean) for (const one of hangulSpellings(each)) found.add(one);
    if (language === 'japanese')
      for (const each of row.japanese) for (const one of japaneseSpellings(each)) found.add(one);
  }
  const all = [...found];
  spellings.set(key, all);
  return all;
}

/** Returns the first Mandarin reading of a character (pinyin); null if the table lacks it. */
export const pinyinOf = (char: string): string | null =>
  rowOf(char)?.mandarin[0]?.replaceAll('v', 'u') ?? null;

/** Pinyin, and the Wade–Giles spelling without its apostrophes (`Mao Tse-tung`, `Chiang Ching-kuo`). */
function mandarinSpellings(pinyin: string): string[] {
  const wade = wadeSyllable(pinyin);
  const out = [pinyin.replaceAll('v', 'u'), wade];
  if (pinyin.includes('v')) out.push(pinyin.replaceAll('v', 'yu'));
  if (/uo$/.test(wade)) out.push(wade.replace(/uo$/, 'o'));
  if (wade === 'tse') out.push('tze');
  if (pinyin === 'ze') out.push('tse');
  // Spellings of names from Taiwan (`Tsai Ing-wen`, `Hwang`, `Ma Ying-jeou`).
  if (pinyin === 'jiu') out.push('jeou');
  if (pinyin === 'ying') out.push('ing');
  if (pinyin === 'huang') out.push('hwang');
  return out;
}

const CANTONESE_FINALS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/aa(?=.|$)/, ['a', 'ah']],
  [/oe(?=ng|k|$)/, ['eu', 'oe', 'eo']],
  [/eoi$/, ['ui', 'oy', 'eui']],
  [/eo(?=n|t)/, ['u', 'eo']],
  [/yu(?=n|t|$)/, ['u', 'yu', 'ue', 'uye']],
  [/ou$/, ['o', 'ou', 'oo', 'ow']],
  [/o$/, ['o', 'or', 'oh']],
  [/u(?=ng|k)/, ['u', 'oo']],
  [/^([a-z]*)u$/, ['$1u', '$1oo', '$1ou']],
  [/ai$/, ['ai', 'ei', 'ay']],
  [/ei$/, ['ei', 'ee', 'ay', 'i', 'ey']],
  [/au$/, ['au', 'ow', 'aw', 'ou']],
  [/a(?=[mnptk])/, ['a', 'u']],
  [/i(?=ng|k|m|n|p|t|u|$)/, ['i', 'ee', 'ie', 'y']],
];

/** Spellings of Hong Kong names: `zing` is written Ching, Jing or Tsing; `zoeng` is written Cheung. */
function cantoneseSpellings(jyutping: string): string[] {
  const [, initial = '', final = ''] = /^(gw|kw|ng|[bpmfdtnlgkhwzcsj]?)(.*)$/.exec(jyutping) ?? [];
  const starts: Readonly<Record<string, readonly string[]>> = {
    z: ['ch', 'j', 'ts', 'tz', 'c'],
    c: ['ch', 'ts', 'tz'],
    s: ['s', 'sh'],
    j: ['y', 'i', ''],
    g: ['k', 'g'],
    gw: ['kw', 'gw', 'k'],
    k: ['k'],
    b: ['p', 'b'],
    d: ['t', 'd'],
    ng: ['ng', ''],
  };
  let ends: string[] = [final];
  for (const [pattern, spelled] of CANTONESE_FINALS) {
    if (!pattern.test(final)) continue;
    ends = spelled.map((each) => final.replace(pattern, each));
    break;
  }
  const found = new Set<string>();
  for (const end of ends)
    for (const start of starts[initial] ?? [initial]) if (start + end !== '') found.add(start + end);
  return [...found].slice(0, 16);
}

const MORA = /(?:sh|ch|ts|[kgsztdnhbpmyrwfj])?y?[aiueo]|n(?![aiueoy])/y;

/** Returns the beginnings of two and three moras of a longer reading: names shorten verbs (`Akira` is `akiraka`, clear). */
function stemsOf(reading: string): string[] {
  const ends: number[] = [];
  MORA.lastIndex = 0;
  while (MORA.exec(reading) !== null && ends.length < 4) ends.push(MORA.lastIndex);
  return ends.length < 3
    ? []
    : [reading.slice(0, ends[1]), ...(ends.length > 3 ? [reading.slice(0, ends[2])] : [])];
}

/** Long vowels are usually written short (`Taro`, `Sato`, `Yuko`). */
function japaneseSpellings(reading: string): string[] {
  return [reading, ...stemsOf(reading)].flatMap(longVowels);
}

function longVowels(reading: string): string[] {
  const short = reading.replace(/ou|oo/g, 'o').replace(/uu/g, 'u');
  return short === reading ? [short] : [short, reading, reading.replace(/ou/g, 'oh')];
}

/** A first consonant that is voiced inside a compound (`Yama` + `ta` is `Yamada`). */
export const RENDAKU: Readonly<Record<string, string>> = { k: 'g', s: 'z', t: 'd', h: 'b', c: 'j' };
