/**
 * Compares two parsed names: aligns their parts (in any order, joined or split), finds the parts without a partner on either
 * side, and computes the few features that the calibrated model weighs. Symmetric by construction.
 */
import { isOneEdit, jaroWinkler } from './edits.ts';
import type { NamePart, NamePartKind, ParsedName } from './parse.ts';
import { gluedPart, PARTS_MAX } from './parse.ts';
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

/** The inputs of the model for two names. All but `differences` lie in 0–1. All but `slip` are the same if the names are swapped. */
export interface NameFeatures {
  /** Share of the weight that matched, of the name that matched more and of the one that matched less. */
  readonly covered: number;
  readonly coveredLess: number;
  /** How different the least similar pair is. */
  readonly worst: number;
  /**
   * How much contradicts a match, in whole parts: the smaller weight of the parts without a partner, plus the differences in
   * pairs.
   */
  readonly differences: number;
  /** 0.5 if one side has numbers that the other lacks, 1 if they differ. */
  readonly numbers: number;
  /** 1 if an error in a single letter is the only difference between the query and the listed name. */
  readonly slip: number;
  /** 1 if both have legal forms and none of them match. */
  readonly forms: number;
  /** How much of a name that is marked as the family name has no partner. */
  readonly family: number;
  /** How much of the longer name is without a partner, if the names that match are common: a Garcia is no Kadyrov. */
  readonly common: number;
  /** 1 if father and son are swapped (`A bin B` and `B bin A`), or the characters of a given name. */
  readonly reversed: number;
  /** 1 if only one side names a country: a branch, a subsidiary, or another company. */
  readonly place: number;
  /** 1 if a first name of one side is given by an initial on the other. */
  readonly initials: number;
  /** How well the only name of one side matches one of several names of the other; 0 if both have several. */
  readonly partial: number;
  /** How rare the names that match are, 0–1. */
  readonly rarity: number;
  /** 1 if characters of a script with several characters for one sound differ. */
  readonly homophone: number;
  /** How much of the query occurs in the listed name, by Jaro-Winkler and letters. */
  readonly near: number;
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
/** Minimum weight of a word that is a name on its own. */
export const NAME_LEAST = 0.4;

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

const isForeignSegment = (segment: NamePart): boolean => segment.origin.startsWith('·');

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

const weightOf = (name: ParsedName, over: readonly number[]): number => {
  let sum = 0;
  for (const at of over) sum += (name.parts[at] as NamePart).weight;
  return sum;
};

/** Returns the weight of parts that can contradict: names at least half, all other parts by their weight. */
const contradiction = (name: ParsedName, over: readonly number[]): number => {
  let sum = 0;
  for (const at of over) {
    const part = name.parts[at] as NamePart;
    sum += part.kind === 'name' ? 0.5 + part.weight / 2 : part.weight;
  }
  return sum;
};

/** Weights of one part that matched, on one side: an initial stands for most of a word. */
export const INITIAL_COVERS = 0.8;
/** Similarity from which a part of a family name counts as found. */
const FAMILY_LEAST = 0.6;
/** A pair with a lower weight is not a name of its own. */
export const PAIR_LEAST = 0.25;

/** Bounds of the features that any choice of pairs can have: no alignment is better. */
export interface BestCase {
  readonly coveredLess: number;
  readonly differences: number;
  /** Whether an error in one letter may be the only difference. */
  readonly slip: boolean;
  /** Whether a single name may be the match. */
  readonly partial: boolean;
  /** The weight of the heavier name. */
  readonly weight: number;
}

const mostLeft = new Float64Array(PARTS_MAX);
const mostRight = new Float64Array(PARTS_MAX);

/** Returns the bounds of all alignments that these pairs allow. */
export function bestCaseOf(left: ParsedName, right: ParsedName, edges: readonly Edge[]): BestCase {
  mostLeft.fill(0, 0, left.parts.length);
  mostRight.fill(0, 0, right.parts.length);
  let partial = namesIn(left) < 2 || namesIn(right) < 2;
  for (const each of edges) {
    const { similarity, kind } = each.meeting;
    const covers = kind === 'initial' ? Math.max(INITIAL_COVERS, similarity) : similarity;
    if (each.leftCount + each.rightCount > 2) partial = true;
    for (let at = each.left; at < each.left + each.leftCount; at++)
      if (covers > (mostLeft[at] as number)) mostLeft[at] = covers;
    for (let at = each.right; at < each.right + each.rightCount; at++)
      if (covers > (mostRight[at] as number)) mostRight[at] = covers;
  }
  return boundsOf(left, right, partial);
}

function boundsOf(left: ParsedName, right: ParsedName, partial: boolean): BestCase {
  const here = sideOf(left, mostLeft);
  const there = sideOf(right, mostRight);
  const differences = Math.min(here.against, there.against);
  return {
    coveredLess: Math.min(here.covered, there.covered),
    differences,
    slip: differences === 0 && here.alone < NAME_LEAST,
    partial,
    weight: Math.max(here.weight, there.weight),
  };
}

/** Sums up one name: its share that can match, and the parts that no pair contains. */
function sideOf(
  name: ParsedName,
  most: Float64Array,
): { readonly covered: number; readonly against: number; readonly alone: number; readonly weight: number } {
  let weight = 0;
  let found = 0;
  let against = 0;
  let alone = 0;
  for (let at = 0; at < name.parts.length; at++) {
    const part = name.parts[at] as NamePart;
    const covers = most[at] as number;
    weight += part.weight;
    found += part.weight * covers;
    if (covers > 0) continue;
    alone += part.weight;
    against += part.kind === 'name' ? 0.5 + part.weight / 2 : part.weight;
  }
  return { covered: share(found, weight), against, alone, weight };
}

/** Computes the features of two aligned names. */
export function features(
  left: ParsedName,
  right: ParsedName,
  aligned: Alignment,
  meetings = new Meetings(),
  needsNear = true,
): NameFeatures {
  const sides = { left: 0, right: 0 };
  let worst = 0;
  let unlike = 0;
  let initials = 0;
  let rarity = 0;
  let homophone = 0;
  for (const { left: here, right: there, meeting, weight } of aligned.pairs) {
    const { similarity, kind } = meeting;
    const isInitial = kind === 'initial';
    sides.left += weightAt(left, here) * (isInitial ? INITIAL_COVERS : similarity);
    sides.right += weightAt(right, there) * (isInitial ? INITIAL_COVERS : similarity);
    rarity += rarityOfPair(left, right, here, there) * (isInitial ? 0.25 : similarity * similarity);
    if (isInitial) {
      initials = 1;
      continue;
    }
    if (similarity < 0.65 && isSyllable(left, here) && isSyllable(right, there)) homophone = 1;
    if (weight < PAIR_LEAST) continue;
    const isRead = similarity >= READING_LEAST && readingDiffers(left, right, here, there);
    const differs = isRead ? 0 : 1 - similarity;
    worst = Math.max(worst, differs);
    unlike += differs * Math.max(here.length, there.length);
  }
  const all = { left: totalWeight(left), right: totalWeight(right) };
  const leftOver = weightOf(left, aligned.leftOver);
  const coveredLeft = share(sides.left, all.left);
  const coveredRight = share(sides.right, all.right);
  const against = Math.min(contradiction(left, aligned.leftOver), contradiction(right, aligned.rightOver));
  const forms = formConflict(left, right);
  const slip = leftOver < NAME_LEAST && against === 0 && isSlip(left, right, aligned);
  // An error in one letter counts the same, whatever the length of its word.
  const eased = slip ? Math.max(0, unlike - SLIP_UNLIKE) : 0;
  const coveredLess = Math.min(coveredLeft, coveredRight);
  const rare = Math.min(1, rarity / RARE_ENOUGH);
  const family = Math.max(familyLost(left, aligned, 'left'), familyLost(right, aligned, 'right'));
  const isFamilyKept = family < 0.5 && (left.family !== 0 || right.family !== 0);
  return {
    covered: Math.max(coveredLeft, coveredRight),
    coveredLess: Math.min(1, coveredLess + eased * share(1, Math.max(all.left, all.right))),
    worst: slip ? Math.min(worst, SLIP_UNLIKE) : worst,
    differences: against + unlike - eased,
    numbers: numberConflict(left, right, aligned),
    slip: slip ? 1 : 0,
    forms,
    family,
    common: (1 - coveredLess) * (1 - rare) * (isFamilyKept ? FAMILY_KEPT : 1),
    reversed:
      isReversed(left, right, aligned) ||
      isTurnedName(left, aligned, 'left') ||
      isTurnedName(right, aligned, 'right')
        ? 1
        : 0,
    place: leavesPlace(left, aligned.leftOver) || leavesPlace(right, aligned.rightOver) ? 1 : 0,
    initials,
    partial: partialOf(left, right, aligned),
    rarity: rare,
    homophone,
    near: needsNear ? nearness(left, right, aligned, meetings) * (1 - OTHER_FORM * forms) : 0,
  };
}

/** Share of `common` if the first family name matches: the second one is often omitted. */
const FAMILY_KEPT = 0.4;
/** Names of one rare word and a usual one are rare enough. */
const RARE_ENOUGH = 1.3;

const weightAt = (name: ParsedName, at: readonly number[]): number => weightOf(name, at);
const totalWeight = (name: ParsedName): number => {
  let sum = 0;
  for (const part of name.parts) sum += part.weight;
  return sum;
};

/** Minimum similarity of a usual spelling in another script. */
const READING_LEAST = 0.86;

/** A spelling in another script is not a difference. */
const readingDiffers = (
  left: ParsedName,
  right: ParsedName,
  here: readonly number[],
  there: readonly number[],
): boolean =>
  ((left.parts[here[0] as number] as NamePart).origin !== '') !==
  ((right.parts[there[0] as number] as NamePart).origin !== '');

/** Returns how rare the names of a pair are, at most 1: the rarer side counts, because only one spelling may be in the tables. */
function rarityOfPair(
  left: ParsedName,
  right: ParsedName,
  here: readonly number[],
  there: readonly number[],
): number {
  return Math.min(rarityAt(left, here), rarityAt(right, there));
}

function rarityAt(name: ParsedName, at: readonly number[]): number {
  let sum = 0;
  for (const position of at) {
    const part = name.parts[position] as NamePart;
    if (part.kind === 'name')
      sum += part.script === 'syllabic' && part.origin.length === 1 ? 0.5 : part.rarity;
    else if (part.kind === 'initial') sum += 1;
    else sum += part.weight / 2;
  }
  return Math.min(1, sum);
}

const SON_OF: ReadonlySet<string> = new Set(['bin', 'ben', 'ibn', 'bint', 'binti', 'ould']);

function sonIn(name: ParsedName): number {
  for (let at = 0; at < name.parts.length; at++) {
    const { kind, text } = name.parts[at] as NamePart;
    if (kind === 'particle' && SON_OF.has(text)) return at;
  }
  return -1;
}

/** Returns whether both names have a word for `son of`, and the names around it are swapped. */
function isReversed(left: ParsedName, right: ParsedName, aligned: Alignment): boolean {
  const here = sonIn(left);
  if (here < 1) return false;
  const there = sonIn(right);
  // A word for `son of` at the end was moved there by a change of order.
  if (there < 1 || here === left.parts.length - 1 || there === right.parts.length - 1) return false;
  // Only a family name moves to the other end of a name alone: father and son are swapped if names moved both ways.
  let isSonMoved = false;
  let isFatherMoved = false;
  for (const { left: a, right: b } of aligned.pairs) {
    const [at, other] = [a[0] as number, b[0] as number];
    const isSon = at < here;
    if (other < there === isSon || (left.parts[at] as NamePart).kind !== 'name') continue;
    // Of a name that father and son share, either one may be the partner of either.
    if (isShared(left, at, here) || isShared(right, other, there)) continue;
    if (isSon) isSonMoved = true;
    else isFatherMoved = true;
  }
  return isSonMoved && isFatherMoved;
}

/** Returns whether the part at `at` occurs on the other side of the word for `son of` as well. */
function isShared({ parts }: ParsedName, at: number, son: number): boolean {
  const { text } = parts[at] as NamePart;
  const [from, to] = at < son ? [son + 1, parts.length] : [0, son];
  return parts.slice(from, to).some((part) => part.text === text);
}

/** Returns whether the characters of a given name match words in another order (`零上` is not Sang Yong): only the family name moves. */
function isTurnedName(name: ParsedName, aligned: Alignment, side: 'left' | 'right'): boolean {
  if (name.family !== 0 || familyIn(name) === 0) return false;
  const other = side === 'left' ? 'right' : 'left';
  let last = -1;
  // Pairs are in the order of the left name.
  const pairs =
    side === 'left'
      ? aligned.pairs
      : [...aligned.pairs].sort((a, b) => (a.right[0] as number) - (b.right[0] as number));
  for (const pair of pairs) {
    if (pair[side][0] === 0) continue;
    const at = pair[other][0] as number;
    if (at < last) return true;
    last = at;
  }
  return false;
}

function leavesPlace(name: ParsedName, over: readonly number[]): boolean {
  for (const at of over) if ((name.parts[at] as NamePart).isPlace) return true;
  return false;
}

/** Maximum number of characters of a name in Han characters or Hangul of which the first is the family name. */
const CHARACTERS_MOST = 4;

/**
 * Returns the positions of the family name: those that its writer marked, or the first character of a name that is one run of characters (`金正恩`).
 */
function familyIn(name: ParsedName): number {
  if (name.family !== 0) return name.family;
  const [segment] = name.segments;
  if (segment === undefined || segment.count !== name.parts.length || segment.count > CHARACTERS_MOST)
    return 0;
  return isForeignSegment(segment.part) ? 0 : 1;
}

/** Returns how much of the family name of one side has no similar partner: the first word counts most, and 1 if no word has one. */
function familyLost(name: ParsedName, aligned: Alignment, side: 'left' | 'right'): number {
  const family = familyIn(name);
  if (family === 0) return 0;
  let words = 0;
  let lost = 0;
  let isFirst = true;
  for (let at = 0; at < name.parts.length; at++) {
    if ((family & (1 << at)) === 0) continue;
    const part = name.parts[at] as NamePart;
    if (part.weight < NAME_LEAST && part.kind !== 'name') continue;
    const counted = isFirst ? 2 : 0.5;
    isFirst = false;
    words += counted;
    const pair = pairOf(aligned, side, at);
    if (pair === undefined || pair.meeting.similarity < FAMILY_LEAST || pair.meeting.kind === 'initial')
      lost += counted;
  }
  return words === 0 ? 0 : lost / words;
}

function pairOf(aligned: Alignment, side: 'left' | 'right', at: number): AlignedPair | undefined {
  for (const pair of aligned.pairs) if (pair[side].includes(at)) return pair;
  return undefined;
}

/** Similarity from which several words, written as one, are one name. */
const JOINED_SURE = 0.93;

/** Returns the similarity of the only name of one side with its partner, if the other side has more names or another script; otherwise 0. */
function partialOf(left: ParsedName, right: ParsedName, aligned: Alignment): number {
  const [a, b] = [namesIn(left), namesIn(right)];
  if (a === 0 || b === 0) return 0;
  for (const pair of aligned.pairs) {
    const [here, there] = [pair.left.length, pair.right.length];
    // One word by its sound in another script is one of many that sound so.
    if (here >= a && there >= b && readingDiffers(left, right, pair.left, pair.right))
      return pair.meeting.similarity;
    // Characters that write one foreign name are one name; several words that are written as one are the whole name.
    if (!((here >= a && there < b) || (there >= b && here < a))) continue;
    return here + there > 2 && pair.meeting.similarity < JOINED_SURE ? 0 : pair.meeting.similarity;
  }
  return 0;
}

const isOwnName = (part: NamePart): boolean => part.weight >= PAIR_LEAST && part.kind !== 'particle';

function namesIn(name: ParsedName): number {
  let count = 0;
  for (const part of name.parts) if (isOwnName(part)) count++;
  return count;
}

/** Deduction for legal forms that do not match. */
const OTHER_FORM = 0.1;
/** Factor if the query has more words than the listed name: it may be another, longer name. */
const LISTED_IN_ASKED = 0.9;

/** Returns how much of the query occurs in the listed name, or how much of a listed name of several words occurs in the query. */
function nearness(asked: ParsedName, listed: ParsedName, aligned: Alignment, meetings: Meetings): number {
  const there = foundIn(asked, listed, gluedLikeness(aligned, 'left'), (a, b) => meetings.near(a, b));
  let names = 0;
  for (const part of listed.parts) if (part.weight >= NAME_LEAST) names++;
  if (names < 2) return there;
  return Math.max(
    there,
    LISTED_IN_ASKED * foundIn(listed, asked, gluedLikeness(aligned, 'right'), (a, b) => meetings.near(b, a)),
  );
}

/** Factor for parts that match only when written as one word. */
const AS_ONE = 0.92;

/** Returns the similarity of parts that match when written as one word, by position; null if there are none. */
function gluedLikeness(aligned: Alignment, side: 'left' | 'right'): ReadonlyMap<number, number> | null {
  let glued: Map<number, number> | null = null;
  for (const pair of aligned.pairs) {
    if (pair.left.length + pair.right.length === 2) continue;
    glued ??= new Map();
    for (const at of pair[side]) glued.set(at, AS_ONE * pair.meeting.similarity);
  }
  return glued;
}

/** The letters of common words count less. */
const LETTERS_COUNT: Readonly<Partial<Record<NamePartKind, number>>> = { descriptive: 0.5, honorific: 0.2 };

/** Returns the share of the letters of one name that occur in the other, each part by its most similar partner. */
function foundIn(
  name: ParsedName,
  other: ParsedName,
  glued: ReadonlyMap<number, number> | null,
  near: (part: NamePart, each: NamePart) => number,
): number {
  let found = 0;
  let letters = 0;
  for (let at = 0; at < name.parts.length; at++) {
    const part = name.parts[at] as NamePart;
    let most = glued?.get(at) ?? 0;
    if (part.kind === 'particle' && most === 0) continue;
    for (const each of other.parts) {
      if (most === 1) break;
      if (each.kind === 'particle') continue;
      const alike = near(part, each);
      if (alike > most) most = alike;
    }
    const counted = part.text.length * (LETTERS_COUNT[part.kind] ?? 1);
    found += most * counted;
    letters += counted;
  }
  return share(found, letters);
}

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

const share = (part: number, whole: number): number => (whole <= 0 ? 0 : part / whole);

/**
 * Minimum number of letters in a name, as it is longer, for which one wrong letter counts as an error, not as another name; and the same for
 * two letters in the wrong order, which are seldom another name.
 */
const SLIP_LETTERS = 6;
const TURNED_LETTERS = 5;
const SLIP_UNLIKE = 0.15;

function isSlip(left: ParsedName, right: ParsedName, aligned: Alignment): boolean {
  let unlike: AlignedPair | null = null;
  let lettersLeft = 0;
  let lettersRight = 0;
  for (const pair of aligned.pairs) {
    for (const at of pair.left) lettersLeft += (left.parts[at] as NamePart).text.length;
    for (const at of pair.right) lettersRight += (right.parts[at] as NamePart).text.length;
    if (pair.meeting.similarity >= 0.97) continue;
    if (unlike !== null || pair.meeting.kind !== 'spelling' || isSyllable(left, pair.left)) return false;
    unlike = pair;
  }
  const letters = Math.max(lettersLeft, lettersRight);
  if (unlike === null || letters < TURNED_LETTERS) return false;
  const joined = (name: ParsedName, at: readonly number[], key: 'text' | 'origin'): string =>
    at.map((position) => (name.parts[position] as NamePart)[key]).join('');
  const key = isOwnScript(left, unlike.left) && isOwnScript(right, unlike.right) ? 'origin' : 'text';
  const [here, there] = [joined(left, unlike.left, key), joined(right, unlike.right, key)];
  if (!isOneEdit(here, there)) return false;
  if (key === 'origin') return isOwnSlip(here, there);
  return letters >= SLIP_LETTERS || isTurned(here, there);
}

/**
 * Minimum number of letters of a word in a script without vowels for which one wrong consonant is an error: in shorter words, and with another
 * vowel, it is usually another name (`حسن`, `حسین`; `سلمان`, `سلیمان`).
 */
const OWN_SLIP_LETTERS = 6;
const OWN_VOWELS = /[\u0627\u0622\u0648\u06cc\u064a\u0629\u0647\u05d5\u05d9\u05d4]/gu;

const isOwnSlip = (one: string, other: string): boolean =>
  Math.max(one.length, other.length) >= OWN_SLIP_LETTERS &&
  one.replace(OWN_VOWELS, '') !== other.replace(OWN_VOWELS, '');

const isOwnScript = (name: ParsedName, at: readonly number[]): boolean =>
  at.every((position) => (name.parts[position] as NamePart).origin !== '');

/** Returns whether the one edit between two words turns two letters: it is then the only one that changes two places. */
function isTurned(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let places = 0;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) places++;
  return places === 2;
}

/** A syllable of Han or Hangul is one character: it cannot contain an error in one letter. */
const isSyllable = (name: ParsedName, at: readonly number[]): boolean =>
  at.some((position) => (name.parts[position] as NamePart).script === 'syllabic');

function leavesNumber(name: ParsedName, over: readonly number[]): boolean {
  for (const at of over) if ((name.parts[at] as NamePart).kind === 'number') return true;
  return false;
}

function numberConflict(left: ParsedName, right: ParsedName, aligned: Alignment): number {
  const a = leavesNumber(left, aligned.leftOver);
  const b = leavesNumber(right, aligned.rightOver);
  return a && b ? 1 : a || b ? 0.5 : 0;
}

function formConflict(left: ParsedName, right: ParsedName): number {
  if (left.forms.length === 0 || right.forms.length === 0) return 0;
  return left.forms.some((form) => right.forms.some((other) => other.text === form.text)) ? 0 : 1;
}
