import { describe, expect, test } from 'vitest';
import { compareRuns, formatComparison } from '../../bench/compare.ts';
import { type BenchReport, type BenchRow, row } from '../../bench/harness.ts';
import { seededUint32 } from '../../src/base/random.ts';

const reportOf = (
  rows: readonly BenchRow[],
  subject: BenchReport['subject'] = { entries: 1000 },
  machine: Partial<BenchReport['machine']> = {},
): BenchReport => ({
  name: 'log',
  startedAt: '2026-11-20T00:00:00.000Z',
  machine: { name: 'one', cpu: 'One', cores: 2, memoryGb: 8, system: 'linux', node: 'v20', ...machine },
  subject,
  rows,
  met: true,
});

/** The mark of a figure that was `then` and is measured as each of `now`. */
const mark = (then: BenchRow, now: readonly BenchRow[]): string | undefined =>
  compareRuns(
    reportOf([then]),
    now.map((one) => reportOf([one])),
  ).rows[0]?.mark;

const rates = (...values: readonly number[]): BenchRow[] =>
  values.map((value) => row('appends', value, 'entries/s'));

describe('a run compared with a kept one', () => {
  test('marks a change beyond the spread of the repetitions, by whether more is better', () => {
    const [then] = rates(1000) as [BenchRow];
    expect(mark(then, rates(1290, 1300, 1310))).toBe('better');
    expect(mark(then, rates(690, 700, 710))).toBe('worse');
    const time = (value: number): BenchRow => row('p99', value, 'ms');
    expect(mark(time(10), [time(14)])).toBe('worse');
    expect(mark(time(10), [time(7)])).toBe('better');
  });

  test('does not mark what repetitions differ by', () => {
    const [then] = rates(1000) as [BenchRow];
    expect(mark(then, rates(600, 800, 1000))).toBe('same');
    expect(mark(then, rates(1040))).toBe('same');
  });

  test('takes the kept run as one draw with the noise of the repetitions', () => {
    const [then] = rates(1000) as [BenchRow];
    // They differ by 10 % of their median: a change of up to 15 % is noise.
    expect(mark(then, rates(826, 860, 912))).toBe('same');
    expect(mark(then, rates(806, 840, 890))).toBe('worse');
  });

  test('marks few changes where there is only noise, and almost all of 20 %', () => {
    const next = seededUint32(7);
    const uniform = (): number => (next() + 0.5) / 2 ** 32;
    const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    const draw = (mean: number): BenchRow => row('appends', mean * Math.exp(0.03 * normal()), 'entries/s');
    const shareMarked = (mean: number): number =>
      Array.from({ length: 1_000 }, () =>
        mark(
          draw(1000),
          Array.from({ length: 5 }, () => draw(mean)),
        ),
      ).filter((each) => each === 'worse').length / 1_000;
    expect(shareMarked(1000)).toBeLessThan(0.02);
    expect(shareMarked(800)).toBeGreaterThan(0.9);
  });

  test('calls figures of another machine neither better nor worse, unless they have a control', () => {
    const rows = (value: number, control: number): BenchRow[] => [
      row('alone', value, 'entries/s'),
      row('beside', value, 'entries/s', null, control),
    ];
    const kept = reportOf(rows(1000, 1000));
    const marks = (machine: Partial<BenchReport['machine']>): (string | undefined)[] => {
      const compared = compareRuns(kept, [reportOf(rows(500, 1000), undefined, machine)]);
      return [
        ...compared.rows.map((one) => one.mark),
        formatComparison(compared).match(/Another machine.*:/)?.[0],
      ];
    };
    expect(marks({})).toEqual(['worse', 'worse', undefined]);
    expect(marks({ cpu: 'Other' })).toEqual(['changed', 'worse', 'Another machine (cpu):']);
    expect(marks({ cores: 1, memoryGb: 4 })).toEqual([
      'changed',
      'worse',
      'Another machine (cores, memoryGb):',
    ]);
    // Older runs do not say on which file system they were.
    expect(marks({ disk: 'ext4', node: 'v22' })).toEqual(['worse', 'worse', undefined]);
  });

  test('says that one run shows no noise', () => {
    const [then] = rates(1000) as [BenchRow];
    const text = (count: number): string =>
      formatComparison(
        compareRuns(
          reportOf([then]),
          Array.from({ length: count }, () => reportOf([then])),
        ),
      );
    expect(text(1)).toContain('One run does not show its noise');
    expect(text(2)).not.toContain('One run does not show its noise');
  });

  test('says of a figure only that it changed if neither goal nor unit says what is better', () => {
    expect(mark(row('edges', 100, ''), [row('edges', 200, '')])).toBe('changed');
    expect(mark(row('edges', 100, '', { atLeast: 50 }), [row('edges', 200, '', { atLeast: 50 })])).toBe(
      'better',
    );
    expect(mark(row('size', 100, 'bytes an edge'), [row('size', 200, 'bytes an edge')])).toBe('worse');
    expect(mark(row('copy', 100, 'MB/s'), [row('copy', 200, 'MB/s')])).toBe('better');
  });

  test('compares ratios to the control, which a slower machine does not change', () => {
    const measured = (value: number, control: number): BenchRow =>
      row('appends', value, 'entries/s', null, control);
    expect(mark(measured(1000, 2000), [measured(500, 1000)])).toBe('same');
    expect(mark(measured(1000, 2000), [measured(1000, 4000)])).toBe('worse');
  });

  test('names rows of one of the two, and parts of the subject that differ', () => {
    const then = reportOf([row('old', 1, 'ms'), row('both', 1, 'ms')]);
    const now = reportOf([row('both', 1, 'ms'), row('new', 1, 'ms')], { entries: 2000 });
    const compared = compareRuns(then, [now]);
    expect(compared.missing).toEqual(['old', 'new']);
    expect(compared.differs).toEqual(['entries']);
    const text = formatComparison(compared);
    expect(text).toContain('Not the same subject (entries)');
    expect(text).toContain('In one of the two only: old; new');
  });

  test('compares rows of one name by the figure that they are below', () => {
    const run = (first: number, second: number): BenchReport =>
      reportOf([
        row('alone', 1, '1/s'),
        row('  p99', first, 'ms'),
        row('beside', 1, '1/s'),
        row('  p99', second, 'ms'),
      ]);
    const { rows } = compareRuns(run(10, 20), [run(10, 40)]);
    expect(rows.map(({ before, after, mark: of }) => [before, after, of])).toEqual([
      [1, 1, 'same'],
      [10, 10, 'same'],
      [1, 1, 'same'],
      [20, 40, 'worse'],
    ]);
  });

  test('takes the median of the repetitions', () => {
    const compared = compareRuns(
      reportOf(rates(1000)),
      rates(900, 5000, 1100).map((one) => reportOf([one])),
    );
    expect(compared.rows[0]?.after).toBe(1100);
  });
});
