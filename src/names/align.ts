/** Aligns the parts of two names: which part of one is which of the other, each at most once. */

import { isOneEdit, jaroWinkler } from './edits.ts';
import { gluedPart, type NamePart, PARTS_MAX } from './name-parts.ts';
import type { ParsedName } from './parse.ts';
import { foreignReadingOf, mayRead, readingOf } from './readings/pattern.ts';
import { LEAST_SIMILARITY, type Meeting, mayMatch, mayMatchLetters, meet, NO_MEETING } from './similarity.ts';

export interface Alignment {
  /** Positions of parts of the left and the right name, and how they match. */
  readonly pairs: readonly AlignedPair[];
  readonly leftOver: readonly number[];
  readonly rightOver: readonly number[];
}

export interface AlignedPair {
  readonly left: readonly number[];
  readonly right: readonly number[];
  readonly meeting: Meeting;
  readonly weight: number;
}

/** Maximum number of pairs of words in the cache of meetings: about 70 bytes each, so 20 MB. */
const MEETINGS_KEPT = 300_000;

/**
 * Caches how parts of queries match parts of listed names: the names of an index share their words, and so do queries. A word is asked and
 * listed as the object that the parser and the index keep for it.
 */
export class Meetings {
  private readonly rows = new Map<NamePart, Map<NamePart, Meeting>>();
  private readonly likenesses = new Map<NamePart, Map<NamePart, number>>();
  private lastAsked: NamePart | null = null;
  private lastRow = new Map<NamePart, Meeting>();
  private kept = 0;

  meet(asked: NamePart, listed: NamePart): Meeting {
    const row = this.rowOf(asked);
    let known = row.get(listed);
    if (known === undefined) {
      known = meet(asked, listed);
      row.set(listed, known);
      this.kept++;
    }
    return known;
  }

  /** Returns how similar the two parts look, regardless of their weight. */
  near(asked: NamePart, listed: NamePart): number {
    let row = this.likenesses.get(asked);
    if (row === undefined) {
      row = new Map();
      this.likenesses.set(asked, row);
    }
    let known = row.get(listed);
    if (known === undefined) {
      known = likeness(asked, listed, this.meet(asked, listed));
      row.set(listed, known);
      this.kept++;
    }
    return known;
  }

  /** Forgets all meetings if they are too many. It is called between queries. */
  trim(): void {
    if (this.kept > MEETINGS_KEPT) this.clear();
  }

  clear(): void {
    this.rows.clear();
    this.likenesses.clear();
    this.lastAsked = null;
    this.kept = 0;
  }

  private rowOf(asked: NamePart): Map<NamePart, Meeting> {
    if (asked === this.lastAsked) return this.lastRow;
    let row = this.rows.get(asked);
    if (row === undefined) {
      row = new Map();
      this.rows.set(asked, row);
    }
    this.lastAsked = asked;
    this.lastRow = row;
    return row;
  }
}

/** Parts of two names that may be a pair. */
export interface Edge {
  readonly left: number;
  readonly leftCount: number;
  readonly right: number;
  readonly rightCount: number;
  readonly meeting: Meeting;
  readonly weight: number;
  readonly rank: number;
}

/** Minimum similarity of a word and adjacent words that are written as one. */
export const GLUED_LEAST = 0.86;
/** `Abolfazl` is two words, and with one wrong letter in `Abol` one: the halves joined may then be one edit away. */
const ABU = /^ab(?:[ou]{1,2}|ua)l?$/;
const ABU_LEAST = 0.75;
/** Maximum number of adjacent words that are written as one, and of their letters. */
export const JOINED_MOST = 4;
export const JOINED_LETTERS_MOST = 30;
/** Maximum difference in letters of a word and adjacent words that are written as one. */
export const GLUED_APART = 2;
/** Maximum number of letters that joined words in their own script have more than the Latin word that spells them. */
export const READ_APART = 1;

/** Pairs the parts of two names greedily, the best pair first. */
export const align = (left: ParsedName, right: ParsedName, meetings = new Meetings()): Alignment =>
  pairUp(left, right, edgesOf(left, right, meetings));

/** How each part of one name compares with each part of another: part `j` of the right name is at `i * PARTS_MAX + j`. */
export type MeetingTable = readonly Meeting[];

/**
 * Returns all pairs of parts, single or joined, that are similar.
 *
 * @param known How the single parts compare, if the caller knows it.
 * @param isApart Whether it is known that no adjacent words are written as one word of the other name.
 */
export function edgesOf(
  left: ParsedName,
  right: ParsedName,
  meetings: Meetings,
  known: MeetingTable | null = null,
  isApart = false,
): Edge[] {
  const edges: Edge[] = [];
  const a = left.parts;
  const b = right.parts;
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      const x = a[i] as NamePart;
      const y = b[j] as NamePart;
      const meeting = known === null ? meetSingle(x, y, meetings) : (known[i * PARTS_MAX + j] as Meeting);
      if (meeting.similarity < LEAST_SIMILARITY) continue;
      edges.push(edge(i, 1, j, 1, meeting, (x.weight + y.weight) / 2, a.length, b.length));
    }
  }
  if (!isApart && !isWhole(edges, a.length, b.length)) {
    const exactLeft = new Uint8Array(a.length);
    const exactRight = new Uint8Array(b.length);
    for (const each of edges) {
      if (each.meeting.similarity < 1) continue;
      exactLeft[each.left] = 1;
      exactRight[each.right] = 1;
    }
    glue(a, b, exactLeft, exactRight, false, edges);
    glue(b, a, exactRight, exactLeft, true, edges);
  }
  if (left.segments.length > 0) joinSegments(left, right, false, edges, meetings);
  if (right.segments.length > 0) joinSegments(right, left, true, edges, meetings);
  return edges;
}

/** Compares two single parts. Most pairs of parts have nothing in common, which their letters show. */
const meetSingle = (x: NamePart, y: NamePart, meetings: Meetings): Meeting =>
  x.kind === 'name' && y.kind === 'name' && x.groups.length === 0 && !mayMatch(x, y, LEAST_SIMILARITY)
    ? NO_MEETING
    : meetings.meet(x, y);

const usedLeft = new Uint8Array(PARTS_MAX);
const usedRight = new Uint8Array(PARTS_MAX);

/** Chooses pairs greedily, the best first. */
export function pairUp(left: ParsedName, right: ParsedName, edges: Edge[]): Alignment {
  sortBy(edges, byRank);
  usedLeft.fill(0, 0, left.parts.length);
  usedRight.fill(0, 0, right.parts.length);
  const pairs: AlignedPair[] = [];
  for (const each of edges) {
    if (isUsed(usedLeft, each.left, each.leftCount) || isUsed(usedRight, each.right, each.rightCount))
      continue;
    usedLeft.fill(1, each.left, each.left + each.leftCount);
    usedRight.fill(1, each.right, each.right + each.rightCount);
    pairs.push({
      left: positions(each.left, each.leftCount),
      right: positions(each.right, each.rightCount),
      meeting: each.meeting,
      weight: each.weight,
    });
  }
  sortBy(pairs, byLeft);
  return {
    pairs,
    leftOver: unused(usedLeft, left.parts.length),
    rightOver: unused(usedRight, right.parts.length),
  };
}

const byRank = (p: Edge, q: Edge): number => q.rank - p.rank;
const byLeft = (p: AlignedPair, q: AlignedPair): number => (p.left[0] as number) - (q.left[0] as number);

/** Sorts a few items by insertion, stably and without the copies that `sort` makes: names have three pairs, and there are many names. */
function sortBy<Item>(items: Item[], compare: (one: Item, other: Item) => number): void {
  for (let at = 1; at < items.length; at++) {
    const item = items[at] as Item;
    let to = at;
    for (; to > 0 && compare(items[to - 1] as Item, item) > 0; to--) items[to] = items[to - 1] as Item;
    items[to] = item;
  }
}

/** Returns whether all parts of both sides have an exact partner, so that there is nothing to join. */
function isWhole(edges: readonly Edge[], a: number, b: number): boolean {
  if (a !== b) return false;
  let exact = 0;
  for (const each of edges) if (each.meeting.similarity === 1) exact++;
  return exact >= a;
}

function edge(
  left: number,
  leftCount: number,
  right: number,
  rightCount: number,
  meeting: Meeting,
  weight: number,
  leftParts: number,
  rightParts: number,
): Edge {
  // Among equal pairs, the one at similar positions wins: it is the better explanation, and the same from both sides.
  const apart = Math.abs(left / leftParts - right / rightParts);
  const rank =
    meeting.similarity * meeting.similarity * (weight + 0.05) * (leftCount + rightCount) - 0.001 * apart;
  return { left, leftCount, right, rightCount, meeting, weight, rank };
}

/** Compares the segments of one name, each a word in its own script, with the Latin words of the other. */
function joinSegments(
  name: ParsedName,
  other: ParsedName,
  swapped: boolean,
  edges: Edge[],
  meetings: Meetings,
): void {
  for (const { at, count, part } of name.segments) {
    for (let single = 0; single < other.parts.length; single++) {
      const latin = other.parts[single] as NamePart;
      if (latin.kind !== 'name' || latin.script !== 'latin') continue;
      const meeting = swapped ? meetings.meet(latin, part) : meetings.meet(part, latin);
      if (meeting.similarity < GLUED_LEAST || !isWholeSegment(part, latin)) continue;
      edges.push(
        swapped
          ? edge(single, 1, at, count, meeting, 1, other.parts.length, name.parts.length)
          : edge(at, count, single, 1, meeting, 1, name.parts.length, other.parts.length),
      );
    }
  }
}

/**
 * Compares adjacent parts of one name, written as one word, with single parts of the other. Parts that already have an exact
 * partner are skipped.
 */
function glue(
  parts: readonly NamePart[],
  singles: readonly NamePart[],
  exactParts: Uint8Array,
  exactSingles: Uint8Array,
  swapped: boolean,
  edges: Edge[],
): void {
  // Longer words match no word of the other name.
  let longest = 0;
  let longestLatin = 0;
  for (let at = 0; at < singles.length; at++) {
    if (exactSingles[at] === 1) continue;
    const { text, kind, script } = singles[at] as NamePart;
    longest = Math.max(longest, text.length + GLUED_APART);
    if (kind === 'name' && script === 'latin')
      longestLatin = Math.max(longestLatin, text.length + READ_APART);
  }
  for (let at = 0; at < parts.length; at++) {
    if (exactParts[at] === 1) continue;
    const first = parts[at] as NamePart;
    let { text, folded, weight, origin, letters } = first;
    const least = text.startsWith('ab') && ABU.test(text) ? ABU_LEAST : GLUED_LEAST;
    for (let count = 2; count <= JOINED_MOST && at + count <= parts.length; count++) {
      if (exactParts[at + count - 1] === 1) break;
      const next = parts[at + count - 1] as NamePart;
      if (next.script !== first.script || next.kind === 'initial' || first.kind === 'initial') break;
      if (origin === '' && text.length + next.text.length > longest) break;
      text += next.text;
      folded = withoutDouble(folded, next.folded);
      origin += next.origin;
      if (origin.length > longestLatin && origin !== '') break;
      weight += next.weight;
      letters |= next.letters;
      if (text.length > JOINED_LETTERS_MOST) break;
      let glued: NamePart | null = null;
      for (let other = 0; other < singles.length; other++) {
        const single = singles[other] as NamePart;
        if (
          exactSingles[other] === 1 ||
          single.kind !== 'name' ||
          (origin === '' && Math.abs(single.text.length - text.length) > GLUED_APART) ||
          (origin !== '' && single.origin !== '')
        )
          continue;
        // Most joined words have other letters, which shows without making a part of them.
        if (origin === '' && !mayMatchLetters(text, folded.length, letters, single, least)) continue;
        if (origin === '') glued ??= gluedPart(text, next.script, folded);
        const meeting = glued === null ? readAsOne(origin, single) : meet(glued, single);
        if (meeting.similarity < least || meeting.kind === 'nickname') continue;
        if (meeting.similarity < GLUED_LEAST && !isOneEdit(text, single.text)) continue;
        const w = Math.max(weight, single.weight);
        edges.push(
          swapped
            ? edge(other, 1, at, count, meeting, w, singles.length, parts.length)
            : edge(at, count, other, 1, meeting, w, parts.length, singles.length),
        );
      }
    }
  }
}

const noParts = new Uint8Array(PARTS_MAX);

/** Returns whether adjacent words of one name, written as one, are similar to a word of the other. */
export function mayJoin(left: ParsedName, right: ParsedName): boolean {
  const edges: Edge[] = [];
  glue(left.parts, right.parts, noParts, noParts, false, edges);
  if (edges.length === 0) glue(right.parts, left.parts, noParts, noParts, true, edges);
  return edges.length > 0;
}

/** Compares words in a script without one Latin spelling, written as one, with a Latin word. */
function readAsOne(origin: string, single: NamePart): Meeting {
  if (single.script !== 'latin' || single.text.length + READ_APART < origin.length) return NO_MEETING;
  const { heard } = single;
  if (!mayRead(origin, heard)) return NO_MEETING;
  const similarity = readingOf(origin).matches(single.text, heard);
  return similarity === 0 ? NO_MEETING : { kind: 'phonetic', similarity };
}

/** Joins two folded words: a letter that ends the first and begins the second is written once. */
const withoutDouble = (one: string, next: string): string =>
  one.endsWith(next[0] as string) ? one + next.slice(1) : one + next;

/** The readings of a segment include its ends, which are words of their own: only a whole segment stands for all of its parts. */
function isWholeSegment(segment: NamePart, latin: NamePart): boolean {
  const isForeign = isForeignSegment(segment);
  const own = isForeign ? segment.origin.slice(1) : segment.origin;
  if ((foreignReadingOf(own, isForeign)?.matches(latin.text) ?? 0) > 0) return true;
  return !isForeign && readingOf(own).matches(latin.text) > 0;
}

/** Returns whether a segment belongs to a foreign name in characters. */
export const isForeignSegment = (segment: NamePart): boolean => segment.origin.startsWith('·');

function isUsed(used: Uint8Array, from: number, count: number): boolean {
  for (let at = from; at < from + count; at++) if (used[at] === 1) return true;
  return false;
}

function positions(from: number, count: number): readonly number[] {
  if (count === 1) return SINGLE[from] as readonly number[];
  const all: number[] = [];
  for (let at = from; at < from + count; at++) all.push(at);
  return all;
}

/** Shared lists of one position: most parts are paired one to one. */
const SINGLE: readonly (readonly number[])[] = Array.from({ length: PARTS_MAX }, (_, at) => [at]);

function unused(used: Uint8Array, count: number): readonly number[] {
  let all: number[] | null = null;
  for (let at = 0; at < count; at++) {
    if (used[at] === 1) continue;
    all ??= [];
    all.push(at);
  }
  return all ?? NONE;
}

const NONE: readonly number[] = [];

function likeness(a: NamePart, b: NamePart, meeting: Meeting): number {
  // A syllable of Han or Hangul is one character. In scripts without written vowels, many names share the same few consonants.
  if (a.script === 'syllabic' && b.script === 'syllabic') return a.origin === b.origin ? 1 : 0.5;
  if (a.origin !== '' || b.origin !== '') return meeting.similarity;
  const written = jaroWinkler(a.text, b.text);
  if (a.groups.length === 0 || written >= GIVEN_NAME_LEAST) return written;
  // Variants of one given name may look different.
  return Math.max(written, meeting.similarity);
}

/** Minimum similarity of two variants of one given name. */
const GIVEN_NAME_LEAST = 0.93;
