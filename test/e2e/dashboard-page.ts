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

/** Screens, in pixels. */
const NARROW = { width: 360, height: 740 };
const WIDE = { width: 1280, height: 800 };
/** Whether every page is checked in all four pairs of a theme and a width. */
const ALL_PAIRS = process.env.ASSAY_TEST_LONG === '1';
/** Pages of which the frame around the content was checked in all four. */
const framed = new WeakSet<Page>();

/**
 * Checks a page in both themes, and on a screen of 360 pixels: light and wide, dark and narrow. Themes differ in colours only, and the width
 * changes none, so the other two pairs have the same colours and the same structure. The frame around the content has parts for one width
 * only: the first page of a tab is checked in all pairs, and in the long suite, every page. Each run of axe takes up to 0.6 s of
 * processor time.
 */
export async function checkInAllForms(
  page: Page,
  name: string,
  picture: (name: string) => Promise<void> = async () => {},
): Promise<void> {
  const wide = page.viewportSize() ?? WIDE;
  const isWhole = ALL_PAIRS || !framed.has(page);
  framed.add(page);
  const check = async (form: string, rules?: readonly string[]): Promise<void> =>
    expect([name, form, await axeOf(page, 'html', rules)]).toEqual([name, form, []]);
  const contrast = ['color-contrast'];

  await picture(`${name}-light`);
  await check('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(`${name}-dark`);
  if (isWhole) await check('dark', contrast);
  await page.setViewportSize(NARROW);
  await picture(`${name}-360`);
  expect([name, 'too wide', await isTooWide(page)]).toEqual([name, 'too wide', false]);
  await check('dark and narrow');
  await page.emulateMedia({ colorScheme: 'light' });
  if (isWhole) await check('light and narrow', contrast);
  await page.setViewportSize(wide);
}
