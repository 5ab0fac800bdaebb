/** Quality figures of the name matcher: pairs with known answers, OFAC's own scores, altered real names, ordinary names. */
import { readFileSync } from 'node:fs';
import { nameConfidence } from '../src/names/model.ts';
import type { NameEntity, NameIndex } from '../src/names/name.ts';
import { parseName } from '../src/names/parse.ts';
import { parseCsvRows } from './name-csv.ts';
import { areaUnderCurve, aroundNine, f1At, type Judged, rankCorrelation } from './name-figures.ts';
import { crossValidate, readAnsweredPairs, readScoredPairs } from './name-fit.ts';
import { seeded } from './name-lists.ts';
import type { ScriptPair } from './name-scripts.ts';

/** Returns the confidence of the shipped model for two names. */
export const confidenceOf = (asked: string, listed: string): number =>
  nameConfidence(parseName(asked), parseName(listed));

export interface PairQuality {
  readonly pairs: number;
  readonly f1: number;
  readonly auc: number;
  /** Pairs that scored 0.85 to 0.95, and the share of correct ones among them. */
  readonly nine: ReturnType<typeof aroundNine>;
}

const qualityOf = (judged: readonly Judged[]): PairQuality => ({
  pairs: judged.length,
  f1: f1At(judged, 0.7),
  auc: areaUnderCurve(judged),
  nine: aroundNine(judged),
});

/** F1 at a confidence of 0.7, the area under the curve, and whether 0.9 means nine in ten, with the shipped model. */
export const pairQuality = (path: string): PairQuality =>
  qualityOf(
    parseCsvRows(readFileSync(path, 'utf8')).map((row) => ({
      right: row.is_match === 'true',
      score: confidenceOf(row.name1 ?? '', row.name2 ?? ''),
    })),
  );

/** The same, with each pair judged by a model fitted to the others. OFAC's scores are handled the same way. */
export function heldOutQuality(
  pairsPath: string,
  scoresPath: string,
): { readonly pairs: PairQuality; readonly bands: readonly Band[]; readonly correlation: number } {
  const held = crossValidate(readAnsweredPairs(pairsPath), readScoredPairs(scoresPath), 10);
  return { pairs: qualityOf(held.pairs), bands: bandsOf(held.pairs), correlation: held.correlation };
}

/**
 * Spearman's rank correlation of our confidence with the score of OFAC's own search. A row of −1 was not among the results of that search,
 * and ranks last. `onlyReturned` leaves such rows out. (One pair is listed with −1 and, from another search, with 50.)
 */
export function ofacCorrelation(path: string, onlyReturned: boolean): number {
  const rows = parseCsvRows(readFileSync(path, 'utf8')).filter(
    (row) => !onlyReturned || Number(row.ofac_score) >= 0,
  );
  return rankCorrelation(
    rows.map((row) => confidenceOf(row.query_name ?? '', row.result_name ?? '')),
    rows.map((row) => Number(row.ofac_score)),
  );
}

export type Change = 'none' | 'typo' | 'swapped' | 'dropped';

export interface Recall {
  readonly asked: number;
  /**
   * Share of names for which the own entity comes first or shares the first score. Only two kinds of entities may precede it: those with
   * exactly the requested name, and those that share a name with the own entity (the same party on another list).
   */
  readonly first: number;
  /** Share of names with the own entity anywhere among the matches. */
  readonly found: number;
  /** The requested names, with their entities, for which the own entity did not come first. */
  readonly missed: readonly string[];
}

/** Searches for primary names and strong aliases, changed in one way, and looks for their own entity. */
export function recallOf(
  index: NameIndex,
  entities: readonly NameEntity[],
  change: Change,
  count: number,
): Recall {
  const random = seeded(7);
  const names = entities.flatMap((entity) =>
    entity.names
      .filter((name) => !name.weak && fits(name.text, entity, change))
      .map((name) => ({ entity, text: name.text })),
  );
  const chosen =
    count >= names.length
      ? names
      : Array.from(
          { length: count },
          () => names[Math.floor(random() * names.length)] as (typeof names)[number],
        );
  const keysOf = new Map(
    entities.map((entity) => [idOf(entity), new Set(entity.names.map((name) => nameKey(name.text)))]),
  );
  let first = 0;
  let found = 0;
  const missed: string[] = [];
  for (const { entity, text } of chosen) {
    const asked = changed(text, change, random);
    const key = nameKey(asked);
    const ownKeys = keysOf.get(idOf(entity)) ?? new Set();
    const matches = index.match({ name: asked }, { limit: 300 });
    const own = matches.find((match) => idOf(match) === idOf(entity));
    const before = matches.find((match) => {
      if (own !== undefined && match.score <= own.score) return false;
      const keys = keysOf.get(idOf(match)) ?? new Set();
      return !keys.has(key) && ![...keys].some((each) => ownKeys.has(each));
    });
    if (own) found++;
    if (own && !before) first++;
    else missed.push(`${asked} ← ${text} (${idOf(entity)})`);
  }
  return { asked: chosen.length, first: first / chosen.length, found: found / chosen.length, missed };
}

const idOf = ({ list, entityId }: { readonly list: string; readonly entityId: string }): string =>
  `${list} ${entityId}`;

/** The same key for the same words in any order, and in any script with the same letters. */
const nameKey = (text: string): string =>
  parseName(text)
    .parts.filter((part) => part.kind !== 'particle')
    .map((part) => part.folded)
    .sort()
    .join(' ');

const wordsOf = (text: string): string[] =>
  text
    .replace(/,/g, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');

function fits(text: string, entity: NameEntity, change: Change): boolean {
  const words = wordsOf(text);
  if (change === 'none') return /\p{L}/u.test(text);
  if (change === 'typo') return /[a-z]{4}/i.test(text);
  if (entity.schema !== 'Person') return false;
  return words.length >= (change === 'swapped' ? 2 : 3);
}

function changed(text: string, change: Change, random: () => number): string {
  const words = wordsOf(text);
  if (change === 'none') return text;
  if (change === 'typo') return withTypo(text, random);
  if (change === 'swapped') return [...words.slice(1), words[0]].join(' ');
  words.splice(1 + Math.floor(random() * (words.length - 2)), 1);
  return words.join(' ');
}

/** Replaces, omits, inserts or transposes one letter in a word of at least four letters. */
function withTypo(text: string, random: () => number): string {
  const long = [...text.matchAll(/[a-z]{4,}/gi)];
  const word = long[Math.floor(random() * long.length)] as RegExpExecArray;
  const at = word.index + Math.floor(random() * (word[0].length - 1));
  const letter = String.fromCharCode(97 + Math.floor(random() * 26));
  const kind = Math.floor(random() * 4);
  const [head, tail] = [text.slice(0, at), text.slice(at + 1)];
  if (kind === 0) return head + letter + tail;
  if (kind === 1) return head + tail;
  if (kind === 2) return head + letter + text.slice(at);
  return head + (text[at + 1] as string) + (text[at] as string) + text.slice(at + 2);
}

/** A band of confidences: how many held-out pairs have one, how many of these are right, and the 95 % interval of that share. */
export interface Band {
  readonly from: number;
  readonly to: number;
  readonly pairs: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

const BANDS = [0.7, 0.8, 0.9, 0.95, 1] as const;
/** Two-sided 95 % of the normal distribution. */
const Z = 1.96;

/** Returns the share of right pairs in each band, with Wilson's interval. */
export function bandsOf(judged: readonly Judged[]): Band[] {
  return BANDS.slice(1).map((to, at) => {
    const from = BANDS[at] as number;
    const inside = judged.filter(({ score }) => score >= from && (score < to || to === 1));
    const right = inside.filter((each) => each.right).length;
    const n = Math.max(1, inside.length);
    const p = right / n;
    const middle = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
    const half = (Z * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n * n))) / (1 + Z ** 2 / n);
    return { from, to, pairs: inside.length, right, low: middle - half, high: Math.min(1, middle + half) };
  });
}

/** Share of cross-script pairs that are right at 0.7, in all and by script. */
export function scriptQuality(pairs: readonly ScriptPair[]): {
  readonly right: number;
  readonly byScript: Readonly<Record<string, { readonly pairs: number; readonly right: number }>>;
} {
  const byScript: Record<string, { pairs: number; right: number }> = {};
  let right = 0;
  for (const pair of pairs) {
    const isRight = confidenceOf(pair.own, pair.latin) >= 0.7 === pair.right;
    const row = byScript[pair.script] ?? { pairs: 0, right: 0 };
    byScript[pair.script] = { pairs: row.pairs + 1, right: row.right + (isRight ? 1 : 0) };
    if (isRight) right++;
  }
  return { right: right / Math.max(1, pairs.length), byScript };
}

/** F1 at 0.7 of the pairs with their names swapped. */
export const swappedF1 = (path: string): number =>
  f1At(
    parseCsvRows(readFileSync(path, 'utf8')).map((row) => ({
      right: row.is_match === 'true',
      score: confidenceOf(row.name2 ?? '', row.name1 ?? ''),
    })),
    0.7,
  );

/** Share of names that have a match at `confidence`. */
export function hitRate(index: NameIndex, names: readonly string[], confidence: number): number {
  const hits = names.filter((name) => index.match({ name }, { limit: 1, threshold: confidence }).length > 0);
  return hits.length / names.length;
}

/** Similarity of two words in one script, or of a word and its usual spelling in another, if they are one name. */
const SAME_WORD = 0.9;

/** Share of names that have a match at `confidence`, and of those whose match has every word of the name: a namesake, if not the party. */
export function hitsAndNamesakes(
  index: NameIndex,
  names: readonly string[],
  confidence: number,
): { readonly hits: number; readonly namesakes: number } {
  let hits = 0;
  let namesakes = 0;
  for (const name of names) {
    const [match] = index.match({ name }, { limit: 1, threshold: confidence });
    if (match === undefined) continue;
    hits++;
    const words = match.explanation.filter(({ asked, kind }) => asked !== null && kind !== 'orgForm');
    if (words.every(({ similarity }) => similarity !== null && similarity >= SAME_WORD)) namesakes++;
  }
  return { hits: hits / names.length, namesakes: namesakes / names.length };
}
