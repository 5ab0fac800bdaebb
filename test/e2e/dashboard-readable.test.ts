/** Cases and alerts for people who print them, read them in another script, or use forced colours. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { type InboxWorld, openInboxWorld } from './dashboard-inbox-world.ts';
import { isTooWide } from './dashboard-page.ts';

/** The second line is Arabic with a number in it. */
const TWO_SCRIPTS = 'Answer of the customer:\nدفعت 1500 إلى البنك';
/** Would turn a name around, or hide in it. */
const SPOOFED = 'in\u200Bvoice \u202Egnp.exe';

describe.runIf(chromiumProgram !== null)('cases and alerts for all readers', () => {
  let world: InboxWorld;
  let browser: DashboardBrowser;
  let page: Page;
  let url = '';
  let caseId = '';

  // biome-ignore lint/suspicious/noExplicitAny: JSON of the API, read without a schema.
  const post = async (path: string, body: object): Promise<any> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.otherKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { readonly data: unknown }).data;
  };

  beforeAll(async () => {
    world = await openInboxWorld();
    url = world.world.url;
    browser = await openDashboardBrowser(url, world.session);
    ({ page } = browser);
    await world.raise(await world.watch(1, 'خزينة'), 3);
    const body = { title: 'تحويلات مشبوهة', priority: 'URGENT', assignee: 'Ann' };
    caseId = (await post('/cases', body)).case.id;
    for (const note of [TWO_SCRIPTS, SPOOFED]) await post(`/cases/${caseId}/events`, { type: 'NOTE', note });
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  it('writes each line of a note in the direction of its own text', async () => {
    await page.goto(`${url}/cases/${caseId}`);
    await page.getByText('Answer of the customer').waitFor();
    // In a line from right to left, the first character is at the right of the last one.
    const [first, last] = await page.evaluate<readonly [number, number]>(`(() => {
      const bdi = [...document.querySelectorAll('.note-text bdi')].find((each) => each.textContent.includes('Answer'));
      const text = bdi.firstChild;
      const at = text.data.indexOf('\\n') + 1;
      const leftOf = (from) => {
        const range = document.createRange();
        range.setStart(text, from);
        range.setEnd(text, from + 1);
        return range.getBoundingClientRect().left;
      };
      return [leftOf(at), leftOf(text.data.length - 1)];
    })()`);
    expect(first).toBeGreaterThan(last);
    const directionOf = (label: string): Promise<string> =>
      page.evaluate<string>(`(() => {
        const label = [...document.querySelectorAll('label')].find((each) => each.textContent === '${label}');
        return getComputedStyle(label.control).direction;
      })()`);
    expect(await directionOf('Title')).toBe('rtl');
    await page.getByLabel('Note', { exact: true }).fill('ملاحظة');
    expect(await directionOf('Note')).toBe('rtl');
  });

  it('shows characters that turn a note around, or that nobody sees', async () => {
    const text = await page.locator('.note-text', { hasText: 'voice' }).textContent();
    expect(text).toBe('in\uFFFDvoice \uFFFDgnp.exe');
  });

  it('prints a case without the fields for entries, and with what only they show', async () => {
    await page.emulateMedia({ media: 'print' });
    const visible = page.locator('main :is(input, select, textarea, summary, button):visible');
    expect(await visible.count()).toBe(0);
    const state = page.getByRole('region', { name: 'State of the case' });
    for (const text of ['Urgent', 'Ann'])
      expect(await state.locator('dd', { hasText: text }).isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    expect(await state.locator('dd', { hasText: 'Urgent' }).isVisible()).toBe(false);
  });

  it('says on paper that a history is longer than what was loaded', async () => {
    const { id } = (await post('/cases', { title: 'Long' })).case;
    for (let n = 0; n < 50; n++) await post(`/cases/${id}/events`, { type: 'NOTE', note: `Note ${n}` });
    await page.goto(`${url}/cases/${id}`);
    await page.getByText('Note 49').waitFor();
    const hint = page.getByText('There are more entries');
    expect(await hint.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await hint.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('Case opened').waitFor();
    expect(await hint.count()).toBe(0);
  });

  it('marks the active alert and fills bars also with forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await page.goto(`${url}/alerts`);
    await page.locator('.alert-row').first().waitFor();
    await page.keyboard.press('j');
    const styleOf = (selector: string, property: string): Promise<string> =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    await expect.poll(() => styleOf('.alert-row.is-active', 'outlineStyle')).toBe('solid');
    await page.goto(`${url}/usage`);
    await page.locator('.measure').first().waitFor();
    expect(await styleOf('.measure > span', 'backgroundColor')).not.toBe(
      await styleOf('.measure', 'backgroundColor'),
    );
    await page.emulateMedia({ forcedColors: 'none' });
  });

  it('fits 320 pixels with the distances between letters and words that a person may set', async () => {
    await page.setViewportSize({ width: 320, height: 700 });
    for (const path of ['/people', `/cases/${caseId}`, '/alerts', '/billing']) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
      await page.evaluate(`(() => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }');
        document.adoptedStyleSheets = [sheet];
      })()`);
      expect([path, await isTooWide(page)]).toEqual([path, false]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('reports no fault', async () => {
    expect(await page.evaluate('globalThis.violations')).toEqual([]);
    expect(browser.faults).toEqual([]);
  });
});
