/**
 * Bulk jobs of labels at a size too large for a request: received as a server receives them, processed in chunks after all other work, and
 * answered once each on disk. Half of the addresses are labelled. Two controls: the bulk file of the command line, which does not flush its
 * output, and the disk alone, to which as many bytes are written in pieces of the same size with as many flushes.
 * Run: node dist/bench/scale.js [--count N] [--lines N] [--rounds N] [--seed S] [--folder F] [--no-save]
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import type { JobBilling } from '../src/jobs/bulk/billing.ts';
import { type OpenBulkJobs, openBulkJobs } from '../src/jobs/bulk/open.ts';
import { createLocalChunks } from '../src/pool/local-chunks.ts';
import { runBulkFile } from '../src/screening/bulk-file.ts';
import { addresses, BULK_THREAD, buildIndex, writeLines } from './bulk.ts';
import { argument, type BenchReport, type BenchRow, median, publish, report, row } from './harness.ts';
import {
  type JobFigures,
  MAX_AGE_DAYS,
  type ScaleBenchOptions,
  timeJob,
  workerFolders,
} from './scale-job.ts';

export const SCALE_BENCH_DEFAULTS: ScaleBenchOptions = {
  count: 10_000_000,
  lines: 10_000_000,
  rounds: 3,
  seed: 1,
  folder: tmpdir(),
};

/** The size of a chunk of labels: the disk's control is flushed as often. */
const FLUSH_BYTES = 8 * 1024 * 1024;
const MILLION = 1_000_000;
/** On-demand price of a core of the large clouds, rounded: 2 vCPU and 8 GB cost 0.08 to 0.1 USD an hour, half of it per core. */
const USD_PER_CORE_HOUR = 0.045;

const free: JobBilling = { priceOf: () => ({ unit: 'intel', perLine: 1 }), settle: async () => {} };

/** Returns the seconds to write this many bytes, flushed piece by piece. */
function diskAlone(folder: string, bytes: number): number {
  const path = join(folder, 'control');
  const piece = Buffer.alloc(FLUSH_BYTES, 'x');
  const start = systemClock.monotonic();
  const file = openSync(path, 'w');
  for (let left = bytes; left > 0; left -= FLUSH_BYTES) {
    writeSync(file, piece, 0, Math.min(left, FLUSH_BYTES));
    fsyncSync(file);
  }
  closeSync(file);
  const seconds = (systemClock.monotonic() - start) / 1_000;
  rmSync(path);
  return seconds;
}

async function embeddedRows(
  folder: string,
  input: string,
  { lines, rounds }: ScaleBenchOptions,
): Promise<{ rows: BenchRow[]; megabytes: number; addressesPerSecond: number }> {
  const log = createLogger({ level: 'error' });
  const runner = createLocalChunks(workerFolders(folder), { log });
  const jobs: OpenBulkJobs = openBulkJobs(
    { storePath: join(folder, 'jobs.mdb'), folder: join(folder, 'jobs') },
    { runner, billing: free, clock: systemClock, random: systemRandom, log },
  );
  const output = join(folder, 'labels.ndjson');
  const figures: JobFigures[] = [];
  const files: number[] = [];
  const disks: number[] = [];
  try {
    jobs.start();
    // The first round warms the caches and the compiler.
    for (let round = 0; round <= rounds; round++) {
      const figure = await timeJob(jobs, input, lines);
      const { seconds } = await runBulkFile(
        { input, output, chain: 'ETH', threads: availableParallelism() },
        {
          snapshotsFolder: join(folder, 'snapshots'),
          labelsFolder: folder,
          listMaxAgeDays: MAX_AGE_DAYS,
          clock: systemClock,
          thread: BULK_THREAD,
        },
      );
      rmSync(output);
      const disk = diskAlone(folder, figure.bytes);
      if (round === 0 && rounds > 0) continue;
      figures.push(figure);
      files.push(seconds);
      disks.push(disk);
    }
  } finally {
    await jobs.close();
    await runner.close();
  }
  const of = (read: (figure: JobFigures) => number): number => median(figures.map(read));
  const perMillion = of(({ cpu }) => cpu) / (lines / MILLION);
  const bulkFile = lines / median(files);
  const megabytes = Math.round(of(({ bytes }) => bytes) / 1e6);
  return {
    megabytes,
    addressesPerSecond: lines / of(({ working }) => working),
    rows: [
      row(
        'embedded job, from the start of its work to its last byte on disk; control: bulk file, nothing flushed',
        lines / of(({ working }) => working),
        'addresses/s',
        { atLeast: MILLION },
        bulkFile,
      ),
      row(
        'embedded job, from its first byte received to its last on disk; control: bulk file',
        lines / of(({ receiving, working }) => receiving + working),
        'addresses/s',
        null,
        bulkFile,
      ),
      row('receiving it', statSync(input).size / 1e6 / of(({ receiving }) => receiving), 'MB/s'),
      row(
        'writing its result; control: the disk alone',
        megabytes / of(({ working }) => working),
        'MB/s',
        null,
        megabytes / median(disks),
      ),
      row('core seconds per million addresses, embedded', perMillion, 's'),
      row(
        `cost per million addresses, embedded, at ${USD_PER_CORE_HOUR} USD a core hour`,
        (perMillion / 3_600) * USD_PER_CORE_HOUR * 100,
        'US cents',
      ),
    ],
  };
}

/** Two workers with a Redis, and the latency that it adds to a request. No rows if this machine has no redis-server. */
async function nodeRows(
  folder: string,
  input: string,
  options: ScaleBenchOptions,
  embedded: number,
): Promise<readonly BenchRow[]> {
  const { hasRedis } = await import('../test/setup/redis.ts');
  if (!hasRedis) return [];
  // Imported only if needed, because it loads BullMQ.
  const { distributedFigures, requestRows } = await import('./scale-nodes.ts');
  const { chargeRows } = await import('./scale-charges.ts');
  const { addressesPerSecond, coreSecondsPerMillion } = await distributedFigures(folder, input, options);
  return [
    row(
      'the job over two workers of a Redis, from the start of its work; control: the embedded job',
      addressesPerSecond,
      'addresses/s',
      { of: 'ratio', atLeast: 0.5 },
      embedded,
    ),
    row('core seconds per million addresses, two workers', coreSecondsPerMillion, 's'),
    row(
      `cost per million addresses, two workers, at ${USD_PER_CORE_HOUR} USD a core hour`,
      (coreSecondsPerMillion / 3_600) * USD_PER_CORE_HOUR * 100,
      'US cents',
    ),
    ...(await requestRows()),
    ...(await chargeRows(options.rounds)),
  ];
}

export async function benchScale(options: ScaleBenchOptions = SCALE_BENCH_DEFAULTS): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(options.folder, 'assay-bench-scale-'));
  try {
    const labelled = await buildIndex(folder, join(folder, 'snapshots'), options);
    const input = join(folder, 'addresses.txt');
    writeLines(input, addresses(options.lines, labelled, options.seed + 3));
    const embedded = await embeddedRows(folder, input, options);
    const nodes = await nodeRows(folder, input, options, embedded.addressesPerSecond);
    return report(
      'scale',
      startedAt,
      {
        'synthetic labels': options.count,
        'lines of a job': options.lines,
        'MB of its input': Math.round(statSync(input).size / 1e6),
        'MB of its result': embedded.megabytes,
        rounds: options.rounds,
        seed: options.seed,
      },
      [...embedded.rows, ...nodes],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = (name: string, fallback: string): string => {
    const at = process.argv.indexOf(name);
    return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
  };
  const bench = await benchScale({
    count: argument('--count', SCALE_BENCH_DEFAULTS.count),
    lines: argument('--lines', SCALE_BENCH_DEFAULTS.lines),
    rounds: argument('--rounds', SCALE_BENCH_DEFAULTS.rounds),
    seed: argument('--seed', SCALE_BENCH_DEFAULTS.seed),
    folder: text('--folder', SCALE_BENCH_DEFAULTS.folder),
  });
  publish(bench);
}
