import { expect, it } from 'vitest';
import { spawnSync } from '../support/child-process.ts';

it('uses settings that this version of V8 knows', () => {
  const module = new URL('../../dist/src/base/old-objects.js', import.meta.url).href;
  const code = `(await import(${JSON.stringify(module)})).collectOldObjectsLater();`;
  // V8 writes what it does not know to standard output or error, and goes on.
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});
