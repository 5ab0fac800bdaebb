/** Comparison of large values in tests. */
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/**
 * Requires that two values are equal, as `toEqual` does, which takes three to twenty times as long for thousands of values. The comparison of
 * Node is the stricter one; `toEqual` decides and describes the difference if it finds one.
 *
 * @param message - names the compared values in the error
 */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}
