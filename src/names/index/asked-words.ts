/** The words of queries with what is known about them in an index: the words that match, and how words of candidates compare with them. */
import { LETTERS_COUNTED, masksOf } from '../edits.ts';
import type { NamePart } from '../name-parts.ts';
import type { Heard } from '../readings/pattern.ts';
import { mayBeWadeSpelling } from '../readings/wade.ts';
import { type Meeting, packedConsonants } from '../similarity.ts';
import { letterSet } from '../sound.ts';

/** The words of the index that match a part, by descending gain: similar and rare words first. */
export interface Hits {
  readonly words: readonly number[];
  readonly gains: readonly number[];
  /** Where the postings of each word begin and end. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of names that have the words. */
  readonly names: number;
}

export const NO_HITS: Hits = { words: [], gains: [], starts: [], ends: [], names: 0 };

/** Maximum number of words that are kept: a word takes about 500 bytes without its hits, so 10 MB. */
const WORDS_KEPT = 20_000;
/** Maximum number of hits of these words: 20 bytes each, so 30 MB. */
const HITS_KEPT = 1_500_000;

/** A word of a query. */
export class AskedWord {
  readonly part: NamePart;
  /** Its number among the words of queries: no other word has it. */
  readonly number: number;
  /**
   * Whether it is compared with words of the index by its letters: it is in Latin letters, and no number, initial or legal form. Only words
   * that may share a group of given names or a meaning are compared by more than their letters.
   */
  readonly isSpelled: boolean;
  /** Whether it is in a group of given names, which match each other, and whether it is a word with a meaning, like `company`. */
  readonly isGrouped: boolean;
  readonly hasMeaning: boolean;
  /** Whether it may be another spelling of a Chinese name: a word of pinyin, or a Wade–Giles spelling of one. */
  readonly isChinese: boolean;
  /** The first letters of its folded spelling and of its spelling as written. */
  readonly folded: Uint8Array;
  readonly text: Uint8Array;
  /** The places of the letters in the folded spelling, and in the spelling as written. */
  readonly masks: Int32Array;
  readonly textMasks: Int32Array;
  /** The letters of the spelling as written, `a` as bit 0. */
  readonly textLetters: number;
  /** Null until the matching words are looked up. */
  hits: Hits | null = null;
  private packed: number | null = null;

  constructor(part: NamePart, number = 0) {
    const { kind, script, origin, text, folded } = part;
    this.part = part;
    this.number = number;
    this.isSpelled = origin === '' && script === 'latin' && SPELLED.has(kind);
    this.isGrouped = kind === 'name' && part.groups.length > 0;
    this.hasMeaning = kind === 'descriptive';
    this.isChinese = this.isSpelled && (part.wade !== null || mayBeWadeSpelling(text));
    this.folded = this.isSpelled ? lettersOf(folded) : NO_LETTERS;
    this.text = !this.isSpelled || text === folded ? this.folded : lettersOf(text);
    this.masks = this.isSpelled ? masksOf(this.folded) : NO_MASKS;
    this.textMasks = this.text === this.folded ? this.masks : masksOf(this.text);
    this.textLetters = text === folded ? part.letters : letterSet(text);
  }

  /** What readings compare of the word. */
  get heard(): Heard {
    return this.part.heard;
  }

  /** The consonants of the word, packed. */
  get consonants(): number {
    this.packed ??= packedConsonants(this.part.consonants);
    return this.packed;
  }
}

const SPELLED: ReadonlySet<NamePart['kind']> = new Set(['name', 'particle', 'honorific', 'descriptive']);

const NO_LETTERS = new Uint8Array(0);
const NO_MASKS = new Int32Array(0);

function lettersOf(word: string): Uint8Array {
  const letters = new Uint8Array(Math.min(word.length, LETTERS_COUNTED));
  for (let at = 0; at < letters.length; at++) letters[at] = word.charCodeAt(at);
  return letters;
}

/**
 * Number of meetings that are kept, a power of 2: what the candidates of the last hundred queries meet. Only words of other scripts and of
 * given names are kept; a later one takes the place of an earlier one, so the memory never grows (0.2 MB).
 */
const MEETINGS_KEPT = 1 << 14;
const NO_WORD = -1;

/** The words of the last queries. */
export class AskedWords {
  private readonly words = new Map<NamePart, AskedWord>();
  private hits = 0;
  /** Two cells for each meeting: the number of the asked word, and the word of the index. */
  private readonly met = new Int32Array(MEETINGS_KEPT * 2).fill(NO_WORD);
  private readonly meetings = new Array<Meeting | undefined>(MEETINGS_KEPT).fill(undefined);

  /** Returns the word of a part; equal parts of queries are usually one object. */
  of(part: NamePart): AskedWord {
    let asked = this.words.get(part);
    if (asked === undefined) {
      asked = new AskedWord(part, this.words.size);
      this.words.set(part, asked);
    }
    return asked;
  }

  /** Keeps the hits of a word with it. */
  keepHits(asked: AskedWord, hits: Hits): Hits {
    asked.hits = hits;
    this.hits += hits.words.length;
    return hits;
  }

  /** Returns how a word of the index compares with a word of a query, if that is known. */
  meetingWith(asked: AskedWord, word: number): Meeting | undefined {
    const place = placeOf(asked.number, word);
    const { met } = this;
    return met[place * 2] === asked.number && met[place * 2 + 1] === word ? this.meetings[place] : undefined;
  }

  /** Keeps a meeting, and returns it. */
  keep(asked: AskedWord, word: number, meeting: Meeting): Meeting {
    const place = placeOf(asked.number, word);
    this.met[place * 2] = asked.number;
    this.met[place * 2 + 1] = word;
    this.meetings[place] = meeting;
    return meeting;
  }

  /** Forgets all words if they are too many, or have too many hits. It is called between queries. */
  trim(): void {
    if (this.words.size <= WORDS_KEPT && this.hits <= HITS_KEPT) return;
    this.words.clear();
    this.hits = 0;
    // The numbers of words begin anew.
    this.met.fill(NO_WORD);
    this.meetings.fill(undefined);
  }
}

/** Spreads pairs of numbers: 2 to the power of 32, divided by the golden ratio. Source: Knuth, The Art of Computer Programming, 6.4. */
const placeOf = (asked: number, word: number): number =>
  Math.imul(word + Math.imul(asked, 0x85ebca6b), 0x9e3779b1) >>> (32 - 14);
