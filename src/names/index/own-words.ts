/**
 * Compares words of queries in Latin letters with words of an index in Arabic, Hebrew or Thai letters, without decoding these: a search meets
 * ten of them for each word, of which a tenth matches.
 */
import type { NamePart } from '../parse.ts';
import { rareIn } from '../readings/spellings.ts';
import { type Meeting, meetPacked, NO_MEETING, packedConsonants } from '../similarity.ts';
import type { AskedWord } from './asked-words.ts';
import type { WordFacts } from './word-facts.ts';

/** The place of a word that is compared in another way: one in characters, or a segment. */
const OTHER = -1;

export class OwnWords {
  private readonly facts: WordFacts;
  private readonly part: (word: number) => NamePart;
  /**
   * For each word that was met, its consonants and then the program of its spellings: 200 bytes each, as much as a decoded word. Place 0 is no
   * word.
   */
  private programs = new Int32Array(1 << 12);
  private end = 1;

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
    const { single, unassimilated } = asked.heard;
    if (rareIn(single, programs, place + 1) >= 0) return null;
    if (unassimilated !== '' && rareIn(unassimilated, programs, place + 1) >= 0) return null;
    return meetPacked(asked.consonants, programs[place] as number);
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
    this.end += 1 + program.length;
    while (this.end > this.programs.length) {
      const wider = new Int32Array(this.programs.length * 2);
      wider.set(this.programs);
      this.programs = wider;
    }
    this.programs[place] = packedConsonants(part.consonants);
    this.programs.set(program, place + 1);
    this.facts.setReadingPlace(word, place);
    return place;
  }
}
