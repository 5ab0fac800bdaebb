import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-licences-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const check = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/supply/licences.mjs', ...args], {
    cwd: projectRoot,
    encoding: 'utf8',
  });

/** Checks a lockfile with one package `thing` of the given row. */
function checkRow(row: object) {
  const path = join(folder, 'package-lock.json');
  writeFileSync(
    path,
    JSON.stringify({ packages: { '': {}, 'node_modules/thing': { version: '1.0.0', ...row } } }),
  );
  return check('--lockfile', path);
}

describe('npm run licences', () => {
  it('accepts the packages of the lockfile, and prints their licences', () => {
    const { status, stdout, stderr } = check();
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ *\d+ {2}MIT$/m);
  });

  it('accepts the packages whose code is a part of the dashboard', () => {
    const { status, stdout, stderr } = check(
      '--lockfile',
      join(projectRoot, 'dashboard', 'package-lock.json'),
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ *\d+ {2}MIT$/m);
  });

  it.each([
    [{ license: 'LGPL-3.0-only' }, 'thing@1.0.0 is licensed LGPL-3.0-only, which is not permissive'],
    [{ license: 'MIT AND GPL-2.0-only' }, 'thing@1.0.0 is licensed MIT AND GPL-2.0-only'],
    [{ license: '(MIT' }, 'thing@1.0.0 is licensed (MIT'],
    [{}, 'thing@1.0.0 names no licence'],
  ])('refuses %j', (row, sentence) => {
    const { status, stderr } = checkRow(row);
    expect(stderr).toContain(sentence);
    expect(status).toBe(1);
  });

  it.each([
    [{ license: 'Apache-2.0' }],
    [{ license: '(GPL-2.0-only OR MIT)' }],
    [{ license: '(BSD-3-Clause AND Apache-2.0)' }],
    [{ license: 'LGPL-3.0-only', dev: true }],
  ])('accepts %j', (row) => {
    const { status, stderr } = checkRow(row);
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });
});
