/**
 * The cost of each path at growing sizes: runs the benchmark of a path at each size in a process of its own, and fits the exponent of each figure
 * (0: it does not grow; 1: it grows with the size). For memory and disk it states the size at which this machine has no more.
 * Run: node --expose-gc dist/bench/growth.js [--path labels] [--smallest N] [--largest N] [--no-save]. `--smallest` leaves out
 * the sizes below it, `--largest` those above it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { messageOf } from '../src/base/errors.ts';
import { BENCHMARKS } from './catalogue.ts';
import { type GrowthPoint, growthExponent, sizeAt } from './growth-fit.ts';
import { argument, type BenchReport, type BenchRow, publish, report, row, runScript } from './harness.ts';

/** A figure of a benchmark that is followed. */
interface Figure {
  /** Name of its row, or of its entry in the subject. */
  readonly row: string;
  /** Name of the cost. Default: `row`. */
  readonly name?: string;
  readonly unit?: string;
  /** Turns what the row has into a cost: a time, or bytes. */
  readonly cost?: (value: number, size: number) => number;
  /** The resource of which the figure is a part, in MB. */
  readonly uses?: 'memory' | 'disk';
}

interface Path {
  readonly benchmark: string;
  /** Unit of the size. */
  readonly of: string;
  readonly sizes: readonly number[];
  readonly options: (size: number) => readonly (string | number)[];
  readonly figures: readonly Figure[];
}

const nanoseconds = (perSecond: number): number => 1e9 / perSecond;
const microseconds = (perSecond: number): number => 1e6 / perSecond;

/** The largest heap of a benchmark, in MB: the control of ten million wallets, a Map of texts, takes 6 GB. */
const HEAP_MB = 12_000;

const PATHS: Readonly<Record<string, Path>> = {
  labels: {
    benchmark: 'labels',
    of: 'labels',
    sizes: [100_000, 1_000_000, 10_000_000],
    options: (size) => ['--count', size],
    figures: [
      { row: 'CSV import and build' },
      { row: 'peak memory of import and build', uses: 'memory' },
      { row: 'snapshot on disk', uses: 'disk' },
      { row: 'open to first answer, new process' },
      { row: 'hits by key', name: 'hit by key', unit: 'ns', cost: nanoseconds },
      { row: 'misses by key', name: 'miss by key', unit: 'ns', cost: nanoseconds },
    ],
  },
  transfers: {
    benchmark: 'graph-ingest',
    of: 'transfers',
    // A hundred million have 200 million edges in both directions. Their CSV takes 22 GB and the store 13 GB, beside the runs that sort them.
    sizes: [200_000, 2_000_000, 20_000_000, 100_000_000],
    options: (size) => ['--edges', size, '--addresses', size / 10],
    figures: [
      { row: 'load from CSV', unit: 's', cost: (perSecond, size) => size / perSecond },
      { row: '  processor time', name: 'processor time of the load' },
      { row: 'peak memory of the load', uses: 'memory' },
      {
        ...{ row: 'everything on disk', unit: 'MB', uses: 'disk' },
        cost: (bytes, size) => (bytes * size) / 1e6,
      },
      { row: 'live upserts', name: 'live upsert', unit: 'µs', cost: microseconds },
      { row: 'update of the hub' },
      { row: 'top 100 of the hub' },
    ],
  },
  exposure: {
    benchmark: 'exposure-index',
    of: 'transfers',
    sizes: [200_000, 2_000_000, 20_000_000],
    options: (size) => ['--edges', size, '--addresses', size / 10],
    figures: [
      { row: 'build of the whole index' },
      { row: '  processor time', name: 'processor time of the build' },
      { row: '  peak memory of its own', name: 'peak memory of the build', uses: 'memory' },
      { row: 'bytes an address, keys excluded' },
      { row: 'a look-up' },
      {
        row: 'a block of 200 transfers: its addresses are up to date after',
        name: 'a block of 200 transfers',
      },
    ],
  },
  wallets: {
    benchmark: 'monitoring',
    of: 'watched wallets',
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    options: (size) => ['--watched', size, '--payments', 0],
    figures: [
      { row: 'transfers matched', name: 'transfer matched', unit: 'ns', cost: nanoseconds },
      { row: 'memory of the table', uses: 'memory' },
      { row: 'one wallet more or less' },
    ],
  },
  alerts: {
    benchmark: 'monitoring',
    of: 'alerts',
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    options: (size) => ['--watched', 10_000, '--alerts', size, '--payments', 0],
    figures: [
      { row: 'alerts paged with filters, p50' },
      { row: 'alerts paged with filters, p99' },
      { row: 'alerts on disk', uses: 'disk' },
    ],
  },
  accounts: {
    benchmark: 'accounts',
    of: 'accounts',
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    options: (size) => ['--accounts', size, '--entries', size * 10],
    figures: [
      { row: 'reserve and commit, durable', name: 'durable charge', unit: 'µs', cost: microseconds },
      { row: 'GET /usage over HTTP, p99' },
      { row: 'open to first balance' },
      { row: 'ledger MB', unit: 'MB', uses: 'disk' },
    ],
  },
};

/** Runs the benchmark of a path at one size. Its own goals are those of another size. */
async function runAt({ benchmark, options }: Path, size: number): Promise<BenchReport> {
  const out = mkdtempSync(join(tmpdir(), 'assay-bench-growth-'));
  try {
    const script = join(dirname(fileURLToPath(import.meta.url)), BENCHMARKS[benchmark]?.script ?? '');
    // A missed goal, which is one of the full size, ends it with an exit code too.
    const { errors } = await runScript(
      script,
      [...options(size).map(String), '--out', out],
      ['--expose-gc', `--max-old-space-size=${HEAP_MB}`],
    );
    const [file] = readdirSync(out);
    if (file === undefined) throw new Error(`'${benchmark}' ended without a run:\n${errors.slice(-2000)}`);
    return JSON.parse(readFileSync(join(out, file), 'utf8')) as BenchReport;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Returns the figure of a run, as a cost, and its unit. */
function costIn({ rows, subject, name }: BenchReport, figure: Figure, size: number): [number, string] {
  const found = rows.find((one) => one.name === figure.row);
  const value = found?.value ?? subject[figure.row];
  if (typeof value !== 'number') throw new Error(`'${name}' has no figure '${figure.row}'.`);
  return [figure.cost?.(value, size) ?? value, figure.unit ?? found?.unit ?? ''];
}

const shownSize = (size: number): string => size.toLocaleString('en-US');

/** Sizes at which memory and disk end, in MB. */
const END: Readonly<Record<NonNullable<Figure['uses']>, number>> = {
  memory: totalmem() / 1e6,
  disk: (({ bavail, bsize }) => (bavail * bsize) / 1e6)(statfsSync(tmpdir())),
};

function rowsOf(name: string, path: Path, runs: ReadonlyMap<number, BenchReport>): BenchRow[] {
  const rows: BenchRow[] = [];
  const ends: { readonly what: string; readonly size: number }[] = [];
  for (const figure of path.figures) {
    const title = `${name}: ${(figure.name ?? figure.row).trim()}`;
    const points: GrowthPoint[] = [];
    for (const [size, run] of runs) {
      const [cost, unit] = costIn(run, figure, size);
      points.push({ size, cost });
      rows.push(row(`${title}, ${shownSize(size)} ${path.of}`, cost, unit));
    }
    const exponent = growthExponent(points);
    if (exponent !== null) rows.push(row(`${title}, exponent`, exponent, ''));
    if (figure.uses !== undefined) ends.push({ what: figure.uses, size: sizeAt(points, END[figure.uses]) });
  }
  const [first] = ends.sort((a, b) => a.size - b.size);
  if (first !== undefined && Number.isFinite(first.size))
    rows.push(row(`${name}: ${first.what} ends first, at`, first.size, path.of));
  return rows;
}

const startedAt = isoTime(systemClock.now());
const asked = process.argv.indexOf('--path');
const only = asked < 0 ? null : process.argv[asked + 1];
if (only !== null && (only === undefined || PATHS[only] === undefined)) {
  process.stderr.write(`bench: --path: must be one of ${Object.keys(PATHS).join(', ')}.\n`);
  process.exit(2);
}
const smallest = argument('--smallest', 0);
const largest = argument('--largest', Number.POSITIVE_INFINITY);
const rows: BenchRow[] = [];
for (const [name, path] of Object.entries(PATHS).filter(([each]) => only === null || each === only)) {
  const runs = new Map<number, BenchReport>();
  for (const size of path.sizes.filter((each) => each >= smallest && each <= largest)) {
    process.stderr.write(`${name}: ${shownSize(size)} ${path.of}\n`);
    try {
      runs.set(size, await runAt(path, size));
    } catch (error) {
      // The figures of smaller sizes took minutes: they are kept.
      process.stderr.write(`${name} ends at ${shownSize(size)} ${path.of}: ${messageOf(error)}\n`);
      process.exitCode = 1;
      break;
    }
  }
  rows.push(...rowsOf(name, path, runs));
}
// A run of one path is kept beside those of the others.
const name = only === null ? 'growth' : `growth-${only}`;
publish(report(name, startedAt, { data: 'synthetic' }, rows));
