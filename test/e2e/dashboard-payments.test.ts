/** Ordering by wire and in cryptocurrency in Chromium, and paying on a real EVM node while the page shows the state. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasAnvil } from '../setup/anvil.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import { call, DEPTH, openPaymentsWorld, type PaymentsWorld } from './payments-world.ts';
import type { RunningServer } from './program.ts';

describe.runIf(chromiumProgram !== null && hasAnvil)('ordering on the page Credits', () => {
  let of: PaymentsWorld;
  let server: RunningServer;
  let browser: Browser;
  let tab: Tab;

  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  const newest = async (): Promise<any> =>
    (await call(server, server.firstKey, '/billing/invoices?limit=1')).invoices[0];

  beforeAll(async () => {
    of = await openPaymentsWorld();
    server = await of.serve();
    const [name, value] = (await of.login(server)).split('=') as [string, string];
    browser = await startChromium();
    const context = await browser.newContext(DESKTOP);
    await context.addCookies([{ name, value, url: server.url }]);
    tab = await openTab(context);
    await tab.page.goto(`${server.url}/billing`);
  });
  afterAll(async () => {
    await browser?.close();
    await of?.end();
  });

  it('orders by bank transfer with the keyboard, and links the invoice to print', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Starter by bank transfer' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Invoice created').waitFor();
    const invoice = await newest();
    expect(invoice).toMatchObject({ method: 'WIRE', state: 'NEW', pool: 'api' });
    const status = page.getByRole('status').filter({ hasText: 'Invoice created' });
    expect(await status.textContent()).toContain(invoice.wire.reference);
    const [proForma] = await Promise.all([
      page.context().waitForEvent('page'),
      status.getByRole('link').click(),
    ]);
    await proForma.waitForLoadState();
    expect(await proForma.locator('body').textContent()).toContain('CH93');
    await proForma.close();
    await tab.check('/billing after an order', 'Credits');
    expect(await tab.faults()).toEqual([]);
  });

  it('orders in a chosen cryptocurrency, shows the code, and follows the payment until it is booked', async () => {
    const { page } = tab;
    await page.getByRole('combobox', { name: 'Cryptocurrency' }).selectOption('ETH');
    await page.getByRole('button', { name: 'Create invoice' }).click();
    await page.getByLabel('QR code of the payment').waitFor();
    const invoice = await newest();
    expect(invoice).toMatchObject({
      method: 'CRYPTO',
      state: 'NEW',
      crypto: { chain: 'ETH', symbol: 'ETH' },
    });
    const { address, amount, uri } = invoice.crypto;
    await page.getByText(address, { exact: true }).waitFor();
    await page.getByText(amount, { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Open in a wallet' }).getAttribute('href')).toBe(uri);
    await tab.check('/billing with a code', 'Credits');
    // The address is still there after a reload, and for a person who comes back later.
    await page.reload();
    await page.getByText(address, { exact: true }).waitFor();
    await page.goto(`${server.url}/billing`);
    await page.getByRole('link', { name: 'Show how to pay' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(address, { exact: true }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Pay in cryptocurrency');
    await of.anvil.send({ to: address, value: BigInt(invoice.due.amount) });
    await of.anvil.mine();
    const state = (text: string) => page.getByRole('status').filter({ hasText: text });
    await state('Being confirmed').or(state('Processing')).or(state('Confirming')).first().waitFor();
    await of.anvil.mine(DEPTH - 1);
    await state('Paid').waitFor();
    const usage = await call(server, server.firstKey, '/usage');
    expect(usage.history[0]).toMatchObject({ type: 'PURCHASE', amount: 100 });
    expect(await tab.faults()).toEqual([]);
  });
});
