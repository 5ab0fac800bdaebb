/**
 * Compares the words of a candidate with those of a query by their numbers in the index, and rules the candidate out if no choice of pairs
 * could lift it to the threshold: such a candidate is never decoded. Names with runs of characters are always within reach.
 */

import {
  GLUED_APART,
  GLUED_LEAST,
  JOINED_LETTERS_MOST,
  JOINED_MOST,
  type MeetingTable,
  READ_APART,
} from '../align.ts';
import type { BestCase } from '../best-case.ts';
import { INITIAL_COVERS, NAME_LEAST, PAIR_LEAST } from '../compare.ts';
import { bitsApart, leastEdits } from '../edits.ts';
import { mostLogOdds } from '../model.ts';
import { type NamePart, PARTS_MAX } from '../name-parts.ts';
import type { ParsedName } from '../parse.ts';
import { type Heard, heardOf, isSpelling, mayReadLetters, programFor } from '../readings/pattern.ts';
import type { Program } from '../readings/spellings.ts';
import { EDIT_SCALE, LEAST_SIMILARITY, type Meeting, mayBeWade, meet, NO_MEETING } from '../similarity.ts';
import { letterSet } from '../sound.ts';
import type { AskedWord, AskedWords } from './asked-words.ts';
import { wordsStart } from './candidates.ts';
import { KINDS, NAME_WORDS, SCRIPTS } from './format.ts';
import type { OwnWords } from './own-words.ts';
import type { WordFacts } from './word-facts.ts';

/** The values of an index that the comparison reads, as `format.ts` describes them. */
export interface ComparedIndex {
  readonly rows: Int32Array;
  readonly nameWords: Int32Array;
  readonly facts: WordFacts;
  readonly own: OwnWords;
  readonly asked: AskedWords;
  part(word: number): NamePart;
}

const LATIN = SCRIPTS.indexOf('latin');
const NAME = KINDS.indexOf('name');
const INITIAL = KINDS.indexOf('initial');
const PARTICLE = KINDS.indexOf('particle');
const FORM = KINDS.indexOf('form');
const SEGMENT = KINDS.indexOf('segment');
/** Number of words that are remembered for each part of a query: its candidates have a hundred words, of which a third are different. */
const RECENT = 256;

/** One of the two names, word by word. */
class Side {
  count = 0;
  /** Whether all words are in Latin letters. */
  isLatin = true;
  /** The words as numbers of the index; of the query, positions. */
  readonly words = new Int32Array(PARTS_MAX);
  readonly scripts = new Uint8Array(PARTS_MAX);
  /** Number of words that are a name of their own. */
  names = 0;
  readonly kinds = new Uint8Array(PARTS_MAX);
  readonly weights = new Float64Array(PARTS_MAX);
  readonly lengths = new Uint8Array(PARTS_MAX);
  readonly heard = new Uint8Array(PARTS_MAX);
  readonly firsts = new Uint8Array(PARTS_MAX);
  /** The letters of each word as heard. */
  readonly letters = new Int32Array(PARTS_MAX);
  /** How much of each word its most similar partner covers. */
  readonly most = new Float64Array(PARTS_MAX);
  /** Whether each word has a partner with the same letters. */
  readonly exact = new Uint8Array(PARTS_MAX);

  /** The sums of `sumUp`: the share that can match, the weight of what contradicts, of words without a partner, and of all. */
  covered = 0;
  against = 0;
  alone = 0;
  weight = 0;

  clear(): void {
    this.count = 0;
    this.isLatin = true;
    this.names = 0;
  }

  forget(): void {
    for (let at = 0; at < this.count; at++) {
      this.most[at] = 0;
      this.exact[at] = 0;
    }
  }

  /** Sums up the words in the order of the name, as `bestCaseOf` does. */
  sumUp(): void {
    let [weight, found, against, alone] = [0, 0, 0, 0];
    for (let at = 0; at < this.count; at++) {
      const own = this.weights[at] as number;
      const covers = this.most[at] as number;
      weight += own;
      found += own * covers;
      if (covers > 0) continue;
      alone += own;
      against += this.kinds[at] === NAME ? 0.5 + own / 2 : own;
    }
    this.covered = weight <= 0 ? 0 : found / weight;
    this.against = against;
    this.alone = alone;
    this.weight = weight;
  }

  /** Counts a word if it is a name of its own, as `compare.ts` does. */
  countName(kind: number, weight: number): void {
    if (weight >= PAIR_LEAST && kind !== PARTICLE) this.names++;
  }
}

export class CandidateBounds {
  private readonly index: ComparedIndex;
  private readonly asked = new Side();
  private readonly listed = new Side();
  private words: AskedWord[] = [];
  private hasSegments = false;
  /** The spellings of words of the query in other scripts, and of adjacent ones written as one, by the first and the last. */
  private readonly askedPrograms = new Map<number, Program | null>();
  /** The codes of the letters of joined words. */
  private readonly joined = new Int32Array(JOINED_LETTERS_MOST);
  /** Whether the candidate that was compared last is within reach without words that are written as one, of which it has none. */
  isApart = false;
  /** The highest log-odds that this candidate may have; infinite if they are not known. */
  most = Number.POSITIVE_INFINITY;
  private readonly known: Meeting[] = new Array<Meeting>(PARTS_MAX * PARTS_MAX).fill(NO_MEETING);

  /** For each part of the query, the words that were compared last, each at the place of its lowest bits, and their meetings. */
  private readonly recentWords = new Int32Array(PARTS_MAX * RECENT);
  private readonly recentMeetings: Meeting[] = new Array<Meeting>(PARTS_MAX * RECENT).fill(NO_MEETING);

  constructor(index: ComparedIndex) {
    this.index = index;
  }

  /** Begins the comparisons of a query. */
  begin(asked: ParsedName): void {
    const side = this.asked;
    side.clear();
    this.words = [];
    this.hasSegments = asked.segments.length > 0;
    this.askedPrograms.clear();
    this.recentWords.fill(-1, 0, asked.parts.length * RECENT);
    for (const part of asked.parts) {
      const at = side.count++;
      side.kinds[at] = KINDS.indexOf(part.kind);
      side.weights[at] = part.weight;
      side.lengths[at] = part.text.length;
      side.heard[at] = part.folded.length;
      side.firsts[at] = part.text.charCodeAt(0);
      side.letters[at] = part.letters;
      side.words[at] = at;
      side.scripts[at] = SCRIPTS.indexOf(part.script);
      if (side.scripts[at] !== LATIN) side.isLatin = false;
      side.countName(side.kinds[at] as number, part.weight);
      const word = this.index.asked.of(part);
      this.words.push(word);
    }
  }

  /** How the words of the query compare with those of the candidate that was compared last. */
  get meetings(): MeetingTable {
    return this.known;
  }

  /**
   * Compares the words of a name with those of the query.
   *
   * @param floor The log-odds to reach; null if every name is within reach.
   * @returns false if the log-odds of the name are certainly lower.
   */
  mayReach(name: number, floor: number | null): boolean {
    const { asked, listed } = this;
    const { rows, nameWords, facts } = this.index;
    listed.clear();
    asked.forget();
    let hasSegments = false;
    const end = rows[name * NAME_WORDS + 2] as number;
    for (let at = wordsStart(rows, name); at < end; at++) {
      const word = nameWords[at] as number;
      const kind = facts.kindOf(word);
      if (kind === SEGMENT) hasSegments = true;
      if (kind === SEGMENT || kind === FORM) continue;
      this.addListed(word, kind);
    }
    this.isApart = false;
    this.most = Number.POSITIVE_INFINITY;
    if (floor === null || hasSegments || this.hasSegments) return true;
    if (this.mayGlue(asked, listed) || this.mayGlue(listed, asked)) return true;
    this.most = mostLogOdds(bestCase(asked, listed));
    this.isApart = this.most >= floor;
    return this.isApart;
  }

  /** Compares the next word of the name with all words of the query. */
  private addListed(word: number, kind: number): void {
    const { asked, listed, words, known, recentWords, recentMeetings } = this;
    const { facts } = this.index;
    const j = listed.count++;
    listed.kinds[j] = kind;
    const weight = facts.weights[word] as number;
    listed.weights[j] = weight;
    listed.countName(kind, weight);
    listed.lengths[j] = facts.textLength(word);
    listed.heard[j] = facts.heardLength(word);
    listed.firsts[j] = facts.firstLetter(word);
    listed.letters[j] = facts.lettersOf(word);
    listed.words[j] = word;
    listed.scripts[j] = facts.scriptOf(word);
    if (listed.scripts[j] !== LATIN) listed.isLatin = false;
    let most = 0;
    let exact = 0;
    for (let i = 0; i < words.length; i++) {
      const place = i * RECENT + (word & (RECENT - 1));
      if (recentWords[place] !== word) {
        recentWords[place] = word;
        recentMeetings[place] = this.meet(words[i] as AskedWord, word);
      }
      const meeting = recentMeetings[place] as Meeting;
      known[i * PARTS_MAX + j] = meeting;
      const { similarity } = meeting;
      if (similarity < LEAST_SIMILARITY) continue;
      const covers = meeting.kind === 'initial' ? Math.max(INITIAL_COVERS, similarity) : similarity;
      if (covers > most) most = covers;
      if (covers > (asked.most[i] as number)) asked.most[i] = covers;
      if (similarity === 1) {
        exact = 1;
        asked.exact[i] = 1;
      }
    }
    listed.most[j] = most;
    listed.exact[j] = exact;
  }

  private meet(asked: AskedWord, word: number): Meeting {
    const { facts, own, asked: words } = this.index;
    if (asked.isSpelled) {
      // Comparing the bytes of usual words costs less than keeping the result.
      if (facts.isUnlike(asked, word)) return NO_MEETING;
      const met = facts.isLatin(word) ? facts.meet(asked, word) : own.meet(asked, word);
      if (met !== null) return met;
    }
    return words.meetingWith(asked, word) ?? words.keep(asked, word, meet(asked.part, this.index.part(word)));
  }

  /** Returns whether adjacent words of one side may be similar to a word of the other if they are written as one. False is certain. */
  private mayGlue(parts: Side, singles: Side): boolean {
    const isMixed = !parts.isLatin || !singles.isLatin;
    let longest = 0;
    for (let at = 0; at < singles.count; at++)
      if (singles.exact[at] === 0) longest = Math.max(longest, (singles.lengths[at] as number) + GLUED_APART);
    for (let at = 0; at + 1 < parts.count; at++) {
      if (parts.exact[at] === 1 || parts.kinds[at] === INITIAL) continue;
      if (parts.scripts[at] !== LATIN) {
        if (this.mayReadAsOne(parts, at, singles)) return true;
        continue;
      }
      let length = parts.lengths[at] as number;
      let heard = parts.heard[at] as number;
      let letters = parts.letters[at] as number;
      const last = Math.min(parts.count, at + JOINED_MOST);
      for (let next = at + 1; next < last; next++) {
        if (parts.exact[next] === 1 || parts.kinds[next] === INITIAL || parts.scripts[next] !== LATIN) break;
        length += parts.lengths[next] as number;
        if (length > longest || length > JOINED_LETTERS_MOST) break;
        heard += parts.heard[next] as number;
        letters |= parts.letters[next] as number;
        for (let other = 0; other < singles.count; other++) {
          if (singles.exact[other] === 1 || singles.kinds[other] !== NAME) continue;
          const apart = Math.abs((singles.lengths[other] as number) - length);
          if (apart > GLUED_APART) continue;
          if (isMixed && singles.scripts[other] !== LATIN) {
            if (this.maySpell(parts, at, next, singles, other)) return true;
            continue;
          }
          // One edit of the spelling as written may change several letters of the sound.
          if (
            apart <= 1 &&
            mayBeOneEdit(this.writtenLetters(parts, at, next), this.writtenLetters(singles, other))
          )
            return true;
          if (mayBeWade(parts.firsts[at] as number, singles.firsts[other] as number)) return true;
          const longer = Math.max(heard, singles.heard[other] as number);
          const cost = leastEdits(letters, singles.letters[other] as number);
          if (cost <= Math.max(1, (1 - GLUED_LEAST) * (EDIT_SCALE * longer + 0.5))) return true;
        }
      }
    }
    return false;
  }

  /** Returns whether words in another script from a position on, written as one, may be read as a Latin word of the other side. False is certain. */
  private mayReadAsOne(parts: Side, at: number, singles: Side): boolean {
    let longest = 0;
    for (let other = 0; other < singles.count; other++) {
      if (singles.exact[other] === 1 || singles.scripts[other] !== LATIN || singles.kinds[other] !== NAME)
        continue;
      longest = Math.max(longest, (singles.lengths[other] as number) + READ_APART);
    }
    let count = this.writeLetters(parts, at, 0);
    const last = Math.min(parts.count, at + JOINED_MOST);
    for (let next = at + 1; next < last; next++) {
      if (parts.exact[next] === 1 || parts.scripts[next] !== parts.scripts[at]) break;
      if (count < 0) return true;
      count = this.writeLetters(parts, next, count);
      if (count < 0) return true;
      if (count > longest) break;
      for (let other = 0; other < singles.count; other++) {
        if (singles.exact[other] === 1 || singles.scripts[other] !== LATIN || singles.kinds[other] !== NAME)
          continue;
        if ((singles.lengths[other] as number) + READ_APART < count) continue;
        const { heard } = this.part(singles, other);
        if (mayReadLetters(this.joined, count, heard.letters) && this.maySpellJoined(parts, at, next, heard))
          return true;
      }
    }
    return false;
  }

  private maySpellJoined(parts: Side, first: number, last: number, heard: Heard): boolean {
    if (parts === this.listed) return this.index.own.maySpellJoined(heard, parts.words, first, last);
    return this.maySpellAsked(first, last, heard);
  }

  /** The same for words of the query. */
  private maySpellAsked(first: number, last: number, heard: Heard): boolean {
    const key = first * PARTS_MAX + last;
    let program = this.askedPrograms.get(key);
    if (program === undefined) {
      let origin = '';
      for (let at = first; at <= last; at++) origin += this.part(this.asked, at).origin;
      program = programFor(origin);
      this.askedPrograms.set(key, program);
    }
    return program === null || isSpelling(heard, program);
  }

  /** Returns whether Latin words of one side, written as one, may spell a word in another script of the other. False is certain. */
  private maySpell(parts: Side, first: number, last: number, singles: Side, other: number): boolean {
    const count = this.writeLetters(singles, other, 0);
    if (count < 0) return true;
    let letters = JOINED_LETTERS;
    let text = '';
    for (let at = first; at <= last; at++) {
      const part = this.part(parts, at);
      letters |= part.heard.letters;
      text += part.text;
    }
    if (!mayReadLetters(this.joined, count, letters)) return false;
    const heard = heardOf(text);
    return singles === this.listed
      ? this.index.own.maySpell(heard, singles.words[other] as number)
      : this.maySpellAsked(other, other, heard);
  }

  /** Writes the letters of a word in another script after those of others: returns their number, or −1 if they are not known or too many. */
  private writeLetters(side: Side, at: number, from: number): number {
    const word = side.words[at] as number;
    if (side === this.listed) return this.index.own.writeLetters(word, this.joined, from);
    const { origin, script } = this.part(side, at);
    if (script !== 'abjad' || from + origin.length > this.joined.length) return -1;
    for (let letter = 0; letter < origin.length; letter++)
      this.joined[from + letter] = origin.charCodeAt(letter);
    return from + origin.length;
  }

  /** Returns the letters of words as written, which are read for the few that need them. */
  private writtenLetters(side: Side, first: number, last = first): number {
    let letters = 0;
    for (let at = first; at <= last; at++) {
      const word = side.words[at] as number;
      letters |=
        side === this.listed
          ? this.index.facts.textLettersOf(word)
          : (this.words[word] as AskedWord).textLetters;
    }
    return letters;
  }

  private part(side: Side, at: number): NamePart {
    const word = side.words[at] as number;
    return side === this.listed ? this.index.part(word) : (this.words[word] as AskedWord).part;
  }
}

/**
 * Two words that are written as one may have a consonant that neither has: the c before a vowel is heard as s (`Marc`, `Eric`; `Marceric`), and so
 * is ch.
 */
const JOINED_LETTERS = letterSet('s');

/** Returns whether words with these letters may be one edit apart, which changes at most one letter of each. False is certain. */
const mayBeOneEdit = (left: number, right: number): boolean =>
  bitsApart(left & ~right, 0) <= 1 && bitsApart(right & ~left, 0) <= 1;

/** Returns the bounds of all choices of pairs: those of `bestCaseOf`. */
function bestCase(asked: Side, listed: Side): BestCase {
  asked.sumUp();
  listed.sumUp();
  const differences = Math.min(asked.against, listed.against);
  return {
    coveredLess: Math.min(asked.covered, listed.covered),
    differences,
    slip: differences === 0 && asked.alone < NAME_LEAST,
    partial: asked.names < 2 || listed.names < 2,
    weight: Math.max(asked.weight, listed.weight),
  };
}
