import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { AXE, COLLECT_VIOLATIONS, PATIENCE_MS } from './dashboard-page.ts';

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

export interface Tab {
  readonly page: Page;
  /** URL of every request. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console, and violations of the policy by the page, if it is open. */
  faults(): Promise<readonly string[]>;
  /** Returns what axe finds on the page as it is, one line for each element. */
  axe(): Promise<readonly string[]>;
  /** Waits for the heading of the page, and checks it in both themes, also on a narrow screen. */
  check(name: string, heading: string | RegExp): Promise<void>;
}

/** Opens a tab. */
export async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const requests: string[] = [];
  const faults: string[] = [];
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('request', (sent) => requests.push(sent.url()));
  page.on('console', (message) => {
    // A browser reports every response of 4xx; the pages show them, and the tests look at the pages. Without a graphics card, it also
    // reports that reading pixels is slow.
    const isNoise = /^Failed to load resource|GPU stall due to ReadPixels/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !isNoise) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.addInitScript(COLLECT_VIOLATIONS);

  async function axe(): Promise<readonly string[]> {
    await page.evaluate(AXE);
    return page.evaluate<string[]>(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
    );
  }
  const isTooWide = (): Promise<boolean> =>
    page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

  return {
    page,
    requests,
    axe,
    async faults() {
      if (page.isClosed()) return faults;
      return [...faults, ...(await page.evaluate<string[]>('globalThis.violations'))];
    },
    async check(name, heading) {
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await expect.poll(() => page.locator('.loading').count(), { timeout: PATIENCE_MS }).toBe(0);
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        expect([name, colorScheme, await axe()]).toEqual([name, colorScheme, []]);
      }
      await page.setViewportSize(NARROW);
      expect([name, 'too wide', await isTooWide()]).toEqual([name, 'too wide', false]);
      expect([name, 'narrow', await axe()]).toEqual([name, 'narrow', []]);
      await page.setViewportSize(WIDE);
    },
  };
}

/** Options of a context of a browser: a desktop, without motion. */
export const DESKTOP = { viewport: WIDE, locale: 'en-GB', reducedMotion: 'reduce' } as const;
