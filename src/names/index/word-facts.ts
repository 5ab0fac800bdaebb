/**
 * Facts about the words of an index by which a word of a query is ruled out or compared: its letters, its lengths, its kind and weight, and
 * where its spellings are in the texts. They lie beside each other in memory, because a search reads those of a hundred words that are
 * anywhere. Usual words are compared by their bytes, so they are never decoded.
 */
import { isOneEditOf, LETTERS_COUNTED, leastEdits, MASKED_MOST, mayCost, weighedEditsOf } from '../edits.ts';
import type { NamePart } from '../name-parts.ts';
import {
  costMost,
  EDIT_SCALE,
  EXACT,
  likenessByCost,
  type Meeting,
  mayBePatronymic,
  mayBeWade,
  meetInitial,
  NO_MEETING,
  ONE_EDIT,
  SAME_SOUND,
} from '../similarity.ts';
import { letterSetOf } from '../sound.ts';
import type { AskedWord } from './asked-words.ts';
import { KINDS, SCRIPTS } from './format.ts';

/**
 * Minimum similarity of words that are followed to their names. Two names of which a word is less similar score below the default threshold,
 * whatever their other words are, unless an error in one letter explains it.
 */
export const LEAST_USEFUL = 0.65;

/** More than the highest cost of one edit: a substitution of the first letter. */
const ONE_EDIT_MOST = 1.2;
/** The least cost of a letter that only one word has. */
const GAP_LEAST = 0.7;
/** Sums of costs may differ in their last digits. */
const ROUNDING = 1e-9;

/**
 * Cells of a word, half a line of a processor's cache: the last search that met it, the letters of its sound, its shape, the start of its text,
 * and the first 16 bytes of its folded spelling. Most words are compared by these: reading their texts would be a second access to memory.
 */
const CELLS = 8;
const LETTERS = 1;
const SHAPE = 2;
const START = 3;
const SPELLING_BYTES = 16;
/** The first byte of the spelling in the cells of a word. */
const SPELLING = 16;
/** In the place of the spelling of a word that is not in Latin letters: where `OwnWords` has its reading. */
const READING = 4;
const CELL_BYTES = CELLS * 4;

/**
 * The shape of a word: the length of its folded spelling (8 bits), that of its spelling as written (8 bits; 0 if it is the same), its first
 * letter (7 bits), its kind (3 bits), its script (2 bits), and whether it is plain (1 bit).
 */
const LENGTH_BITS = 8;
const LENGTH_MASK = 0xff;
const FIRST_SHIFT = 16;
const FIRST_MASK = 0x7f;
const KIND_SHIFT = 23;
const KIND_MASK = 7;
const SCRIPT_SHIFT = 26;
const SCRIPT_MASK = 3;
/** A name in Latin letters that is in no group of given names: only its spelling counts. */
const PLAIN = 1 << 28;
/**
 * Bits that only the cells have. A spelled word is in Latin letters, and no number, initial or legal form: words of queries are compared with
 * it by its letters, unless both are in a group of given names, or both have a meaning.
 */
const SPELLED = 1 << 29;
const GROUPED = 1 << 30;
const MEANING = 1 << 31;
/** The first two bytes of a word are its kind and its script. */
const PREFIX = 2;

const LATIN = SCRIPTS.indexOf('latin');
const NAME = KINDS.indexOf('name');
const DESCRIPTIVE = KINDS.indexOf('descriptive');
const INITIAL = KINDS.indexOf('initial');
const NUMBER = KINDS.indexOf('number');
const LAST_DIGIT = '9'.charCodeAt(0);
const SPELLED_KINDS = [NAME, DESCRIPTIVE, KINDS.indexOf('particle'), KINDS.indexOf('honorific')];

/** Adds the bits of the cells to a shape. */
function cellShapeOf(shape: number): number {
  const kind = (shape >>> KIND_SHIFT) & KIND_MASK;
  if (((shape >>> SCRIPT_SHIFT) & SCRIPT_MASK) !== LATIN || !SPELLED_KINDS.includes(kind)) return shape;
  const more = kind === DESCRIPTIVE ? MEANING : kind === NAME && (shape & PLAIN) === 0 ? GROUPED : 0;
  return shape | SPELLED | more;
}

/** Returns the bits of words with which a word of a query is not compared by its letters alone. */
const blockedBy = (asked: AskedWord): number =>
  (asked.isGrouped ? GROUPED : 0) | (asked.hasMeaning ? MEANING : 0);

/** Compares a spelled word of a query with an initial or a number, by its shape; null for other words. */
function meetUnspelled(asked: AskedWord, shape: number): Meeting | null {
  const kind = (shape >>> KIND_SHIFT) & KIND_MASK;
  const { part } = asked;
  const { kind: own, text } = part;
  if (kind === NUMBER) return text.charCodeAt(0) > LAST_DIGIT ? NO_MEETING : null;
  const length = (shape >>> LENGTH_BITS) & LENGTH_MASK || shape & LENGTH_MASK;
  if (kind !== INITIAL || length !== 1 || text.length < 2) return null;
  return own === 'name' ? meetInitial(part, (shape >>> FIRST_SHIFT) & FIRST_MASK) : NO_MEETING;
}

/** Bytes of the facts of a word: its letters, its shape, and its weight. */
export const FACT_BYTES = 16;

/** Returns the facts of the words of an index, as `format.ts` describes them. */
export function packFacts(words: readonly NamePart[]): Buffer {
  const facts = new Int32Array(words.length * 2);
  const weights = new Float64Array(words.length);
  for (const [at, part] of words.entries()) {
    facts[at] = part.letters;
    facts[words.length + at] = shapeOf(part);
    weights[at] = part.weight;
  }
  return Buffer.concat([Buffer.from(facts.buffer), Buffer.from(weights.buffer)]);
}

function shapeOf({ text, folded, kind, script, origin, groups }: NamePart): number {
  const isPlain = kind === 'name' && script === 'latin' && origin === '' && groups.length === 0;
  const written = text === folded ? 0 : text.length;
  return (
    Math.min(LENGTH_MASK, folded.length) |
    (Math.min(LENGTH_MASK, written) << LENGTH_BITS) |
    ((text.charCodeAt(0) & FIRST_MASK) << FIRST_SHIFT) |
    (KINDS.indexOf(kind) << KIND_SHIFT) |
    // A word that keeps its own letters is never treated as Latin.
    ((origin === '' ? SCRIPTS.indexOf(script) : Math.max(1, SCRIPTS.indexOf(script))) << SCRIPT_SHIFT) |
    (isPlain ? PLAIN : 0)
  );
}

/** Returns whether a word of a query and a word of this shape may be two spellings of one Chinese name. */
const isOtherSpelling = (asked: AskedWord, shape: number): boolean =>
  asked.isChinese && mayBeWade(asked.part.text.charCodeAt(0), (shape >>> FIRST_SHIFT) & FIRST_MASK);

export class WordFacts {
  readonly weights: Float64Array;
  private readonly cells: Int32Array;
  /** The cells as bytes. */
  private readonly spellings: Uint8Array;
  private readonly texts: Uint8Array;
  private search = 0;
  /** The cost of the edits of the folded spellings that the last check computed; infinite if there is none. */
  private cost = Number.POSITIVE_INFINITY;

  /**
   * @param ends The end of the text of each word.
   * @param texts As `format.ts` describes them.
   * @param facts The bytes of the facts of the words.
   */
  constructor(ends: Int32Array, texts: Uint8Array, facts: Uint8Array) {
    const words = ends.length;
    const own = new Uint8Array(facts);
    const stored = new Int32Array(own.buffer, 0, words * 2);
    this.weights = new Float64Array(own.buffer, words * 8, words);
    this.texts = texts;
    this.cells = new Int32Array(words * CELLS);
    this.spellings = new Uint8Array(this.cells.buffer);
    for (let word = 0; word < words; word++) {
      const cell = word * CELLS;
      this.cells[cell + LETTERS] = stored[word] as number;
      this.cells[cell + SHAPE] = cellShapeOf(stored[words + word] as number);
      const start = (word === 0 ? 0 : (ends[word - 1] as number)) + PREFIX;
      this.cells[cell + START] = start;
      const shape = stored[words + word] as number;
      if (((shape >>> SCRIPT_SHIFT) & SCRIPT_MASK) !== LATIN) continue;
      const written = (shape >>> LENGTH_BITS) & LENGTH_MASK;
      const from = written === 0 ? start : start + written + 1;
      const length = Math.min(shape & LENGTH_MASK, SPELLING_BYTES);
      for (let at = 0; at < length; at++)
        this.spellings[word * CELL_BYTES + SPELLING + at] = texts[from + at] as number;
    }
  }

  /** Begins a search for the words that are similar to a part: each word is met once. */
  begin(): void {
    this.search++;
  }

  /** Returns whether a word of a query and a word are compared by their letters alone. */
  private isComparable(asked: AskedWord, shape: number): boolean {
    return asked.isSpelled && (shape & SPELLED) !== 0 && (shape & blockedBy(asked)) === 0;
  }

  /** The position of the kind of a word in `KINDS`. */
  kindOf(word: number): number {
    return ((this.cells[word * CELLS + SHAPE] as number) >>> KIND_SHIFT) & KIND_MASK;
  }

  /** The position of the script of a word in `SCRIPTS`. */
  scriptOf(word: number): number {
    return ((this.cells[word * CELLS + SHAPE] as number) >>> SCRIPT_SHIFT) & SCRIPT_MASK;
  }

  /** Whether a word is in Latin letters. */
  isLatin(word: number): boolean {
    return this.scriptOf(word) === LATIN;
  }

  /** Where `OwnWords` has the reading of a word that is not in Latin letters; 0 until it is set. */
  readingPlace(word: number): number {
    return this.cells[word * CELLS + READING] as number;
  }

  setReadingPlace(word: number, place: number): void {
    this.cells[word * CELLS + READING] = place;
  }

  lettersOf(word: number): number {
    return this.cells[word * CELLS + LETTERS] as number;
  }

  /** The length of the folded spelling. */
  heardLength(word: number): number {
    return (this.cells[word * CELLS + SHAPE] as number) & LENGTH_MASK;
  }

  /** The length of the spelling as written. */
  textLength(word: number): number {
    const shape = this.cells[word * CELLS + SHAPE] as number;
    return (shape >>> LENGTH_BITS) & LENGTH_MASK || shape & LENGTH_MASK;
  }

  /** The letters of the spelling as written, `a` as bit 0; other characters are bit 26. */
  textLettersOf(word: number): number {
    const cell = word * CELLS;
    const written = ((this.cells[cell + SHAPE] as number) >>> LENGTH_BITS) & LENGTH_MASK;
    if (written === 0) return this.cells[cell + LETTERS] as number;
    const start = this.cells[cell + START] as number;
    return letterSetOf(this.texts, start, start + written);
  }

  firstLetter(word: number): number {
    return ((this.cells[word * CELLS + SHAPE] as number) >>> FIRST_SHIFT) & FIRST_MASK;
  }

  /** Returns whether the present search meets the word for the first time. */
  isNew(word: number): boolean {
    const cell = word * CELLS;
    if (this.cells[cell] === this.search) return false;
    this.cells[cell] = this.search;
    return true;
  }

  /** Returns false if the word is certainly not similar enough to be useful. */
  mayBeUseful(asked: AskedWord, word: number): boolean {
    const { cells } = this;
    const cell = word * CELLS;
    this.cost = Number.POSITIVE_INFINITY;
    const shape = cells[cell + SHAPE] as number;
    if (!this.isComparable(asked, shape)) return true;
    const { part } = asked;
    const { folded, text } = part;
    if (isOtherSpelling(asked, shape)) return true;
    const heard = shape & LENGTH_MASK;
    const written = (shape >>> LENGTH_BITS) & LENGTH_MASK;
    const start = cells[cell + START] as number;
    const longer = Math.max(heard, folded.length);
    const most = Math.max(ONE_EDIT_MOST, (1 - LEAST_USEFUL) * (EDIT_SCALE * longer + 0.5)) + ROUNDING;
    if (
      Math.abs(heard - folded.length) * GAP_LEAST <= most &&
      leastEdits(part.letters, cells[cell + LETTERS] as number) <= most
    ) {
      const cost = this.costOf(asked, word, heard, most);
      if (cost <= most) {
        this.cost = cost;
        return true;
      }
    }
    // An error in a digraph changes the sound by more than one letter.
    const length = written === 0 ? heard : written;
    if (Math.abs(length - text.length) > 1 || (written === 0 && text === folded)) return false;
    const end = start + length;
    // One letter changes at most one letter of each word, which most words rule out.
    if (
      text.length <= MASKED_MOST &&
      !mayCost(asked.textMasks, text.length, this.texts, start, end, ONE_EDIT_MOST)
    )
      return false;
    return weighedEditsOf(asked.text, text.length, this.texts, start, end, ONE_EDIT_MOST) <= ONE_EDIT_MOST;
  }

  /** Compares a word that `mayBeUseful` has just checked: what `meet` returns for it, or null if only `meet` can compare it. */
  meetChecked(asked: AskedWord, word: number): Meeting | null {
    return this.cost === Number.POSITIVE_INFINITY ? null : this.byCost(asked, word, this.cost);
  }

  /** Returns whether the letters of a word of a query and of a word rule out that they match. It costs less than looking up a meeting. */
  isUnlike(asked: AskedWord, word: number): boolean {
    const { cells } = this;
    const cell = word * CELLS;
    const shape = cells[cell + SHAPE] as number;
    if (!this.isComparable(asked, shape)) return false;
    const heard = shape & LENGTH_MASK;
    const { part } = asked;
    const { folded, text } = part;
    const longer = Math.max(heard, folded.length);
    if (leastEdits(part.letters, cells[cell + LETTERS] as number) <= costMost(longer) + ROUNDING)
      return false;
    if (isOtherSpelling(asked, shape)) return false;
    const written = (shape >>> LENGTH_BITS) & LENGTH_MASK;
    // The letters of one edit cost less: only the spellings as written may still be one edit apart, if they are others.
    if (written === 0 && text === folded) return true;
    const start = cells[cell + START] as number;
    return !isOneEditOf(text, this.texts, start, start + (written === 0 ? heard : written));
  }

  /**
   * Compares a word of a query with a word that is not unlike it: what `meet` of similarity.ts returns if the words match, a meeting of
   * a lower similarity if they do not, or null if only that can compare them.
   */
  meet(asked: AskedWord, word: number): Meeting | null {
    const { cells } = this;
    const cell = word * CELLS;
    const shape = cells[cell + SHAPE] as number;
    if (!this.isComparable(asked, shape)) return meetUnspelled(asked, shape);
    const { part } = asked;
    const { folded } = part;
    if (isOtherSpelling(asked, shape)) return null;
    const heard = shape & LENGTH_MASK;
    const longer = Math.max(heard, folded.length);
    const cost = this.costOf(asked, word, heard, costMost(longer));
    return this.byCost(asked, word, cost);
  }

  /** Returns the cost of the edits of the folded spellings of a word of a query and of a word. */
  private costOf(asked: AskedWord, word: number, heard: number, most: number): number {
    const { folded } = asked;
    const { length } = asked.part.folded;
    if (heard <= SPELLING_BYTES) {
      const from = word * CELL_BYTES + SPELLING;
      // Most words are ruled out by the number of edits, which costs less than their weights.
      if (length <= MASKED_MOST && !mayCost(asked.masks, length, this.spellings, from, from + heard, most))
        return Number.POSITIVE_INFINITY;
      return weighedEditsOf(folded, length, this.spellings, from, from + heard, most);
    }
    const written = ((this.cells[word * CELLS + SHAPE] as number) >>> LENGTH_BITS) & LENGTH_MASK;
    const start = this.cells[word * CELLS + START] as number;
    const from = written === 0 ? start : start + written + 1;
    return weighedEditsOf(folded, length, this.texts, from, from + heard, most);
  }

  /** Returns whether a word is one edit away from a part, as heard or as written. */
  isOneEdit(part: NamePart, word: number): boolean {
    const cell = word * CELLS;
    const shape = this.cells[cell + SHAPE] as number;
    const heard = shape & LENGTH_MASK;
    const written = (shape >>> LENGTH_BITS) & LENGTH_MASK;
    const start = this.cells[cell + START] as number;
    const foldedStart = written === 0 ? start : start + written + 1;
    return (
      isOneEditOf(part.folded, this.texts, foldedStart, foldedStart + heard) ||
      isOneEditOf(part.text, this.texts, start, start + (written === 0 ? heard : written))
    );
  }

  /** Compares a plain word, of which the cost of the edits of the folded spellings is known. The steps are those of `meet`. */
  private byCost(asked: AskedWord, word: number, cost: number): Meeting | null {
    const { cells, texts } = this;
    const cell = word * CELLS;
    const { text, folded } = asked.part;
    const shape = cells[cell + SHAPE] as number;
    const heard = shape & LENGTH_MASK;
    const written = (shape >>> LENGTH_BITS) & LENGTH_MASK;
    const start = cells[cell + START] as number;
    const end = start + (written === 0 ? heard : written);
    if (heard > LETTERS_COUNTED || folded.length > LETTERS_COUNTED) return null;
    if (cost === 0) return isSame(text, texts, start, end) ? EXACT : SAME_SOUND;
    // The same word may sound otherwise if it is of another kind: only a name may be a misspelt `Abdul`.
    if ((written !== 0 || text !== folded) && isSame(text, texts, start, end)) return EXACT;
    if (
      text.charCodeAt(0) === texts[start] &&
      text.charCodeAt(1) === texts[start + 1] &&
      mayBePatronymic(text.charCodeAt(text.length - 1), texts[end - 1] as number)
    )
      return null;
    let alike = likenessByCost(Math.max(heard, folded.length), Math.min(heard, folded.length), cost);
    if (alike < 0) return null;
    // A spelling as written may be more similar than the folded one, if they differ.
    if (
      alike <= ONE_EDIT &&
      (written !== 0 || text !== folded) &&
      text.length >= 3 &&
      isOneEditOf(text, texts, start, end)
    ) {
      const longer = Math.max(text.length, end - start);
      const edits = weighedEditsOf(asked.text, text.length, texts, start, end, costMost(longer));
      const likeWritten = likenessByCost(longer, Math.min(text.length, end - start), edits);
      if (likeWritten < 0) return null;
      alike = Math.max(alike, likeWritten);
    }
    return alike === 0 ? NO_MEETING : { kind: 'spelling', similarity: alike };
  }
}

function isSame(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== text.length) return false;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[from + at]) return false;
  return true;
}
