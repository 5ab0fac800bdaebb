/**
 * Facts about the words of an index by which a word of a query is ruled out: its letters, its lengths, and where its spellings are in the
 * texts. They lie beside each other in memory, because a search reads those of a hundred words that are anywhere; a word that is ruled out
 * is never decoded.
 */
import { leastEdits, weighedEditsOf } from '../edits.ts';
import type { NamePart } from '../parse.ts';
import { EDIT_SCALE, mayBeWade } from '../similarity.ts';
import { vocabulary } from '../vocabulary.ts';
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

/** Cells of a word: the last search that met it, the letters of its sound, its lengths and first letter, and the start of its text. */
const CELLS = 4;
const LETTERS = 1;
const PACKED = 2;
const START = 3;
/** In place of the lengths: the word is no name in Latin letters, or its meaning counts. */
const OTHER = -1;
const LENGTH_BITS = 8;
const LENGTH_MASK = 0xff;
const FIRST_SHIFT = 16;

const TAB = 9;
const SPACE = 32;
const LETTER_A = 97;
const DIGIT_BIT = 26;
const ZERO = 48;
/** The first two bytes of a word are its kind and its script. */
const PREFIX = 2;

export class WordFacts {
  private readonly cells: Int32Array;
  private readonly texts: Uint8Array;
  private search = 0;
  private text = '';
  private folded = '';
  private letters = 0;
  /** Whether words can be ruled out by their letters. */
  private isPlain = false;

  /**
   * @param ends The end of the text of each word.
   * @param texts As `format.ts` describes them.
   */
  constructor(ends: Int32Array, texts: Uint8Array) {
    this.texts = texts;
    this.cells = new Int32Array(ends.length * CELLS);
    const nicknames = new Set([...vocabulary().nicknames.keys()].map(hashOf));
    for (let word = 0, start = 0; word < ends.length; word++) {
      const end = ends[word] as number;
      this.note(word, start, end, nicknames);
      start = end;
    }
  }

  /** Begins a search for the words that are similar to a part. */
  begin(part: NamePart): void {
    this.search++;
    this.text = part.text;
    this.folded = part.folded;
    this.letters = part.letters;
    this.isPlain = part.origin === '' && part.kind !== 'number';
  }

  /** Returns false if the present search has met the word before, or if the word is certainly not similar enough to be useful. */
  mayBeUseful(word: number): boolean {
    const { cells } = this;
    const cell = word * CELLS;
    if (cells[cell] === this.search) return false;
    cells[cell] = this.search;
    const packed = cells[cell + PACKED] as number;
    if (!this.isPlain || packed === OTHER) return true;
    if (mayBeWade(this.text.charCodeAt(0), packed >>> FIRST_SHIFT)) return true;
    const heard = packed & LENGTH_MASK;
    const written = (packed >>> LENGTH_BITS) & LENGTH_MASK;
    const start = cells[cell + START] as number;
    const { folded } = this;
    const longer = Math.max(heard, folded.length);
    const most = Math.max(ONE_EDIT_MOST, (1 - LEAST_USEFUL) * (EDIT_SCALE * longer + 0.5)) + ROUNDING;
    const foldedStart = written === 0 ? start : start + written + 1;
    if (
      Math.abs(heard - folded.length) * GAP_LEAST <= most &&
      leastEdits(this.letters, cells[cell + LETTERS] as number) <= most &&
      weighedEditsOf(folded, this.texts, foldedStart, foldedStart + heard, most) <= most
    )
      return true;
    // An error in a digraph changes the sound by more than one letter.
    const length = written === 0 ? heard : written;
    if (Math.abs(length - this.text.length) > 1 || (written === 0 && this.text === folded)) return false;
    return weighedEditsOf(this.text, this.texts, start, start + length, ONE_EDIT_MOST) <= ONE_EDIT_MOST;
  }

  private note(word: number, start: number, end: number, nicknames: ReadonlySet<number>): void {
    const { cells, texts } = this;
    const cell = word * CELLS;
    cells[cell + START] = start + PREFIX;
    cells[cell + PACKED] = OTHER;
    if (texts[start] !== NAME || texts[start + 1] !== LATIN) return;
    let space = -1;
    let hash = HASH_FROM;
    for (let at = start + PREFIX; at < end; at++) {
      const byte = texts[at] as number;
      if (byte === TAB) return;
      if (byte === SPACE) space = at;
      else if (space < 0) hash = hashNext(hash, byte);
    }
    // A word that may be in a group of given names is compared by its meaning.
    if (nicknames.has(hash)) return;
    const foldedStart = space < 0 ? start + PREFIX : space + 1;
    let letters = 0;
    for (let at = foldedStart; at < end; at++) {
      const code = (texts[at] as number) - LETTER_A;
      letters |= 1 << (code < 0 || code >= DIGIT_BIT ? DIGIT_BIT : code);
    }
    cells[cell + LETTERS] = letters;
    const written = space < 0 ? 0 : space - start - PREFIX;
    cells[cell + PACKED] =
      (end - foldedStart) | (written << LENGTH_BITS) | ((texts[start + PREFIX] as number) << FIRST_SHIFT);
  }
}

const NAME = ZERO + KINDS.indexOf('name');
const LATIN = ZERO + SCRIPTS.indexOf('latin');

const HASH_FROM = 0x811c9dc5 | 0;
const hashNext = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193);

function hashOf(text: string): number {
  let hash = HASH_FROM;
  for (let at = 0; at < text.length; at++) hash = hashNext(hash, text.charCodeAt(at));
  return hash;
}
