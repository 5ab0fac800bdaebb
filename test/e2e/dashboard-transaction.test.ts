/** The page of a transaction, and the chart of a screening, in Chromium over a real server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { PATIENCE_MS } from './dashboard-page.ts';
import {
  type DashboardWorld,
  HOSTILE_NAMES,
  openDashboardWorld,
  SUBJECT,
  TRANSACTIONS,
} from './dashboard-world.ts';

describe.runIf(chromiumProgram !== null)('transactions in a browser', () => {
  let world: DashboardWorld;
  let browser: DashboardBrowser;
  let url = '';

  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    const value = await world.person();
    const session = await fetch(`${url}/api/v1/auth/session`, {
      headers: { cookie: `assay_session=${value}` },
    });
    const { data } = (await session.json()) as { data: { account: { id: string } } };
    const granted = await world.world.run([
      ...['credits', 'grant', data.account.id, '100', '--reason', 'tests', '--pool', 'dashboard'],
    ]);
    expect(granted.err).toBe('');
    browser = await openDashboardBrowser(url, value);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  it('are found by the search box, with both sides and a check of them', async () => {
    const { page } = browser;
    await page.goto(url);
    await page
      .getByLabel('Address, name, transaction hash or list')
      .fill(` ${TRANSACTIONS.mixer.toUpperCase().replace('0X', '0x')} `);
    await page.getByText('The form of a transaction hash.').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/transactions\/0x0+1$/);
    await browser.check('transaction', /^Transaction 0x/);
    const facts = page.locator('.facts');
    await facts.getByText('Example Mixer').waitFor();
    const transfers = page.getByRole('table', { name: 'Transfers' });
    expect(await transfers.locator('tbody tr').count()).toBe(1);
    await transfers.getByText('12').first().waitFor();
    const parties = page.getByRole('table', { name: 'Senders and receivers' });
    expect(await parties.locator('tbody tr').count()).toBe(2);
    expect(await parties.getByRole('link', { name: 'Trace' }).first().getAttribute('href')).toMatch(
      /^\/trace\/ETH\/0x/,
    );
    const keys: (string | undefined)[] = [];
    page.on('request', (sent) => {
      if (sent.url().endsWith('/kyt')) keys.push(sent.headers()['idempotency-key']);
    });
    const check = page.getByRole('button', { name: 'Check for one credit' });
    const decision = page.getByRole('status').getByText(/^(Allow|Review|Block)$/);
    await check.click();
    await decision.waitFor();
    expect(await browser.axe()).toEqual([]);
    // The next press is no other attempt of this one: the labels may have changed since.
    await check.click();
    await expect.poll(() => keys.length).toBe(2);
    await decision.waitFor();
    expect(new Set(keys).size).toBe(2);
  });

  it('of several chains are a choice', async () => {
    const { page } = browser;
    await page.goto(`${url}/transactions/${TRANSACTIONS.several}`);
    await browser.check('choice', /^Transaction 0x/);
    expect(await page.getByRole('table').count()).toBe(0);
    await page.getByRole('button', { name: /^Base: 1 transfer$/ }).click();
    await page.waitForURL(/chain=BASE/);
    await page
      .getByRole('table', { name: 'Transfers' })
      .getByText('0x8888', { exact: false })
      .first()
      .waitFor();
  });

  it('that are not stored, or that are none, are explained', async () => {
    const { page } = browser;
    await page.goto(`${url}/transactions/${TRANSACTIONS.unknown}`);
    await page.getByText('Not in the transfers of this installation').waitFor();
    await page.getByText('Searched:').waitFor();
    await browser.check('unknown', /^Transaction 0x/);
    await page.goto(`${url}/transactions/${encodeURIComponent(HOSTILE_NAMES[0])}`);
    await page.getByText('Not a transaction hash').waitFor();
    await browser.check('invalid', /^Transaction /);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  it('show hostile names as text', async () => {
    const { page } = browser;
    await page.goto(`${url}/transactions/${TRANSACTIONS.hostile}`);
    await page.getByText(HOSTILE_NAMES[0]).first().waitFor();
    await browser.check('hostile', /^Transaction 0x/);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
  });

  it('of an address are a chart beside their table', async () => {
    const { page } = browser;
    await page.goto(`${url}/screening/ETH/${SUBJECT}?tab=transfers`);
    const chart = page.getByRole('img', { name: 'Received and sent amounts over time.' });
    await chart.waitFor({ timeout: PATIENCE_MS });
    // Six days have transfers of the address, each in one direction.
    expect(await chart.locator('.flow-bar').count()).toBe(6);
    expect(await chart.locator('.flow-bar.is-in').count()).toBe(3);
    await page.getByRole('table', { name: 'Flow by day' }).waitFor();
    await browser.check('chart', /./);
    await page.emulateMedia({ media: 'print' });
    expect(await chart.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
  });

  it('violate no policy, and request nothing from another host', async () => {
    expect(await browser.page.evaluate('globalThis.violations')).toEqual([]);
    expect(browser.faults).toEqual([]);
    expect(browser.requests.filter((sent) => !sent.startsWith(url))).toEqual([]);
  });
});
