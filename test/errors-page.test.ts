import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ERRORS_PAGE, errorsPage } from '../scripts/errors-page.ts';
import { projectRoot } from '../src/base/paths.ts';

it('the page of error codes matches the table in the program', () => {
  const text = readFileSync(join(projectRoot, ERRORS_PAGE), 'utf8');
  expect(text, 'run `npm run readme`').toBe(errorsPage());
});
