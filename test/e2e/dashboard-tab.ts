import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { axeOf, COLLECT_VIOLATIONS, checkInAllForms, PATIENCE_MS } from './dashboard-page.ts';

const WIDE = { width: 1280, height: 800 };

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

  const axe = (): Promise<readonly string[]> => axeOf(page);

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
      await checkInAllForms(page, name);
    },
  };
}

/** Options of a context of a browser: a desktop, without motion. */
export const DESKTOP = { viewport: WIDE, locale: 'en-GB', reducedMotion: 'reduce' } as const;
