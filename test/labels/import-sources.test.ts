import { expect, it } from 'vitest';
import { parseImportSource } from '../../src/labels/import-sources.ts';

it('names every source that the caller reads, in the error for an unknown one', () => {
  expect(parseImportSource('OFAC', ['esma'])).toBe('ofac');
  expect(() => parseImportSource('defillama', ['opensanctions', 'esma'])).toThrow(
    /'defillama' is not a source\. Sources: ofac, .*, own, opensanctions, esma\.$/,
  );
});
