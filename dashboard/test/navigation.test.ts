/** The navigation: every page has a shortcut of its own. */
import { expect, it } from 'vitest';
import { PATHS } from '../src/paths.ts';
import { NAVIGATION } from '../src/shell/navigation.ts';

it('has one shortcut and one path for each entry', () => {
  const entries = NAVIGATION.flat();
  expect(new Set(entries.map(({ keys }) => keys)).size).toBe(entries.length);
  expect(new Set(entries.map(({ to }) => to)).size).toBe(entries.length);
  for (const { to } of entries) expect(Object.values(PATHS)).toContain(to);
});
