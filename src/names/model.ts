/**
 * Converts the features of two names to a confidence: a logistic model with weights fitted to pairs with known answers
 * (docs/decisions/name-matching.md). Other evidence shifts its log-odds.
 */
import { twoDecimals } from '../base/figures.ts';
import type { Alignment, MeetingTable } from './align.ts';
import { type Edge, edgesOf, Meetings, pairUp } from './align.ts';
import { type BestCase, bestCaseOf } from './best-case.ts';
import type { NameFeatures } from './compare.ts';
import { features } from './compare.ts';
import type { MatchReason, NameQuery } from './name.ts';
import type { NamePart } from './name-parts.ts';
import type { ParsedName } from './parse.ts';
import { readShipped } from './shipped.ts';

/** The fitted model: `data/names/model.json`, written by scripts/fit-name-weights.ts. */
export interface NameModel {
  readonly base: number;
  /** Every weight has the sign of its meaning, so more agreement never lowers the score. */
  readonly weights: Readonly<
    Record<
      | 'coveredLess'
      | 'worst'
      | 'differences'
      | 'numbers'
      | 'forms'
      | 'slip'
      | 'family'
      | 'common'
      | 'initials'
      | 'reversed'
      | 'place',
      number
    >
  >;
  /**
   * The score of names of which one is nearly found in the other: at most `most`, which is below any useful threshold, decreasing with
   * the power `exponent`. It ranks names that do not match.
   */
  readonly near: { readonly most: number; readonly exponent: number };
}

let shipped: NameModel | undefined;

function shippedModel(): NameModel {
  shipped ??= readShipped<{ model: NameModel }>('names', 'model.json').model;
  return shipped;
}

/** Larger differences have no further effect. */
export const DIFFERENCES_MAX = 2;

/** Log-odds of the same words in the same order: low enough that evidence can still change the score. */
const IDENTICAL = 4;
const LEAST = 1e-4;

/** Maximum score of a single name that is one of several names of the other side: it does not identify by itself. */
export const PARTIAL_MOST = 0.8;
/** The share of `PARTIAL_MOST` that a single name has however common it is. */
const PARTIAL_COMMON = 0.55;
/** A single name whose rarity is 1 divided by this, of names of two rare words, counts as rare. */
const ALONE_RARE = 1.6;
/** Names in another script match at most at 0.97; from here on a single name counts as found. */
const PARTIAL_SURE = 1.067;
/** Maximum score of names in different characters that sound alike. */
const HOMOPHONE_MOST = 0.84;

/** Returns the probability that two names belong to one party, 0–1, before rounding. */
export function scoreOf(seen: NameFeatures, identical: boolean, model: NameModel = shippedModel()): number {
  if (identical) return 1 / (1 + Math.exp(-IDENTICAL));
  const { weights, near } = model;
  const covered = weights.coveredLess * seen.coveredLess;
  const differences = weights.differences * Math.min(DIFFERENCES_MAX, seen.differences);
  // A slip is forgiven at most what it costs: the same words without the wrong letter score higher, in whatever order.
  const slip = weights.slip * seen.slip;
  const logit =
    model.base +
    covered +
    weights.worst * seen.worst +
    differences +
    weights.numbers * seen.numbers +
    weights.forms * seen.forms +
    Math.min(slip, weights.coveredLess - covered - differences) +
    weights.family * seen.family +
    weights.common * seen.common +
    weights.initials * seen.initials +
    weights.reversed * seen.reversed +
    weights.place * seen.place;
  let score = 1 / (1 + Math.exp(-logit));
  if (seen.partial > 0) {
    const alone =
      PARTIAL_MOST *
      Math.min(1, PARTIAL_SURE * seen.partial ** 2) *
      (PARTIAL_COMMON + (1 - PARTIAL_COMMON) * Math.min(1, seen.rarity * ALONE_RARE));
    score = Math.min(PARTIAL_MOST, Math.max(score, alone));
  }
  if (seen.homophone === 1) score = Math.min(score, HOMOPHONE_MOST);
  return Math.max(score, near.most * seen.near ** near.exponent);
}

const logOdds = (score: number): number => {
  const within = Math.min(1 - LEAST, Math.max(LEAST, score));
  return Math.log(within / (1 - within));
};

const EVIDENCE = {
  birthDaySame: 1.6,
  birthYearSame: 0.8,
  birthYearNear: 0,
  birthDateOther: -2.6,
  countrySame: 0.4,
  countryOther: -0.7,
  schemaOther: -2,
  weakAlias: -0.5,
} as const;

/** Returns the maximum shift of the log-odds that the evidence in a query can add. */
export const mostEvidence = (query: NameQuery): number =>
  (query.birthDate ? EVIDENCE.birthDaySame : 0) + (query.countries?.length ? EVIDENCE.countrySame : 0);

/** Facts about a listed entity that are evidence for or against a match. */
export interface ListedFacts {
  readonly birthDates: readonly string[];
  readonly countries: readonly string[];
  readonly schema: string;
  readonly weak: boolean;
}

/** Returns the confidence that the query names the party with the listed name, 0–1, by the names alone. */
export function nameConfidence(asked: ParsedName, listed: ParsedName): number {
  return toConfidence(judge(asked, listed).logit, isIdentical(asked, listed));
}

export interface Judgement {
  readonly aligned: Alignment;
  readonly features: NameFeatures;
  readonly logit: number;
}

/** Aligns two names and computes their features and the log-odds of a match. */
export function judge(left: ParsedName, right: ParsedName, meetings = new Meetings()): Judgement {
  return judgeEdges(left, right, edgesOf(left, right, meetings), meetings, true);
}

/**
 * The same, if the log-odds may be `floor` or more; otherwise null. Most candidates of a query share one word with it, and are recognised
 * before their parts are paired.
 *
 * @param known How the single parts compare, if the caller knows it.
 * @param isApart Whether it is known that no adjacent words are written as one word, and that the pairs of single parts allow the log-odds.
 */
export function judgeAbove(
  left: ParsedName,
  right: ParsedName,
  floor: number,
  meetings: Meetings,
  known: MeetingTable | null = null,
  isApart = false,
): Judgement | null {
  const model = shippedModel();
  const needsNear = ranksNear(floor);
  const edges = edgesOf(left, right, meetings, known, isApart);
  if (!isApart && !needsNear && mostLogit(bestCaseOf(left, right, edges), model) < floor) return null;
  return judgeEdges(left, right, edges, meetings, needsNear);
}

/** Returns whether names count that match only nearly: how nearly a name is found ranks names below the model's `most`. */
export const ranksNear = (floor: number): boolean => logOdds(shippedModel().near.most) >= floor;

/** Returns the highest log-odds that names with these bounds may have, if names that match only nearly do not count. */
export const mostLogOdds = (best: BestCase): number => mostLogit(best, shippedModel());

/** Returns the highest confidence of names with at most these log-odds; 1 if they may be identical. */
export const mostConfidence = (most: number): number => toConfidence(most, most >= IDENTICAL);

function judgeEdges(
  left: ParsedName,
  right: ParsedName,
  edges: Edge[],
  meetings: Meetings,
  needsNear: boolean,
): Judgement {
  const aligned = pairUp(left, right, edges);
  const seen = features(left, right, aligned, meetings, needsNear);
  const logit = logOdds(scoreOf(seen, isIdentical(left, right)));
  return { aligned, features: seen, logit };
}

/** Words with one meaning that sound the same count as identical, and cover 0.97 of each other. */
const IDENTICAL_COVERED = 0.96;

/** Returns an upper bound of the log-odds of two names, from the pairs that their parts may form: features that only lower it count as 0. */
function mostLogit(best: BestCase, { base, weights }: NameModel): number {
  const eased = best.slip && best.weight > 0 ? 1 / best.weight : 0;
  const logit =
    base +
    weights.coveredLess * Math.min(1, best.coveredLess + eased) +
    weights.differences * Math.min(DIFFERENCES_MAX, best.differences) +
    (best.slip ? weights.slip : 0);
  const most = best.partial ? Math.max(logit, logOdds(PARTIAL_MOST)) : logit;
  // Only names with all parts paired can be identical.
  return best.differences === 0 && best.coveredLess > IDENTICAL_COVERED ? Math.max(most, IDENTICAL) : most;
}

/** Returns the log-odds from which on a confidence, as it is rounded, is at least `confidence`. */
export const floorOf = (confidence: number): number => logOdds(confidence - 0.00051);

/**
 * Returns whether the names have the same words in the same order. Legal
 * forms may be missing, or spelled differently if they are equivalent.
 */
export function isIdentical(left: ParsedName, right: ParsedName): boolean {
  if (left.parts.length !== right.parts.length || left.parts.length === 0) return false;
  for (let at = 0; at < left.parts.length; at++) {
    const part = left.parts[at] as NamePart;
    const other = right.parts[at] as NamePart;
    if (part.kind !== other.kind || part.script !== other.script) return false;
    if (part.origin !== other.origin) return false;
    if (part.text !== other.text && !isSameThing(part, other)) return false;
  }
  if (left.forms.length === 0 || right.forms.length === 0) return true;
  return left.forms.some((form) => right.forms.some((other) => form.text === other.text));
}

/** Words with the same meaning (`company`, `co`). */
const isSameThing = (a: NamePart, b: NamePart): boolean =>
  a.kind === 'descriptive' && a.groups[0] === b.groups[0];

/** Converts log-odds to a confidence with three decimals. Only an identical name, without evidence against it, is certain. */
export function toConfidence(logit: number, identical: boolean): number {
  if (identical && logit >= IDENTICAL - 1e-9) return 1;
  return Math.min(0.999, Math.round(1000 / (1 + Math.exp(-logit))) / 1000);
}

/** Weighs the evidence other than the names: returns the shift of the log-odds and a reason for each fact. */
export function weighEvidence(
  query: NameQuery,
  listed: ListedFacts,
): { shift: number; reasons: MatchReason[] } {
  const reasons: MatchReason[] = [];
  let shift = 0;
  const add = (
    kind: MatchReason['kind'],
    points: number,
    asked: string | null,
    fact: string,
    message: string,
  ): void => {
    shift += points;
    reasons.push({ kind, asked, listed: fact, similarity: null, message });
  };
  if (query.birthDate && listed.birthDates.length > 0) {
    const [points, date] = bestBirthDate(query.birthDate, listed.birthDates);
    const word = points > 0 ? 'agrees with' : points < 0 ? 'contradicts' : 'is near';
    add(
      'birthDate',
      points,
      query.birthDate,
      date,
      `The birth date ${query.birthDate} ${word} the listed ${date}.`,
    );
  }
  if (query.countries && query.countries.length > 0 && listed.countries.length > 0) {
    const asked = query.countries.map((country) => country.toUpperCase());
    const same = listed.countries.find((country) => asked.includes(country.toUpperCase()));
    const askedText = asked.join(', ');
    if (same === undefined) {
      const others = listed.countries.join(', ');
      add(
        'country',
        EVIDENCE.countryOther,
        askedText,
        others,
        `None of the countries asked (${askedText}) is listed (${others}).`,
      );
    } else add('country', EVIDENCE.countrySame, askedText, same, `The country ${same} agrees.`);
  }
  if (
    query.schema &&
    query.schema !== 'Unknown' &&
    listed.schema !== 'Unknown' &&
    query.schema !== listed.schema
  ) {
    add(
      'schema',
      EVIDENCE.schemaOther,
      query.schema,
      listed.schema,
      `A ${query.schema} was asked for, a ${listed.schema} is listed.`,
    );
  }
  if (listed.weak) {
    add(
      'weakAlias',
      EVIDENCE.weakAlias,
      null,
      'weak',
      'The publisher calls this name weak: alone it does not identify.',
    );
  }
  return { shift, reasons };
}

function bestBirthDate(asked: string, listed: readonly string[]): [number, string] {
  let best: [number, string] = [Number.NEGATIVE_INFINITY, ''];
  for (const date of [...listed].sort()) {
    const points = birthPoints(asked, date);
    if (points > best[0]) best = [points, date];
  }
  return best;
}

function birthPoints(asked: string, listed: string): number {
  const year = Number(asked.slice(0, 4));
  const other = Number(listed.slice(0, 4));
  if (!Number.isFinite(year) || !Number.isFinite(other)) return 0;
  if (year !== other) return Math.abs(year - other) === 1 ? EVIDENCE.birthYearNear : EVIDENCE.birthDateOther;
  const precise = Math.min(asked.length, listed.length);
  if (precise < 10) return EVIDENCE.birthYearSame;
  if (asked.slice(0, 10) === listed.slice(0, 10)) return EVIDENCE.birthDaySame;
  // Swapped day and month of one year are a typing error; another day is a doubt.
  const swapped = `${asked.slice(0, 4)}-${asked.slice(8, 10)}-${asked.slice(5, 7)}`;
  return swapped === listed.slice(0, 10) ? EVIDENCE.birthYearSame : EVIDENCE.birthYearNear;
}

/** Returns parts as they were written; halves of one word are one word. */
function text(name: ParsedName, at: readonly number[]): string {
  const written = at.map((position) => name.written[position] ?? (name.parts[position] as NamePart).text);
  const isJoined =
    at.length > 1 && at.every((position) => (name.parts[position] as NamePart).script === 'syllabic');
  return [...new Set(written)].length < written.length
    ? [...new Set(written)].join(' ')
    : written.join(isJoined ? '' : ' ');
}

const formsText = (name: ParsedName): string =>
  name.forms.map((form, at) => name.written[name.parts.length + at] ?? form.text).join(', ');

const MET: Readonly<Record<string, string>> = {
  exact: 'is the same as',
  nickname: 'is a form of the same given name as',
  initial: 'abbreviates, or is abbreviated to,',
  reading: 'is one way to write',
  phonetic: 'sounds like',
  spelling: 'is spelled nearly as',
  glued: 'is, written apart or as one,',
  number: 'is the same number as',
  orgForm: 'means the same as',
};

const isOwnScript = (name: ParsedName, at: readonly number[]): boolean =>
  (name.parts[at[0] as number] as NamePart).origin !== '';

/** Explains a judgement: which parts match, part by part of the query, then the parts without a partner. */
export function explainNames(asked: ParsedName, listed: ParsedName, judged: Judgement): MatchReason[] {
  const reasons: MatchReason[] = [];
  const { aligned } = judged;
  for (const { left, right, meeting } of aligned.pairs) {
    const a = text(asked, left);
    const b = text(listed, right);
    const isReading = isOwnScript(asked, left) !== isOwnScript(listed, right);
    const kind = isReading ? meeting.kind : left.length + right.length > 2 ? 'glued' : meeting.kind;
    const similarity = twoDecimals(meeting.similarity);
    reasons.push({
      kind,
      asked: a,
      listed: b,
      similarity,
      message: `'${a}' ${MET[isReading ? 'reading' : kind] ?? 'matches'} '${b}'.`,
    });
  }
  for (const at of aligned.leftOver) {
    const a = text(asked, [at]);
    reasons.push({
      kind: 'missing',
      asked: a,
      listed: null,
      similarity: null,
      message: `'${a}' is not in the listed name.`,
    });
  }
  for (const at of aligned.rightOver) {
    const b = text(listed, [at]);
    reasons.push({
      kind: 'extra',
      asked: null,
      listed: b,
      similarity: null,
      message: `The listed name has '${b}' in addition.`,
    });
  }
  if (judged.features.partial > 0) {
    reasons.push({
      kind: 'partial',
      asked: null,
      listed: null,
      similarity: null,
      message: 'Only one name matches, which does not identify a party by itself.',
    });
  }
  const positions = aligned.pairs.map((pair) => pair.right[0] as number);
  if (positions.some((at, index) => index > 0 && at < (positions[index - 1] as number))) {
    reasons.push({
      kind: 'order',
      asked: null,
      listed: null,
      similarity: null,
      message: 'The parts are in a different order.',
    });
  }
  if (asked.forms.length > 0 && listed.forms.length > 0) {
    const same = judged.features.forms === 0;
    const [a, b] = [formsText(asked), formsText(listed)];
    reasons.push({
      kind: 'orgForm',
      asked: a,
      listed: b,
      similarity: same ? 1 : 0,
      message: same
        ? `The legal forms ${a} and ${b} are comparable.`
        : `The legal forms differ: ${a} and ${b}.`,
    });
  }
  return reasons;
}
