/**
 * Compares words of queries in Latin letters with words of an index in Arabic, Hebrew or Thai letters, without decoding these: a search meets
 * ten of them for each word, of which a tenth matches.
 */
import type { NamePart } from '../name-parts.ts';
import { type Heard, isSpelling, programFor } from '../readings/pattern.ts';
import type { Program } from '../readings/spellings.ts';
import { type Meeting, meetPacked, NO_MEETING, packedConsonants } from '../similarity.ts';
import type { AskedWord } from './asked-words.ts';
import type { WordFacts } from './word-facts.ts';

/** The place of a word that is compared in another way: one in characters, or a segment. */
const OTHER = -1;
/** After the consonants of a word: the number of its letters, and their codes. */
const COUNT = 1;
const LETTERS = 2;

/** Maximum number of adjacent words whose spellings as one word are kept: 400 bytes each, 8 MB. */
const JOINED_KEPT = 20_000;
/** More than the number of words of an index. */
const POSITIONS = 2 ** 26;

export class OwnWords {
  private readonly facts: WordFacts;
  private readonly part: (word: number) => NamePart;
  /**
   * For each word that was met: its consonants, the number of its letters, their codes, and the program of its spellings. They take 200 bytes,
   * as much as a decoded word. Place 0 is no word.
   */
  private programs = new Int32Array(1 << 12);
  private end = 1;
  /** The spellings of two adjacent words, written as one, by their numbers. */
  private readonly joined = new Map<number, Program | null>();

  /** @param part Decodes a word of the index. */
  constructor(facts: WordFacts, part: (word: number) => NamePart) {
    this.facts = facts;
    this.part = part;
  }

  /**
   * Compares a word of a query with a word that is not in Latin letters.
   *
   * @returns What `meet` of similarity.ts returns, or null if only that can compare them.
   */
  meet(asked: AskedWord, word: number): Meeting | null {
    if (!asked.isSpelled) return null;
    const place = this.facts.readingPlace(word) || this.compile(word);
    if (place === OTHER) return null;
    // The meaning of a word has no reading.
    if (asked.hasMeaning) return NO_MEETING;
    const { programs } = this;
    if (isSpelling(asked.heard, programs, place + LETTERS + (programs[place + COUNT] as number))) return null;
    return meetPacked(asked.consonants, programs[place] as number);
  }

  /** Returns whether a Latin word may spell a word that is not in Latin letters. False is certain. */
  maySpell(heard: Heard, word: number): boolean {
    const place = this.facts.readingPlace(word) || this.compile(word);
    if (place === OTHER) return true;
    return isSpelling(heard, this.programs, place + LETTERS + (this.programs[place + COUNT] as number));
  }

  /** Returns whether a Latin word may spell the words from `first` to `last` of an array, written as one. False is certain. */
  maySpellJoined(heard: Heard, words: Int32Array, first: number, last: number): boolean {
    if (last - first > 1) {
      const program = programFor(this.originOf(words, first, last));
      return program === null || isSpelling(heard, program);
    }
    const key = (words[first] as number) * POSITIONS + (words[last] as number);
    let program = this.joined.get(key);
    if (program === undefined) {
      if (this.joined.size >= JOINED_KEPT) this.joined.clear();
      program = programFor(this.originOf(words, first, last));
      this.joined.set(key, program);
    }
    return program === null || isSpelling(heard, program);
  }

  private originOf(words: Int32Array, first: number, last: number): string {
    let origin = '';
    for (let at = first; at <= last; at++) origin += this.part(words[at] as number).origin;
    return origin;
  }

  /**
   * Writes the codes of the letters of a word from a position on.
   *
   * @returns The position after them; −1 if the word is not in Arabic, Hebrew or Thai letters, or too long.
   */
  writeLetters(word: number, into: Int32Array, from: number): number {
    const place = this.facts.readingPlace(word) || this.compile(word);
    if (place === OTHER) return -1;
    const { programs } = this;
    const count = programs[place + COUNT] as number;
    if (from + count > into.length) return -1;
    for (let at = 0; at < count; at++) into[from + at] = programs[place + LETTERS + at] as number;
    return from + count;
  }

  /** Returns the place of a word that is met for the first time. */
  private compile(word: number): number {
    const part = this.part(word);
    const program = part.script === 'abjad' && part.kind === 'name' ? part.reading.program : null;
    if (program === null) {
      this.facts.setReadingPlace(word, OTHER);
      return OTHER;
    }
    const place = this.end;
    const { origin } = part;
    this.end += LETTERS + origin.length + program.length;
    while (this.end > this.programs.length) {
      const wider = new Int32Array(this.programs.length * 2);
      wider.set(this.programs);
      this.programs = wider;
    }
    this.programs[place] = packedConsonants(part.consonants);
    this.programs[place + COUNT] = origin.length;
    for (let at = 0; at < origin.length; at++) this.programs[place + LETTERS + at] = origin.charCodeAt(at);
    this.programs.set(program, place + LETTERS + origin.length);
    this.facts.setReadingPlace(word, place);
    return place;
  }
}
