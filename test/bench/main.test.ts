import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BENCHMARKS } from '../../bench/catalogue.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const bench = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(projectRoot, 'dist', 'bench', 'main.js'), ...args], { encoding: 'utf8' });

test.each([
  [['nothing'], 'name: must be one of address, labels'],
  [['names', '--quick'], "'names' has no short run"],
  [['--quick', 'names'], "'names' has no short run"],
  [['log', '--compare'], '--compare: needs a run'],
  [['log', '--compare', 'bench/no-such-run.json'], 'there is no file or folder'],
  [['log', '--compare', 'package.json'], 'is not a run of a benchmark'],
  [['log', '--repeat', '0'], '--repeat: must be a whole number from 1 to 20'],
  // A typing error must not start hours of work at full size.
  [['--quik'], '--quik: unknown'],
  [['--seconds', '3'], '--seconds: unknown, or an option of one benchmark'],
  [['log', '--entires', '5'], "--entires: is no option of 'log'. Its options: --entries."],
  [['log', '--entries'], '--entries: needs a value'],
  [['log', '--entries', '--no-save'], '--entries: needs a value'],
  [['log', '--entries', '2O0'], '--entries: must be a number (got "2O0")'],
  [['address', '--count', '5'], "--count: is no option of 'address'. Its options: none."],
  [['log', 'http'], "http: is no option of 'log'"],
  [['log', '--quick', '--no-save'], '--no-save: --quick and --compare need the runs'],
])('bench %j is refused', (args, reason) => {
  const { status, stderr } = bench(...args);
  expect(stderr).toContain(reason);
  expect(status).toBe(2);
});

test.each([[['--help']], [['names', '-h']]])('bench %j prints the usage and runs nothing', (args) => {
  const { status, stdout } = bench(...args);
  expect(stdout).toContain('Usage: npm run bench');
  expect(stdout).toContain('oracle-exposure');
  expect(status).toBe(0);
});

test('every benchmark has the script that the build makes of a source', () => {
  for (const { script } of Object.values(BENCHMARKS))
    expect(existsSync(join(projectRoot, 'bench', script.replace(/\.js$/, '.ts'))), script).toBe(true);
});

test('bench --list prints each benchmark with its options', () => {
  const { status, stdout } = bench('--list');
  expect(stdout.trim().split('\n')).toHaveLength(Object.keys(BENCHMARKS).length);
  expect(stdout).toContain('log (--quick) --entries\n');
  expect(stdout).toContain('cluster --addresses\n');
  expect(status).toBe(0);
});

/** Options with which a benchmark starts processes of its own. */
const OWN = ['--child', '--print', '--bulk', '--links', '--size', '--check', '--no-save', '--out'];

test.each(Object.entries(BENCHMARKS))(
  'the options of %s are those that its source reads',
  (_, { script, options }) => {
    const source = readFileSync(join(projectRoot, 'bench', script.replace(/\.js$/, '.ts')), 'utf8');
    const read = [...source.matchAll(/\b(?:argument|text|indexOf|includes)\(\s*'(--[a-z-]+)'/g)].map(
      ([, option]) => option as string,
    );
    const known = [...new Set(read)].filter((option) => !OWN.includes(option)).sort();
    expect([...options].sort()).toEqual(known);
  },
);

test('options of short runs are among those of the benchmark', () => {
  for (const [name, { options, quick }] of Object.entries(BENCHMARKS))
    for (const option of quick ?? []) if (option.startsWith('--')) expect(options, name).toContain(option);
});

describe('an interrupted run', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-bench-main-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The processes whose temporary folder is below this one. */
  const processesIn = (): string[] =>
    readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`TMPDIR=${folder}/`);
        } catch {
          return false;
        }
      });

  test.runIf(process.platform === 'linux').each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('leaves no processes and no folders after %s', async (signal, code) => {
    const child = spawn(
      process.execPath,
      [join(projectRoot, 'dist', 'bench', 'main.js'), 'accounts', '--entries', '5000000', '--no-save'],
      { env: { ...process.env, TMPDIR: folder }, stdio: 'ignore' },
    );
    await vi.waitFor(
      () => {
        const [own] = readdirSync(folder);
        expect(readdirSync(join(folder, own ?? 'none'))).toHaveLength(1);
      },
      { timeout: 60_000, interval: 20 },
    );
    expect(processesIn()).not.toHaveLength(0);
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([code, null]);
    await vi.waitFor(() => expect(processesIn()).toEqual([]), { timeout: 10_000, interval: 20 });
    expect(readdirSync(folder)).toEqual([]);
  });
});
