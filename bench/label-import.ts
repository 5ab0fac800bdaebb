/**
 * The import of a file in the layout and with the faults of MBAL: time, processor time, memory, and what was kept. Run:
 * node dist/bench/label-import.js [--rows N] [--file FILE]. A given file is not generated and not removed.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { importFiles } from '../src/labels/import.ts';
import { loadRulebook } from '../src/labels/map.ts';
import { writeMbalLayout } from '../src/labels/mbal-layout.ts';
import { openLabelStore } from '../src/labels/store.ts';
import { argument, publish, report, row, runChild } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const ROWS = 10_000_000;

interface ImportResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly rssMb: number;
  readonly labels: number;
  readonly keptApart: number;
  readonly rejected: number;
}

async function measure(file: string, dataDir: string): Promise<ImportResult> {
  const store = openLabelStore({ dataDir });
  const deps = { store, rules: loadRulebook(), clock: systemClock, log: silentLogger };
  const startedAt = systemClock.monotonic();
  const before = process.cpuUsage();
  const { datasets } = await importFiles({ source: 'mbal', files: [file] }, deps);
  const cpu = process.cpuUsage(before);
  const { labels = 0, keptApart = 0, rejected = 0 } = datasets[0] ?? {};
  return {
    seconds: (systemClock.monotonic() - startedAt) / 1000,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    rssMb: process.resourceUsage().maxRSS / 1024,
    labels,
    keptApart,
    rejected,
  };
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
    const found = await runChild<ImportResult>(SELF, ['import', file, join(folder, 'data')]);
    const share = rows / ROWS;
    publish(
      report('label-import', startedAt, { rows }, [
        row('import', found.seconds, 's', { atMost: 60 * share, of: 'value' }),
        row('processor time', found.cpuSeconds, 's'),
        row('resident memory', found.rssMb, 'MB', { atMost: 2_000, of: 'value' }),
        row('labels', found.labels, ''),
        row('kept apart', found.keptApart, ''),
        row('rejected', found.rejected, ''),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
