/**
 * Compares runs of a benchmark with a kept one. A run is repeated, and the noise of each figure is one and a half times the spread of the
 * repetitions, because the kept run is one draw with the same noise: only a change beyond it is marked. Figures with a control are compared as
 * ratios to it, because a slower machine slows both; figures without one say nothing about a program if the machine is another.
 */
import { alignedLines, median } from './harness.ts';
import { type BenchReport, type BenchRow, shown } from './report.ts';

export type Change = 'better' | 'worse' | 'changed' | 'same';

export interface ComparedRow {
  readonly name: string;
  readonly unit: string;
  /** What is compared: the figure itself, or its ratio to the control. */
  readonly of: 'value' | 'ratio';
  readonly before: number;
  /** The median of the repetitions. */
  readonly after: number;
  /** `after / before - 1`. */
  readonly change: number;
  /** The change that repetitions show without a reason, as a share. */
  readonly noise: number;
  readonly mark: Change;
}

export interface Comparison {
  readonly name: string;
  readonly before: string;
  readonly repetitions: number;
  readonly rows: readonly ComparedRow[];
  /** Rows that only one of the two has. */
  readonly missing: readonly string[];
  /** Parts of the subject that differ. */
  readonly differs: readonly string[];
  /** Parts of the machine that differ: then no figure without a control is better or worse. */
  readonly machine: readonly string[];
}

/** No machine repeats a time more exactly than this; two repetitions that agree by chance must not make everything a change. */
const LEAST_NOISE = 0.05;

/**
 * Noise as a multiple of the spread of the repetitions. With five repetitions of normal noise of 3 to 5 %, one of ten comparisons of ten rows
 * marks one that did not change as worse (with the spread itself: one of three); a change of 20 % is marked in 97 % and 64 % of them.
 */
const NOISE_SPREADS = 1.5;

/** Whether more is better: by the goal of the row, else by its unit; null if neither says it. */
function isMoreBetter({ goal, unit }: BenchRow): boolean | null {
  if (goal?.atLeast !== undefined) return true;
  if (goal?.atMost !== undefined) return false;
  if (/(\/s|a second)$/.test(unit)) return true;
  return /^(CPU )?(ns|µs|ms|s|s\/1,000|bytes|KB|MB|GB|MiB|US cents)( |$)/.test(unit) ? false : null;
}

function markOf(row: BenchRow, change: number, noise: number, isOther: boolean): Change {
  if (Math.abs(change) <= noise) return 'same';
  const more = isOther ? null : isMoreBetter(row);
  if (more === null) return 'changed';
  return more === change > 0 ? 'better' : 'worse';
}

/** Returns the rows of a report by name and, because rows below different figures may have one name (`  p99`), by the last name above them. */
function byPlace({ rows }: BenchReport): Map<string, BenchRow> {
  let figure = '';
  return new Map(
    rows.map((row) => {
      if (!row.name.startsWith(' ')) figure = row.name;
      return [`${figure}\n${row.name}`, row];
    }),
  );
}

/**
 * Compares the repetitions of a benchmark with a kept run of it.
 *
 * @param now - one report a repetition, at least one
 */
export function compareRuns(kept: BenchReport, now: readonly BenchReport[]): Comparison {
  const [first] = now;
  if (first === undefined) throw new RangeError('now: must have at least one report.');
  const differs = Object.keys({ ...kept.subject, ...first.subject }).filter(
    (part) => kept.subject[part] !== first.subject[part],
  );
  const machine = (['cpu', 'cores', 'memoryGb', 'disk'] as const).filter(
    (part) => kept.machine[part] !== undefined && kept.machine[part] !== first.machine[part],
  );
  const old = byPlace(kept);
  const all = now.map(byPlace);
  const current = all[0] as Map<string, BenchRow>;
  const missing = [
    ...[...old].filter(([place]) => !current.has(place)),
    ...[...current].filter(([place]) => !old.has(place)),
  ].map(([, { name }]) => name);
  const rows = [...current].flatMap(([place, row]): ComparedRow[] => {
    const earlier = old.get(place);
    if (earlier === undefined) return [];
    const of = earlier.ratio !== null && row.ratio !== null ? 'ratio' : 'value';
    const values = all.flatMap((each) => each.get(place)?.[of] ?? []);
    const before = earlier[of] as number;
    const after = median(values);
    const spread = after === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / Math.abs(after);
    const noise = Math.max(LEAST_NOISE, NOISE_SPREADS * spread);
    const change = before === 0 ? (after === 0 ? 0 : Number.POSITIVE_INFINITY) : after / before - 1;
    const mark = markOf(row, change, noise, of === 'value' && machine.length > 0);
    return [{ name: row.name, unit: row.unit, of, before, after, change, noise, mark }];
  });
  return {
    name: first.name,
    before: kept.startedAt,
    repetitions: now.length,
    rows,
    missing,
    differs,
    machine,
  };
}

const percent = (share: number): string =>
  Number.isFinite(share) ? `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %` : '–';

/** Names of the columns of `comparedCells`. */
export const COMPARED_HEAD: readonly string[] = ['', 'before', 'after', 'unit', 'change', 'noise', ''];

/** Returns a row as texts. */
export const comparedCells = (row: ComparedRow): string[] => [
  row.name,
  shown(row.before),
  shown(row.after),
  row.of === 'ratio' ? '× control' : row.unit,
  percent(row.change),
  `±${(100 * row.noise).toFixed(1)} %`,
  row.mark === 'same' ? '' : row.mark,
];

/** Returns what limits a comparison, one sentence each. */
export const comparisonNotes = ({ differs, machine, missing, repetitions }: Comparison): string[] => [
  ...(repetitions === 1 ? ['One run does not show its noise: its marks say little.'] : []),
  ...(machine.length > 0
    ? [`Another machine (${machine.join(', ')}): figures without a control are neither better nor worse.`]
    : []),
  ...(differs.length > 0 ? [`Not the same subject (${differs.join(', ')}): its figures say little.`] : []),
  ...(missing.length > 0 ? [`In one of the two only: ${missing.join('; ')}.`] : []),
];

/** Formats a comparison as a readable table; rows that changed come with their mark. */
export function formatComparison(comparison: Comparison): string {
  const { name, before, repetitions, rows } = comparison;
  const cells = rows.map((row) => [
    ...comparedCells(row).slice(0, -1),
    row.mark === 'same' ? '' : row.mark.toUpperCase(),
  ]);
  const times = repetitions === 1 ? 'one run' : `the median of ${repetitions} runs`;
  return [
    `${name}: ${times} beside the one of ${before}`,
    ...comparisonNotes(comparison),
    ...alignedLines([COMPARED_HEAD, ...cells]),
    '',
  ].join('\n');
}
