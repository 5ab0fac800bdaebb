/** The pages that manage an account, used with the keyboard alone: where the focus is, and what a screen reader is told. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { type DashboardWorld, openDashboardWorld, PASSWORD } from './dashboard-world.ts';

describe.runIf(chromiumProgram !== null)('the dashboard with the keyboard alone', () => {
  let world: DashboardWorld;
  let browser: DashboardBrowser;
  let page: Page;
  let url = '';

  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    browser = await openDashboardBrowser(url, await world.person());
    ({ page } = browser);
  });
  beforeEach(async () => {
    await page.unrouteAll();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  /** Presses a button or link with the keyboard. */
  async function press(
    name: string,
    part: ReturnType<Page['locator']> = page.locator('body'),
  ): Promise<void> {
    await part.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  }
  const dialog = (name: string) => page.getByRole('dialog', { name });
  /** Name of the element with the focus: its label, or that of the part of the page. */
  const focused = (): Promise<string> =>
    page.evaluate<string>(`(() => {
      const at = document.activeElement;
      const by = document.getElementById(at.getAttribute('aria-labelledby') ?? '');
      return at.tagName + ' ' + (by ?? at.labels?.[0] ?? at).textContent.slice(0, 40);
    })()`);

  it('begins in the first field of a dialog, so that a password with a space does not close it', async () => {
    await page.goto(`${url}/account`);
    await press('Enable');
    await dialog('Second factor: Enable').waitFor();
    await expect.poll(focused).toBe('INPUT Current password');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await expect.poll(focused).toBe('INPUT Code of the app');
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('BUTTON Enable');
  });

  it('keeps the focus on a permission while it is switched', async () => {
    await page.goto(`${url}/keys`);
    await press('Create a key');
    await expect.poll(focused).toBe('INPUT Name');
    await page.keyboard.type('payments');
    await dialog('Create a key').getByLabel('kyt').focus();
    await page.keyboard.press('Space');
    await press('Create a key', dialog('Create a key'));
    await press('I have stored it', dialog('The key is created'));
    await expect.poll(focused).toBe('BUTTON Create a key');
    await press('payments');
    const intel = dialog('payments').getByLabel('intel');
    await intel.focus();
    await page.keyboard.press('Space');
    await expect.poll(() => intel.isChecked()).toBe(true);
    expect(await focused()).toBe('INPUT intel');
    await page.keyboard.press('Escape');
  });

  it('keeps the focus on the button that copies, also over HTTP, where scripts have no clipboard', async () => {
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.goto(`${url}/account`);
    await press('Enable');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    const secret = await page.locator('.secret-text').textContent();
    await press('Copy', dialog('Second factor'));
    await dialog('Second factor').getByText('Copied').waitFor();
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Copy');
    const code = dialog('Second factor').getByLabel('Code of the app');
    await code.focus();
    await page.keyboard.press('Control+V');
    expect(await code.inputValue()).toBe(secret);
    await page.keyboard.press('Escape');
    await dialog('Second factor').waitFor({ state: 'detached' });
  });

  it('changes no role by arrow keys alone, and says that it was changed', async () => {
    await page.goto(`${url}/people`);
    await page.getByLabel('Email address').fill('bea@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /bea@/ }).focus();
    await page.keyboard.press('Enter');
    const changes: string[] = [];
    page.on('request', (request) => request.method() === 'PATCH' && changes.push(request.postData() ?? ''));
    const role = dialog('bea@').getByLabel('Role');
    await role.focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await dialog('bea@').getByText('Reads everything').waitFor();
    expect([await role.inputValue(), changes]).toEqual(['auditor', []]);
    await press('Change the role', dialog('bea@'));
    await dialog('bea@').getByRole('status').getByText('Saved.').waitFor();
    expect(changes).toEqual(['{"role":"auditor"}']);
  });

  it('continues in the part of the page from which the focused element was removed', async () => {
    await press('Withdraw', dialog('bea@'));
    await press('Withdraw', dialog('Withdraw'));
    await page.getByRole('row', { name: /bea@/ }).waitFor({ state: 'detached' });
    await expect.poll(focused).not.toMatch(/^BODY/);

    await page.goto(`${url}/channels`);
    const email = page.getByRole('region', { name: 'Email', exact: true });
    await email.getByLabel('Email address').fill('ann@example.org');
    await page.keyboard.press('Enter');
    await email.getByRole('status').getByText('Saved.').waitFor();
    expect(await focused()).toBe('INPUT Email address');
    await press('Remove', email);
    await press('Remove', dialog('Remove'));
    await email.getByText('not set').waitFor();
    await expect.poll(focused).toBe('SECTION Email');
    expect(await browser.axe()).toEqual([]);
  });

  it('leaves the cursor of a filter in its place, and follows the way back', async () => {
    await page.goto(`${url}/people?people.find=example`);
    const filter = page.getByRole('searchbox', { name: 'Filter: People' });
    await filter.focus();
    await page.keyboard.press('Home');
    await page.keyboard.type('ann@', { delay: 20 });
    await expect.poll(() => new URL(page.url()).searchParams.get('people.find')).toBe('ann@example');
    expect(await filter.inputValue()).toBe('ann@example');
    await page.keyboard.type('x');
    expect(await filter.inputValue()).toBe('ann@xexample');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.goBack();
    await expect.poll(() => filter.inputValue()).toBe('ann@xexample');
  });

  it('lets a person turn the shortcuts off, and on again', async () => {
    await page.goto(`${url}/usage`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('?');
    const help = dialog('Keyboard shortcuts');
    await help.getByLabel('Use these shortcuts').focus();
    await page.keyboard.press('Space');
    expect(await browser.axe()).toEqual([]);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    for (const key of ['g', 'k', '?']) await page.keyboard.press(key);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const key of ['g', 'k', '?']) await page.keyboard.press(key);
    expect([page.url(), await help.count()]).toEqual([`${url}/usage`, 0]);
    await press('Keyboard shortcuts');
    await help.getByLabel('Use these shortcuts').check();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    for (const key of ['g', 'k']) await page.keyboard.press(key);
    await page.waitForURL(`${url}/keys`);
  });

  it('reports no fault', async () => {
    expect(await page.evaluate('globalThis.violations')).toEqual([]);
    expect(browser.faults).toEqual([]);
  });
});
