import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../src/base/paths.ts';

interface LockRow {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

it('the lockfile has a row for every platform of every binary, or `npm ci` refuses it', () => {
  const { packages } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockRow>>;
  };
  const missing = Object.entries(packages).flatMap(([path, row]) =>
    Object.keys(row.optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});
