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
  /** Version and commit of the program; `changed` if files differ from it. Absent from runs before 30 November 2026. */
  readonly program?: string;
  readonly machine: BenchMachine;
  /** The test data: counts and seeds, with real and synthetic data listed separately. */
  readonly subject: Readonly<Record<string, string | number>>;
  readonly rows: readonly BenchRow[];
  readonly met: boolean;
}

export interface BenchMachine {
  readonly name: string;
  readonly cpu: string;
  /** Cores that the run may use, which `taskset` and the limits of a container make fewer than those of the machine. */
  readonly cores: number;
  /** Memory that the run may use. */
  readonly memoryGb: number;
  /** File system of the temporary folder, in which all data of a run is. Absent from runs before 30 November 2026. */
  readonly disk?: string;
  readonly system: string;
  readonly node: string;
}

/** The file systems that are in memory: nothing of a run is durable on them. */
export const MEMORY_DISKS: readonly string[] = ['tmpfs', 'ramfs'];

/** Returns what makes the figures of a run doubtful, one sentence each. */
export const runNotes = ({ machine: { disk } }: Pick<BenchReport, 'machine'>): string[] =>
  disk !== undefined && MEMORY_DISKS.includes(disk)
    ? [
        `The temporary folder is in memory (${disk}), so nothing of this run was durable: set TMPDIR to a folder on a disk.`,
      ]
    : [];

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
