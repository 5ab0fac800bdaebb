/** What tests of the dashboard run in its pages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

/** A browser on a busy machine takes seconds to start and to render. */
export const PATIENCE_MS = 60_000;

/** The source of axe-core. */
const AXE = readFileSync(join(projectRoot, 'dashboard', 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** Runs before the scripts of a page. */
export const COLLECT_VIOLATIONS = `globalThis.violations = [];
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  violations.push(effectiveDirective + ' ' + blockedURI));`;

/**
 * Returns what axe finds on a page as it is, one line for each element.
 *
 * @param part - selector of the part to look at
 * @param rules - ids of the only rules to check; all if left out
 */
export async function axeOf(
  page: Page,
  part = 'html',
  rules?: readonly string[],
): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('typeof globalThis.axe === "object"'))) await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  return page.evaluate<string[]>(
    `axe.run('${part}', ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
  );
}

/** Whether a page scrolls sideways. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

/** Checks a page in both themes, and on a screen of 360 pixels. Themes differ in colours only. */
export async function checkInAllForms(
  page: Page,
  name: string,
  picture: (name: string) => Promise<void> = async () => {},
): Promise<void> {
  const wide = page.viewportSize() ?? { width: 1280, height: 800 };
  for (const [colorScheme, rules] of [['dark', ['color-contrast']], ['light']] as const) {
    await page.emulateMedia({ colorScheme });
    expect([name, colorScheme, await axeOf(page, 'html', rules)]).toEqual([name, colorScheme, []]);
    await picture(`${name}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await picture(`${name}-360`);
  expect([name, 'too wide', await isTooWide(page)]).toEqual([name, 'too wide', false]);
  expect([name, 'narrow', await axeOf(page)]).toEqual([name, 'narrow', []]);
  await page.setViewportSize(wide);
}
