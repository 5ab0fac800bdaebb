/** The dashboard in Chromium: a person's way through it, what it costs to load, and what attacks it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import jsQR from 'jsqr';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtDashboard } from '../../src/base/paths.ts';
import type { DashboardManifest } from '../../src/http/dashboard.ts';
import { parseJwks } from '../../src/receipts/jws.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import { verifyJws } from '../../src/receipts/verify-jws.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { axeOf, COLLECT_VIOLATIONS, checkInAllForms, isTooWide, PATIENCE_MS } from './dashboard-page.ts';
import {
  type DashboardWorld,
  EMAIL,
  HOSTILE,
  HOSTILE_NAMES,
  MIXER,
  NOBODY,
  openDashboardWorld,
  PASSWORD,
  SANCTIONED,
  SUBJECT,
} from './dashboard-world.ts';

/** The goal of the first load, gzipped. */
const FIRST_LOAD_BYTES_MAX = 300_000;

describe.runIf(chromiumProgram !== null)('the dashboard in a browser', () => {
  let world: DashboardWorld;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url = '';
  const requests: string[] = [];
  const faults: string[] = [];

  async function newPage(of: BrowserContext): Promise<Page> {
    const opened = await of.newPage();
    opened.setDefaultTimeout(PATIENCE_MS);
    opened.on('request', (sent) => requests.push(sent.url()));
    opened.on('console', (message) => {
      // A browser reports every response of 4xx; the pages show them, and the tests look at the pages.
      const isResponse = message.text().startsWith('Failed to load resource');
      if (['error', 'warning'].includes(message.type()) && !isResponse) faults.push(message.text());
    });
    opened.on('pageerror', (error) => faults.push(String(error)));
    await opened.addInitScript(COLLECT_VIOLATIONS);
    return opened;
  }

  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    browser = await startChromium();
    context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    page = await newPage(context);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  const axe = (part?: string): Promise<readonly string[]> => axeOf(page, part);
  /** Opens a page, waits for its heading, and checks it in both themes, also on a narrow screen. */
  async function visit(path: string, heading: string | RegExp): Promise<void> {
    await page.goto(url + path);
    await check(path, heading);
  }
  async function check(name: string, heading: string | RegExp): Promise<void> {
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    await checkInAllForms(page, name);
  }

  it('leads a person who is not logged in to the login, and back', async () => {
    await page.goto(`${url}/addresses`);
    await check('/login', 'Log in');
    expect(new URL(page.url()).pathname).toBe('/login');
    expect(new URL(page.url()).searchParams.get('next')).toBe('/addresses');
  });

  it('registers a person by keyboard alone, whose address a link confirms', async () => {
    await visit('/register', 'Create an account');
    await page.getByLabel('Email address').focus();
    await page.keyboard.type(EMAIL);
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor();

    const token = await world.mail.token(0);
    await visit(`/confirm#token=${token}`, 'Confirm your email address');
    // The token leaves the address bar before anything else is loaded from the page.
    expect(new URL(page.url()).hash).toBe('');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', { name: 'Your email address is confirmed' }).waitFor();
    expect(requests.filter((sent) => sent.includes(token))).toEqual([]);
  });

  it('says what is wrong with a login, and logs in by keyboard alone', async () => {
    await visit('/login?next=%2Faddresses', 'Log in');
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password').fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByText('The email address or the password is wrong.').waitFor();
    expect(await axe()).toEqual([]);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/addresses`);
  });

  it('follows no other host after a login', async () => {
    const other = await context.newPage();
    await other.goto(`${url}/login?next=${encodeURIComponent('//evil.example/')}`);
    await other.getByLabel('Email address').fill(EMAIL);
    await other.getByLabel('Password').fill(PASSWORD);
    await other.keyboard.press('Enter');
    await other.waitForURL(`${url}/`);
    await other.close();
  });

  it('shows how current every list is, and what to do about it', async () => {
    await visit('/', 'What do you want to check?');
    const table = page.getByRole('table', { name: 'Sanctions lists' });
    await table.waitFor();
    for (const list of ['EU', 'UN', 'UK', 'CH']) await table.getByText(list, { exact: true }).waitFor();
    expect(await table.getByText('Ask the operator to import the list.').count()).toBeGreaterThan(0);
  });

  it('finds the page of an address from the search box, by keyboard alone', async () => {
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(SUBJECT);
    await page.getByText('An address that is valid on 18 chains.').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/screening/ETH/${SUBJECT}`);
    // The focus is on the content, where the reader continues.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
  });

  it('shows the verdict, a sum that is right, and the evidence', async () => {
    await check('screening', new RegExp(SUBJECT));
    const points = await page
      .getByRole('table', { name: 'How the score adds up' })
      .locator('tbody tr > td:first-child')
      .allInnerTexts();
    expect(points.length).toBeGreaterThan(0);
    const sum = points.reduce((total, text) => total + Number(text.replace('−', '-')), 0);
    await page.getByRole('rowheader', { name: String(sum), exact: true }).waitFor();
    const score = Number(await page.locator('.verdict .score').textContent());
    expect(score).toBe(Math.min(sum, 100));
    await page.getByText('of what it received came directly from Mixer').waitFor();
    // Every part of the sum names who says it, since when, and how sure that is.
    const mixer = page
      .getByRole('table', { name: 'How the score adds up' })
      .getByRole('row')
      .filter({ hasText: 'Example Mixer' });
    for (const text of ['Published', 'own', '2026-10-01', '90%'])
      await mixer.getByText(text).first().waitFor();
    const casino = page.getByRole('row').filter({ hasText: 'Example Casino' });
    await casino.first().getByText('2026-09-15').waitFor();
    const policies = page.getByRole('table', { name: 'Taint policies side by side' });
    for (const policy of ['Poison', 'Haircut'])
      await policies.getByRole('columnheader', { name: policy }).waitFor();
    await page.getByRole('img', { name: /^Flow of value/ }).waitFor();
    const shares = page.getByRole('table', { name: 'Exposure' });
    await shares.getByText('Example Market').waitFor();
    for (const tab of ['Counterparties', 'Transfers', 'Law', 'Coverage']) {
      await page.getByRole('tab', { name: tab }).click();
      expect([tab, await axe()]).toEqual([tab, []]);
    }
    expect(new URL(page.url()).searchParams.get('tab')).toBe('coverage');
    // The way back leads through the tabs.
    await page.goBack();
    await page.getByRole('tab', { name: 'Law', selected: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('tab')).toBe('legal');
  });

  it('says what is wrong with a link, and asks for nothing', async () => {
    const sent = requests.length;
    await visit(`/screening/ETH/${SUBJECT}?asOf=2026-13-01&hops=2`, 'This link is not valid');
    await page.getByText('asOf: must be a day such as 2026-03-01 (got “2026-13-01”).').waitFor();
    expect(requests.slice(sent).filter((one) => one.includes('/api/v1/screening'))).toEqual([]);
    await page.getByRole('button', { name: 'Open without them' }).click();
    await page.locator('.verdict').waitFor();
    expect(new URL(page.url()).search).toBe('?hops=2');
    await page.goto(`${url}/screening/ETH/${SUBJECT}?exposure.sort=percent`);
    await page.getByText('by a column that this table does not have: percent.').waitFor();
  });

  it('says which part of the exposure an answer does not list', async () => {
    await page.route('**/api/v1/screening', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { data: { exposures: { direction: string }[] } };
      const row = body.data.exposures.find(({ direction }) => direction === 'in');
      body.data.exposures = Array.from({ length: 200 }, () => ({ direction: 'in', ...row, percentage: 0.3 }));
      await route.fulfill({ response, json: body });
    });
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByText('lists the 200 greatest rows, which have 60% of the value').waitFor();
    await page.unroute('**/api/v1/screening');
  });

  it('charges a screening once, also if the page is loaded again', async () => {
    const credits = (): Promise<string | null> => page.getByText(/credits? (is|are) left/).textContent();
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    const first = await credits();
    await page.reload();
    expect(await credits()).toBe(first);
    const outdated = page.getByText('Labels or lists have changed since this answer');
    expect(await outdated.count()).toBe(0);

    await page.route('**/api/v1/ready', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { data: { snapshot: { dataVersion: string } } };
      body.data.snapshot.dataVersion = 'another';
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await outdated.waitFor();
    expect(await axe()).toEqual([]);
    await page.unroute('**/api/v1/ready');

    // The second click of a double click asks for nothing more.
    const sent = requests.filter((one) => one.endsWith('/api/v1/screening')).length;
    await page.getByRole('button', { name: 'Screen again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Screen again' }).dblclick();
    await expect.poll(credits).not.toBe(first);
    expect(requests.filter((one) => one.endsWith('/api/v1/screening')).length).toBe(sent + 1);
    // The button went away with the old answer: the reader continues at the content.
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
  });

  it('keeps answers, shows one as it was given, and compares two', async () => {
    for (let saved = 1; saved <= 2; saved++) {
      await page.goto(`${url}/screening/ETH/${SUBJECT}${saved === 1 ? '' : '?asOf=2026-10-06'}`);
      await page.getByRole('button', { name: 'Save' }).click();
      const dialog = page.getByRole('dialog');
      // The page below is inert, and axe would read its heading without the parts that are.
      expect(await axe('[role=dialog]')).toEqual([]);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'hidden' });
      // A second press makes a second answer; the page says it once the new one is there.
      await page.getByText('This answer is kept.').waitFor();
      if (saved === 1) {
        await page.reload();
        await page.locator('.verdict').waitFor();
      }
    }
    // What was chosen for one address is not for the next: it is not kept.
    await page.keyboard.press('/');
    await page.keyboard.type(NOBODY);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/screening/ETH/${NOBODY}`);
    await page.locator('.verdict').waitFor();
    expect(await page.getByText('This answer is kept.').count()).toBe(0);
    await visit('/saved', 'Saved screenings');
    const rows = page.getByRole('table', { name: 'Kept answers' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    // The newest comes first.
    expect(await rows.nth(0).getByText('2026-10-06', { exact: true }).count()).toBe(1);
    expect(await rows.nth(1).getByText('2026-10-06', { exact: true }).count()).toBe(0);
    for (const row of [0, 1]) await rows.nth(row).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Compare both' }).click();
    await check('compare', 'What changed');
    await page.getByText(/^The findings/).waitFor();
    expect(await page.locator('dd .tag').allTextContents()).toEqual(['As of 2026-10-06']);
    await page.getByText('The requests differ: asOf from (not set) to 2026-10-06.').waitFor();
    const points = page.getByRole('table', { name: 'Points before and after' });
    expect(await points.getByText('+0', { exact: true }).count()).toBe(0);
    await page.goto(`${url}/saved`);
    await rows.first().focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await check('saved', new RegExp(SUBJECT));
    await page.getByRole('table', { name: 'How the score adds up' }).waitFor();
    await page.getByText('SHA-256', { exact: true }).waitFor();
  });

  it('keeps sort and filters of a table in the URL, and saves its rows as CSV', async () => {
    await page.goto(`${url}/screening/ETH/${SUBJECT}?tab=counterparties`);
    const table = page.getByRole('table', { name: 'Counterparties' });
    await table.getByRole('button', { name: 'USD' }).click();
    await page.getByRole('searchbox', { name: 'Filter: Counterparties' }).fill('example');
    await expect.poll(() => new URL(page.url()).searchParams.get('counterparties.find')).toBe('example');
    await expect.poll(() => table.locator('tbody tr').count()).toBe(4);
    await page.reload();
    await expect.poll(() => table.locator('tbody tr').count()).toBe(4);
    expect(await table.locator('th[aria-sort=descending]').textContent()).toContain('USD');
    const download = page.waitForEvent('download');
    await page.getByRole('tabpanel').getByRole('button', { name: 'CSV' }).first().click();
    expect((await download).suggestedFilename()).toMatch(
      new RegExp(`^screening-ETH-${SUBJECT}-counterparties-\\d{4}-\\d\\d-\\d\\d-\\d{6}\\.csv$`),
    );
    const file = await (await download).path();
    const lines = readFileSync(file, 'utf8').split('\r\n').slice(0, -1);
    expect(lines[0]).toMatch(/^\uFEFFAddress,Entity,/);
    expect(lines).toHaveLength(5);
  });

  it('copies whole addresses from a selection of a table, also into a spreadsheet', async () => {
    await page.getByRole('tab', { name: 'Counterparties' }).click();
    await page.getByRole('table', { name: 'Counterparties' }).getByText('Example Mixer').waitFor();
    const copied = await page.evaluate<{
      text: string;
      html: string;
      selected: string;
      rest: boolean;
    }>(`(() => {
      const table = [...document.querySelectorAll('table')].find((one) => one.textContent.includes('Example Mixer') && one.querySelector('.short'));
      getSelection().selectAllChildren(table.tBodies[0]);
      const clipboardData = new DataTransfer();
      document.dispatchEvent(new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true }));
      const copied = { text: clipboardData.getData('text/plain'), html: clipboardData.getData('text/html') };
      return { ...copied, selected: getSelection().toString(), rest: document.documentElement.className.includes('whole') };
    })()`);
    expect(copied.text).toContain(MIXER);
    expect(copied.text).not.toContain('…');
    expect(copied.html).toMatch(new RegExp(`^<table><tbody><tr.*${MIXER}`));
    expect(copied.html).not.toContain('…');
    // What is shown and selected stays.
    expect([copied.selected.includes('…'), copied.rest]).toEqual([true, false]);
    await page.evaluate('getSelection().removeAllRanges()');
  });

  it('never shows what is not known as clean', async () => {
    await visit(`/screening/ETH/${NOBODY}`, new RegExp(NOBODY));
    const verdict = page.locator('.verdict');
    await verdict.getByText('Nothing is known about this address. That is not a clean result.').waitFor();
    expect(await verdict.locator('.risk').textContent()).toBe('Not known');
  });

  it('names the lists of a sanctioned address first', async () => {
    await visit(`/screening/ETH/${SANCTIONED}`, new RegExp(SANCTIONED, 'i'));
    await page.locator('.verdict').getByText('Sanctioned: listed by').waitFor();
    expect(await page.locator('.verdict .risk').textContent()).toMatch(/^Critical\s*100$/);
  });

  it('shows hostile names as text, in tables and files', async () => {
    await visit(`/screening/ETH/${HOSTILE}`, new RegExp(HOSTILE));
    await page.getByRole('tab', { name: 'Counterparties' }).click();
    await page.getByRole('table', { name: 'Counterparties' }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    await page.getByText(HOSTILE_NAMES[0]).first().waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('tabpanel').getByRole('button', { name: 'CSV' }).first().click();
    const text = readFileSync(await (await download).path(), 'utf8');
    expect(text).toContain(`'=HYPERLINK`);
    expect(text).not.toMatch(/(^|,|")=HYPERLINK/m);
  });

  it('looks a pasted list up, and says which entries are no addresses', async () => {
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page
      .getByLabel('Address, name, transaction hash or list')
      .fill(`${SUBJECT}, ${SANCTIONED}, nonsense`);
    await page.getByText('A list of 3 entries.').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/addresses`);
    const table = page.getByRole('table', { name: 'Labels' });
    await table.getByText('not an address of any chain').waitFor();
    await table.getByText('Sanctioned').first().waitFor();
    await check('addresses', 'Address list');
  });

  it('takes a pasted table for a list of its addresses, each on the chain of its row', async () => {
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const rows = `Customer;Chain;Address\nDesk;BASE;${SUBJECT}\n"Smith; Ann";BTC;not an address`;
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', ${JSON.stringify(rows)});
      const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      document.querySelector('#search').dispatchEvent(paste);
    })()`);
    await page.waitForURL(`${url}/addresses`);
    const table = page.getByRole('table', { name: 'Labels' });
    await table.getByText('not an address of any chain').waitFor();
    expect(await table.locator('tbody tr').count()).toBe(2);
    await table.locator(`a[href="/screening/BASE/${SUBJECT}"]`).waitFor();
  });

  it('lists its shortcuts on ?, and closes the list on Escape', async () => {
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Go to the search box').waitFor();
    expect(await axe()).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.waitForURL(`${url}/addresses`);
  });

  it('speaks German and French, and keeps the choice', async () => {
    await page.goto(url);
    await page.getByLabel('Language').first().selectOption('de');
    await page.getByRole('heading', { name: 'Was möchten Sie prüfen?' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
    await page.reload();
    await page.getByRole('heading', { name: 'Was möchten Sie prüfen?' }).waitFor();
    await page.getByLabel('Sprache').first().selectOption('fr');
    await page.getByRole('heading', { name: 'Que voulez-vous vérifier ?' }).waitFor();
    await page.getByLabel('Langue').first().selectOption('en');
    await page.getByRole('heading', { name: 'What do you want to check?' }).waitFor();
  });

  it('prints every part of a screening as a report', async () => {
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('table', { name: 'How the score adds up' }).waitFor();
    await page.emulateMedia({ media: 'print' });
    for (const title of ['Exposure', 'Counterparties', 'Flagged transactions', 'What the verdict rests on'])
      expect([title, await page.getByRole('heading', { name: title, exact: true }).isVisible()]).toEqual([
        title,
        true,
      ]);
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    // Paper is white, also for a person who has chosen the dark theme.
    await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(21, 25, 31)');
    await page.evaluate('delete document.documentElement.dataset.theme');
    expect((await page.pdf({ format: 'A4' })).subarray(0, 5).toString()).toBe('%PDF-');
    await page.emulateMedia({ media: 'screen' });
  });

  it('prints the receipt of a screening as text, and a code that names it', async () => {
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('table', { name: 'How the score adds up' }).waitFor();
    await page.emulateMedia({ media: 'print' });
    const section = page.getByRole('region', { name: 'Signed receipt' });
    const jws = (await section.locator('code').last().textContent()) ?? '';
    const jwks = parseJwks(await (await fetch(`${url}/.well-known/jwks.json`)).json());
    const { receipt } = verifyJws(jws, jwks);
    expect(receipt.subject.map((subject) => subject.toLowerCase())).toEqual([`eip155:1:${SUBJECT}`]);
    const sha256 = receiptHash(receipt).toString('hex');
    await section.getByText(sha256).waitFor();
    // As a camera sees the printed code: in the size of the page, with its smoothing.
    const png = await section.getByRole('img', { name: 'QR code of the receipt' }).screenshot();
    const pixels = await page.evaluate<{ data: number[]; width: number; height: number }>(`(async () => {
      const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (char) => char.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes]));
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      const { data, width, height } = context.getImageData(0, 0, image.width, image.height);
      return { data: [...data], width, height };
    })()`);
    const code = jsQR.default(Uint8ClampedArray.from(pixels.data), pixels.width, pixels.height);
    expect(code?.data).toBe(`${url}/verify#${receipt.id}.${sha256}`);
    await page.emulateMedia({ media: 'screen' });
    expect(await section.isVisible()).toBe(false);
  });

  it('shows what to do and the id of the request if the server fails', async () => {
    await page.route('**/api/v1/screening', (route) =>
      route.fulfill({
        status: 500,
        headers: { 'x-error-code': 'INTERNAL', 'x-request-id': 'req_test' },
        contentType: 'application/problem+json',
        body: JSON.stringify({ detail: 'Internal server error.' }),
      }),
    );
    await page.goto(`${url}/screening/BSC/${SUBJECT}`);
    const alert = page.getByRole('alert');
    await alert.getByText('req_test').waitFor();
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await axe()).toEqual([]);
    await page.unroute('**/api/v1/screening');

    await context.setOffline(true);
    await page.locator('#search').fill(NOBODY);
    await page.keyboard.press('Enter');
    await alert.getByText('The server did not respond.').waitFor();
    await context.setOffline(false);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.verdict').waitFor();
  });

  it('shows what is chosen also with forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    const borderOf = (index: number): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelectorAll('[role=tab]')[${index}]).borderBottomColor`);
    expect(await borderOf(0)).not.toBe(await borderOf(1));
    await page.getByRole('button', { name: 'Account' }).click();
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() =>
        page.evaluate(`getComputedStyle(document.querySelector('[data-highlighted]')).outlineStyle`),
      )
      .toBe('solid');
    await page.keyboard.press('Escape');
    await page.emulateMedia({ forcedColors: null });
  });

  it('shows a page of its own for a path that does not exist', async () => {
    const response = await page.goto(`${url}/nothing/here`);
    expect(response?.status()).toBe(404);
    await check('not found', 'There is no such page');
  });

  it('ends the session', async () => {
    await page.goto(url);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.waitForURL(`${url}/login`);
    await page.goto(url);
    await page.waitForURL(/\/login/);
  });

  it('sets a new password by the link of the email', async () => {
    await visit('/forgot', 'Forgotten password');
    await page.getByLabel('Email address').fill(EMAIL);
    await page.keyboard.press('Enter');
    await page.getByText('is valid for one hour').waitFor();
    const token = await world.mail.token(1);
    await visit(`/reset#token=${token}`, 'Set a new password');
    await page.getByLabel('New password').fill(`${PASSWORD} 2`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The new password is set' }).waitFor();
  });

  it('asks a person whose session has ended to log in, and returns to the page', async () => {
    await page.goto(`${url}/login`);
    const logIn = async (): Promise<void> => {
      await page.getByLabel('Email address').fill(EMAIL);
      await page.getByLabel('Password').fill(`${PASSWORD} 2`);
      await page.keyboard.press('Enter');
    };
    await logIn();
    await page.getByRole('heading', { name: 'What do you want to check?' }).waitFor();
    await context.clearCookies();
    await page.keyboard.press('/');
    await page.keyboard.type(NOBODY);
    await page.getByText('An address that is valid on 18 chains.').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
    expect(new URL(page.url()).searchParams.get('next')).toBe(`/screening/ETH/${NOBODY}`);
    await logIn();
    await page.waitForURL(`${url}/screening/ETH/${NOBODY}`);
    await page.locator('.verdict').waitFor();
  });

  it('shows no page of a person after another tab has logged somebody else in', async () => {
    const other = 'other@example.org';
    await fetch(`${url}/api/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ email: other, password: `${PASSWORD} 2` }),
    });
    const emailIn = async (tab: Page): Promise<string> =>
      (await tab.getByRole('button', { name: 'Account' }).getAttribute('title')) ?? '';
    await page.goto(`${url}/usage`);
    expect(await emailIn(page)).toBe(EMAIL);

    // The cookie of the browser is that of somebody else now, without a logout.
    const second = await newPage(context);
    await second.goto(`${url}/login`);
    await second.getByLabel('Email address').fill(other);
    await second.getByLabel('Password').fill(`${PASSWORD} 2`);
    await second.keyboard.press('Enter');
    await expect.poll(() => emailIn(page), { timeout: PATIENCE_MS }).toBe(other);

    await second.getByRole('button', { name: 'Account' }).click();
    await second.getByRole('menuitem', { name: 'Log out' }).click();
    await page.waitForURL(/\/login\?next=%2Fusage/);
    await second.close();
  });

  it('loads at most 300 kB first', async () => {
    const { files, document } = JSON.parse(
      readFileSync(join(builtDashboard, 'manifest.json'), 'utf8'),
    ) as DashboardManifest;
    const fresh = await browser.newContext();
    const first = await fresh.newPage();
    const loaded: string[] = [];
    first.on('request', (sent) => loaded.push(new URL(sent.url()).pathname));
    await first.goto(`${url}/login`);
    await first.getByRole('heading', { level: 1 }).waitFor();
    await fresh.close();
    const bytes = files
      .filter(({ path }) => loaded.includes(path) || path === document)
      .reduce((sum, { file }) => sum + readFileSync(join(builtDashboard, `${file}.gz`)).length, 0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThanOrEqual(FIRST_LOAD_BYTES_MAX);
  });

  it('requests nothing of another host, violates no policy, and reports no error', async () => {
    const elsewhere = requests.filter((sent) => !sent.startsWith(`${url}/`) && !/^(?:data|blob):/.test(sent));
    expect(elsewhere).toEqual([]);
    expect(await page.evaluate('violations')).toEqual([]);
    expect(faults).toEqual([]);
  });
});
