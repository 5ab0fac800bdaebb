/** `npm run signatures` for each outcome of `npm audit signatures`, which a program named npm plays. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-signatures-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the check with an npm that prints `output` and ends with `code`. */
function check(output: string, code: number) {
  const path = join(folder, 'npm');
  writeFileSync(path, `#!/bin/sh\ncat <<'END'\n${output}\nEND\nexit ${code}\n`);
  chmodSync(path, 0o755);
  return spawnSync(process.execPath, ['scripts/supply/signatures.mjs'], {
    cwd: projectRoot,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
  });
}

describe.skipIf(process.platform === 'win32')('npm run signatures', () => {
  it('succeeds if all signatures are right', () => {
    const { status, stdout } = check(
      'audited 200 packages in 3s\n\n200 packages have verified registry signatures',
      0,
    );
    expect(stdout).toContain('200 packages have verified registry signatures');
    expect(status).toBe(0);
  });

  it.each([
    ['npm error code ENOTFOUND', 'the keys of the registry cannot be reached from here'],
    [
      'found no dependencies to audit that were installed from a supported registry',
      'the registry offers no keys',
    ],
  ])('names the reason if npm says: %s', (output, reason) => {
    const { status, stdout } = check(output, 1);
    expect(stdout).toBe(`assay: signatures of packages were not verified: ${reason}.\n`);
    expect(status).toBe(0);
  });

  it.each([
    '1 package has an invalid registry signature:\nthing@1.0.0',
    '1 package has an invalid registry signature, after ECONNRESET of another:\nthing@1.0.0',
    'npm error something else',
  ])('fails if npm says: %s', (output) => {
    const { status, stderr } = check(output, 1);
    expect(stderr).toContain('assay: npm audit signatures failed.');
    expect(status).toBe(1);
  });
});
