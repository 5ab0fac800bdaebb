/**
 * One person's whole way through the dashboard in Chromium, beside a real Ethereum node: register, confirm by the link of the letter,
 * search, screen, trace, open a case, watch the address, get an alert when a mixer pays it, create a key, use it, and see what was used.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { until } from '../support/wait.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import {
  type DashboardWorld,
  EMAIL,
  MIXER,
  openDashboardWorld,
  PASSWORD,
  SUBJECT,
} from './dashboard-world.ts';

/** Above the blocks of the transfers of the world, as the node of that chain would be. */
const HEIGHT = 20_001_000;
const ETHER = 10n ** 18n;

describe.runIf(chromiumProgram !== null && hasAnvil)('a person at the dashboard', () => {
  let anvil: Anvil;
  let world: DashboardWorld;
  let browser: Browser;
  let tab: Tab;
  let url = '';

  beforeAll(async () => {
    anvil = await startAnvil({ args: ['--number', String(HEIGHT)] });
    await anvil.mine();
    world = await openDashboardWorld({ ASSAY_RPC_ETH: `${anvil.url},${anvil.socketUrl}` });
    url = world.server.url;
    browser = await startChromium();
    tab = await openTab(await browser.newContext(DESKTOP));
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
    await anvil?.stop();
  });

  it('goes from the registration to the usage without leaving it', async () => {
    const { page } = tab;

    // Register, and confirm by the link of the letter.
    await page.goto(url);
    await page.waitForURL(/\/login/);
    await page.getByRole('link', { name: 'Create an account' }).click();
    // The page before has fields with the same labels.
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor();
    const token = await world.mail.token(0);
    const link = /http\S+\/confirm#token=\S+/.exec(
      (world.mail.letters[0] ?? '').replaceAll(/=\r?\n/g, ''),
    )?.[0];
    expect(link?.replace('=3D', '=')).toContain(token);
    await page.goto(`${url}/confirm#token=${token}`);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', { name: 'Your email address is confirmed' }).waitFor();
    await page.getByRole('link', { name: 'Continue to the start page' }).click();
    await page.waitForURL(/\/login/);
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'What do you want to check?' }).waitFor();

    // Search, and read why.
    await page.getByLabel('Address, name, transaction hash or list').fill(SUBJECT);
    await page.getByText('An address that is valid on 18 chains.').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('table', { name: 'How the score adds up' }).waitFor();
    await page.getByText('9 credits are left.').waitFor();

    // Trace the money, and open a case about it.
    await page.getByRole('link', { name: 'Trace (5 credits)', exact: true }).click();
    await page.waitForURL(`${url}/trace/ETH/${SUBJECT}`);
    await page.locator('.trace-canvas[data-frames]').waitFor();
    expect(await page.locator('.trace-canvas').getAttribute('data-nodes')).toBe('6');
    await page.getByRole('button', { name: 'Open a case' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(/\/cases\/[^/]+$/);
    await page.getByLabel('Note').fill('Paid by a mixer. Watch what it does next.');
    await page.getByRole('button', { name: 'Add the note' }).click();
    await page.locator('.time-line').getByText('Paid by a mixer.').waitFor();

    // Watch the address. A payment of the mixer appears in the open inbox.
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('link', { name: 'Watch' }).click();
    await page.getByRole('button', { name: 'Watch (1 credit)' }).click();
    await page.waitForURL(/\/wallets\/[^?]+$/);
    await page.goto(`${url}/alerts`);
    await page.getByText('Live', { exact: true }).waitFor();
    await anvil.rpc('anvil_setBalance', MIXER, `0x${(100n * ETHER).toString(16)}`);
    await anvil.rpc('anvil_impersonateAccount', MIXER);
    await anvil.send({ from: MIXER, to: SUBJECT, value: 5n * ETHER });
    await anvil.mine();
    const alert = page.locator('.alert-table tbody tr:not(.spacer)').first();
    await until(async () => (await alert.count()) > 0, 'an alert', 120_000);
    await alert.click();
    const opened = page.getByRole('complementary');
    await opened.getByText('Example Mixer').first().waitFor();
    await opened.getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(/\/cases\/[^/]+$/);
    await page.getByRole('heading', { level: 1, name: /^#2 / }).waitFor();

    // A key for a program of this person.
    await page.goto(`${url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('payments');
    await dialog.getByLabel('screening').check();
    await dialog.getByLabel('Name').press('Enter');
    await page.getByRole('dialog', { name: 'The key is created' }).waitFor();
    const key = (await dialog.locator('.secret-text').textContent()) ?? '';
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    const response = await fetch(`${url}/api/v1/screening`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ address: SUBJECT, chain: 'ETH' }),
    });
    expect(response.status).toBe(200);

    // What all this has used: one credit of the key, and of the person one screening, one trace and one wallet.
    await page.goto(`${url}/usage`);
    const balance = (pool: string) =>
      page.getByRole('region', { name: pool, exact: true }).locator('.balance').textContent();
    await page.getByRole('table', { name: 'Ledger' }).locator('tbody tr').first().waitFor();
    expect([await balance('API'), await balance('Dashboard')]).toEqual(['9', '3']);

    expect(tab.requests.filter((sent) => !sent.startsWith(url) && !/^(?:data|blob):/.test(sent))).toEqual([]);
    expect(await tab.faults()).toEqual([]);
  });
});
