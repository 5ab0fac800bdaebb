/**
 * From what was seen of two names to a confidence: a logistic model whose weights were fitted to pairs with known answers
 * (docs/decisions/name-matching.md), and evidence beside the name as shifts of its log-odds.
 */
import type { Alignment, NameFeatures } from './compare.ts';
import { align, features, type Meet } from './compare.ts';
import type { MatchReason, NameQuery } from './name.ts';
import type { NamePart, ParsedName } from './parse.ts';
import { meet } from './similarity.ts';

/** Fitted with bench/names.ts's pairs; every weight has the sign that its meaning demands, so more agreement never costs. */
const MODEL = {
  base: -0.74,
  coveredLess: 3.46,
  worst: -2.6,
  differences: -4.01,
  numbers: -1.17,
  forms: -2.2,
  single: -0.19,
  slip: 0.98,
} as const;

/** Differences beyond this say nothing more. */
const DIFFERENCES_MAX = 2;

/** Log-odds of the same words in the same order; beside it no evidence may be lost in certainty. */
const IDENTICAL = 4;

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

/** Facts of a listed entity that speak for or against a match. */
export interface ListedFacts {
  readonly birthDates: readonly string[];
  readonly countries: readonly string[];
  readonly schema: string;
  readonly weak: boolean;
}

/** Confidence that two names are of the same party, 0–1, by the names alone; the same both ways round. */
export function nameConfidence(left: ParsedName, right: ParsedName): number {
  return toConfidence(judge(left, right).logit, isIdentical(left, right));
}

export interface Judgement {
  readonly aligned: Alignment;
  readonly features: NameFeatures;
  readonly logit: number;
}

export function judge(left: ParsedName, right: ParsedName, meets: Meet = meet): Judgement {
  const aligned = align(left, right, meets);
  const seen = features(left, right, aligned);
  const logit = isIdentical(left, right)
    ? IDENTICAL
    : MODEL.base +
      MODEL.coveredLess * seen.coveredLess +
      MODEL.worst * seen.worst +
      MODEL.differences * Math.min(DIFFERENCES_MAX, seen.differences) +
      MODEL.numbers * seen.numbers +
      MODEL.forms * seen.forms +
      MODEL.single * seen.single +
      MODEL.slip * seen.slip;
  return { aligned, features: seen, logit };
}

/** The same words in the same order; legal forms may be missing or spelled otherwise, if they are comparable. */
export function isIdentical(left: ParsedName, right: ParsedName): boolean {
  if (left.parts.length !== right.parts.length || left.parts.length === 0) return false;
  for (const [at, part] of left.parts.entries()) {
    const other = right.parts[at] as NamePart;
    if (part.text !== other.text || part.kind !== other.kind || part.script !== other.script) return false;
  }
  if (left.forms.length === 0 || right.forms.length === 0) return true;
  return left.forms.some((form) => right.forms.some((other) => form.text === other.text));
}

/** Three decimals. Only the identical name, without evidence against it, is certain. */
export function toConfidence(logit: number, identical: boolean): number {
  if (identical && logit >= IDENTICAL) return 1;
  return Math.min(0.999, Math.round(1000 / (1 + Math.exp(-logit))) / 1000);
}

/** What stands beside the names: the shift of the log-odds and a reason for each. */
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
  // Day and month of one year swapped is a slip of the pen; another day is a doubt.
  const swapped = `${asked.slice(0, 4)}-${asked.slice(8, 10)}-${asked.slice(5, 7)}`;
  return swapped === listed.slice(0, 10) ? EVIDENCE.birthYearSame : EVIDENCE.birthYearNear;
}

const text = (name: ParsedName, at: readonly number[]): string =>
  at.map((position) => (name.parts[position] as NamePart).text).join(' ');

const MET: Readonly<Record<string, string>> = {
  exact: 'is the same as',
  nickname: 'is a form of the same given name as',
  initial: 'is the initial of, or begins with,',
  phonetic: 'sounds like',
  spelling: 'is spelled nearly as',
  glued: 'is, written apart or as one,',
  number: 'is the same number as',
};

/** Which part met which, part by part of the asked name, then what is left over. */
export function explainNames(asked: ParsedName, listed: ParsedName, judged: Judgement): MatchReason[] {
  const reasons: MatchReason[] = [];
  const { aligned } = judged;
  for (const { left, right, meeting } of aligned.pairs) {
    const a = text(asked, left);
    const b = text(listed, right);
    const kind = left.length + right.length > 2 ? 'glued' : meeting.kind;
    const similarity = Math.round(meeting.similarity * 100) / 100;
    reasons.push({
      kind,
      asked: a,
      listed: b,
      similarity,
      message: `'${a}' ${MET[kind] ?? 'meets'} '${b}'.`,
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
      message: `The listed name has '${b}' besides.`,
    });
  }
  const positions = aligned.pairs.map((pair) => pair.right[0] as number);
  if (positions.some((at, index) => index > 0 && at < (positions[index - 1] as number))) {
    reasons.push({
      kind: 'order',
      asked: null,
      listed: null,
      similarity: null,
      message: 'The parts stand in another order.',
    });
  }
  if (asked.forms.length > 0 && listed.forms.length > 0) {
    const same = judged.features.forms === 0;
    const [a, b] = [asked.forms, listed.forms].map((forms) => forms.map((form) => form.text).join(', ')) as [
      string,
      string,
    ];
    reasons.push({
      kind: 'orgForm',
      asked: a,
      listed: b,
      similarity: same ? 1 : 0,
      message: same ? `The legal forms are comparable (${a}).` : `The legal forms differ: ${a} and ${b}.`,
    });
  }
  return reasons;
}
