/**
 * The score of two answers line by line. The points of the lines add up to the score on each side, so that their differences add up to the
 * difference of the scores.
 */
import { type JsonObject, numberOf, textOf } from '../json.ts';

/** The parts whose change can explain another line of a score. */
export const CAUSES = [
  /** The two requests differ. */
  'REQUEST',
  'POLICY',
  'SANCTIONS',
  'LABELS',
  'TRANSFERS',
  'EXPOSURE',
  /** The owner of a party of a transfer. */
  'PARTIES',
  'FLAGS',
  /** A list was published or checked again, without a change of the entries of the address. */
  'LISTS',
  'COVERAGE',
  'DATA',
  'SOFTWARE',
] as const;
export type Cause = (typeof CAUSES)[number];

/** Lines that are not a factor of the score. */
const REST = {
  /** The points that a score loses above 100, or gains below 0. */
  cap: 'CAP',
  /** Points of an answer without its breakdown: a KYT answer, or a screening whose `sections` leave it out. */
  total: 'SCORE',
} as const;

export interface ScoreLine {
  /** A factor of the score, or `CAP` or `SCORE`. */
  readonly factor: string;
  readonly category: string | null;
  readonly riskType: string | null;
  readonly direction: string | null;
  readonly asset: string | null;
  /** Points; null if the answer does not have the line. */
  readonly before: number | null;
  readonly after: number | null;
  /** A missing line counts as 0. */
  readonly difference: number;
  /** Parts that changed between the answers and that this line is computed from; empty if the points are the same. */
  readonly causes: readonly Cause[];
}

export interface ScoreComparison {
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  readonly lines: readonly ScoreLine[];
}

type Facts = Pick<ScoreLine, 'factor' | 'category' | 'riskType' | 'direction' | 'asset'>;

/** The parts that each factor is computed from. POLICY, REQUEST and SOFTWARE can change every line. */
const SOURCES: Readonly<Record<string, readonly Cause[]>> = {
  SANCTIONS_IN_FORCE: ['SANCTIONS'],
  OWN_LABEL: ['LABELS'],
  DIRECT_EXPOSURE: ['EXPOSURE', 'TRANSFERS', 'LABELS'],
  INDIRECT_EXPOSURE: ['EXPOSURE', 'TRANSFERS', 'LABELS'],
  UNSOLICITED_INBOUND: ['EXPOSURE', 'TRANSFERS', 'LABELS'],
};
const OF_ALL: readonly Cause[] = ['POLICY', 'REQUEST', 'SOFTWARE'];
/** A total or a cap follows from everything else. */
const OF_REST: readonly Cause[] = [
  'SANCTIONS',
  'LABELS',
  'EXPOSURE',
  'TRANSFERS',
  'PARTIES',
  'FLAGS',
  'DATA',
];

interface Line extends Facts {
  readonly points: number;
}

const lineOf = (row: JsonObject): Line => ({
  factor: textOf(row.factor) ?? '',
  category: textOf(row.category),
  riskType: textOf(row.riskType),
  direction: textOf(row.direction),
  asset: textOf(row.asset),
  points: numberOf(row.points) ?? 0,
});

/** Returns the lines of a side by what they are about; the rest of the score is a line too. */
function linesOf(score: number, rows: readonly JsonObject[] | null, rest: string): ReadonlyMap<string, Line> {
  const lines = new Map<string, Line>();
  const counts = new Map<string, number>();
  let left = score;
  for (const line of (rows ?? []).map(lineOf)) {
    const { points, ...facts } = line;
    const key = JSON.stringify(Object.values(facts));
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    lines.set(`${count} ${key}`, line);
    left -= points;
  }
  if (left !== 0 || rows === null)
    lines.set(rest, {
      factor: rest,
      ...{ category: null, riskType: null, direction: null, asset: null },
      points: left,
    });
  return lines;
}

/**
 * Compares two scores.
 *
 * @param before - score, and rows of the breakdown; null without a breakdown
 * @param changed - what changed between the answers
 */
export function compareScores(
  before: { readonly score: number; readonly rows: readonly JsonObject[] | null },
  after: { readonly score: number; readonly rows: readonly JsonObject[] | null },
  changed: ReadonlySet<Cause>,
): ScoreComparison {
  // With the breakdown of one side only, no line has a counterpart.
  const isListed = before.rows !== null && after.rows !== null;
  const rest = isListed ? REST.cap : REST.total;
  const old = linesOf(before.score, isListed ? before.rows : null, rest);
  const current = linesOf(after.score, isListed ? after.rows : null, rest);
  const keys = [...new Set([...old.keys(), ...current.keys()])];
  const lines = keys.map((key): ScoreLine => {
    const [one, other] = [old.get(key), current.get(key)];
    const { points: _, ...facts } = (other ?? one) as Line;
    const difference = (other?.points ?? 0) - (one?.points ?? 0);
    const sources = [...(SOURCES[facts.factor] ?? OF_REST), ...OF_ALL];
    return {
      ...facts,
      before: one?.points ?? null,
      after: other?.points ?? null,
      difference,
      causes: difference === 0 ? [] : sources.filter((cause) => changed.has(cause)),
    };
  });
  return {
    before: before.score,
    after: after.score,
    difference: after.score - before.score,
    // The greatest difference first; equal ones as the answers list them.
    lines: lines.toSorted((a, b) => Math.abs(b.difference) - Math.abs(a.difference)),
  };
}
