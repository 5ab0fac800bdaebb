/**
 * Selects the names that are compared with a query: those with exactly its words, and those that share rare or similar words with it. A name
 * is left out if no comparison could lift it to the default threshold.
 */
import type { NamePart } from '../name-parts.ts';
import type { ParsedName } from '../parse.ts';
import { LEAST_SIMILARITY, meet } from '../similarity.ts';
import { type AskedWord, type AskedWords, type Hits, NO_HITS } from './asked-words.ts';
import { rankShare, rarityOf } from './build.ts';
import { ALWAYS_OPEN, CLASS_MASK, CLASS_SHIFT, keyHash, NAME_WORDS, POSTING_CLASS } from './format.ts';
import { FoundWords } from './found-words.ts';
import type { HashTable } from './hash-table.ts';
import { consonantJoinsOf, joinsOf, queryHashesOf, wholeKey } from './keys.ts';
import type { OwnWords } from './own-words.ts';
import { type Bound, Tally } from './tally.ts';
import { LEAST_USEFUL, type WordFacts } from './word-facts.ts';

/** Maximum number of names that are compared part by part, best candidates first. */
const COMPARED_MOST = 128;
/**
 * The same for a query in a script that writes no vowels: its words read as many Latin words (أيمن as Ayman, Amin, Iman), so more names look
 * promising. With a quarter of it, Ayman al-Zawahiri in Arabic letters was not compared with his entries on the real lists.
 */
const COMPARED_WITHOUT_VOWELS_MOST = 256;
/** Maximum number of names that are compared only if adjacent words of theirs or of the query may be one word. */
const JOINED_COMPARED_MOST = 32;
/** Maximum number of postings that make names candidates for one query; rarer words go first. */
const POSTINGS_MOST = 16_000;
/** Maximum number of words of one key that are checked. */
const KEY_WORDS_MOST = 150;
const JOINED_NAMES_MOST = 200;
/** Maximum number of adjacent parts of a query that are tried as one word. */
const JOINED_MOST = 4;
/**
 * Words that gain less than this share of the most similar word of a part make no name promising: if all words of a name gain less, its rank is
 * below `RANK_LEAST`.
 */
const WEAK_SHARE = 0.25;
/** Minimum rank: a name that matches less of the query, by the weight of its words, is far below any threshold. */
const RANK_LEAST = 0.4;
/** Minimum share of the weight of a query or of a name that matches. */
const SHARE_LEAST = 0.3;
/** Maximum number of names with exactly the words of the query. They are always compared; on present lists, at most 14 share one. */
const WHOLE_NAMES_MOST = 1_000;
/** Words of a name that are read to look for words of the query in it: the usual number. */
const WORDS_READ = 4;

/** Most words are those of fewer names. */
const RARITIES_KEPT = 256;

/** A part of a query with the words that match it. */
interface Plan {
  readonly part: NamePart;
  readonly hits: Hits;
  /** The highest gain. */
  readonly strongest: number;
}

/** The values of an index that a search reads, as `format.ts` describes them. */
export interface SearchedIndex {
  readonly words: number;
  readonly names: number;
  /** The end of the text of each word, then the end of its postings. */
  readonly wordEnds: Int32Array;
  readonly facts: WordFacts;
  readonly own: OwnWords;
  readonly asked: AskedWords;
  readonly postings: Int32Array;
  readonly rows: Int32Array;
  readonly rowWeights: Float32Array;
  readonly nameWords: Int32Array;
  readonly keys: HashTable;
  readonly joins: HashTable;
  part(word: number): NamePart;
}

/** The names to compare with a query, the most promising first. */
export interface Candidates {
  readonly names: readonly number[];
  /** Names that reach the default threshold only if adjacent words, of theirs or of the query, are one word. */
  readonly joined: readonly number[];
}

export class CandidateSearch {
  private readonly index: SearchedIndex;
  private readonly tally: Tally;
  /** The class of each name: its bound, as `format.ts` describes it. */
  private readonly classes: Uint8Array;
  /** The search and position of the hit of each word, for the part whose names are looked for among those found. */
  private readonly marks: Int32Array;
  private mark = 0;
  /** What `rarityOf` returns for the numbers of names that most words have; 0 until it is asked for. */
  private readonly rarities = new Float64Array(RARITIES_KEPT);
  private readonly found = new FoundWords();
  /** The words that the keys of a part lead to. */
  private met = new Int32Array(1 << 11);

  constructor(index: SearchedIndex) {
    this.index = index;
    const { names, rows, words } = index;
    this.classes = new Uint8Array(names);
    for (let name = 0; name < names; name++)
      this.classes[name] = ((rows[name * NAME_WORDS + 1] as number) >>> CLASS_SHIFT) & CLASS_MASK;
    this.tally = new Tally(index.rowWeights, this.classes);
    this.marks = new Int32Array(words);
  }

  /**
   * Returns the names to compare.
   *
   * @param isBounded Whether names below the default threshold may be left out.
   */
  candidates(asked: ParsedName, isBounded: boolean): Candidates {
    const { tally } = this;
    const plans = this.plansOf(asked);
    let total = 0;
    for (const { part, hits, strongest } of plans) {
      if (part.kind !== 'segment')
        total += rankShare(part) * Math.max(strongest, hits.words.length === 0 ? part.weight : 0);
    }
    const bound = boundOf(asked, plans);
    this.addJoined(asked, plans.length, Math.max(1, total * 0.8));
    this.addHits(plans, isBounded ? bound : null);
    const chosen = new Set<number>();
    this.index.joins.visit(keyHash(wholeKey(asked.parts)), WHOLE_NAMES_MOST, (name) => chosen.add(name));
    const most = asked.parts.some(({ script }) => script === 'abjad')
      ? COMPARED_WITHOUT_VOWELS_MOST
      : COMPARED_MOST;
    const found = tally.best({
      total,
      most,
      mostBeyond: isBounded ? JOINED_COMPARED_MOST : most,
      least: RANK_LEAST,
      leastShare: SHARE_LEAST,
      bound,
    });
    for (const name of found.within) chosen.add(name);
    return { names: [...chosen], joined: found.beyond };
  }

  private plansOf(asked: ParsedName): Plan[] {
    const plans: Plan[] = [];
    const add = (part: NamePart): void => {
      const hits = part.weight < 0.15 && asked.parts.length > 1 ? NO_HITS : this.hits(part);
      const least = Math.min(0.1, part.weight / 4);
      // The first hit has the highest gain.
      const strongest = hits.words.length === 0 ? least : Math.max(least, hits.gains[0] as number);
      plans.push({ part, hits, strongest });
    };
    for (const part of asked.parts) add(part);
    for (const { part } of asked.segments) add(part);
    return plans.sort((a, b) => a.hits.names - b.hits.names);
  }

  /**
   * Adds the gains of single words: first those of similar words, which alone can make a name promising, then those of the other
   * words, only for names that a similar word has found.
   */
  private addHits(plans: readonly Plan[], bound: Bound | null): void {
    let followed = 0;
    let earlier = 0;
    let left = 0;
    for (const { hits } of plans) if (hits.words.length > 0) left++;
    for (const [at, { part, hits, strongest }] of plans.entries()) {
      if (hits.words.length > 0) {
        const weak = firstBelow(hits.gains, WEAK_SHARE * strongest);
        // A name without the words of the earlier parts can have at most as many names as parts are left.
        const most = bound === null || earlier === 0 ? CLASS_MASK : left + bound.initials;
        followed += this.follow(hits, weak, at, most, POSTINGS_MOST - followed);
        // A part with weak words, or with words that were not followed, may be in any name.
        if (weak < hits.words.length || followed >= POSTINGS_MOST) continue;
        left--;
        if (part.kind === 'name') earlier++;
      }
    }
    for (const [at, { hits, strongest }] of plans.entries()) {
      const weak = firstBelow(hits.gains, WEAK_SHARE * strongest);
      if (weak < hits.words.length) this.addFound(hits, weak, hits.words.length, at, 0);
    }
  }

  /**
   * Adds the gains of the first words of a part: to all of their names up to a class, and to the others that were found before. Returns the
   * number of postings that were followed.
   */
  private follow(hits: Hits, words: number, at: number, most: number, budget: number): number {
    const bit = Tally.bitOf(at);
    let followed = 0;
    let hit = 0;
    const left: number[] = [];
    // When the budget is spent, common words only add to names that a rarer word has found.
    for (; hit < words && followed < budget; hit++) {
      const start = hits.starts[hit] as number;
      const end = this.classEnd(start, hits.ends[hit] as number, most);
      this.tally.addAll(this.index.postings, start, end, hits.gains[hit] as number, bit, true);
      followed += end - start;
      left.push(end);
    }
    if (hit === words && most === CLASS_MASK) return followed;
    const least = hit < words ? 0 : most + 1;
    for (; hit < words; hit++) left.push(hits.starts[hit] as number);
    this.addFound({ ...hits, starts: left }, 0, words, at, least);
    return followed;
  }

  /**
   * Adds the gains of words of a part to the names that were found before.
   *
   * @param hits The postings that are left: those of names that may not have the gain yet.
   * @param least The least class of the names that may not have the gain yet.
   */
  private addFound(hits: Hits, from: number, to: number, at: number, least: number): void {
    const { tally, index } = this;
    const bit = Tally.bitOf(at);
    let postings = 0;
    for (let hit = from; hit < to; hit++)
      postings += (hits.ends[hit] as number) - (hits.starts[hit] as number);
    if (postings <= tally.count * WORDS_READ) {
      for (let hit = from; hit < to; hit++) {
        const [start, end] = [hits.starts[hit] as number, hits.ends[hit] as number];
        tally.addAll(index.postings, start, end, hits.gains[hit] as number, bit, false);
      }
      return;
    }
    const { marks, classes } = this;
    const base = this.nextMarks(hits, from, to);
    const { nameWords, rows } = index;
    tally.addKnown(bit, (name) => {
      if ((classes[name] as number) < least) return 0;
      const end = rows[name * NAME_WORDS + 2] as number;
      let first = to;
      for (let word = wordsStart(rows, name); word < end; word++) {
        const hit = (marks[nameWords[word] as number] as number) - base;
        if (hit >= 0 && hit < first) first = hit;
      }
      return first === to ? 0 : (hits.gains[first] as number);
    });
  }

  /** Marks words with the positions of their hits, which are counted from the returned number on. */
  private nextMarks(hits: Hits, from: number, to: number): number {
    if (this.mark + to >= MARKS_MOST) {
      this.marks.fill(0);
      this.mark = 0;
    }
    const base = this.mark + 1;
    for (let hit = to - 1; hit >= from; hit--) this.marks[hits.words[hit] as number] = base + hit;
    this.mark += to;
    return base;
  }

  /** Returns the end of the postings whose names have at most a class. */
  private classEnd(start: number, end: number, most: number): number {
    if (most >= CLASS_MASK) return end;
    const { postings } = this.index;
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((postings[middle] as number) >>> POSTING_CLASS <= most) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds the names that have adjacent words of the query as one word, or one word of the query as several. */
  private addJoined(asked: ParsedName, parts: number, gain: number): void {
    const bit = Tally.bitOf(parts);
    const { tally, index } = this;
    const addNames = (key: string): void =>
      index.joins.visit(keyHash(key), JOINED_NAMES_MOST, (name) => tally.add(name, gain, bit));
    const addWords = (key: string, most: number): void =>
      index.keys.visit(keyHash(key), most, (word) => {
        const start = this.postingStart(word);
        const end = Math.min(this.postingEnd(word), start + JOINED_NAMES_MOST);
        tally.addAll(index.postings, start, end, gain, bit, true);
      });
    const joins = joinsOf(asked.parts, JOINED_MOST);
    for (const text of joins) addNames(text);
    for (const part of asked.parts) addNames(part.folded);
    for (const key of consonantJoinsOf(asked.parts)) addWords(key, KEY_WORDS_MOST);
    for (const part of asked.parts) {
      if (part.script === 'latin' && part.kind === 'name' && part.consonants.length >= 3)
        addNames(`'${part.consonants}`);
    }
    for (const text of joins) addWords(`:${text}`, 8);
  }

  /** Returns the words of the index that match a part of the query. */
  private hits(part: NamePart): Hits {
    const asked = this.index.asked.of(part);
    return asked.hits ?? this.index.asked.keepHits(asked, this.findHits(asked));
  }

  private findHits(asked: AskedWord): Hits {
    const { index } = this;
    const { facts, keys } = index;
    const { part } = asked;
    facts.begin();
    // The words are anywhere in memory: reading their facts one after the other waits for several at once.
    let met = 0;
    for (const hash of queryHashesOf(part)) {
      const first = keys.placeOf(hash);
      if (met + KEY_WORDS_MOST > this.met.length) this.met = wider(this.met);
      for (let place = first; place < first + KEY_WORDS_MOST; place++) {
        const word = keys.positionAt(place, hash);
        if (word < 0) break;
        if (facts.isNew(word)) this.met[met++] = word;
      }
    }
    const found = this.found.begin();
    let all = 0;
    for (let at = 0; at < met; at++) {
      const word = this.met[at] as number;
      if (facts.mayBeUseful(asked, word)) all += this.checkWord(asked, word);
    }
    const { words, gains } = found.sorted();
    const starts: number[] = [];
    const ends: number[] = [];
    for (const word of words) {
      starts.push(this.postingStart(word));
      ends.push(this.postingEnd(word));
    }
    return { words, gains, starts, ends, names: all };
  }

  /** Adds a word to the words found if it is similar enough. Returns the number of its names, or 0. */
  private checkWord(asked: AskedWord, word: number): number {
    const { index } = this;
    const { facts } = index;
    const { part } = asked;
    const { asked: words } = index;
    const meeting =
      facts.meetChecked(asked, word) ??
      (asked.isSpelled
        ? facts.isLatin(word)
          ? facts.meet(asked, word)
          : index.own.meet(asked, word)
        : null) ??
      words.meetingWith(asked, word) ??
      words.keep(asked, word, meet(part, index.part(word)));
    const { similarity } = meeting;
    // An error in one letter of a short word may leave less.
    if (similarity < LEAST_USEFUL && (similarity < LEAST_SIMILARITY || !facts.isOneEdit(part, word)))
      return 0;
    const names = this.postingEnd(word) - this.postingStart(word);
    const weight = ((part.weight + (facts.weights[word] as number)) / 2) * this.rarityOf(names);
    this.found.add(word, similarity * similarity * weight);
    return names;
  }

  private rarityOf(names: number): number {
    if (names >= RARITIES_KEPT) return rarityOf(names, this.index.names);
    if (this.rarities[names] === 0) this.rarities[names] = rarityOf(names, this.index.names);
    return this.rarities[names] as number;
  }

  private postingEnd(word: number): number {
    return this.index.wordEnds[this.index.words + word] as number;
  }

  private postingStart(word: number): number {
    return word === 0 ? 0 : (this.index.wordEnds[this.index.words + word - 1] as number);
  }
}

function wider(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const twice = new Int32Array(numbers.length * 2);
  twice.set(numbers);
  return twice;
}

/** Marks are positive 32-bit numbers. */
const MARKS_MOST = 2 ** 31 - 1;

/** Returns the position of the first word of a name. */
export const wordsStart = (rows: Int32Array, name: number): number =>
  name === 0 ? 0 : (rows[(name - 1) * NAME_WORDS + 2] as number);

/**
 * Returns what a name needs to reach the default threshold, which parts of the query it has; null for a part in another
 * script. If a name of the query and one of the listed name have no partner, their score is at most 0.5.
 */
function boundOf(asked: ParsedName, plans: readonly Plan[]): Bound | null {
  if (asked.segments.length > 0) return null;
  let needed = 0;
  let initials = 0;
  const weights: number[] = [];
  for (const [at, { part }] of plans.entries()) {
    // Keys do not find all words of its script with one wrong letter.
    if (part.origin !== '') return null;
    weights.push(part.weight);
    if (part.kind === 'name') needed |= Tally.bitOf(at);
    else if (part.kind === 'initial') initials++;
  }
  return { needed, joined: Tally.bitOf(plans.length), initials, open: ALWAYS_OPEN, weights };
}

/** Returns the first position with a lower gain. */
function firstBelow(gains: readonly number[], least: number): number {
  let at = 0;
  while (at < gains.length && (gains[at] as number) >= least) at++;
  return at;
}
