import { expect, it } from 'vitest';
import { parseSource } from '../../src/sources/index.ts';

it('lists the sources of the caller in the error for an unknown one', () => {
  expect(parseSource('OFAC', ['esma'])).toBe('ofac');
  expect(() => parseSource('defillama', ['opensanctions', 'esma'])).toThrow(
    /must be one of ofac, .*, own, opensanctions, esma \(got 'defillama'\)\.$/,
  );
});
