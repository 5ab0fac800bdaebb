/** `assay doctor`: checks the machine, the data and the servers of an installation, and says what to do about each finding. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal } from './context.ts';

/** `warning`: works now, but may not for long. `problem`: something must be done. */
export type FindingState = 'ok' | 'warning' | 'problem';

export interface Finding {
  /** The checked part: `disk`, `stores`, `lists`, `nodes`, `redis`, `clock`, `files`, `settings`, `server` or `restored`. */
  readonly check: string;
  readonly state: FindingState;
  /** What was found, as a sentence. */
  readonly text: string;
  /** What to do, as a sentence; null if nothing needs to be done. */
  readonly advice: string | null;
}

/** Runs all checks. Reads only; works with and without a running server. */
export type Examine = (signal: AbortSignal) => Promise<readonly Finding[]>;

const MARKS: Readonly<Record<FindingState, string>> = { ok: 'ok', warning: 'warning', problem: 'PROBLEM' };

function linesOf(findings: readonly Finding[]): readonly string[] {
  const problems = findings.filter(({ state }) => state === 'problem').length;
  return [
    ...findings.flatMap(({ check, state, text, advice }) => [
      `${MARKS[state].padEnd(8)} ${check.padEnd(9)} ${text}`,
      ...(advice === null ? [] : [`${' '.repeat(19)}-> ${advice}`]),
    ]),
    problems === 0 ? 'Nothing must be done.' : `${problems} of ${findings.length} findings need action.`,
  ];
}

/** Adds `assay doctor`. */
export function addDoctorCommand(program: Command, terminal: Terminal, examine: Examine): void {
  program
    .command('doctor')
    .description(
      'check settings, disk, stores, lists, prices, nodes, Redis, clock and file limits, and say what to do; exit code 1 if something must be done',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const findings = await examine(terminal.signal);
      const problems = findings.filter(({ state }) => state === 'problem');
      answer(terminal, options.json ?? false, { ok: problems.length === 0, findings }, () =>
        linesOf(findings),
      );
      const [first] = problems;
      if (first === undefined) return;
      throw new AssayError('NOT_READY', `${first.check}: ${first.text}`);
    });
}
