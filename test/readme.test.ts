import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readmeOf, sourcesPageOf } from '../scripts/readme.ts';
import { projectRoot } from '../src/base/paths.ts';

it('the README names every setting and operation as the program has them', () => {
  const text = readFileSync(join(projectRoot, 'README.md'), 'utf8');
  expect(text, 'run `npm run readme`').toBe(readmeOf(text));
});

it('docs/reference/sources.md names every source as its descriptor states it', () => {
  const text = readFileSync(join(projectRoot, 'docs', 'reference', 'sources.md'), 'utf8');
  expect(text, 'run `npm run readme`').toBe(sourcesPageOf(text));
});
