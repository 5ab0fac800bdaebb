import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startChromium } from '../setup/chromium.ts';
import { axeOf, COLLECT_VIOLATIONS, checkInAllForms, PATIENCE_MS } from './dashboard-page.ts';

export interface DashboardBrowser {
  readonly page: Page;
  readonly context: BrowserContext;
  /** URLs of all requests, in their order. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console. Responses of 4xx are none. */
  readonly faults: readonly string[];
  /** Returns what axe finds on the page as it is, one line for each element. */
  axe(): Promise<readonly string[]>;
  /** Waits for the heading, and checks the page in both themes, also on a narrow screen. */
  check(name: string, heading: string | RegExp): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a page in a browser of its own.
 *
 * @param session - value of the session cookie
 */
export async function openDashboardBrowser(url: string, session: string): Promise<DashboardBrowser> {
  const browser: Browser = await startChromium();
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  await context.addCookies([{ name: 'assay_session', value: session, url }]);
  const page = await context.newPage();
  const requests: string[] = [];
  const faults: string[] = [];
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('request', (sent) => requests.push(sent.url()));
  page.on('console', (message) => {
    const isResponse = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isResponse) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.addInitScript(COLLECT_VIOLATIONS);

  const axe = (): Promise<readonly string[]> => axeOf(page);
  return {
    page,
    context,
    requests,
    faults,
    axe,
    async check(name, heading) {
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      await checkInAllForms(page, name, (part) => picture(page, part));
    },
    close: () => browser.close(),
  };
}

/** Saves a picture of the page, if a variable names a folder for them. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.ASSAY_TEST_PICTURES;
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}
