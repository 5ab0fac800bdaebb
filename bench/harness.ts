/** Shared by all benchmarks: rows with goal and control, the printed table, and the file of a run. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, statfsSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';
import { processMemory } from '../src/base/process-memory.ts';
import { KEPT_RUNS, writeFiguresPage } from './figures-page.ts';
import { type BenchMachine, type BenchReport, type BenchRow, goalText, runNotes, shown } from './report.ts';

export type { BenchReport, BenchRow } from './report.ts';

/** Names of file systems by the magic number of `statfs`. */
const DISKS: Readonly<Record<number, string>> = {
  16914836: 'tmpfs',
  2240043254: 'ramfs',
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  2035054128: 'overlay',
  26985: 'nfs',
};

function diskOf(folder: string): string {
  const { type } = statfsSync(folder);
  return DISKS[type >>> 0] ?? `0x${(type >>> 0).toString(16)}`;
}

/** Returns the cores of a container's quota (cgroup v2); infinite without one. */
export function coresOfQuota(cpuMax: string): number {
  const [quota, period] = cpuMax.trim().split(/\s+/).map(Number) as [number, number?];
  return Number.isFinite(quota) && period ? quota / period : Number.POSITIVE_INFINITY;
}

function usableCores(): number {
  let quota = '';
  try {
    quota = readFileSync('/sys/fs/cgroup/cpu.max', 'utf8');
  } catch {
    // Not Linux, or the root of the groups, which has no limit.
  }
  return Math.min(availableParallelism(), coresOfQuota(quota));
}

/** Version and commit of the program that runs. */
function describeProgram(): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const git = (...args: readonly string[]): string | null => {
    const { status, stdout } = spawnSync('git', [...args], { cwd: projectRoot, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : null;
  };
  const commit = git('rev-parse', '--short=12', 'HEAD');
  if (commit === null) return version;
  const changed = git(
    'status',
    '--porcelain',
    '--untracked-files=no',
    '--',
    'src',
    'workers',
    'package-lock.json',
  );
  return `${version} at ${commit}${changed === '' ? '' : ', changed'}`;
}

/** Describes the machine of this run. */
export function describeMachine(): BenchMachine {
  const processors = cpus();
  const cpu = processors[0]?.model.trim() ?? 'unknown';
  const slug = cpu
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  const cores = usableCores();
  const constrained = process.constrainedMemory?.() ?? 0;
  const memory = constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
  return {
    name: `${slug}-${cores}`,
    cpu,
    cores,
    memoryGb: Math.round(memory / 2 ** 30),
    disk: diskOf(tmpdir()),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
  };
}

/** Creates a row and checks its goal. A goal with `of: 'ratio'` refers to value / control. */
export function row(
  name: string,
  value: number,
  unit: string,
  goal: BenchRow['goal'] = null,
  control: number | null = null,
): BenchRow {
  const ratio = control === null ? null : value / control;
  const judged = goal?.of === 'ratio' ? ratio : value;
  const met =
    goal === null || judged === null
      ? null
      : judged >= (goal.atLeast ?? Number.NEGATIVE_INFINITY) &&
        judged <= (goal.atMost ?? Number.POSITIVE_INFINITY);
  return { name, value, unit, goal, control, ratio, met };
}

/** Creates a report. It is met if no row misses its goal. */
export function report(
  name: string,
  startedAt: string,
  subject: BenchReport['subject'],
  rows: readonly BenchRow[],
): BenchReport {
  return {
    name,
    startedAt,
    program: describeProgram(),
    machine: describeMachine(),
    subject,
    rows,
    met: rows.every((each) => each.met !== false),
  };
}

/** Aligns the columns of a table: the first to the left, the others to the right. Returns a line for each row. */
export function alignedLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const aligned = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column] as number) : text.padStart(widths[column] as number);
  return rows.map((cells) => cells.map(aligned).join('  ').trimEnd());
}

/** Formats the report as a readable table. */
export function formatReport(bench: BenchReport): string {
  const head = ['', 'value', 'unit', 'goal', 'control', 'ratio', 'met'];
  const cells = bench.rows.map((each) => [
    each.name,
    shown(each.value),
    each.unit,
    goalText(each.goal),
    each.control === null ? '' : shown(each.control),
    each.ratio === null ? '' : `${shown(each.ratio)} ×`,
    each.met === null ? '' : each.met ? 'yes' : 'NO',
  ]);
  const subject = Object.entries(bench.subject).map(([key, value]) => `${key}: ${value}`);
  const { machine } = bench;
  return [
    `${bench.name} · ${bench.startedAt} · ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.disk} · Node ${machine.node} · ${bench.program}`,
    subject.join(' · '),
    ...runNotes(bench),
    ...alignedLines([head, ...cells]),
    '',
  ].join('\n');
}

/**
 * Saves the run as <date>-<machine>-<name>.json in a folder, by default among the kept runs, whose page it updates. A further run of the day gets
 * a number (<date>-<machine>-<name>-2.json): none replaces another. Returns the path.
 */
export function saveReport(bench: BenchReport, folder = KEPT_RUNS): string {
  mkdirSync(folder, { recursive: true });
  const base = join(folder, `${bench.startedAt.slice(0, 10)}-${machineAndName(bench)}`);
  let path = `${base}.json`;
  for (let number = 2; existsSync(path); number++) path = `${base}-${number}.json`;
  // Whole or not at all: on a full disk, half a run would make the others unreadable.
  const part = `${path}.part`;
  writeFileSync(part, `${JSON.stringify(bench, null, 2)}\n`);
  renameSync(part, path);
  if (folder === KEPT_RUNS) writeFiguresPage();
  return path;
}

const machineAndName = (bench: BenchReport): string => `${bench.machine.name}-${bench.name}`;

/** Prints a report, saves it (`--out FOLDER`) unless `--no-save` is given, and sets the exit code to 1 if a goal was missed. */
export function publish(bench: BenchReport): void {
  process.stdout.write(formatReport(bench));
  const at = process.argv.indexOf('--out');
  const folder = at < 0 ? undefined : process.argv[at + 1];
  if (!process.argv.includes('--no-save')) process.stdout.write(`Kept: ${saveReport(bench, folder)}\n`);
  if (!bench.met) process.exitCode = 1;
}

/** Runs a built script in a process of its own and returns the JSON that it prints on stdout. Throws with its stderr if it fails. */
export async function runChild<T>(
  script: string,
  args: readonly string[],
  nodeArgs: readonly string[] = [],
): Promise<T> {
  const { code, output, errors } = await runScript(script, args, nodeArgs);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}:\n${errors.slice(-2000)}`);
  return JSON.parse(output) as T;
}

/** Runs a built script in a process of its own to its end. Throws only if it cannot be started. */
export function runScript(
  script: string,
  args: readonly string[],
  nodeArgs: readonly string[] = [],
): Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...nodeArgs, script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output, errors }));
  });
}

/** Returns the bytes that the process holds after a collection of garbage: the heap and buffers. Needs `--expose-gc`. */
export function heldBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * Watches the memory that belongs to this process alone, without the pages of mapped files.
 *
 * @returns a function that ends the watch and returns the most bytes at any time
 */
export function watchOwnBytes(): () => number {
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, processMemory()?.ownBytes ?? 0);
  }, 100);
  return () => {
    clearInterval(watch);
    return most;
  };
}

/** Returns the middle value; the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 0 ? (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2 : upper;
}

/**
 * Returns the number given on the command line as `--name N`, or the fallback.
 *
 * @throws if it is not a number
 */
export function argument(name: string, fallback: number): number {
  const at = process.argv.indexOf(name);
  if (at < 0) return fallback;
  const text = process.argv[at + 1] ?? '';
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value))
    throw new RangeError(`${name}: must be a number (got "${text}").`);
  return value;
}
