import { expect, it } from 'vitest';
import { isRefused } from '../src/ui/Button.tsx';

it('refuses the second click of a double click for actions of the server only', () => {
  // The action has begun, but the page has not noted it yet.
  expect(isRefused(false, 2)).toBe(true);
  expect([isRefused(false, 1), isRefused(false, 0)]).toEqual([false, false]);
  expect([isRefused(true, 1), isRefused(true, 0)]).toEqual([true, true]);
  // Undo and redo are pressed as fast as a person can.
  expect(isRefused(undefined, 2)).toBe(false);
});
