/** Traces, names and exchanges of the dashboard in Chromium, over a real server. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { axeOf, COLLECT_VIOLATIONS, checkInAllForms, isTooWide, PATIENCE_MS } from './dashboard-page.ts';
import {
  type DashboardWorld,
  HOSTILE,
  HOSTILE_NAMES,
  largeTrace,
  NOBODY,
  openDashboardWorld,
  SUBJECT,
} from './dashboard-world.ts';

/** Of the world: paid by the subject, and pays a darknet market. */
const BETWEEN = `0x${'5'.repeat(40)}`;
const MARKET = `0x${'4'.repeat(40)}`;

/** Addresses of a large trace: the goal is 5,000. With fewer, the same code reads, places and draws them. */
const LARGE = process.env.ASSAY_TEST_LONG === '1' ? 5_000 : 1_500;

interface SavedTrace {
  readonly nodes: readonly {
    address: string;
    name: string | null;
    column?: number;
    row?: number;
    note?: string;
    shown?: boolean;
  }[];
  readonly edges: readonly object[];
}

describe.runIf(chromiumProgram !== null)('traces, names and exchanges in a browser', () => {
  let world: DashboardWorld;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url = '';
  const requests: string[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    browser = await startChromium();
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('request', (sent) => requests.push(sent.url()));
    page.on('console', (message) => {
      // The driver reports that reading the pixel under the pointer waits for the picture.
      const isKnown = /^Failed to load resource|GPU stall due to ReadPixels/.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !isKnown && !message.text().includes('ReadPixels'))
        faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    await page.addInitScript(COLLECT_VIOLATIONS);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  let people = 0;
  /** Logs a person in who has traced nothing yet: an account traces five times a minute. */
  async function newPerson(): Promise<void> {
    people++;
    const value = await world.person(`analyst${people}@example.org`);
    const session = await fetch(`${url}/api/v1/auth/session`, {
      headers: { cookie: `assay_session=${value}` },
    });
    const { data } = (await session.json()) as { data: { account: { id: string } } };
    const account = data.account.id;
    const granted = await runCommand(join(world.world.folder, 'store'), [
      ...['credits', 'grant', account, '1000', '--reason', 'tests', '--pool', 'dashboard'],
    ]);
    expect(granted.err).toBe('');
    await context.addCookies([{ name: 'assay_session', value, url }]);
  }

  const axe = (): Promise<readonly string[]> => axeOf(page);
  /** Checks the page as it is in both themes and on a narrow screen. */
  async function check(name: string): Promise<void> {
    await checkInAllForms(page, name);
  }
  const canvas = () => page.locator('.trace-canvas');
  const number = async (name: 'nodes' | 'edges'): Promise<number> =>
    Number(await canvas().getAttribute(`data-${name}`));
  async function openTrace(path: string): Promise<void> {
    await page.goto(`${url}/trace/${path}`);
    await page.locator('.trace-canvas[data-frames]').waitFor();
  }
  async function saved(button: string): Promise<string> {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: button, exact: true }).first().click();
    return readFileSync(await (await download).path(), button === 'PNG' ? 'latin1' : 'utf8');
  }
  const savedTrace = async (): Promise<SavedTrace> => JSON.parse(await saved('.assay.json')) as SavedTrace;
  const placesIn = ({ nodes }: SavedTrace): ReadonlyMap<string, string> =>
    new Map(nodes.map(({ address, column, row }) => [address, `${column} ${row}`]));
  const details = () => page.getByRole('region', { name: 'Selection' });
  const openFile = (name: string, text: string): Promise<void> => {
    const path = join(world.world.folder, name);
    writeFileSync(path, text);
    return page.locator('input[type=file]').setInputFiles(path);
  };

  it('leads from a screening to the trace, which reads from left to right', async () => {
    await newPerson();
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('link', { name: 'Trace (5 credits)', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/trace/ETH/${SUBJECT}`);
    await page.locator('.trace-canvas[data-frames]').waitFor();
    expect(await number('nodes')).toBe(6);
    const { nodes } = await savedTrace();
    const columns = new Map(nodes.map(({ address, column }) => [address, column]));
    expect(columns.get(SUBJECT)).toBe(0);
    expect(columns.get(BETWEEN)).toBe(1);
    expect(nodes.find(({ name }) => name === 'Example Mixer')?.column).toBe(-1);
    await check('trace');
  });

  it('has the same as a table, says where it stopped, and opens rows by keyboard', async () => {
    const table = page.getByRole('table', { name: 'Addresses of the trace' });
    const row = table.locator('tbody tr', { hasText: 'Example Mixer' });
    await row.getByText('Service: it mixes the funds of its customers').waitFor();
    await row.focus();
    await page.keyboard.press('Enter');
    await details().getByRole('heading', { name: 'Example Mixer' }).waitFor();
    expect(
      await page.getByRole('table', { name: 'Transfers of the trace' }).locator('tbody tr').count(),
    ).toBe(6);
    await page.getByRole('table', { name: 'Transfers of the trace' }).locator('tbody tr').first().focus();
    await page.keyboard.press('Enter');
    await details().getByRole('heading', { name: 'Transfers between two' }).waitFor();
    expect(await axe()).toEqual([]);
  });

  it('expands one hop and moves nothing, and undoes and redoes by keyboard', async () => {
    const before = placesIn(await savedTrace());
    const row = page
      .getByRole('table', { name: 'Addresses of the trace' })
      .locator('tbody tr', { has: page.locator(`[title="${BETWEEN}"]`) });
    await row.focus();
    await page.keyboard.press('Enter');
    await details().getByRole('button', { name: 'Expand one hop (5 credits)' }).click();
    await expect.poll(() => number('nodes')).toBe(7);
    const after = placesIn(await savedTrace());
    for (const [address, place] of before) expect([address, after.get(address)]).toEqual([address, place]);
    expect(after.get(MARKET)).toMatch(/^2 /);
    await page.locator('#content').focus();
    await page.keyboard.press('Control+z');
    await expect.poll(() => number('nodes')).toBe(6);
    await page.keyboard.press('Control+Shift+z');
    await expect.poll(() => number('nodes')).toBe(7);
  });

  it('collapses what is behind an address, and opens it again in the same places, by keyboard', async () => {
    const before = placesIn(await savedTrace());
    const row = page
      .getByRole('table', { name: 'Addresses of the trace' })
      .locator('tbody tr', { has: page.locator(`[title="${BETWEEN}"]`) });
    await row.focus();
    await page.keyboard.press('Enter');
    await details().getByRole('button', { name: 'Collapse' }).waitFor();
    await page.locator('#content').focus();
    await page.keyboard.press('c');
    // The market is in a node that counts it.
    await details().getByRole('button', { name: 'Open again' }).waitFor();
    expect((await savedTrace()).nodes.find(({ address }) => address === MARKET)).toMatchObject({
      shown: false,
    });
    await page.locator('#content').focus();
    await page.keyboard.press('c');
    await details().getByRole('button', { name: 'Collapse' }).waitFor();
    expect(placesIn(await savedTrace())).toEqual(before);
  });

  it('selects what is under the pointer', async () => {
    const row = page
      .getByRole('table', { name: 'Addresses of the trace' })
      .locator('tbody tr', { hasText: 'Example Casino' });
    await row.focus();
    await page.keyboard.press('Enter');
    await details().getByRole('heading', { name: 'Example Casino' }).waitFor();
    await page.keyboard.press('Escape');
    await details().getByText('Select a node or a line').waitFor();
    // The row has moved the middle of the view to the node.
    await canvas().click();
    await details().getByRole('heading', { name: 'Example Casino' }).waitFor();
  });

  it('keeps notes over a reload and in files, and a reload is not charged again', async () => {
    await details().getByLabel('Note').fill('=asked the customer');
    await details().getByRole('button', { name: 'Save the note' }).click();
    await expect
      .poll(async () => (await savedTrace()).nodes.some(({ note }) => note === '=asked the customer'))
      .toBe(true);
    const answer = page.waitForResponse((response) => response.url().endsWith('/api/v1/trace'));
    await page.reload();
    expect((await answer).headers()['idempotency-replayed']).toBe('true');
    await page.locator('.trace-canvas[data-frames]').waitFor();
    const text = await saved('CSV');
    expect(text).toContain("'=asked the customer");
    expect(text).toContain('Example Casino');
  });

  it('says when it was traced, and traces again on a press, with the notes', async () => {
    const tracedAt = page.getByText(/^Traced at 20\d\d-/);
    await tracedAt.waitFor();
    const answer = page.waitForResponse((response) => response.url().endsWith('/api/v1/trace'));
    const tracesSent = (): number => requests.filter((sent) => sent.endsWith('/api/v1/trace')).length;
    const before = tracesSent();
    // The second click of a double click asks for nothing more.
    await page.getByRole('button', { name: 'Trace again (5 credits)' }).dblclick();
    const response = await answer;
    expect([response.status(), response.headers()['idempotency-replayed']]).toEqual([200, undefined]);
    await page.locator('.trace-canvas[data-frames]').waitFor();
    await tracedAt.waitFor();
    expect(tracesSent()).toBe(before + 1);
    expect((await savedTrace()).nodes.some(({ note }) => note === '=asked the customer')).toBe(true);
  });

  it('fits on a page of A4 when it is printed', async () => {
    const screen = page.viewportSize();
    await page.setViewportSize({ width: 690, height: 1_000 });
    await page.emulateMedia({ media: 'print' });
    expect(await isTooWide(page)).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    if (screen !== null) await page.setViewportSize(screen);
  });

  it('finds paths to another address, and keeps filters in the URL', async () => {
    await newPerson();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    // A link of somebody else spends nothing without a press.
    await page.goto(`${url}/trace/ETH/${SUBJECT}?target=${MARKET}`);
    await page.getByText('This link asks for paths to another address').waitFor();
    expect(await axe()).toEqual([]);
    expect(sent.filter((to) => to.endsWith('/api/v1/trace'))).toEqual([]);
    await page.getByRole('button', { name: 'Trace (10 credits)' }).click();
    await page.locator('.trace-canvas[data-frames]').waitFor();
    await page.getByRole('heading', { name: 'Paths to the target' }).waitFor();
    await page.getByText('2 hops, thinnest step:').waitFor();
    const all = await number('edges');
    await page.getByLabel('From the day').fill('2026-10-08');
    await expect.poll(() => new URL(page.url()).searchParams.get('since')).toBe('2026-10-08');
    await expect.poll(() => number('edges')).toBeLessThan(all);
    await page.reload();
    await page.locator('.trace-canvas[data-frames]').waitFor();
    expect(await number('edges')).toBeLessThan(all);
    expect(await axe()).toEqual([]);
  });

  it('opens a case from a trace, which leads back to it with the same options and filter, and takes further links', async () => {
    await newPerson();
    const query = '?direction=out&hops=2&min=12.5&since=2020-01-31';
    await openTrace(`ETH/${SUBJECT}${query}`);
    const drawn = [await number('nodes'), await number('edges')];
    await page.getByRole('button', { name: 'Open a case' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(/\/cases\/[^/]+$/);
    const caseUrl = page.url();
    await page.getByText('sent by a client and not verified').waitFor();
    await check('case of a trace');
    await page.getByRole('link', { name: 'Trace again' }).click();
    await page.locator('.trace-canvas[data-frames]').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/trace/ETH/${SUBJECT}`);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual(
      Object.fromEntries(new URLSearchParams(query)),
    );
    expect([await number('nodes'), await number('edges')]).toEqual(drawn);
    await page.getByRole('button', { name: 'Add to a case' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Case').selectOption({ index: 0 });
    await dialog.getByRole('button', { name: 'Add to a case' }).click();
    await page.waitForURL(caseUrl);
    await expect.poll(() => page.getByRole('link', { name: 'Trace again' }).count()).toBe(2);
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('button', { name: 'Add to a case' }).click();
    await dialog.getByRole('button', { name: 'Add to a case' }).click();
    await page.waitForURL(caseUrl);
    await page.getByRole('listitem').getByText('Screening', { exact: true }).waitFor();
  });

  it('says that nothing is known, and does not call it clean', async () => {
    await newPerson();
    await page.goto(`${url}/trace/ETH/${NOBODY}`);
    await page.getByText('No transfer of this address is known. That is not a clean result').waitFor();
    await check('empty trace');
  });

  it('shows hostile names as text, in the picture and in its files', async () => {
    await openTrace(`ETH/${HOSTILE}`);
    const svg = await saved('SVG');
    expect(svg).toContain('&lt;/td&gt;');
    expect(svg).not.toMatch(/<script|<img|\u202E|javascript:/u);
    const csv = await saved('CSV');
    expect(csv).toContain(`'=HYPERLINK`);
    expect(csv).not.toMatch(/(^|,|")=HYPERLINK/m);
    expect((await saved('PNG')).slice(1, 4)).toBe('PNG');
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    await check('hostile trace');
    const file = await saved('.assay.json');
    await openFile('hostile.assay.json', file.replace('"chain": "ETH"', '"chain": "<b>"'));
    await page
      .getByRole('alert')
      .getByText('The file is not opened: chain is missing or not valid.')
      .waitFor();
    await openFile('broken.assay.json', file.slice(0, -20));
    await page.getByRole('alert').getByText('The file is not opened: it is not JSON.').waitFor();
    expect(await axe()).toEqual([]);
    await openFile('whole.assay.json', file);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    // The findings of the server are not those of a file, also if it begins at the same address.
    await page.waitForURL(/[?&]from=file/);
    await page.getByText('This picture comes from a file').waitFor();
  });

  it(`draws ${LARGE} addresses and twice as many edges, the same in two runs, and finds what is under the pointer`, async () => {
    await newPerson();
    const text = largeTrace(LARGE);
    const pictures: string[] = [];
    for (let run = 0; run < 2; run++) {
      await openTrace(`ETH/${SUBJECT}`);
      await openFile('large.assay.json', text);
      await expect.poll(() => number('nodes')).toBe(LARGE);
      await page.getByRole('button', { name: 'Show all' }).click();
      // Two frames after the change.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      const shot = await canvas().screenshot({ animations: 'disabled' });
      expect(await number('edges')).toBe(2 * LARGE);
      const layout = await canvas().getAttribute('data-layout');
      pictures.push(`${layout} ${createHash('sha256').update(shot).digest('hex')}`);
      const colours = await page.evaluate<number>(
        `new Promise((done) => {
          const image = new Image();
          image.onload = () => {
            const canvas = document.createElement('canvas');
            canvas.width = image.width;
            canvas.height = image.height;
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, image.width, image.height);
            const seen = new Set();
            for (let at = 0; at < data.length; at += 4) seen.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
            done(seen.size);
          };
          image.src = 'data:image/png;base64,${shot.toString('base64')}';
        })`,
      );
      // A blank picture has one colour, and one with only its buttons has a few dozen greys.
      expect(colours).toBeGreaterThan(200);
    }
    expect(pictures[1]).toBe(pictures[0]);

    const last = LARGE - 1;
    const table = page.getByRole('table', { name: 'Addresses of the trace' });
    expect(await table.locator('tbody tr').count()).toBeLessThan(200);
    await page.getByRole('searchbox', { name: 'Filter: Addresses of the trace' }).fill(`n${last}`);
    await table.locator('tbody tr.can-open').first().focus();
    await page.keyboard.press('Enter');
    await details().locator(`[title=n${last}]`).waitFor();
    await page.keyboard.press('Escape');
    await details().getByText('Select a node or a line').waitFor();
    await canvas().click();
    await details().locator(`[title=n${last}]`).waitFor();
  });

  it('screens a name from the search box, explains the match, and clears and restores it', async () => {
    await page.goto(url);
    await page.getByLabel('Address, name, transaction hash or list').fill('Wladimir Putin');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Screen the name' }).click();
    await page.waitForURL(`${url}/names`);
    await page.getByRole('heading', { name: /^1 match/ }).waitFor();
    const compared = page.getByRole('table', { name: 'Your query and the entry, side by side' });
    await compared.getByRole('cell', { name: 'Wladimir Putin' }).waitFor();
    await compared.getByRole('cell', { name: 'Vladimir Putin' }).waitFor();
    await page.getByText("'wladimir' sounds like 'vladimir'.").waitFor();
    // Lists are missing in this world, and the page says so before anything else.
    await page.getByText('A name without a match is not proven to be clean').waitFor();
    await check('names');
    await page.getByText('This is somebody else').click();
    await page.getByLabel('Reason').fill('another date of birth');
    await page.getByRole('button', { name: 'Clear the match' }).click();
    await page.getByText('Cleared by your account').waitFor();
    const cleared = page.getByRole('table', { name: 'Cleared matches' });
    await cleared.getByText('another date of birth').waitFor();
    await cleared.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('No match has been cleared').waitFor();
    expect(await page.getByText('Cleared by your account').count()).toBe(0);
    expect(requests.filter((sent) => /putin/i.test(sent))).toEqual([]);
  });

  it('screens a pasted list, and never calls a name without a match clean', async () => {
    await page.goto(`${url}/names`);
    await page.getByText('Paste a list').click();
    const list = page.getByLabel('Names, one on each line, at most 50');
    await list.fill(Array.from({ length: 51 }, (_, at) => `Name ${at}`).join('\n'));
    await page.getByText('The list has 51 names; one request takes 50.').waitFor();
    await list.fill(`Zyxwvu Qponml\n${HOSTILE_NAMES[0]}\n\u202Eevil\nZyxwvu Qponml`);
    await page.getByRole('button', { name: 'Screen 3 names (3 credits)' }).click();
    await expect.poll(() => page.getByRole('heading', { name: /^No match: / }).count()).toBe(3);
    await page
      .getByText('No entry of the loaded lists matches, and lists are missing or old')
      .first()
      .waitFor();
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    await check('list of names');
  });

  it('looks an exchange up from the search box, with what was read and what was not', async () => {
    await page.goto(url);
    await page.getByLabel('Address, name, transaction hash or list').fill('krakken');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Look it up as an exchange' }).click();
    await page.waitForURL(`${url}/exchanges?name=krakken`);
    await page.getByRole('heading', { name: 'Kraken' }).waitFor();
    await page.getByText('The name was not found exactly.').waitFor();
    await page
      .getByRole('table', { name: 'Registrations' })
      .getByText('Central Bank of Ireland')
      .first()
      .waitFor();
    await page.getByRole('heading', { name: /^\d+ registers were not read$/ }).waitFor();
    await check('exchanges');
    await page.getByRole('textbox', { name: 'Country' }).fill('ie');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('jurisdiction')).toBe('IE');
    await page.getByText('In IE only.').waitFor();
    await page.goto(`${url}/exchanges?name=zzzzqqqq`);
    await page.getByText('No exchange of this name is known').waitFor();
    expect(await axe()).toEqual([]);
  });

  it.each([
    ['de', 'Geldfluss'],
    ['fr', 'Traçage'],
  ])('has a trace in %s', async (language, word) => {
    await page.evaluate(`localStorage.setItem('assay.language', '${language}')`);
    await openTrace(`ETH/${SUBJECT}`);
    expect(await page.title()).toContain(word);
    expect(await axe()).toEqual([]);
    await page.evaluate(`localStorage.removeItem('assay.language')`);
  });

  it('requests nothing of another host, violates no policy, and reports no error', async () => {
    const elsewhere = requests.filter((sent) => !sent.startsWith(`${url}/`) && !/^(?:data|blob):/.test(sent));
    expect(elsewhere).toEqual([]);
    expect(await page.evaluate('violations')).toEqual([]);
    expect(faults).toEqual([]);
  });
});
