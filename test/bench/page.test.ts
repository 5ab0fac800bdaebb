import { describe, expect, test } from 'vitest';
import { compareRuns } from '../../bench/compare.ts';
import { type BenchReport, report, row } from '../../bench/harness.ts';
import { reached, reportPage } from '../../bench/page.ts';

const run = (name: string, rows: BenchReport['rows']): BenchReport =>
  report(name, '2026-11-20T00:00:00.000Z', { entries: 1000 }, rows);

describe('the page of a benchmark', () => {
  test('has the tables of all runs, and how many goals are met', () => {
    const page = reportPage('Quick', [
      run('log', [
        row('appends', 2000, 'entries/s', { atLeast: 1000 }),
        row('p99', 20, 'ms', { atMost: 10 }),
      ]),
      run('mcp', [row('call', 3, 'ms')]),
    ]);
    expect(page).toContain('<h2>log</h2>');
    expect(page).toContain('<h2>mcp</h2>');
    expect(page).toContain('Goals met: 1 of 2.');
    expect(page.match(/<svg/g)).toHaveLength(1);
    expect(page.match(/<rect class="met"/g)).toHaveLength(1);
    expect(page.match(/<rect class="missed"/g)).toHaveLength(1);
  });

  test('names the bar of a part by its figure, and writes a share that is beyond the scale', () => {
    const page = reportPage('Quick', [
      run('labels', [
        row('hits', 2, '1/s', { atLeast: 1 }),
        row('  p99', 2, 'ms', { atMost: 10 }),
        row('misses', 2, '1/s', { atLeast: 40 }),
        row('  p99', 1, 'ms', { atMost: 40 }),
        row('at the end', 10, '1/s', { atLeast: 1 }),
      ]),
    ]);
    expect(page).toContain('>p99 – hits</text>');
    expect(page).toContain('>p99 – misses</text>');
    expect([...page.matchAll(/class="beyond"[^>]*>([^<]*)</g)].map(([, text]) => text)).toEqual([
      '0.05 ×',
      '40 ×',
    ]);
  });

  test('draws each bar from the goal to its share, on the scale of the grid', () => {
    const page = reportPage('Quick', [
      run('log', [
        row('double', 20, '1/s', { atLeast: 10 }),
        row('half', 20, 'ms', { atMost: 10 }),
        row('at the goal', 10, 'ms', { atMost: 10 }),
      ]),
    ]);
    const [tenth, half, goal, double] = [...page.matchAll(/<line class="(?:grid|goal)" x1="([\d.]+)"/g)].map(
      ([, x]) => Number(x),
    ) as [number, number, number, number];
    // A scale of logarithms: half of the goal is 0.301 of the way to a tenth of it.
    expect((goal - half) / (goal - tenth)).toBeCloseTo(Math.log10(2), 2);
    expect([half < goal, goal < double, goal]).toEqual([true, true, 470]);
    const bars = [...page.matchAll(/<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)].map(
      ([, kind, x, width]) => [kind, Number(x), Number(x) + Number(width)],
    );
    expect(bars).toEqual([
      ['met', goal, expect.closeTo(double, 0)],
      ['missed', half, expect.closeTo(goal, 0)],
      ['met', goal, goal + 1],
    ]);
    expect(page.match(/<td class="met">yes/g)).toHaveLength(2);
    expect(page.match(/<td class="missed">no/g)).toHaveLength(1);
  });

  test('warns of a run whose temporary folder is in memory', () => {
    const kept = run('log', [row('durable appends', 1, '1/s')]);
    const onDisk = (disk: string): string =>
      reportPage('Quick', [{ ...kept, machine: { ...kept.machine, disk } }]);
    expect(onDisk('tmpfs')).toContain('nothing of this run was durable');
    expect(onDisk('ext4')).not.toContain('was durable');
  });

  test('shows names and subjects as text', () => {
    const page = reportPage('<b>', [
      run('<script>alert(1)</script>', [row('a & "b"', 1, 'ms', { atMost: 2 })]),
    ]);
    expect(page).not.toContain('<script');
    expect(page).not.toContain('<b>');
    expect(page).toContain('a &amp; &quot;b&quot;');
  });

  test('shows a comparison with its marks', () => {
    const then = run('log', [row('appends', 1000, 'entries/s')]);
    const now = run('log', [row('appends', 500, 'entries/s')]);
    const page = reportPage('Compared', [now], [compareRuns(then, [now])]);
    expect(page).toContain('compared with 2026-11-20T00:00:00.000Z');
    expect(page).toContain('<td class="missed">worse</td>');
  });
});

describe('how far a figure is from its goal', () => {
  test('is 1 at the goal and more beyond it, whatever is better', () => {
    expect(reached(row('a', 1000, '/s', { atLeast: 1000 }))).toBe(1);
    expect(reached(row('a', 2000, '/s', { atLeast: 1000 }))).toBe(2);
    expect(reached(row('a', 5, 'ms', { atMost: 10 }))).toBe(2);
    expect(reached(row('a', 20, 'ms', { atMost: 10 }))).toBe(0.5);
  });

  test('is that of the ratio if the goal is for it', () => {
    expect(reached(row('a', 500, '/s', { atLeast: 0.5, of: 'ratio' }, 2000))).toBe(0.5);
  });

  test('is not known without a goal, or with a goal of nothing', () => {
    expect(reached(row('a', 5, 'ms'))).toBeNull();
    expect(reached(row('a', 5, '', { atMost: 0 }))).toBeNull();
    expect(reached(row('a', 5, '', { atLeast: 0 }))).toBeNull();
    expect(reached(row('a', 0, 'ms', { atMost: 10 }))).toBeNull();
    // Its control was left out, so it was not judged.
    expect(reached(row('a', 500, '/s', { atLeast: 0.5, of: 'ratio' }))).toBeNull();
  });
});
