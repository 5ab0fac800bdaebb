/**
 * Patterns of the Latin spellings of a word in another script. Arabic, Hebrew, Thai, Han, Hangul and kana have no one spelling in Latin
 * letters: the pattern of a word accepts every usual one, so a word matches a Latin word exactly or not at all.
 */
import { jaroWinkler } from '../edits.ts';
import { fold, letterSet, skeleton, unvocalised } from '../sound.ts';
import { HAN_LANGUAGES, hanSpellings, pinyinOf, RENDAKU } from './han.ts';
import { hangulSpellings, isHangul } from './hangul.ts';
import { japaneseReadings, plainRomaji, romajiSpellings } from './japanese.ts';
import { kanaUnits, morasOf } from './kana.ts';
import { abjadUnits, classesOf, type SoundUnit } from './letters.ts';
import { areForeign, foreignUnits } from './mandarin-foreign.ts';
import { type Program, programOf, rareIn } from './spellings.ts';
import { thaiUnits } from './thai.ts';

/** Patterns and keys of a word in its own script. */
export interface Reading {
  /**
   * Returns how well a Latin word of a–z spells this word, 0–1.
   *
   * @param heard What `heardOf` returns for the word, if the caller has it.
   */
  matches(latin: string, heard?: Heard): number;
  /** The keys by which Latin words are found, as `keysOf` writes them. */
  readonly keys: readonly string[];
  /** The spellings of a word in Arabic, Hebrew or Thai letters: no other Latin word matches. Null for other words. */
  readonly program: Program | null;
}

const CACHE_MOST = 20_000;
const readings = new Map<string, Reading>();

/**
 * Returns the reading of a word in its own script.
 *
 * @param origin Lower-case letters of one script: a word of Arabic, Hebrew, Thai or kana, or Han characters or Hangul syllables.
 */
export function readingOf(origin: string): Reading {
  const known = readings.get(origin);
  if (known) return known;
  if (readings.size >= CACHE_MOST) readings.clear();
  const reading = isSyllabic(origin)
    ? syllabicReading(origin)
    : IS_THAI.test(origin)
      ? unitReading(thaiUnits(origin), 'consonants', THAI_KEYS_MOST)
      : unitReading(abjadUnits(origin), 'consonants');
  readings.set(origin, reading);
  return reading;
}

/** Returns the spellings of a word in Arabic, Hebrew or Thai letters without the rest of its reading; null for other words. */
export function programFor(origin: string): Program | null {
  if (isSyllabic(origin)) return null;
  return programOf(IS_THAI.test(origin) ? thaiUnits(origin) : abjadUnits(origin));
}

/** Returns whether a Latin word is one of the spellings of a program that is at a place of an array. */
export const isSpelling = ({ single, unassimilated }: Heard, programs: Program, at = 0): boolean =>
  rareIn(single, programs, at) >= 0 || (unassimilated !== '' && rareIn(unassimilated, programs, at) >= 0);

const IS_THAI = /\p{Script=Thai}/u;
const SYLLABIC = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const isSyllabic = (origin: string): boolean => SYLLABIC.test(origin);

function single(text: string): string {
  for (let at = 1; at < text.length; at++)
    if (text.charCodeAt(at) === text.charCodeAt(at - 1)) return text.replace(/(.)\1+/g, '$1');
  return text;
}

/** What readings compare of a Latin word, made when it is needed; the words of a query are compared with thousands of readings. */
export class Heard {
  readonly single: string;
  readonly #latin: string;
  #consonants: string | null = null;
  #skeleton: string | null = null;
  #romaji: string | null = null;
  #letters = -1;
  #isArticled: boolean | null = null;
  #spoken: string | null = null;

  constructor(latin: string) {
    this.#latin = latin;
    this.single = single(latin);
  }

  get consonants(): string {
    this.#consonants ??= unvocalised(this.#latin);
    return this.#consonants;
  }

  /** Whether the word begins with the Arabic article. */
  get isArticled(): boolean {
    this.#isArticled ??= ARTICLE.test(this.#latin);
    return this.#isArticled;
  }

  /** The word without an article that is spoken as the next letter; empty if it has none. */
  get unassimilated(): string {
    this.#spoken ??= ASSIMILATED.test(this.#latin) ? single(this.#latin.slice(1)) : '';
    return this.#spoken;
  }

  /** The letters of the consonants, `a` as bit 0. */
  get letters(): number {
    if (this.#letters < 0) this.#letters = letterSet(this.consonants);
    return this.#letters;
  }

  /** The word as one spelling of a Japanese word. */
  get romaji(): string {
    this.#romaji ??= plainRomaji(this.#latin);
    return this.#romaji;
  }

  get skeleton(): string {
    this.#skeleton ??= skeleton(fold(this.#latin)).replace(/^a$/, '');
    return this.#skeleton;
  }
}

const HEARD_MOST = 20_000;
const heards = new Map<string, Heard>();

/** Returns what readings compare of a Latin word. It is kept. */
export function heardOf(latin: string): Heard {
  const before = heards.get(latin);
  if (before !== undefined) return before;
  if (heards.size >= HEARD_MOST) heards.clear();
  const heard = new Heard(latin);
  heards.set(latin, heard);
  return heard;
}

/** Maximum number of keys of one word; each costs one look-up for a query. */
const KEYS_MOST = 40;

/** The same for Thai, in which many letters are spoken in two ways or not at all: the longest words take 1.5 ms. */
const THAI_KEYS_MOST = 240;

/** Returns every combination of alternatives, the first ones first, at most `most`. */
function combinations(parts: readonly (readonly string[])[], most = KEYS_MOST): string[] {
  let all = [''];
  for (const part of parts) {
    const next: string[] = [];
    for (const end of part) {
      if (next.length >= most) break;
      for (const start of all.slice(0, most - next.length)) next.push(start + end);
    }
    all = next;
  }
  return all;
}

/** The article at the beginning of a word in Latin letters (`Alhassan`). */
export const ARTICLE = /^[aeu]l(?=[^aeiou])/;

/** The article before a letter that it is spoken as (`Essaadi`): without the doubled letter, the vowel is one of the name (`Usama`). */
const ASSIMILATED = /^[aeu](?:([sdztrn])\1|ssh|shsh)/;

/**
 * Returns consonants as `unvocalised` writes those of a Latin word, in which two letters may be read as one (`Fathi` has t and h) and which
 * leaves out an h at the end (`Saleh`).
 */
function asUnvocalised(consonants: string): string[] {
  const forms = [consonants];
  if (/[tdsk]h/.test(consonants)) forms.push(consonants.replace(/([tds])h/g, '$1').replace(/kh/g, 'h'));
  return forms.map((form) => (form.endsWith('h') ? form.slice(0, -1) : form));
}

/** By the number of consonants: many names share one or two. */
const BY_CONSONANTS = [0, 0.6, 0.86, 0.94, 0.97];

/** By the number of letters that are spelled as another letter usually is (`Suri` for `الشهري`). */
const BY_RARE = [1, 0.86, 0.72];

/** A word of units, each a consonant with its alternatives or a vowel. */
function unitReading(
  units: readonly SoundUnit[],
  keyKind: 'consonants' | 'skeleton',
  keysMost = KEYS_MOST,
): Reading {
  let program: Program | null = null;
  const consonants = units.filter((unit) => unit.classes.length > 0 && !unit.classes.includes(''));
  const optional = units.filter((unit) => unit.classes.length > 0);
  const strength = BY_CONSONANTS[
    Math.min(4, consonants.length + (units.length > consonants.length ? 1 : 0))
  ] as number;
  const combined = combinations(
    optional.map((unit) => unit.classes),
    keysMost,
  ).map(single);
  const all = keyKind === 'consonants' ? combined.flatMap(asUnvocalised) : combined;
  // Most words differ in their consonants, which costs less to compare than the spellings.
  const known = new Set(all);
  const isWhole = combined.length < keysMost;
  const firsts = new Set(optional.flatMap((unit, at) => (at < 2 ? unit.classes : [])));
  const isArabic = keyKind === 'consonants';
  const mark = isArabic ? "'" : '~';
  let keys: readonly string[] | null = null;
  return {
    matches: (latin, heard = heardOf(latin)) => {
      const own = keyKind === 'consonants' ? heard.consonants : heard.skeleton;
      const bare = heard.isArticled ? own.slice(1) : own;
      if (
        isWhole
          ? !known.has(own) && (bare === own || !known.has(bare))
          : !firsts.has(own[0] ?? '') && !firsts.has(bare[0] ?? '')
      )
        return 0;
      program ??= programOf(units);
      let rare = rareIn(heard.single, program);
      if (rare < 0 && isArabic && heard.unassimilated !== '') rare = rareIn(heard.unassimilated, program);
      return rare < 0 ? 0 : strength * (BY_RARE[rare] as number);
    },
    get keys() {
      // One consonant is the whole of many words of Arabic and Hebrew (`علی`, `יוסי`), but a part of many foreign ones.
      const least = isArabic ? 1 : 2;
      keys ??= [...known].filter((text) => text.length >= least).map((text) => mark + text);
      return keys;
    },
    get program() {
      program ??= programOf(units);
      return program;
    },
  };
}

/**
 * Returns whether a Latin word may spell a word of Arabic or Hebrew letters: false is certain. It costs a fraction of making the reading,
 * because it only looks for a consonant of each letter.
 */
export function mayRead(origin: string, heard: Heard): boolean {
  const units: number[] = [];
  for (let at = 0; at < origin.length; at++) units.push(origin.charCodeAt(at));
  return mayReadLetters(units, units.length, heard.letters);
}

/** The same for the character codes of a word, and the letters of `Heard`. */
export function mayReadLetters(origin: ArrayLike<number>, length: number, letters: number): boolean {
  let combined = 1;
  let isMissing = false;
  let before = -1;
  for (let at = 0; at < length; at++) {
    const letter = origin[at] as number;
    const known = classesOf(letter);
    // The reading of another script has other rules.
    if (known === undefined) return true;
    const isDoubled = letter === before;
    before = letter;
    // A letter may be silent if it is doubled, or if it is the last.
    combined *= known.count + (isDoubled || at === length - 1 ? 1 : 0);
    // An h at the end is not among the letters that are heard.
    if (known.letters !== 0 && !isDoubled && (known.letters & (letters | LETTER_H)) === 0) isMissing = true;
  }
  // The consonants of a reading with more combinations are not compared whole.
  return !isMissing || combined >= KEYS_MOST;
}

const LETTER_H = letterSet('h');

/** Maximum similarity of a foreign name in katakana. */
const LOANED = 0.93;
/** Similarity of Latin words to one syllable, and to two or more. */
const ONE_SYLLABLE = 0.9;
const MORE_SYLLABLES = 0.95;
const FOREIGN = 0.99;
/** Of which this depends on how nearly the sound is spelled: many foreign names share the consonants of one in Chinese characters. */
const FOREIGN_SPELLING = 0.11;

/** The spellings of one character in one language, without doubled letters, and the letters with which they begin (`a` is bit 0). */
interface CharSpellings {
  readonly texts: readonly string[];
  readonly firsts: number;
}

const A = 97;
const letterBit = (text: string): number => 1 << (text.charCodeAt(0) - 97);

const charSpellingsOf = (all: readonly string[]): CharSpellings => {
  const texts = [...new Set(all.map(single))];
  return { texts, firsts: texts.reduce((bits, text) => bits | letterBit(text), 0) };
};

/** Returns the spellings of a Han character or Hangul syllable in a language, as printed. */
function spellingsIn(char: string, language: (typeof HAN_LANGUAGES)[number], isFirst: boolean): string[] {
  const spelled = isHangul(char) ? hangulSpellings(char) : hanOrKana(char, language);
  if (language !== 'japanese' || isFirst) return [...spelled];
  const voiced = spelled.map((text) => (RENDAKU[text[0] as string] ?? text[0]) + text.slice(1));
  return [...new Set([...spelled, ...voiced])];
}

/** Kana between kanji are written as they sound. */
function hanOrKana(char: string, language: (typeof HAN_LANGUAGES)[number]): readonly string[] {
  const moras = language === 'japanese' ? morasOf(char) : [];
  return moras.length > 0 ? moras : hanSpellings(char, language);
}

const charSpellings = new Map<string, readonly CharSpellings[]>();

/** Returns the spellings of a character in each language; of a Hangul syllable in one. They are kept: there are a few thousand. */
function spellingsOfChar(char: string, isFirst: boolean): readonly CharSpellings[] {
  const key = isFirst ? `^${char}` : char;
  let known = charSpellings.get(key);
  if (known === undefined) {
    known = HAN_LANGUAGES.map((language) => charSpellingsOf(spellingsIn(char, language, isFirst)));
    charSpellings.set(key, known);
  }
  return known;
}

/** Returns whether a Latin word is one spelling of each character, in order. */
function isSpelled(
  latin: string,
  chars: readonly (readonly CharSpellings[])[],
  language: number,
  at = 0,
  from = 0,
): boolean {
  if (at === chars.length) return from === latin.length;
  const { texts, firsts } = (chars[at] as readonly CharSpellings[])[language] as CharSpellings;
  if (from >= latin.length || (firsts & (1 << (latin.charCodeAt(from) - 97))) === 0) return false;
  for (const spelled of texts) {
    if (latin.startsWith(spelled, from) && isSpelled(latin, chars, language, at + 1, from + spelled.length))
      return true;
  }
  return false;
}

/**
 * Japanese writes no word for each character: one character is a word only if the dictionary has it as a name. The other readings of a character
 * are parts of names (`男` is the o of Yasuo).
 */
const languagesOf = (chars: readonly string[]): readonly (typeof HAN_LANGUAGES)[number][] =>
  chars.length > 1 ? HAN_LANGUAGES : HAN_LANGUAGES.filter((language) => language !== 'japanese');

/** Letters of the shortest Japanese name of one character: `Ko` and `Oo` are names in other languages. */
const ONE_CHARACTER_LEAST = 3;
const isWholeName = (chars: readonly string[], reading: string): boolean =>
  chars.length > 1 || plainRomaji(reading).length >= ONE_CHARACTER_LEAST;

function syllabicReading(origin: string): Reading {
  const chars = [...origin];
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(origin) && !/\p{Script=Han}/u.test(origin))
    return kanaReading(origin);
  const all = chars.map((char, at) => spellingsOfChar(char, at === 0));
  const strength = chars.length === 1 ? ONE_SYLLABLE : MORE_SYLLABLES;
  // Korean words have the same spellings in all languages.
  const isKorean = chars.every(isHangul);
  const languages = isKorean ? 1 : languagesOf(chars).length;
  const japanese = isKorean ? [] : japaneseReadings(origin).filter((reading) => isWholeName(chars, reading));
  const romaji = japanese.length === 0 ? null : new Set(japanese.map(plainRomaji));
  let firsts = 0;
  for (let language = 0; language < languages; language++)
    firsts |= ((all[0] as readonly CharSpellings[])[language] as CharSpellings).firsts;
  let keys: readonly string[] | null = null;
  return {
    matches: (latin, heard = heardOf(latin)) => {
      if (romaji?.has(heard.romaji)) return MORE_SYLLABLES;
      if ((firsts & (1 << (latin.charCodeAt(0) - A))) === 0) return 0;
      const bare = heard.single;
      for (let language = 0; language < languages; language++) {
        if (isSpelled(bare, all, language) || (bare !== latin && isSpelled(latin, all, language)))
          return strength;
      }
      return 0;
    },
    get keys() {
      keys ??= [
        ...new Set([
          ...japanese.flatMap(romajiSpellings).map((text) => `:${fold(text)}`),
          ...syllabicKeys(chars),
        ]),
      ];
      return keys;
    },
    program: null,
  };
}

/** Most readings of one word are only compared: its keys are made if they are read. */
function syllabicKeys(chars: readonly string[]): readonly string[] {
  const keys = new Set<string>();
  if (chars.every(isHangul)) {
    const most = chars.length > 1 ? 3 : 12;
    for (const text of combinations(chars.map((char) => hangulSpellings(char).slice(0, most))))
      keys.add(`:${fold(text)}`);
    return [...keys];
  }
  for (const language of languagesOf(chars)) {
    const all = chars.map((char, at) => spellingsIn(char, language, at === 0));
    if (all.some((each) => each.length === 0)) continue;
    const most = chars.length === 1 ? 8 : language === 'japanese' ? 6 : 3;
    for (const text of combinations(all.map((each) => each.slice(0, most)))) keys.add(`:${fold(text)}`);
  }
  return [...keys];
}

function kanaReading(origin: string): Reading {
  const { plain, loan, isLoan } = kanaUnits(origin);
  const native = programOf([plain]);
  const foreign = isLoan ? unitReading(loan, 'skeleton') : null;
  const keys = new Set([...plain.keys.map((key) => `:${fold(key)}`), ...(foreign?.keys ?? [])]);
  return {
    matches: (latin, heard = heardOf(latin)) => {
      if (rareIn(heard.single, native) >= 0) return MORE_SYLLABLES;
      const loaned = foreign?.matches(latin, heard) ?? 0;
      return Math.min(LOANED, loaned);
    },
    keys: [...keys],
    program: null,
  };
}

const foreigns = new Map<string, Reading | null>();

/**
 * Returns the reading of Han characters that write a foreign name by its sound (`普京` is Putin); null if they have too few consonants to
 * recognise one.
 *
 * @param certain True if the name is marked as foreign (by a middle dot).
 */
export function foreignReadingOf(origin: string, certain: boolean): Reading | null {
  const key = `${certain ? '!' : '?'}${origin}`;
  const known = foreigns.get(key);
  if (known !== undefined) return known;
  if (foreigns.size >= CACHE_MOST) foreigns.clear();
  const units = certain || areForeign(origin) ? foreignUnits(origin) : null;
  const consonants = units?.filter((unit) => unit.classes.length > 0).length ?? 0;
  let reading: Reading | null = null;
  if (units !== null && consonants >= (certain ? 1 : 3)) {
    const { matches, keys } = unitReading(units, 'skeleton');
    const usable = keys.filter((each) => each.length > 3);
    const sound = [...origin].map((char) => pinyinOf(char) ?? '').join('');
    reading = {
      matches: (latin, heard) =>
        matches(latin, heard) === 0 ? 0 : FOREIGN - FOREIGN_SPELLING * (1 - jaroWinkler(sound, latin)),
      // A name of two consonants is found by its vowels as well.
      keys: usable.length > 0 ? usable : keys.map((each) => each.replace('~', "'")),
      program: null,
    };
  }
  foreigns.set(key, reading);
  return reading;
}
