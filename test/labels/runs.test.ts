import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { LABEL_LIMITS } from '../../src/labels/limits.ts';
import { openRunLog, type RunLog, type RunResult } from '../../src/labels/runs.ts';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';

let folder: string;
let runs: RunLog;
let now = 0;
const clock = { now: () => now, monotonic: () => now };
const open = (): RunLog => openRunLog({ folder }, { clock, log: silentLogger });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-runs-'));
  now = Date.parse('2026-11-22T10:00:00Z');
  runs = open();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Replaces the runs of the file. */
function change(replace: (runs: readonly object[]) => readonly object[]): void {
  const path = join(folder, 'runs.json');
  const file = readJson(path) as { readonly format: number; readonly runs: readonly object[] };
  writeJsonAtomically(path, { ...file, runs: replace(file.runs) });
}

const NOTHING: RunResult = { sources: [], dataVersion: null, error: null };

describe('the log of runs', () => {
  it('has begin, end and result of a run, and shows it while it runs', async () => {
    let during: unknown;
    const value = await runs.record(
      'SYNC',
      async () => {
        during = open().list();
        now += 5_000;
        return 7;
      },
      (seven) => ({
        ...{ dataVersion: 'v1', error: null },
        sources: [{ source: 'eu', records: seven, rejected: 1, error: null }],
      }),
    );
    expect(value).toBe(7);
    expect(during).toMatchObject([{ kind: 'SYNC', state: 'RUNNING', endedAt: null, sources: [] }]);
    expect(open().list()).toEqual([
      {
        ...{ kind: 'SYNC', state: 'DONE', dataVersion: 'v1', error: null },
        ...{ startedAt: '2026-11-22T10:00:00.000Z', endedAt: '2026-11-22T10:00:05.000Z' },
        sources: [{ source: 'eu', records: 7, rejected: 1, error: null }],
      },
    ]);
  });

  it('records the error of a run, which is thrown, and a failed source', async () => {
    await expect(
      runs.record(
        'IMPORT',
        async () => {
          throw new Error('not a file');
        },
        () => NOTHING,
      ),
    ).rejects.toThrow('not a file');
    const source = { source: 'un', records: null, rejected: null, error: 'x'.repeat(10_000) };
    await runs.record(
      'SYNC',
      async () => {},
      () => ({ ...NOTHING, sources: [source] }),
    );
    const [sync, failed] = runs.list();
    expect(failed).toMatchObject({ kind: 'IMPORT', state: 'FAILED', error: 'not a file' });
    expect(sync).toMatchObject({ state: 'FAILED', error: null });
    expect(sync?.sources[0]?.error).toHaveLength(LABEL_LIMITS.runErrorCharsMax);
  });

  it('shows a run whose process ended before it as interrupted', async () => {
    await runs.record(
      'SYNC',
      async () => {
        // As if an earlier process with the same id had started it.
        change((all) => [...all, { ...all[0], process: { pid: process.pid, started: '1' } }]);
      },
      () => NOTHING,
    );
    expect(runs.list().map(({ state }) => state)).toEqual(['DONE', 'INTERRUPTED']);
  });

  it('keeps a bounded number of runs, and all runs of two processes at once', async () => {
    const other = open();
    await Promise.all(
      [runs, other].map((log) =>
        log.record(
          'BUILD',
          async () => {},
          () => NOTHING,
        ),
      ),
    );
    expect(runs.list().map(({ state }) => state)).toEqual(['DONE', 'DONE']);
    change((all) => Array.from({ length: 500 }, () => ({ ...all[0] })));
    await runs.record(
      'IMPORT',
      async () => {},
      () => NOTHING,
    );
    const listed = runs.list();
    expect([listed.length, listed[0]?.kind]).toEqual([LABEL_LIMITS.runsKept, 'IMPORT']);
    expect(existsSync(join(folder, 'runs-lock'))).toBe(false);
  });

  it('does the work if the log is damaged or cannot be written', async () => {
    const path = join(folder, 'runs.json');
    for (const text of ['', '{', '[]', '{"format":9,"runs":[{}]}', '{"format":1,"runs":7}', 'null']) {
      writeFileSync(path, text);
      expect([text, runs.list()]).toEqual([text, []]);
    }
    await runs.record(
      'BUILD',
      async () => {},
      () => NOTHING,
    );
    expect(runs.list()).toHaveLength(1);

    const lines: string[] = [];
    const log = { ...silentLogger, warn: (_fields: object, line: string) => void lines.push(line) };
    expect(
      await openRunLog({ folder: '/dev/null/nowhere' }, { clock, log: log as Logger }).record(
        'BUILD',
        async () => 'done',
        () => NOTHING,
      ),
    ).toBe('done');
    expect(lines).toEqual(['run not recorded', 'run not recorded']);
  });
});
