/**
 * `npm run bench [-- name] [options]`: runs one benchmark or all of them, each in a process of its own so that none warms up or slows down
 * another. Each prints its table, saves its run under bench/results/, and fails if it missed a goal. Each has a temporary folder and a group
 * of processes of its own, which end with it and with this program, also if either is interrupted.
 *
 * - `--list`: prints the benchmarks with their options.
 * - `--quick`: small sizes, at most five minutes in total. Its goals are those of the full sizes, so they are shown and not required. The
 *   runs and a page of them are kept under .bench/, not beside the full ones.
 * - `--compare RUN`: runs the benchmarks of a kept run again (a file, or a folder of files), five times or as often as `--repeat N` says,
 *   marks the changes beyond noise, and fails if one is for the worse.
 *
 * Other options are those of the benchmark that is named.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';
import { BENCHMARKS, type BenchOption, OPTIONS } from './catalogue.ts';
import { type Comparison, compareRuns, formatComparison } from './compare.ts';
import type { BenchReport } from './harness.ts';
import { reportPage } from './page.ts';

const USAGE = `Usage: npm run bench [-- name] [options]

Runs one benchmark, or all of them for hours, and keeps each run under bench/results/.

  --quick        small sizes, at most five minutes in total; kept under .bench/
  --compare RUN  runs the benchmarks of a kept run again and marks the changes beyond noise
  --repeat N     how often each runs (1 to 20; default: 1, and 5 with --compare)
  --no-save      keeps no run
  --list         prints the benchmarks with their options
  --help         prints this

Other options are those of the benchmark that is named (--list). Names: ${Object.keys(BENCHMARKS).join(', ')}.
`;

/** Five repetitions show a spread (compare.ts), and the median is not the first run with its cold disk. */
const REPEATED = 5;

/** Signals that interrupt a run. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const SIGNALLED_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

interface Asked {
  readonly names: readonly string[];
  readonly isQuick: boolean;
  readonly compare: string | null;
  readonly repeat: number;
  /** Passed to each benchmark. */
  readonly options: readonly string[];
}

function fail(reason: string): never {
  process.stderr.write(`bench: ${reason}\n`);
  process.exit(2);
}

/** Returns the option at this place with its value. Fails if the benchmark has no such option, or if its value is not valid. */
function optionAt(args: readonly string[], at: number, name: string | null): readonly string[] {
  const option = args[at] as string;
  if (option === '--no-save') return [option];
  const known: readonly string[] = name === null ? [] : (BENCHMARKS[name]?.options ?? []);
  if (!known.includes(option)) {
    const allowed = known.length === 0 ? 'none' : known.join(', ');
    fail(
      name === null
        ? `${option}: unknown, or an option of one benchmark, whose name comes first (--list).`
        : `${option}: is no option of '${name}'. Its options: ${allowed}.`,
    );
  }
  const kind = OPTIONS[option as BenchOption];
  if (kind === 'flag') return [option];
  const value = args[at + 1];
  if (value === undefined || value.startsWith('--')) fail(`${option}: needs a value.`);
  if (kind === 'number' && !(value.trim() !== '' && Number(value) >= 0 && Number.isFinite(Number(value))))
    fail(`${option}: must be a number (got "${value}").`);
  return [option, value];
}

function parse(args: readonly string[]): Asked {
  const options: string[] = [];
  const name =
    args.find((arg, at) => !arg.startsWith('-') && (at === 0 || !takesValue(args[at - 1]))) ?? null;
  if (name !== null && BENCHMARKS[name] === undefined)
    fail(`name: must be one of ${Object.keys(BENCHMARKS).join(', ')} (got "${name}").`);
  let isQuick = false;
  let compare: string | null = null;
  let repeat: number | null = null;
  let isNamed = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--quick') isQuick = true;
    else if (arg === '--compare')
      compare = args[++at] ?? fail('--compare: needs a run, a file or a folder of bench/results.');
    else if (arg === '--repeat') {
      repeat = Number(args[++at]);
      if (!Number.isInteger(repeat) || repeat < 1 || repeat > 20)
        fail('--repeat: must be a whole number from 1 to 20.');
    } else if (arg === name && !isNamed) isNamed = true;
    else {
      const option = optionAt(args, at, name);
      options.push(...option);
      at += option.length - 1;
    }
  }
  const all = Object.keys(BENCHMARKS).filter((each) => !isQuick || BENCHMARKS[each]?.quick != null);
  if (name !== null && isQuick && BENCHMARKS[name]?.quick == null)
    fail(`--quick: '${name}' has no short run. Those with one: ${all.join(', ')}.`);
  if (options.includes('--no-save') && (isQuick || compare !== null))
    fail('--no-save: --quick and --compare need the runs. They keep them under .bench/ only.');
  return {
    names: name === null ? all : [name],
    isQuick,
    compare,
    repeat: repeat ?? (compare === null ? 1 : REPEATED),
    options,
  };
}

/** Whether the next argument is the value of this one. */
const takesValue = (arg: string | undefined): boolean =>
  arg === '--compare' || arg === '--repeat' || (OPTIONS[arg as BenchOption] ?? 'flag') !== 'flag';

/** Runs a benchmark once. Returns whether it met its goals. */
async function run(name: string, { isQuick, options }: Asked, out: string | null): Promise<boolean> {
  const { script, quick } = BENCHMARKS[name] as (typeof BENCHMARKS)[string];
  const path = join(projectRoot, 'dist', 'bench', script);
  const passed = [...(isQuick ? (quick ?? []) : []), ...options, ...(out === null ? [] : ['--out', out])];
  // All temporary folders of the benchmark and of its processes are below this one.
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'));
  const child = spawn(process.execPath, ['--expose-gc', path, ...passed], {
    stdio: 'inherit',
    env: { ...process.env, TMPDIR: folder },
    // A group of its own, which is ended with all that it started: load generators, servers, busy loops.
    detached: true,
  });
  const endGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  };
  // The folders of --keep are named by the benchmark.
  const clear = (): void => {
    if (!options.includes('--keep')) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const stop = (signal: keyof typeof SIGNALLED_CODES): void => {
    endGroup();
    clear();
    process.exit(SIGNALLED_CODES[signal]);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await new Promise<boolean>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => resolve(code === 0));
    });
  } finally {
    endGroup();
    clear();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

function readRun(path: string): BenchReport {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8')) as BenchReport;
    if (typeof report.name === 'string' && Array.isArray(report.rows)) return report;
  } catch {}
  return fail(`${path}: is not a run of a benchmark.`);
}

/** The newest kept run of each benchmark in a file or folder. */
function readRuns(path: string): BenchReport[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) fail(`--compare: there is no file or folder ${path}.`);
  const files = found.isDirectory()
    ? readdirSync(path)
        .filter((file) => file.endsWith('.json'))
        .sort()
        .map((file) => join(path, file))
    : [path];
  const newest = new Map<string, BenchReport>();
  for (const file of files) {
    const report = readRun(file);
    const known = newest.get(report.name);
    if (known === undefined || known.startedAt < report.startedAt) newest.set(report.name, report);
  }
  if (newest.size === 0) fail(`--compare: ${path} holds no run.`);
  return [...newest.values()];
}

async function main(): Promise<void> {
  if (process.argv.some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(USAGE);
    return;
  }
  if (process.argv.includes('--list')) {
    for (const [name, { options, quick }] of Object.entries(BENCHMARKS))
      process.stdout.write(
        `${[name, quick === null ? null : '(--quick)', ...options].flatMap((part) => part ?? []).join(' ')}\n`,
      );
    return;
  }
  const asked = parse(process.argv.slice(2));
  if (asked.compare === null && !asked.isQuick) {
    for (const name of asked.names)
      for (let time = 0; time < asked.repeat; time++)
        if (!(await run(name, asked, null))) process.exitCode = 1;
    return;
  }
  const kept = asked.compare === null ? [] : readRuns(resolve(asked.compare));
  const isKept = (name: string): boolean => kept.some((one) => scriptOf(one) === BENCHMARKS[name]?.script);
  // A named benchmark runs in any case: with its options it may be a variant, such as `http --tagpacks`.
  const wanted =
    asked.compare === null || asked.names.length === 1 ? asked.names : asked.names.filter(isKept);
  if (wanted.length === 0) fail(`--compare: ${asked.compare} holds no run of ${asked.names.join(', ')}.`);
  const folder = join(projectRoot, '.bench', new Date().toISOString().replace(/[:.]/g, '-'));
  const began = performance.now();
  const reports: BenchReport[] = [];
  const comparisons: Comparison[] = [];
  for (const name of wanted) {
    const runs: BenchReport[] = [];
    for (let time = 1; time <= asked.repeat; time++) {
      const out = join(folder, String(time), name);
      mkdirSync(out, { recursive: true });
      await run(name, asked, out);
      const [file] = readdirSync(out);
      if (file === undefined) {
        process.stderr.write(`bench: '${name}' ended without a run.\n`);
        process.exitCode = 1;
      } else runs.push(readRun(join(out, file)));
    }
    const [first] = runs;
    if (first === undefined) continue;
    reports.push(first);
    const then = kept.find((one) => one.name === first.name);
    if (then === undefined) {
      if (asked.compare !== null) fail(`--compare: ${asked.compare} holds no run of '${first.name}'.`);
      continue;
    }
    const compared = compareRuns(then, runs);
    comparisons.push(compared);
    process.stdout.write(`${formatComparison(compared)}\n`);
    if (compared.rows.some(({ mark }) => mark === 'worse')) process.exitCode = 1;
  }
  const page = join(folder, 'index.html');
  writeFileSync(
    page,
    reportPage(
      asked.isQuick ? 'Assay, quick benchmarks: small sizes, goals of the full ones' : 'Assay, benchmarks',
      reports,
      comparisons,
    ),
  );
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`${reports.length} benchmarks in ${seconds} s. The page of them: ${page}\n`);
}

/** The script that made a run: its file has the name of the run. Undefined for a variant, which needs its options again. */
function scriptOf({ name }: BenchReport): string | undefined {
  return Object.values(BENCHMARKS).find(({ script }) => basename(script, '.js') === name)?.script;
}

await main();
