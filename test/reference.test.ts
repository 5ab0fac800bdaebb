import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { referencePages, referencePath } from '../scripts/reference.ts';

describe('the reference', () => {
  it.each([...referencePages()])('has an up-to-date page %s', (name, text) => {
    expect(readFileSync(referencePath(name), 'utf8'), 'run `npm run reference`').toBe(text);
  });
});
