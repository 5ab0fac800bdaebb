/**
 * Compares runs of a benchmark with a kept one. A run is repeated, and the spread of the repetitions is the noise of each figure: only a
 * change beyond it is marked. Figures with a control are compared as ratios to it, because a slower machine slows both.
 */
import { type BenchReport, type BenchRow, median } from './harness.ts';

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
  /** Parts of the subject that differ: figures of other sizes are not compared. */
  readonly differs: readonly string[];
}

/** No machine repeats a time more exactly than this; two repetitions that agree by chance must not make everything a change. */
const LEAST_NOISE = 0.05;

/** Whether more is better: by the goal of the row, else by its unit; null if neither says it. */
function isMoreBetter({ goal, unit }: BenchRow): boolean | null {
  if (goal?.atLeast !== undefined) return true;
  if (goal?.atMost !== undefined) return false;
  if (/(\/s|a second)$/.test(unit)) return true;
  return /^(CPU )?(ns|µs|ms|s|bytes|KB|MB|MiB|US cents)( |$)/.test(unit) ? false : null;
}

function markOf(row: BenchRow, change: number, noise: number): Change {
  if (Math.abs(change) <= noise) return 'same';
  const more = isMoreBetter(row);
  if (more === null) return 'changed';
  return more === change > 0 ? 'better' : 'worse';
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
  const names = new Set(first.rows.map(({ name }) => name));
  const missing = [
    ...kept.rows.filter(({ name }) => !names.has(name)).map(({ name }) => name),
    ...first.rows.filter(({ name }) => !kept.rows.some((old) => old.name === name)).map(({ name }) => name),
  ];
  const rows = first.rows.flatMap((row): ComparedRow[] => {
    const old = kept.rows.find(({ name }) => name === row.name);
    if (old === undefined) return [];
    const of = old.ratio !== null && row.ratio !== null ? 'ratio' : 'value';
    const values = now.flatMap(({ rows: each }) =>
      each.filter(({ name }) => name === row.name).map((one) => one[of] ?? 0),
    );
    const before = old[of] as number;
    const after = median(values);
    const spread = after === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / Math.abs(after);
    const noise = Math.max(LEAST_NOISE, spread);
    const change = before === 0 ? (after === 0 ? 0 : Number.POSITIVE_INFINITY) : after / before - 1;
    return [
      {
        name: row.name,
        unit: row.unit,
        of,
        before,
        after,
        change,
        noise,
        mark: markOf(row, change, noise),
      },
    ];
  });
  return { name: first.name, before: kept.startedAt, repetitions: now.length, rows, missing, differs };
}

const percent = (share: number): string =>
  Number.isFinite(share) ? `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %` : '–';
const figure = (value: number): string =>
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

/** Formats a comparison as a readable table; rows that changed come with their mark. */
export function formatComparison({ name, before, repetitions, rows, missing, differs }: Comparison): string {
  const cells = [
    ['', 'before', 'after', 'unit', 'change', 'noise', ''],
    ...rows.map((row) => [
      row.name,
      figure(row.before),
      figure(row.after),
      row.of === 'ratio' ? '× control' : row.unit,
      percent(row.change),
      `±${(100 * row.noise).toFixed(1)} %`,
      row.mark === 'same' ? '' : row.mark.toUpperCase(),
    ]),
  ];
  const widths = (cells[0] as string[]).map((_, column) =>
    Math.max(...cells.map((line) => (line[column] as string).length)),
  );
  const lines = cells.map((line) =>
    line
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[0] as number) : text.padStart(widths[column] as number),
      )
      .join('  ')
      .trimEnd(),
  );
  const times = repetitions === 1 ? 'one run' : `the median of ${repetitions} runs`;
  return [
    `${name}: ${times} beside the one of ${before}`,
    ...(differs.length > 0 ? [`Not the same subject (${differs.join(', ')}): its figures say little.`] : []),
    ...lines,
    ...(missing.length > 0 ? [`In one of the two only: ${missing.join('; ')}`] : []),
    '',
  ].join('\n');
}
