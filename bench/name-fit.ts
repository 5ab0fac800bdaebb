/**
 * Fits the weights of the matcher's model (data/names/model.json), and evaluates them on data they were not fitted to. Deterministic: the
 * same files give the same weights. docs/decisions/name-matching.md describes the method.
 */
import { readFileSync } from 'node:fs';
import { align } from '../src/names/align.ts';
import { features, type NameFeatures } from '../src/names/compare.ts';
import { DIFFERENCES_MAX, isIdentical, type NameModel, scoreOf } from '../src/names/model.ts';
import { parseName } from '../src/names/parse.ts';
import { parseCsvRows } from './name-csv.ts';
import { areaUnderCurve, f1At, rankCorrelation } from './name-figures.ts';
import { seeded } from './name-lists.ts';

/** Two names as input of the model. */
export interface SeenPair {
  readonly seen: NameFeatures;
  readonly identical: boolean;
}

/** A pair with its correct answer. */
export interface AnsweredPair extends SeenPair {
  readonly right: boolean;
}

/** A pair with OFAC's own score, 0–100. Below 0 if its search did not return the result. */
export interface ScoredPair extends SeenPair {
  readonly query: string;
  readonly score: number;
}

const see = (asked: string, listed: string): SeenPair => {
  const [a, b] = [parseName(asked), parseName(listed)];
  return { seen: features(a, b, align(a, b)), identical: isIdentical(a, b) };
};

/** Reads pairs with known answers from a CSV (name1, name2, is_match). */
export const readAnsweredPairs = (path: string): AnsweredPair[] =>
  parseCsvRows(readFileSync(path, 'utf8')).map((row) => ({
    ...see(row.name1 ?? '', row.name2 ?? ''),
    right: row.is_match === 'true',
  }));

/** Reads pairs with OFAC's scores from a CSV (query_name, result_name, ofac_score). */
export const readScoredPairs = (path: string): ScoredPair[] =>
  parseCsvRows(readFileSync(path, 'utf8')).map((row) => ({
    ...see(row.query_name ?? '', row.result_name ?? ''),
    query: row.query_name ?? '',
    score: Number(row.ofac_score),
  }));

type Weight = keyof NameModel['weights'];

/**
 * The prior value of each weight, and the sign that its meaning requires. The pull towards it, PULL, keeps the weight of a feature that
 * occurs in few pairs at a sensible value.
 */
const PRIOR: Readonly<Record<Weight, number>> = {
  coveredLess: 3.5,
  worst: -2.5,
  differences: -4,
  numbers: -1.2,
  forms: -2,
  slip: 1,
  family: -3,
  common: -4,
  initials: -0.5,
  reversed: -3,
  place: -1.5,
};
const WEIGHTS = Object.keys(PRIOR) as Weight[];
const PULL = 0.1;
/** The pull of features that the pairs hardly show: their weights are judgement. */
const STRONG_PULL: Partial<Record<Weight, number>> = {
  family: 4,
  common: 1,
  initials: 4,
  reversed: 0.5,
  place: 0.5,
};
const pullOf = (weight: Weight): number => STRONG_PULL[weight] ?? PULL;
const SWEEPS = 200;

const figureOf = (seen: NameFeatures, weight: Weight): number =>
  weight === 'differences' ? Math.min(DIFFERENCES_MAX, seen.differences) : seen[weight];

/** Logistic regression by coordinate descent: sets each weight in turn to its optimum, within its sign. Identical names are left out. */
export function fitWeights(pairs: readonly AnsweredPair[]): NameModel['weights'] & { base: number } {
  const rows = pairs
    .filter((pair) => !pair.identical)
    .map((pair) => ({
      values: WEIGHTS.map((weight) => figureOf(pair.seen, weight)),
      right: pair.right ? 1 : 0,
    }));
  const weights = WEIGHTS.map((weight) => PRIOR[weight]);
  let base = 0;
  const logits = rows.map(({ values }) =>
    values.reduce((sum, value, at) => sum + value * (weights[at] as number), 0),
  );
  const step = (at: number): void => {
    let gradient = 0;
    let curvature = 1e-6;
    for (const [number, { values, right }] of rows.entries()) {
      const value = at < 0 ? 1 : (values[at] as number);
      const p = 1 / (1 + Math.exp(-(logits[number] as number)));
      gradient += (p - right) * value;
      curvature += p * (1 - p) * value * value;
    }
    const before = at < 0 ? base : (weights[at] as number);
    if (at >= 0) {
      const prior = PRIOR[WEIGHTS[at] as Weight];
      const pull = pullOf(WEIGHTS[at] as Weight);
      gradient += 2 * pull * (before - prior);
      curvature += 2 * pull;
    }
    let after = before - gradient / curvature;
    if (at >= 0 && Math.sign(after) !== Math.sign(PRIOR[WEIGHTS[at] as Weight])) after = 0;
    if (at < 0) base = after;
    else weights[at] = after;
    for (const [number, { values }] of rows.entries())
      logits[number] = (logits[number] as number) + (after - before) * (at < 0 ? 1 : (values[at] as number));
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) for (let at = -1; at < WEIGHTS.length; at++) step(at);
  const fitted = Object.fromEntries(
    WEIGHTS.map((weight, at) => [weight, weights[at]]),
  ) as NameModel['weights'];
  return { ...fitted, base };
}

/** Candidate values for the score of names that do not match, tried in this order. Of equal results the first is used. */
const MOST = [0.3, 0.4, 0.5, 0.6];
const EXPONENT = [4, 6, 8];

export interface Fit {
  readonly model: NameModel;
  readonly f1: number;
  readonly auc: number;
  readonly correlation: number;
}

/**
 * Fits the weights by likelihood of the pairs, so that a score is a probability, then the rank of names that do not match: of all
 * candidates it takes the one with the best sum of F1, area under the curve, and rank correlation with OFAC's scores.
 */
export function fitModel(pairs: readonly AnsweredPair[], scored: readonly ScoredPair[]): Fit {
  const { base, ...weights } = fitWeights(pairs);
  const theirs = scored.map((pair) => pair.score);
  let best: Fit | null = null;
  let bestWorth = Number.NEGATIVE_INFINITY;
  for (const most of MOST) {
    for (const exponent of EXPONENT) {
      const model: NameModel = {
        base: rounded(base),
        weights: Object.fromEntries(
          WEIGHTS.map((weight) => [weight, rounded(weights[weight])]),
        ) as NameModel['weights'],
        near: { most, exponent },
      };
      const judged = judgePairs(pairs, model);
      const f1 = f1At(judged, 0.7);
      const auc = areaUnderCurve(judged);
      const correlation = rankCorrelation(
        scored.map((pair) => scoreOf(pair.seen, pair.identical, model)),
        theirs,
      );
      const worth = f1 + auc + correlation;
      if (worth <= bestWorth) continue;
      bestWorth = worth;
      best = { model, f1, correlation, auc };
    }
  }
  if (best === null) throw new Error('nothing was tried');
  return best;
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** Scores the pairs by a model. Default: the shipped model. */
export const judgePairs = (
  pairs: readonly AnsweredPair[],
  model?: NameModel,
): { right: boolean; score: number }[] =>
  pairs.map((pair) => ({ right: pair.right, score: scoreOf(pair.seen, pair.identical, model) }));

export interface HeldOut {
  readonly pairs: readonly { right: boolean; score: number }[];
  readonly correlation: number;
}

/**
 * Judges each pair by a model that was fitted without it. For a row of OFAC's scores, the model is fitted without the scores of its query.
 */
export function crossValidate(
  pairs: readonly AnsweredPair[],
  scored: readonly ScoredPair[],
  folds: number,
  seed = 17,
): HeldOut {
  const random = seeded(seed);
  const order = pairs.map(() => random());
  const foldOf = (values: readonly number[], at: number): number =>
    values.filter((value) => value < (values[at] as number)).length % folds;
  const pairFold = pairs.map((_, at) => foldOf(order, at));
  const queries = [...new Set(scored.map((pair) => pair.query))];
  const queryOrder = queries.map(() => random());
  const queryFold = new Map(queries.map((query, at) => [query, foldOf(queryOrder, at)]));
  const heldPairs: { right: boolean; score: number }[] = [];
  const ours: number[] = [];
  for (let fold = 0; fold < folds; fold++) {
    const { model } = fitModel(
      pairs.filter((_, at) => pairFold[at] !== fold),
      scored.filter((pair) => queryFold.get(pair.query) !== fold),
    );
    heldPairs.push(
      ...judgePairs(
        pairs.filter((_, at) => pairFold[at] === fold),
        model,
      ),
    );
    for (const [at, pair] of scored.entries())
      if (queryFold.get(pair.query) === fold) ours[at] = scoreOf(pair.seen, pair.identical, model);
  }
  return {
    pairs: heldPairs,
    correlation: rankCorrelation(
      ours,
      scored.map((pair) => pair.score),
    ),
  };
}
