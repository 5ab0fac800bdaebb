/** The parts of a name, as they are compared: each with its forms, its weight and its groups, made once for each text. */

import { countryWords } from '../sources/countries.ts';
import { isOneEdit } from './edits.ts';
import { type Heard, heardOf, type Reading, readingOf } from './readings/pattern.ts';
import { wadeOf } from './readings/wade.ts';
import { fold, letterSet, skeleton, unvocalised } from './sound.ts';
import type { NameScript } from './transliterate.ts';
import { type Vocabulary, vocabulary } from './vocabulary.ts';

export type NamePartKind =
  | 'name'
  | 'initial'
  | 'number'
  | 'particle'
  | 'honorific'
  | 'descriptive'
  | 'form'
  | 'segment';

export interface NamePart {
  /** Lower-case a–z and digits: the word itself, the number in digits, or the kind of legal form. */
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  /** The part in its own letters, if these have no single Latin spelling (see `LatinWord`). */
  readonly origin: string;
  /** The normalised spelling, the classes of consonants, and the consonants that an Arabic spelling would have. */
  readonly folded: string;
  /** The letters of the folded spelling, `a` to `z` as bits 0 to 25; digits are bit 26. */
  readonly letters: number;
  readonly skeleton: string;
  readonly consonants: string;
  /** Groups of given names, or of words with one meaning; the numbers of the two do not overlap. */
  readonly groups: readonly number[];
  /** How distinctive the part is, 0–1. */
  readonly weight: number;
  /** How rare the part is as a name of people, 0–1. */
  readonly rarity: number;
  /** Whether the part is the name of a country. */
  readonly isPlace: boolean;
  /** The Wade–Giles spelling of a pinyin word; null if it is not one. */
  readonly wade: string | null;
  /** The reading of a part in its own letters. */
  readonly reading: Reading;
  /** What readings compare of a part in Latin letters. */
  readonly heard: Heard;
}

/** Maximum number of words of a name that are used: the longest real name has 40, and matching is quadratic. */
export const PARTS_MAX = 24;

/** The first half of names like `Abdulrahman`, as a word of its own. */
export const ABD = 'abd';

/** Frequent given names, by the Latin spelling with which the tables of frequencies have them. */
const FREQUENT_ABJAD: ReadonlyMap<string, string> = new Map(
  (
    'محمد mohamed احمد ahmad علی ali حسن hassan حسین hossein خالد khalid ابراهیم ibrahim عبدالله abdullah مصطفی mustafa عمر omar ' +
    'یوسف yusuf فاطمة fatima سعید said محمود mahmud صالح saleh مهدی mahdi جعفر jafar رضا reza ناصر naser خان khan کریم karim ' +
    'رحمن rahman اسماعیل ismail سلیمان suleiman عباس abbas قاسم qasim حمید hamid مجید majid مریم maryam عثمان osman جمال jamal ' +
    'کمال kamal عزیز aziz رشید rashid سالم salem طارق tariq یاسین yasin هاشم hashem جواد javad امیر amir اکبر akbar محسن mohsen ' +
    'منی mona لیلی laila سارة sara نورة noura زینب zainab خدیجة khadija عائشة aisha'
  )
    .split(' ')
    .flatMap((word, at, all) => (at % 2 === 0 ? [[word, all[at + 1] as string] as const] : [])),
);
/** Returns whether a word in Arabic letters is a frequent given name. */
export const isGivenAbjad = (origin: string): boolean => FREQUENT_ABJAD.has(origin);

const WEIGHTS: Readonly<Record<NamePartKind, number>> = {
  name: 1,
  initial: 0.3,
  number: 0.6,
  particle: 0.12,
  honorific: 0.08,
  descriptive: 0.5,
  form: 0.1,
  segment: 1,
};
/** Maximum reduction of a name's weight because it is common. */
const COMMON_LOSS = 0.5;

/** Maximum reduction of a name's rarity because many people have it. */
const RARITY_LOSS = 0.85;

/** Weight of a word that is half of many names. */
const HALF_WEIGHT = 0.4;

const ROOM = 50_000;
const LATIN_ROOM = 150_000;
const known = new Map<string, NamePart>();
/** The parts in Latin letters, by kind and text: nearly all of them. */
const latinParts = new Map<NamePartKind, Map<string, NamePart>>();
let latinKept = 0;

/** Returns the part for a text and kind, cached: the same in a query and in an index. */
export function makePart(
  text: string,
  kind: NamePartKind,
  script: NameScript,
  vocab: Vocabulary,
  origin = '',
): NamePart {
  if (script === 'latin' && origin === '') return latinPart(text, kind, vocab);
  const key = `${kind}:${script}:${text}:${origin}`;
  const before = known.get(key);
  if (before) return before;
  const part = new Word(text, kind, script, foldedOf(text, kind, script, vocab), vocab, origin);
  // A part that is created again is equal but not identical: `isIdentical` compares texts.
  if (known.size >= ROOM) known.clear();
  known.set(key, part);
  return part;
}

/** The same as `makePart` for a text in Latin letters. */
export function latinPart(text: string, kind: NamePartKind, vocab: Vocabulary): NamePart {
  let parts = latinParts.get(kind);
  const before = parts?.get(text);
  if (before) return before;
  if (latinKept >= LATIN_ROOM) {
    latinParts.clear();
    latinKept = 0;
    parts = undefined;
  }
  if (parts === undefined) {
    parts = new Map();
    latinParts.set(kind, parts);
  }
  const part = new Word(text, kind, 'latin', foldedOf(text, kind, 'latin', vocab), vocab, '');
  parts.set(text, part);
  latinKept++;
  return part;
}

/** A misspelt `Abdul` is folded to the word that was meant: it is half of many names, not a name of its own. */
function foldedOf(text: string, kind: NamePartKind, script: NameScript, vocab: Vocabulary): string {
  if (kind === 'number') return text;
  const folded = fold(text);
  const isAbd =
    kind === 'name' && script === 'latin' && isMisspeltAbd(text) && !vocab.personWords.has(folded);
  return isAbd ? ABD : folded;
}

const ABD_SPELLINGS = ['abdul', 'abdel', 'abdur'] as const;

/** Returns whether a word has one wrong letter in a spelling of `Abdul`. Other spellings are one letter away from other names (`Ahdal`). */
function isMisspeltAbd(text: string): boolean {
  if (text.length < 4 || text.length > 6) return false;
  return ABD_SPELLINGS.some((spelling) => isOneEdit(text, spelling));
}

/** Creates a part of an index, which stores the folded spelling and has its own cache. */
export const indexedPart = (
  text: string,
  kind: NamePartKind,
  script: NameScript,
  folded: string,
  origin: string,
): NamePart => new Word(text, kind, script, folded, vocabulary(), origin);

/** Creates the part of adjacent words that are written as one, which is not kept: there are many, and each is compared once or twice. */
export const gluedPart = (text: string, script: NameScript, folded: string): NamePart =>
  new Word(text, 'name', script, folded, vocabulary(), '');

class Word implements NamePart {
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  readonly origin: string;
  readonly folded: string;
  readonly groups: readonly number[];
  readonly weight: number;
  readonly rarity: number;
  private place: boolean | null = null;
  private wadeSpelling: string | null | undefined;
  private foldedLetters = -1;
  private ownReading: Reading | null = null;
  private ownHeard: Heard | null = null;
  private heardConsonants: string | null = null;
  private writtenConsonants: string | null = null;

  constructor(
    text: string,
    kind: NamePartKind,
    script: NameScript,
    folded: string,
    vocab: Vocabulary,
    origin: string,
  ) {
    this.text = text;
    this.origin = origin;
    this.kind = kind;
    this.script = script;
    this.folded = folded;
    this.groups = groupsOf(text, kind, vocab);
    const latin = script === 'abjad' ? (FREQUENT_ABJAD.get(origin) ?? text) : text;
    const common = kind === 'name' ? (vocab.commonness.get(latin) ?? 0) : 0;
    const frequent = vocab.frequency.get(latin === text ? folded : fold(latin)) ?? 0;
    this.rarity = kind === 'name' ? 1 - RARITY_LOSS * Math.max(common, frequent) : 1;
    this.weight =
      kind === 'name' && (vocab.halves.has(text) || folded === ABD)
        ? HALF_WEIGHT
        : WEIGHTS[kind] * (1 - COMMON_LOSS * common);
  }

  get isPlace(): boolean {
    this.place ??= this.kind === 'name' && countryWords().has(this.text);
    return this.place;
  }

  get wade(): string | null {
    if (this.wadeSpelling === undefined) this.wadeSpelling = this.kind === 'name' ? wadeOf(this.text) : null;
    return this.wadeSpelling;
  }

  get reading(): Reading {
    this.ownReading ??= readingOf(this.origin);
    return this.ownReading;
  }

  get heard(): Heard {
    this.ownHeard ??= heardOf(this.text);
    return this.ownHeard;
  }

  get letters(): number {
    if (this.foldedLetters < 0) this.foldedLetters = letterSet(this.folded);
    return this.foldedLetters;
  }

  get skeleton(): string {
    this.heardConsonants ??= this.kind === 'number' ? this.text : skeleton(this.folded);
    return this.heardConsonants;
  }

  get consonants(): string {
    this.writtenConsonants ??= unvocalised(this.text);
    return this.writtenConsonants;
  }
}

function groupsOf(text: string, kind: NamePartKind, vocab: Vocabulary): readonly number[] {
  if (kind === 'name') return vocab.nicknames.get(text) ?? NO_GROUPS;
  const group = kind === 'descriptive' ? vocab.descriptive.get(text) : undefined;
  return group === undefined ? NO_GROUPS : [group];
}

const NO_GROUPS: readonly number[] = [];
