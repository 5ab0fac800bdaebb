import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BENCHMARKS } from '../../bench/catalogue.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const bench = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(projectRoot, 'dist', 'bench', 'main.js'), ...args], { encoding: 'utf8' });

test.each([
  [['nothing'], "'nothing' is none of address, labels"],
  [['names', '--quick'], "'names' has no short run"],
  [['--quick', 'names'], "'names' has no short run"],
  [['log', '--compare'], '--compare: needs a run'],
  [['log', '--compare', 'bench/no-such-run.json'], 'there is no file or folder'],
  [['log', '--compare', 'package.json'], 'is not a run of a benchmark'],
  [['log', '--repeat', '0'], '--repeat: must be a whole number from 1 to 20'],
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
