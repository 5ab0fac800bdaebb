/** Every file of `npm test` that takes more with ASSAY_TEST_LONG=1 is run by `npm run test:long`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import config from '../../vitest.long.config.ts';

const tests = (
  readdirSync(join(projectRoot, 'test'), {
    recursive: true,
    withFileTypes: true,
  }) as import('node:fs').Dirent[]
)
  .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

it('runs every file that takes more in the long suite', () => {
  const include = config.test?.include ?? [];
  const longer = tests
    .filter((path) => /process\.env\.ASSAY_TEST_LONG/.test(readFileSync(path, 'utf8')))
    .map((path) => relative(projectRoot, path).replaceAll('\\', '/'));
  expect(longer.length).toBeGreaterThan(10);
  expect(longer.filter((path) => !include.includes(path) && !path.startsWith('test/sim/'))).toEqual([]);
  expect(include).toContain('test/sim/**/*.test.ts');
  const isThere = (pattern: string): boolean =>
    pattern.includes('*') || tests.includes(join(projectRoot, pattern));
  expect(include.filter((pattern) => !isThere(pattern))).toEqual([]);
});
