/** The similarity of two words: edits weighted by pronunciation, initials, given names of one group, consonants alone. */
import { distance } from 'fastest-levenshtein';
import { isOneEdit, leastEdits, weighedEdits } from './edits.ts';
import type { NamePart } from './name-parts.ts';
import { isJapaneseName } from './readings/japanese.ts';
import { foreignReadingOf, readingOf } from './readings/pattern.ts';
import { fold, letterSet } from './sound.ts';

export type MeetingKind = 'exact' | 'nickname' | 'initial' | 'phonetic' | 'spelling' | 'number' | 'orgForm';

export interface Meeting {
  readonly kind: MeetingKind;
  /** 0–1. */
  readonly similarity: number;
}

export const NO_MEETING: Meeting = { kind: 'spelling', similarity: 0 };
export const EXACT: Meeting = { kind: 'exact', similarity: 1 };
const SAME_NUMBER: Meeting = { kind: 'number', similarity: 1 };
const SAME_FORM: Meeting = { kind: 'orgForm', similarity: 1 };
export const SAME_SOUND: Meeting = { kind: 'phonetic', similarity: 0.97 };
/** First letters in pinyin and in Wade–Giles, either first. */
const WADE_FIRSTS: ReadonlySet<string> = new Set(
  ['zt', 'zc', 'ct', 'bp', 'dt', 'gk', 'jc', 'qc', 'xh', 'rj'].flatMap((pair) => [
    pair,
    `${pair[1]}${pair[0]}`,
  ]),
);
const wadeTable = new Uint8Array(128 * 128);
for (const pair of WADE_FIRSTS) wadeTable[pair.charCodeAt(0) * 128 + pair.charCodeAt(1)] = 1;

/** Returns whether words that begin with these letters (as character codes) may be two spellings of one Chinese name. */
export const mayBeWade = (one: number, other: number): boolean =>
  wadeTable[(one & 127) * 128 + (other & 127)] === 1;

/** Two spellings of one Chinese name (`Zedong`, `Tse-tung`). */
const SAME_READING: Meeting = { kind: 'phonetic', similarity: 0.95 };
const SAME_GIVEN_NAME: Meeting = { kind: 'nickname', similarity: 0.93 };
const SAME_THING: Meeting = { kind: 'orgForm', similarity: 1 };
/** By the number of equal consonants, for vowels that no usual spelling explains: many names share two or three. */
const SAME_CONSONANTS: readonly Meeting[] = [0, 0, 0, 0.55, 0.72].map((similarity) => ({
  kind: 'phonetic',
  similarity,
}));
/** One other consonant of four or more. */
const NEAR_CONSONANTS: Meeting = { kind: 'phonetic', similarity: 0.65 };
const INITIAL: Meeting = { kind: 'initial', similarity: 0.75 };

/** Letters of a word that an edit of cost 1 is divided by, for the similarity. */
export const EDIT_SCALE = 0.72;

/** Words with a lower similarity do not match. */
export const LEAST_SIMILARITY = 0.5;

/** Compares two parts: returns the kind of match and the similarity. */
export function meet(a: NamePart, b: NamePart): Meeting {
  if (a.origin !== '' || b.origin !== '') return meetOrigin(a, b);
  if (a.text === b.text && a.script === b.script) {
    if (a.kind === 'form' || b.kind === 'form') return a.kind === b.kind ? SAME_FORM : NO_MEETING;
    return a.kind === 'number' ? SAME_NUMBER : EXACT;
  }
  if (a.kind === 'number' || b.kind === 'number' || a.kind === 'form' || b.kind === 'form') return NO_MEETING;
  if (a.kind === 'initial' || b.kind === 'initial') {
    const [initial, word] = a.kind === 'initial' ? [a, b] : [b, a];
    return word.kind === 'name' && beginsWith(word, initial.text) ? INITIAL : NO_MEETING;
  }
  if (a.folded === b.folded) return SAME_SOUND;
  for (const group of a.groups) {
    if (b.groups.includes(group)) return a.kind === 'descriptive' ? SAME_THING : SAME_GIVEN_NAME;
  }
  if (isPatronymicOf(a.text, b.text) || isPatronymicOf(b.text, a.text)) return NO_MEETING;
  if (mayBeWade(a.text.charCodeAt(0), b.text.charCodeAt(0)) && (a.wade === b.text || b.wade === a.text))
    return SAME_READING;
  const heard = spelled(a.folded, b.folded);
  // An error in a digraph changes the folded spelling by more than one letter, but the spelling as written by only one.
  if (heard.similarity > ONE_EDIT || a.text.length < 3 || !isOneEdit(a.text, b.text)) return heard;
  const written = spelled(a.text, b.text);
  return written.similarity > heard.similarity ? written : heard;
}

const PATRONYMIC =
  /^(.{2,})(?:ovich|evich|ovych|iovych|ovna|evna|ivna|yevich|yevna|ovitch|evitch|ovic|evic)$/;
const SURNAME = /^(.{2,})(?:ov|ova|ev|eva|yev|yeva|off|eff)$/;

/** The last letters of patronymics and of surnames, `a` as bit 0. */
const PATRONYMIC_ENDS = letterSet('ach');
const SURNAME_ENDS = letterSet('afv');

const isEnd = (letter: number, ends: number): boolean => letter >= 97 && ((ends >>> (letter - 97)) & 1) === 1;
const endsIn = (word: string, ends: number): boolean => isEnd(word.charCodeAt(word.length - 1), ends);

/**
 * Returns whether one of two words, by its last letter (as a character code), may be a patronymic and the other a surname.
 */
export const mayBePatronymic = (one: number, other: number): boolean =>
  (isEnd(one, PATRONYMIC_ENDS) && isEnd(other, SURNAME_ENDS)) ||
  (isEnd(other, PATRONYMIC_ENDS) && isEnd(one, SURNAME_ENDS));

/** `Ivanovna` is the patronymic of a daughter of Ivan, `Ivanova` a surname: one letter apart, but different names. */
function isPatronymicOf(patronymic: string, surname: string): boolean {
  // The first two letters and the last one rule out nearly all pairs.
  if (
    patronymic.charCodeAt(0) !== surname.charCodeAt(0) ||
    patronymic.charCodeAt(1) !== surname.charCodeAt(1)
  )
    return false;
  if (!endsIn(patronymic, PATRONYMIC_ENDS) || !endsIn(surname, SURNAME_ENDS)) return false;
  const stem = PATRONYMIC.exec(patronymic)?.[1];
  return stem !== undefined && SURNAME.exec(surname)?.[1] === stem;
}

/** The initial `e` of a Cyrillic name is also written `ye`, and `kh` is also written `h`. */
const beginsWith = (word: NamePart, initial: string): boolean =>
  word.text.startsWith(initial) ||
  (initial.length > 1 && word.folded.startsWith(fold(initial))) ||
  (initial === 'e' && word.text.startsWith('ye'));

/** Compares a name in Latin letters of two letters or more with an initial of one letter. */
export const meetInitial = (word: NamePart, initial: number): Meeting => {
  const { text } = word;
  const first = text.charCodeAt(0);
  // The initial `e` of a Cyrillic name is also written `ye`.
  const begins =
    first === initial || (initial === LETTER_E && first === LETTER_Y && text.charCodeAt(1) === LETTER_E);
  return begins ? INITIAL : NO_MEETING;
};

const LETTER_E = 'e'.charCodeAt(0);
const LETTER_Y = 'y'.charCodeAt(0);

/**
 * Returns whether two words in Latin letters may match with at least this similarity: false is certain, and costs a fraction of `meet`.
 * Words that share a group of given names are not considered.
 */
export const mayMatch = (a: NamePart, b: NamePart, least: number): boolean =>
  a.origin !== '' || mayMatchLetters(a.text, a.folded.length, a.letters, b, least);

/** The same for a word in Latin letters that is given by its text, and by the length and the letters of its folded spelling. */
export function mayMatchLetters(
  text: string,
  length: number,
  letters: number,
  other: NamePart,
  least: number,
): boolean {
  if (other.origin !== '') return true;
  const longer = Math.max(length, other.folded.length);
  // The least similarity of words one edit apart does not depend on the cost of the edit.
  const cost = leastEdits(letters, other.letters);
  if (cost <= Math.max(1, (1 - least) * (EDIT_SCALE * longer + 0.5))) return true;
  return mayBeWade(text.charCodeAt(0), other.text.charCodeAt(0)) || isOneEdit(text, other.text);
}

/** Different characters that sound alike: another name. */
const HOMOPHONE: Meeting = { kind: 'phonetic', similarity: 0.6 };

const WORD_KINDS: ReadonlySet<NamePart['kind']> = new Set(['name', 'particle', 'honorific']);

/** Compares parts of which at least one is in a script without one Latin spelling. */
function meetOrigin(a: NamePart, b: NamePart): Meeting {
  if (a.kind === 'initial' || b.kind === 'initial') return NO_MEETING;
  if (a.origin !== '' && b.origin !== '') {
    if (a.origin === b.origin && a.kind === b.kind) return EXACT;
    if (a.kind === 'segment' || b.kind === 'segment') return NO_MEETING;
    if (a.script !== b.script) return NO_MEETING;
    if (a.script === 'syllabic') {
      if ([...a.origin].length > 1 && [...b.origin].length > 1) return spelled(a.folded, b.folded);
      return a.text === b.text ? HOMOPHONE : NO_MEETING;
    }
    return spelledAbjad(a.origin, b.origin);
  }
  const [own, latin] = a.origin === '' ? [b, a] : [a, b];
  // `Il` and `An` are particles in other languages, and `Ing` is a title: they are also Korean and Chinese syllables.
  if (!WORD_KINDS.has(latin.kind) || latin.script !== 'latin') return NO_MEETING;
  const similarity =
    own.kind === 'segment' ? segmentMatches(own.origin, latin) : own.reading.matches(latin.text, latin.heard);
  if (similarity > 0) return { kind: 'phonetic', similarity };
  return own.script === 'abjad' ? meetConsonants(a, b) : NO_MEETING;
}

/** Compares two words of a script without vowels by their own letters: one other letter is often another name. */
function spelledAbjad(a: string, b: string): Meeting {
  const longer = Math.max(a.length, b.length);
  const similarity = 1 - distance(a, b) / (0.72 * longer + 0.5);
  return similarity < LEAST_SIMILARITY ? NO_MEETING : { kind: 'spelling', similarity };
}

/** Runs of a segment that can be a word in Latin letters: the whole, its ends, and its foreign sound. */
function segmentMatches(origin: string, latin: NamePart): number {
  let most = 0;
  for (const reading of segmentReadings(origin))
    most = Math.max(most, reading.matches(latin.text, latin.heard));
  return most;
}

/** Maximum number of characters of a run that is one word in Latin letters, unless it is foreign. */
const RUN_MAX = 4;

type Reading = ReturnType<typeof readingOf>;

const SEGMENTS_MOST = 20_000;
const segments = new Map<string, readonly Reading[]>();

/** Returns the readings of the runs of a segment that can be a word in Latin letters. They are kept: a query meets the same segments again. */
export function segmentReadings(origin: string): readonly Reading[] {
  let readings = segments.get(origin);
  if (readings === undefined) {
    if (segments.size >= SEGMENTS_MOST) segments.clear();
    readings = runReadings(origin);
    segments.set(origin, readings);
  }
  return readings;
}

function runReadings(origin: string): readonly Reading[] {
  const isForeign = origin.startsWith('·');
  const own = isForeign ? origin.slice(1) : origin;
  const chars = [...own];
  const readings = [];
  const foreign = foreignReadingOf(own, isForeign);
  if (foreign !== null) readings.push(foreign);
  if (!isForeign && chars.length <= RUN_MAX) {
    readings.push(readingOf(own));
    if (chars.length > 2)
      readings.push(readingOf(chars.slice(1).join('')), readingOf(chars.slice(0, 2).join('')));
    if (chars.length > 3) readings.push(readingOf(chars.slice(2).join('')));
  }
  if (!isForeign && chars.length > 3) readings.push(...japaneseReadingsOf(chars));
  return readings;
}

/** A surname of the dictionary before a given name of up to four characters (`長谷川誠`, `小泉純一郎`). */
function japaneseReadingsOf(chars: readonly string[]): Reading[] {
  const readings = [];
  for (let at = Math.max(1, chars.length - RUN_MAX); at <= SURNAME_MAX && at < chars.length; at++) {
    const surname = chars.slice(0, at).join('');
    if (!isJapaneseName(surname)) continue;
    readings.push(readingOf(surname), readingOf(chars.slice(at).join('')));
  }
  return readings;
}

/** Maximum number of characters of a Japanese surname (`勅使河原`). */
const SURNAME_MAX = 4;

/** Maximum similarity of words one edit apart, unless they sound the same. */
export const ONE_EDIT = 0.9;

function meetConsonants(a: NamePart, b: NamePart): Meeting {
  const shorter = Math.min(a.consonants.length, b.consonants.length);
  if (shorter < 2) return NO_MEETING;
  if (a.consonants === b.consonants) return SAME_CONSONANTS[Math.min(4, shorter)] as Meeting;
  if (shorter < 4 || Math.max(a.consonants.length, b.consonants.length) - shorter > 1) return NO_MEETING;
  return distance(a.consonants, b.consonants) === 1 ? NEAR_CONSONANTS : NO_MEETING;
}

/** Bits of a letter in packed consonants, and the highest number of letters. */
const PACKED_BITS = 5;
const PACKED_MOST = 6;
const NOT_PACKED = -1;

/** Returns the consonants of a word as one number, the same only for the same consonants; −1 if they are more than six or no letters a–z. */
export function packedConsonants(consonants: string): number {
  if (consonants.length > PACKED_MOST) return NOT_PACKED;
  let packed = 0;
  for (let at = 0; at < consonants.length; at++) {
    const code = consonants.charCodeAt(at) - 96;
    if (code < 1 || code > 26) return NOT_PACKED;
    packed = (packed << PACKED_BITS) | code;
  }
  return packed;
}

const packedLength = (packed: number): number => Math.ceil((32 - Math.clz32(packed)) / PACKED_BITS);

/** Compares packed consonants as `meetConsonants` compares consonants; null if only that can compare them. */
export function meetPacked(a: number, b: number): Meeting | null {
  if (a === NOT_PACKED || b === NOT_PACKED) return null;
  const shorter = packedLength(Math.min(a, b));
  if (shorter < 2) return NO_MEETING;
  if (a === b) return SAME_CONSONANTS[Math.min(4, shorter)] as Meeting;
  return shorter < 4 || packedLength(Math.max(a, b)) - shorter > 1 ? NO_MEETING : null;
}

/** Weights edits by length: one letter of eight leaves 0.85, one of three 0.6; a vowel counts half. */
function spelled(a: string, b: string): Meeting {
  const longer = Math.max(a.length, b.length);
  const most = 1 + longer * 0.45;
  if (a.length < 2 || b.length < 2 || longer - Math.min(a.length, b.length) > most) return NO_MEETING;
  const scale = EDIT_SCALE * longer + 0.5;
  const cost = weighedEdits(a, b, costMost(longer));
  const alike = 1 - cost / scale;
  // One wrong letter in a short word may be an error: the words match, and the model decides the weight.
  if (alike < LEAST_SIMILARITY) {
    const isSlip = longer >= 3 && cost <= ONE_EDIT_MOST && distance(a, b) === 1;
    return isSlip ? { kind: 'spelling', similarity: LEAST_SIMILARITY } : NO_MEETING;
  }
  // Only many cheap edits exceed the number of edits.
  if (cost > most * LEAST_EDIT && distance(a, b) > most) return NO_MEETING;
  return { kind: 'spelling', similarity: alike };
}

/** Returns the highest cost of edits with which spellings may be similar, by the length of the longer one. */
export const costMost = (longer: number): number =>
  Math.max(ONE_EDIT_MOST, (1 - LEAST_SIMILARITY) * (EDIT_SCALE * longer + 0.5));

/**
 * Returns the similarity that `spelled` finds, from the lengths of two spellings and the cost of their edits: 0 if they do not match, and −1
 * if the number of edits decides.
 */
export function likenessByCost(longer: number, shorter: number, cost: number): number {
  const most = 1 + longer * 0.45;
  if (shorter < 2 || longer - shorter > most) return 0;
  const alike = 1 - cost / (EDIT_SCALE * longer + 0.5);
  if (alike < LEAST_SIMILARITY) return longer >= 3 && cost <= ONE_EDIT_MOST ? -1 : 0;
  return cost > most * LEAST_EDIT ? -1 : alike;
}

/** The highest cost of one edit, and the lowest. */
const ONE_EDIT_MOST = 1.2;
const LEAST_EDIT = 0.6;
