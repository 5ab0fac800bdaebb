import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  argument,
  coresOfQuota,
  describeMachine,
  median,
  report,
  row,
  saveReport,
} from '../../bench/harness.ts';
import { type BenchReport, type BenchRow, shown } from '../../bench/report.ts';
import { execFileSync, spawnSync } from '../support/child-process.ts';

const argv = [...process.argv];
afterEach(() => {
  process.argv = [...argv];
});

test.each([
  [[3], 3],
  [[5, 1, 3], 3],
  [[4, 1], 2.5],
  [[1, 2, 100, 4], 3],
])('the median of %j is %d', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test('an option that is not a number is refused', () => {
  process.argv = ['node', 'bench', '--count', '20', '--rounds', 'x', '--seconds'];
  expect(argument('--count', 1)).toBe(20);
  expect(argument('--seed', 7)).toBe(7);
  expect(() => argument('--rounds', 1)).toThrow('--rounds: must be a number (got "x").');
  expect(() => argument('--seconds', 1)).toThrow('--seconds: must be a number (got "").');
});

describe('the goal of a row', () => {
  test('is met at the goal itself, and missed beyond it', () => {
    const met = (value: number, goal: BenchRow['goal']): boolean | null => row('a', value, 'ms', goal).met;
    expect([met(10, { atLeast: 10 }), met(9.99, { atLeast: 10 })]).toEqual([true, false]);
    expect([met(10, { atMost: 10 }), met(10.01, { atMost: 10 })]).toEqual([true, false]);
    expect(met(10, null)).toBeNull();
    // Nothing was measured.
    expect(met(Number.NaN, { atMost: 10 })).toBe(false);
  });

  test('for a ratio is for the figure divided by its control', () => {
    const goal = { atLeast: 0.5, of: 'ratio' } as const;
    expect(row('a', 50, '1/s', goal, 100)).toMatchObject({ ratio: 0.5, met: true });
    expect(row('a', 49, '1/s', goal, 100)).toMatchObject({ ratio: 0.49, met: false });
    expect(row('a', 49, '1/s', goal)).toMatchObject({ ratio: null, met: null });
  });

  test('that is missed fails the run', () => {
    const [met, missed] = [row('a', 1, 'ms', { atMost: 2 }), row('b', 3, 'ms', { atMost: 2 })];
    expect(report('log', '', {}, [row('c', 1, 'ms'), met]).met).toBe(true);
    expect(report('log', '', {}, [met, missed]).met).toBe(false);
    const code = (value: number): number | null => {
      const text = `import { publish, report, row } from './bench/harness.js'; publish(report('log', '', {}, [row('a', ${value}, 'ms', { atMost: 2 })]));`;
      const args = ['--input-type=module', '-e', text, '--', '--no-save'];
      return spawnSync(process.execPath, args, { cwd: join(import.meta.dirname, '..', '..', 'dist') }).status;
    };
    expect([code(2), code(3)]).toEqual([0, 1]);
  });
});

test.each([
  [1_000, '1,000'],
  [999.9, '1000'],
  [1234.5, '1,235'],
  [0.012345, '0.0123'],
  [-2_500, '-2,500'],
])('%d is shown as %s', (value, text) => {
  expect(shown(value)).toBe(text);
});

test('a run of a day does not replace an earlier one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-kept-'));
  try {
    const run = (value: number): BenchReport =>
      report('log', '2026-11-30T10:00:00.000Z', {}, [row('appends', value, '1/s')]);
    const paths = [1, 2, 3].map((value) => saveReport(run(value), folder));
    expect(readdirSync(folder)).toHaveLength(3);
    expect(
      paths.map((path) => (JSON.parse(readFileSync(path, 'utf8')) as BenchReport).rows[0]?.value),
    ).toEqual([1, 2, 3]);
    expect(paths.map((path) => path.slice(path.indexOf('-log')))).toEqual([
      '-log.json',
      '-log-2.json',
      '-log-3.json',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('the machine of a run', () => {
  test.each([
    ['max 100000\n', Number.POSITIVE_INFINITY],
    ['', Number.POSITIVE_INFINITY],
    ['150000 100000\n', 1.5],
    ['50000 100000', 0.5],
  ])('has the cores of the quota %j', (text, cores) => {
    expect(coresOfQuota(text)).toBe(cores);
  });

  const hasTaskset = spawnSync('taskset', ['--version']).status === 0;
  test.runIf(hasTaskset)('has the cores that the run may use', () => {
    const code =
      "import { describeMachine } from './bench/harness.js'; console.log(JSON.stringify(describeMachine()));";
    const out = execFileSync('taskset', ['-c', '0', process.execPath, '--input-type=module', '-e', code], {
      cwd: join(import.meta.dirname, '..', '..', 'dist'),
      encoding: 'utf8',
    });
    const machine = JSON.parse(out) as BenchReport['machine'];
    expect(machine.cores).toBe(1);
    expect(machine.name).toMatch(/-1$/);
  });

  test('has the file system of the temporary folder', () => {
    expect(describeMachine().disk).toMatch(/^[a-z0-9]+$/);
  });

  test('is beside the version of the program', () => {
    expect(report('log', '', {}, []).program).toMatch(/^\d+\.\d+\.\d+( at [0-9a-f]{12}(, changed)?)?$/);
  });
});
