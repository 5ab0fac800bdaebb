/**
 * Compares two aligned names: the few features that the calibrated model weighs, from how their parts match and from the parts that are left
 * over on either side. Symmetric by construction.
 */

import { type AlignedPair, type Alignment, isForeignSegment, Meetings } from './align.ts';
import type { NamePart, NamePartKind } from './name-parts.ts';
import type { ParsedName } from './parse.ts';
import { isSlip, isSyllable } from './slips.ts';

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

/** Minimum weight of a word that is a name on its own. */
export const NAME_LEAST = 0.4;

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
    // An article that is written with its name (`Al-Qahtani`, `Alqahtani`) is no name.
    const [here, there] = [ownNames(left, pair.left), ownNames(right, pair.right)];
    // One word by its sound in another script is one of many that sound so.
    if (here >= a && there >= b && readingDiffers(left, right, pair.left, pair.right))
      return pair.meeting.similarity;
    // Characters that write one foreign name are one name; several words that are written as one are the whole name.
    if (!((here >= a && there < b) || (there >= b && here < a))) continue;
    return pair.left.length + pair.right.length > 2 && pair.meeting.similarity < JOINED_SURE
      ? 0
      : pair.meeting.similarity;
  }
  return 0;
}

const isOwnName = (part: NamePart): boolean => part.weight >= PAIR_LEAST && part.kind !== 'particle';

const ownNames = (name: ParsedName, at: readonly number[]): number => {
  let count = 0;
  for (const position of at) if (isOwnName(name.parts[position] as NamePart)) count++;
  return count;
};

/** Returns how many parts of a name are names of their own. */
export function namesIn(name: ParsedName): number {
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

/** Returns a part of a whole, 0 to 1; 0 if there is no whole. */
export const share = (part: number, whole: number): number => (whole <= 0 ? 0 : part / whole);

const SLIP_UNLIKE = 0.15;

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
