/** The words of queries with what is known about them in an index: the words that match, and how words of candidates compare with them. */
import type { NamePart } from '../parse.ts';
import type { Meeting } from '../similarity.ts';

/** The words of the index that match a part, by descending gain: similar and rare words first. */
export interface Hits {
  readonly words: Int32Array;
  readonly gains: Float64Array;
  /** Number of names that have the words. */
  readonly names: number;
}

export const NO_HITS: Hits = { words: new Int32Array(0), gains: new Float64Array(0), names: 0 };

/** Maximum number of meetings in the cache: about 40 bytes each with their words, so 32 MB. */
const MEETINGS_KEPT = 800_000;
/** Cost of a word without a meeting, in meetings. */
const WORD_COST = 4;

/** A word of a query. */
export class AskedWord {
  readonly part: NamePart;
  /** Whether words of the index can be ruled out by their letters. */
  readonly isSpelled: boolean;
  /** Whether only its spelling counts for words that are plain, as `word-facts.ts` describes them. */
  readonly isPlain: boolean;
  /** Null until the matching words are looked up. */
  hits: Hits | null = null;
  #size = 0;
  /** A table with open addressing: a word plus 1, or 0; and the meeting at the same place. Its length is a power of 2. */
  #words = NO_WORDS;
  #meetings: (Meeting | undefined)[] = [];

  readonly #count: Count;

  constructor(part: NamePart, count: Count) {
    this.part = part;
    this.#count = count;
    this.isSpelled = part.origin === '' && part.kind !== 'number';
    this.isPlain = part.origin === '' && part.kind === 'name' && part.script === 'latin';
  }

  /** Returns how a word of the index compares with this one, if that is known. */
  meetingWith(word: number): Meeting | undefined {
    const words = this.#words;
    const mask = words.length - 1;
    for (let at = placeOf(word) & mask; ; at = (at + 1) & mask) {
      const known = words[at];
      if (known === word + 1) return this.#meetings[at];
      if (known === 0) return undefined;
    }
  }

  /** Keeps a meeting that is not known yet, and returns it. */
  keep(word: number, meeting: Meeting): Meeting {
    if ((this.#size + 1) * 2 > this.#words.length) this.#grow();
    this.#put(word, meeting);
    this.#size++;
    this.#count.kept++;
    return meeting;
  }

  #put(word: number, meeting: Meeting): void {
    const words = this.#words;
    const mask = words.length - 1;
    let at = placeOf(word) & mask;
    while (words[at] !== 0) at = (at + 1) & mask;
    words[at] = word + 1;
    this.#meetings[at] = meeting;
  }

  #grow(): void {
    const [words, meetings] = [this.#words, this.#meetings];
    const length = Math.max(LEAST_PLACES, words.length * 2);
    this.#words = new Int32Array(length);
    this.#meetings = new Array<Meeting | undefined>(length).fill(undefined);
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as number;
      if (word !== 0) this.#put(word - 1, meetings[at] as Meeting);
    }
  }
}

/** An empty table: one place without a word. */
const NO_WORDS = new Int32Array(1);
const LEAST_PLACES = 32;
/** Spreads the numbers of words: 2 to the power of 32, divided by the golden ratio. Source: Knuth, The Art of Computer Programming, 6.4. */
const placeOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> 7;

/** Number of meetings in the cache. */
interface Count {
  kept: number;
}

/** The words of the last queries. */
export class AskedWords {
  private readonly words = new Map<NamePart, AskedWord>();
  private readonly count: Count = { kept: 0 };

  /** Returns the word of a part; equal parts of queries are usually one object. */
  of(part: NamePart): AskedWord {
    let asked = this.words.get(part);
    if (asked === undefined) {
      asked = new AskedWord(part, this.count);
      this.words.set(part, asked);
      this.count.kept += WORD_COST;
    }
    return asked;
  }

  /** Forgets all words if they have too many meetings. It is called between queries. */
  trim(): void {
    if (this.count.kept <= MEETINGS_KEPT) return;
    this.words.clear();
    this.count.kept = 0;
  }
}
