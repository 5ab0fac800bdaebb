/** A run of a benchmark, and how its figures are written. */

export interface BenchGoal {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The goal for `value`, or for `ratio` if `of` is `ratio`. Null for an additional figure without a goal. */
  readonly goal: (BenchGoal & { readonly of?: 'value' | 'ratio' }) | null;
  /** The same work done by a minimal implementation in the same run. */
  readonly control: number | null;
  readonly ratio: number | null;
  readonly met: boolean | null;
}

export interface BenchReport {
  readonly name: string;
  readonly startedAt: string;
  readonly machine: BenchMachine;
  /** The test data: counts and seeds, with real and synthetic data listed separately. */
  readonly subject: Readonly<Record<string, string | number>>;
  readonly rows: readonly BenchRow[];
  readonly met: boolean;
}

export interface BenchMachine {
  readonly name: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
}

/** Formats a figure with three digits, or whole from 1,000 on. */
export const shown = (value: number): string =>
  Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString('en-US')
    : Number(value.toPrecision(3)).toString();

export const goalText = (goal: BenchRow['goal']): string => {
  if (!goal) return '';
  const bound = goal.atLeast === undefined ? `≤ ${shown(goal.atMost ?? 0)}` : `≥ ${shown(goal.atLeast)}`;
  return goal.of === 'ratio' ? `${bound} × control` : bound;
};
