/** The page of the newest kept runs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { figuresPage, newestRuns } from '../../bench/figures-page.ts';
import { report, row } from '../../bench/harness.ts';
import type { BenchReport } from '../../bench/report.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-figures-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function keep(file: string, name: string, startedAt: string, rows: BenchReport['rows'] = []): void {
  writeFileSync(join(folder, file), JSON.stringify(report(name, startedAt, { labels: 10, seed: 1 }, rows)));
}

it('has the newest run of each benchmark, whatever the names of the files are', () => {
  keep('2026-11-29-machine-http.json', 'http', '2026-11-29T10:00:00.000Z');
  keep('2026-11-29-machine-http-2.json', 'http', '2026-11-29T09:00:00.000Z');
  keep('2026-11-30-machine-bulk.json', 'bulk', '2026-11-30T09:00:00.000Z');
  writeFileSync(join(folder, 'notes.txt'), 'no run');
  expect(newestRuns(folder).map(({ file }) => file)).toEqual([
    '2026-11-30-machine-bulk.json',
    '2026-11-29-machine-http.json',
  ]);
});

it('shows value, goal, control and ratio of each row', () => {
  keep('run.json', 'http', '2026-11-29T10:00:00.000Z', [
    row('oracle | all checks', 81_812, 'requests/s', { atLeast: 0.78, of: 'ratio' }, 111_400),
    row('  p99', 4.8123, 'ms', { atMost: 5 }),
    row('  bytes', 40, 'bytes'),
  ]);
  const page = figuresPage(newestRuns(folder)).split('\n');
  expect(page).toContain('## http');
  expect(
    page.find((line) => line.startsWith('[2026-11-29 10:00 UTC](../../bench/results/run.json) on ')),
  ).toContain('labels 10; seed 1.');
  expect(page.slice(-4)).toEqual([
    '| oracle \\| all checks | 81,812 requests/s | ≥ 0.78 × control | 111,400 | 0.734 | **no** |',
    '| – p99 | 4.81 ms | ≤ 5 |  |  | yes |',
    '| – bytes | 40 bytes |  |  |  |  |',
    '',
  ]);
});
