/** Buying credits in Chromium, from the packages over a page of a stand-in for Stripe back to the receipt; and the commands beside it. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  eventOf,
  paid,
  type StripeStandIn,
  signatureOf,
  startStripe,
  WEBHOOK_SECRET,
} from '../billing/stripe-stand-in.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import { HOSTILE_NAMES } from './dashboard-world.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const EMAIL = 'ann@example.org';
const PASSWORD = 'correct horse battery';
const HOSTILE = HOSTILE_NAMES[0];

describe.runIf(chromiumProgram !== null)('buying credits', () => {
  let stripe: StripeStandIn;
  let world: World;
  let server: RunningServer;
  let browser: Browser;
  let tab: Tab;

  const run = async (...args: string[]) => {
    const { code, out, err } = await world.run(args);
    return { code, out, err };
  };

  beforeAll(async () => {
    stripe = await startStripe();
    world = newWorld();
    server = await world.serve({
      ASSAY_STRIPE_KEY: 'sk_test_0123456789',
      ASSAY_STRIPE_SECRET: WEBHOOK_SECRET,
      ASSAY_STRIPE_URL: stripe.url,
      ASSAY_SELLER_NAME: HOSTILE,
      ASSAY_VAT_PERCENT: '8.1',
    });
    const added = await world.run(['accounts', 'add-person', 'local', '--email', EMAIL], {
      input: `${PASSWORD}\n`,
    });
    expect(added.code).toBe(0);
    browser = await startChromium();
    tab = await openTab(await browser.newContext(DESKTOP));
    const { page } = tab;
    await page.goto(`${server.url}/login`);
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.url}/`);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
    await stripe?.close();
  });

  it('leads from the usage to the packages, and to the page of Stripe', async () => {
    const { page } = tab;
    await page.goto(`${server.url}/usage`);
    await page.getByRole('link', { name: 'Buy credits' }).click();
    await tab.check('/billing', 'Credits');
    await page.getByText('No purchases yet').waitFor();
    await page.getByLabel('Balance').selectOption('dashboard');
    await page.route('https://checkout.stripe.test/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<h1>Pay here</h1>' }),
    );
    await page.getByRole('button', { name: 'Buy Growth' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Pay here' }).waitFor();
    expect(stripe.sessions.at(-1)).toMatchObject({ metadata: { package: 'Growth', pool: 'dashboard' } });
  });

  it('waits on the page of return until the payment is reported, and links the receipt', async () => {
    const { page } = tab;
    const session = stripe.sessions.at(-1)!;
    await page.goto(session.success_url);
    await page.getByText('The payment is being confirmed.').waitFor();
    await tab.check('/billing/success', 'Payment');
    const event = eventOf('checkout.session.completed', paid(session));
    const booked = await fetch(`${server.url}/api/v1/payments/stripe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signatureOf(event, Date.now()) },
      body: event,
    });
    expect(booked.status).toBe(200);
    await page.getByText('500 credits are on the balance of the dashboard.').waitFor();
    expect(await tab.axe()).toEqual([]);
    const [receipt] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Receipt R-000001' }).click(),
    ]);
    await receipt.getByRole('heading', { name: 'Receipt R-000001' }).waitFor();
    const text = await receipt.locator('body').textContent();
    for (const part of [HOSTILE, 'VAT 8.1 %', '799.00 USD']) expect(text).toContain(part);
    await receipt.close();
    expect(await tab.faults()).toEqual([]);
  });

  it('lists the purchase, and a person who did not pay finds the way back', async () => {
    const { page } = tab;
    await page.goto(`${server.url}/billing`);
    await page.getByRole('cell', { name: 'Paid', exact: true }).waitFor();
    await tab.check('/billing', 'Credits');
    await page.goto(`${server.url}/billing/cancel?invoice=x`);
    await tab.check('/billing/cancel', 'Not paid');
    await page.getByRole('main').getByRole('link', { name: 'Credits' }).click();
    await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor();
    expect(await tab.faults()).toEqual([]);
  });

  it('shows the same on the command line, which verifies invoices beside the server', async () => {
    expect((await run('billing', 'packages')).out).toContain(
      'Growth: 500 credits, 799.00 USD, 1.60 USD per credit',
    );
    expect((await run('billing', 'invoices')).out).toMatch(
      /SETTLED 1 × Growth 799\.00 USD for dashboard, receipt R-000001/,
    );
    const agreed = await run('billing', 'agree', 'local', '--credits', '50000', '--cents', '4500000');
    expect(agreed.out).toContain('Custom: 50000 credits, 45000.00 USD, 0.90 USD per credit');
    const wrong = await run('billing', 'agree', 'nobody', '--credits', '1', '--cents', '1');
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("there is no account 'nobody'")]);
    const verified = await run('billing', 'verify', '--json');
    expect([verified.code, JSON.parse(verified.out)]).toEqual([
      0,
      expect.objectContaining({ faults: [], settled: 1 }),
    ]);
    await tab.page.goto(`${server.url}/billing`);
    await tab.page.getByRole('button', { name: 'Buy Custom' }).waitFor();
  });
});
