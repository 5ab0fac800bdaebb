/**
 * A file in the layout and with the faults of MBAL, from CSV to a published snapshot: the time of the import and of the build, processor time,
 * memory, and what was kept; beside it, `cp` and `sort` of the same bytes. Run:
 * node dist/bench/label-import.js [--rows N] [--file FILE]. A given file is not generated and not removed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { buildLabelIndex } from '../src/labels/build-index.ts';
import { importFiles } from '../src/labels/import.ts';
import { loadRulebook } from '../src/labels/map.ts';
import { writeMbalLayout } from '../src/labels/mbal-layout.ts';
import { openLabelStore } from '../src/labels/store.ts';
import { argument, publish, report, row, runChild, watchOwnBytes } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const ROWS = 10_000_000;

interface Phase {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

interface SnapshotResult {
  readonly imported: Phase;
  readonly built: Phase;
  /** The most memory at any time, without the pages of mapped files. */
  readonly ownMb: number;
  readonly labels: number;
  readonly keptApart: number;
  readonly rejected: number;
}

async function timed<T>(work: () => Promise<T>): Promise<[T, Phase]> {
  const startedAt = systemClock.monotonic();
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return [
    result,
    { seconds: (systemClock.monotonic() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 },
  ];
}

/** Child: imports the file into a new store, and builds and publishes the snapshot. */
async function measure(file: string, dataDir: string): Promise<SnapshotResult> {
  const store = openLabelStore({ dataDir });
  const deps = { store, rules: loadRulebook(), clock: systemClock, log: silentLogger };
  const mostBytes = watchOwnBytes();
  const [{ datasets }, imported] = await timed(() => importFiles({ source: 'mbal', files: [file] }, deps));
  const [, built] = await timed(() => buildLabelIndex({ snapshotsFolder: join(dataDir, 'snapshots') }, deps));
  const { labels = 0, keptApart = 0, rejected = 0 } = datasets[0] ?? {};
  return { imported, built, ownMb: mostBytes() / 1e6, labels, keptApart, rejected };
}

/** Copies the file and sorts it by bytes, with both cores and as much memory: the least work of a program that puts the rows in order. */
function copyAndSort(file: string, folder: string): number {
  const copy = join(folder, 'copy.csv');
  const startedAt = systemClock.monotonic();
  execFileSync('cp', [file, copy]);
  execFileSync('sort', ['-S', '1G', '-T', folder, '-o', join(folder, 'sorted.csv'), copy], {
    env: { ...process.env, LC_ALL: 'C' },
  });
  const seconds = (systemClock.monotonic() - startedAt) / 1000;
  rmSync(copy);
  rmSync(join(folder, 'sorted.csv'));
  return seconds;
}

const at = process.argv.indexOf('--file');
const given = at < 0 ? undefined : process.argv[at + 1];
if (process.argv[2] === 'import') {
  const [, , , file = '', dataDir = ''] = process.argv;
  process.stdout.write(JSON.stringify(await measure(file, dataDir)));
} else {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-import-'));
  try {
    const rows = argument('--rows', ROWS);
    const file = given ?? join(folder, 'mbal.csv');
    if (!existsSync(file)) await writeMbalLayout(file, { rows, seed: 1 });
    const sorted = copyAndSort(file, folder);
    const found = await runChild<SnapshotResult>(SELF, ['import', file, join(folder, 'data')]);
    const { imported, built } = found;
    const share = rows / ROWS;
    publish(
      report('label-import', startedAt, { rows }, [
        row(
          'CSV to snapshot',
          imported.seconds + built.seconds,
          's',
          { atMost: 14 * share, of: 'value' },
          sorted,
        ),
        row('import', imported.seconds, 's'),
        row('build', built.seconds, 's'),
        row('processor time', imported.cpuSeconds + built.cpuSeconds, 's'),
        row('own memory', found.ownMb, 'MB', { atMost: 1_000, of: 'value' }),
        row('labels', found.labels, ''),
        row('kept apart', found.keptApart, ''),
        row('rejected', found.rejected, ''),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
