/**
 * Japanese names in kanji: the readings of the names in a dictionary, and the readings that characters have in given names (data/names/japanese.json).
 * Both are missing from Unihan, which has the readings of characters in other words.
 */
import { readShipped } from '../shipped.ts';

interface JapaneseTable {
  /** By the name, in simplified characters and without iteration marks, as parsed names have them. */
  readonly names: ReadonlyMap<string, string>;
  readonly characters: ReadonlyMap<string, string>;
}

let loaded: JapaneseTable | undefined;

function table(): JapaneseTable {
  if (loaded === undefined) {
    const { names, characters } = readShipped<{ names: string[]; characters: string[] }>(
      'names',
      'japanese.json',
    );
    loaded = { names: mapOf(names), characters: mapOf(characters) };
  }
  return loaded;
}

/** Rows are `name reading,reading`. */
const mapOf = (rows: readonly string[]): Map<string, string> =>
  new Map(rows.map((row) => row.split(' ') as [string, string]));

/** Returns the text with each iteration mark (`佐々木`) replaced by the character before it. */
export const repeated = (text: string): string => text.replace(/(.)々/gu, '$1$1');

const readingsIn = (map: ReadonlyMap<string, string>, key: string): readonly string[] =>
  map.get(key)?.split(',') ?? NONE;
const NONE: readonly string[] = [];

/** Returns the readings of a whole surname or given name in romaji with its long vowels; none if the dictionary lacks it. */
export const japaneseReadings = (name: string): readonly string[] => readingsIn(table().names, name);

/** Returns whether the dictionary has the surname or given name. */
export const isJapaneseName = (name: string): boolean => table().names.has(name);

/** Returns the readings of a character inside given names, the most frequent first, and alone. */
export const charReadings = (char: string): readonly string[] => [
  ...readingsIn(table().characters, char),
  ...japaneseReadings(char),
];

const KUNREI: readonly (readonly [RegExp, string])[] = [
  [/sy/g, 'sh'],
  [/ty/g, 'ch'],
  [/[zj]y/g, 'j'],
  [/si/g, 'shi'],
  [/ti/g, 'chi'],
  [/tu/g, 'tsu'],
  [/(?<![sc])hu/g, 'fu'],
  [/[zd]i/g, 'ji'],
  [/d[zu]u?/g, 'zu'],
];

/**
 * Returns one spelling for all romaji of a Japanese word: long vowels short (`Satou`, `Satoh`), `n` before every consonant (`Homma`), and the
 * letters of Hepburn in place of those of the official system (`Mituru`).
 */
export function plainRomaji(latin: string): string {
  let out = latin;
  for (const [pattern, spelled] of KUNREI) out = out.replace(pattern, spelled);
  return out
    .replace(/m(?=[bmp])/g, 'n')
    .replace(/oh(?=[^aeiouy]|$)|ou|oo/g, 'o')
    .replace(/uu/g, 'u')
    .replace(/tch/g, 'ch')
    .replace(/(.)\1+/g, '$1');
}

/** Returns the spellings of a reading that names have in Latin letters, for keys. */
export function romajiSpellings(reading: string): string[] {
  const short = reading.replace(/ou|oo/g, 'o').replace(/uu/g, 'u');
  const official = short
    .replace(/shi/g, 'si')
    .replace(/chi/g, 'ti')
    .replace(/tsu/g, 'tu')
    .replace(/fu/g, 'hu');
  return [...new Set([short, reading, short.replace(/n(?=[bmp])/g, 'm'), official])];
}
