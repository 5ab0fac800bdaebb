/** The dashboard has settings of its own for the type checker: its code runs in browsers. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { spawnSync } from '../../test/support/child-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('the dashboard has no type error', () => {
  const checked = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'dashboard'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(`${checked.stdout}${checked.stderr}`).toBe('');
  expect(checked.status).toBe(0);
});
