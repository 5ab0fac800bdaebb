/** Alerts, cases and wallets in Chromium: a person's work with them, very many alerts, and names that attack whoever shows them. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Alert } from '../../src/monitoring/records.ts';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { type InboxWorld, openInboxWorld } from './dashboard-inbox-world.ts';
import { HOSTILE_NAMES, PASSWORD } from './dashboard-world.ts';

/** The goal of an inbox with many alerts is 100,000. A page has 100 rows: the list is read and drawn in the same way with 20,000. */
const ALERTS = process.env.ASSAY_TEST_LONG === '1' ? 100_000 : 20_000;
/** Height of a row, in pixels. */
const ROW = 40;
/** Milliseconds in which a busy machine stores them and scrolls through them. */
const SCROLL_MS = 600_000;
const ROWS_MAX = 200;

const SUBJECT = '0x28c6c06298d514db089934071355e5743bf21d60';

describe.runIf(chromiumProgram !== null)('alerts, cases and wallets in a browser', () => {
  let world: InboxWorld;
  let browser: DashboardBrowser;
  let page: Page;
  let url = '';
  let walletId = '';

  beforeAll(async () => {
    world = await openInboxWorld();
    url = world.world.url;
    browser = await openDashboardBrowser(url, world.session);
    ({ page } = browser);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  const rows = () => page.locator('.alert-table tbody tr:not(.spacer)');
  const rowOf = (title: string) => page.locator('.alert-table tbody tr', { hasText: title });
  const alerts = (): readonly Alert[] =>
    world.monitoring.service.store.alerts(world.accountId, {}, { limit: 100, offset: 0 }).alerts;
  const alertOf = (title: string): Alert => {
    const found = alerts().find((alert) => alert.title === title);
    if (found === undefined) throw new Error(`There is no alert '${title}'.`);
    return found;
  };
  const scrollTo = (pixels: string): Promise<unknown> =>
    page.evaluate(`document.querySelector('.alert-frame').scrollTop = ${pixels}`);
  const isInert = async (): Promise<void> => {
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
  };

  it('says on an empty page what would fill it', async () => {
    await page.goto(`${url}/alerts`);
    await page.getByText('There are no alerts').waitFor();
    await browser.check('alerts-empty', 'Alerts');
    await page.goto(`${url}/cases`);
    await page.getByText('There are no cases').waitFor();
    await page.goto(`${url}/wallets`);
    await page.getByText('No wallets are watched').waitFor();
  });

  it('adds a wallet with its rules, and says that its chain is not followed', async () => {
    await page.goto(`${url}/wallets?chain=ETH&address=${SUBJECT}&label=From%20a%20screening`);
    await page.getByLabel('Scams and theft').uncheck();
    await page.getByRole('button', { name: 'Watch (1 credit)' }).click();
    await page.waitForURL(/\/wallets\/[^?]+$/);
    await page.getByText('Transfers of this wallet are not seen at the moment.').waitFor();
    await browser.check('wallet', new RegExp(SUBJECT));
    expect(await page.getByLabel('Scams and theft').isChecked()).toBe(false);
    expect(await page.getByLabel('Sanctions').isChecked()).toBe(true);
    await page.goto(`${url}/alerts`);
    await page.getByText('Ethereum is not followed').waitFor();
  });

  it('opens a case from a screening, with the answer, and leads from there to the wallets', async () => {
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByRole('button', { name: 'Open a case' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(/\/cases\/[^/]+$/);
    await page.getByText('sent by a client and not verified').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Watch' }).click();
    await expect.poll(() => page.getByLabel('Address', { exact: true }).inputValue()).toBe(SUBJECT);
  });

  it('pauses, resumes, deletes and restores a wallet', async () => {
    await page.goto(`${url}/wallets`);
    await page.getByRole('link', { name: 'From a screening' }).click();
    const status = page.locator('.facts .tag').first();
    await page.getByLabel('Messages from severity').selectOption('medium');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => status.textContent()).toBe('Paused');
    // What the person has entered is still there.
    expect(await page.getByLabel('Messages from severity').inputValue()).toBe('medium');
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => status.textContent()).toBe('Active');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => status.textContent()).toBe('Deleted');
    await page.getByRole('button', { name: 'Restore' }).click();
    await expect.poll(() => status.textContent()).toBe('Active');
    await page.getByLabel('Messages from severity').selectOption('high');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.reload();
    expect(await page.getByLabel('Messages from severity').inputValue()).toBe('high');
  });

  it('adds wallets of a CSV file, shows the error of each other row, and loses none', async () => {
    await page.goto(`${url}/wallets`);
    await page.getByText('Add wallets from a CSV file').click();
    const address = (n: number): string => `0x${n.toString(16).padStart(40, 'a')}`;
    const lines = [
      'Address;Chain;Label',
      `${address(1)};ETH;"Desk ""one""; north"`,
      `${address(2)};BTC;Bitcoin`,
      `0x123;ETH;short`,
      `${address(1)};eth;again`,
      ...HOSTILE_NAMES.slice(0, 4).map(
        (name, index) => `${address(10 + index)};ETH;"${name.replaceAll('"', '""')}"`,
      ),
      // The account has 10 credits, and two are spent: some of these are not added.
      ...Array.from({ length: 7 }, (_, index) => `${address(100 + index)};ETH;Desk ${index}`),
    ];
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'wallets.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\r\n')) });
    await page.getByText('15 rows: 0 added, 12 to add, 3 with an error.').waitFor();
    const table = page.getByRole('table', { name: 'Rows of the file' });
    await table.getByText('Wallets of this chain cannot be watched').waitFor();
    await table.getByText('Not an address of this chain').waitFor();
    await table.getByText('The same wallet is in an earlier row').waitFor();
    await page.getByRole('button', { name: /^Add 12 wallets/ }).click();
    await page.getByText('15 rows: 8 added, 4 to add, 3 with an error.').waitFor();
    await table
      .getByText(/credits/)
      .first()
      .waitFor();
    await browser.check('wallets-import', 'Wallets');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the rows that were not added' }).click();
    const saved = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(saved).toHaveLength(8);
    expect(saved[0]).toBe('Address,Chain,Label,reason');
    expect(saved.filter((line) => line.includes('Desk')).length).toBe(4);
    await isInert();
    await page.reload();
    const watched = page.getByRole('table', { name: 'Wallets' });
    await watched.getByText('Desk "one"; north').waitFor();
    await watched.getByText(HOSTILE_NAMES[0]).waitFor();
    expect(await watched.locator('tbody tr').count()).toBe(9);
    await isInert();
  });

  it('shows a new alert without a reload, also after the connection was lost', async () => {
    walletId = await world.watch(0xfeed, HOSTILE_NAMES[1], world.hook.url);
    await world.raise(walletId, 3);
    await page.goto(`${url}/alerts`);
    await page.getByText('Live', { exact: true }).waitFor();
    await rowOf('Payment 3').waitFor();
    await world.raise(walletId, 1);
    await rowOf('Payment 4').waitFor();
    expect(await rows().first().textContent()).toContain('Payment 4');

    const resumed = page.waitForRequest((sent) => sent.url().includes('/monitoring/stream'));
    world.monitoring.service.streams.close('The server restarts.');
    await page.getByText('Not live').waitFor();
    await world.raise(walletId, 2);
    const headers = await (await resumed).allHeaders();
    expect(Number(headers['last-event-id'])).toBeGreaterThan(0);
    await rowOf('Payment 6').waitFor();
    await rowOf('Payment 5').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await isInert();
  });

  it('is worked by keyboard alone: j, k, o, e, x, and ? for help', async () => {
    await page.goto(`${url}/alerts`);
    await rowOf('Payment 6').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('j');
    await expect.poll(() => page.locator('tr[aria-current=true]').textContent()).toContain('Payment 5');
    await page.keyboard.press('o');
    await page.getByRole('heading', { level: 2, name: 'Payment 5' }).waitFor();
    await browser.check('alert', 'Alerts');
    await page.keyboard.press('e');
    await expect.poll(() => alertOf('Payment 5').status).toBe('INVESTIGATING');
    await expect.poll(() => rowOf('Payment 5').textContent()).toContain('Investigating');
    await page.keyboard.press('e');
    await expect.poll(() => alertOf('Payment 5').status).toBe('RESOLVED');
    // What is resolved is done: the next one follows.
    await page.getByRole('heading', { level: 2, name: 'Payment 4' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 2 }).waitFor({ state: 'detached' });
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('2 alerts selected').waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog');
    await help.getByText('Next alert').waitFor();
    // No key changes what the dialog covers.
    await page.keyboard.press('x');
    await page.keyboard.press('e');
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'hidden' });
    await page.getByText('2 alerts selected').waitFor();
    expect(['Payment 4', 'Payment 3'].map((title) => alertOf(title).status)).toEqual(['NEW', 'NEW']);
    await isInert();
  });

  it('changes several alerts at once, with an assignee and a note', async () => {
    const form = page.getByRole('form', { name: 'Change the selected alerts' });
    const download = page.waitForEvent('download');
    await form.getByRole('button', { name: 'CSV' }).click();
    const lines = readFileSync(await (await download).path(), 'utf8')
      .split('\r\n')
      .slice(0, -1);
    expect(lines).toHaveLength(3);
    // The counterparty of payment 3 is a formula.
    expect(lines.join('\n')).toContain(`'=HYPERLINK`);
    expect(lines.join('\n')).not.toMatch(/(^|,|")=HYPERLINK/m);
    await form.getByLabel('Status').selectOption('DISMISSED');
    await form.getByLabel('Assignee').fill('bob');
    await form.getByLabel('Note').fill(HOSTILE_NAMES[0]);
    await form.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Changed: 2 of 2.').waitFor();
    for (const title of ['Payment 4', 'Payment 3']) {
      const { status, assignee, history } = alertOf(title);
      expect([status, assignee]).toEqual(['DISMISSED', 'bob']);
      expect(history.some(({ note }) => note === HOSTILE_NAMES[0])).toBe(true);
    }
    await rowOf('Payment 4').click();
    const details = page.getByRole('complementary', { name: 'Payment 4' });
    await details.getByText(HOSTILE_NAMES[0]).first().waitFor();
    // A note that is being written stays while the alert changes.
    await details.getByLabel('Note').fill('Called the');
    await details.getByRole('button', { name: 'Assign to me' }).click();
    await expect.poll(() => alertOf('Payment 4').assignee).toBe('ann@example.org');
    await details.getByText('ann@example.org').first().waitFor();
    expect(await details.getByLabel('Note').inputValue()).toBe('Called the');
    await details.getByLabel('Note').fill('Called.');
    await details.getByRole('button', { name: 'Add the note' }).click();
    await details.locator('.time-line').getByText('Called.').waitFor();
    expect(await details.getByLabel('Note').inputValue()).toBe('');
    await details.getByRole('button', { name: 'Close' }).click();
    await details.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.className')).toContain('is-active');
    await isInert();
  });

  it('keeps the filters in the URL', async () => {
    await page.goto(`${url}/alerts`);
    const filters = page.getByRole('search').last();
    await filters.getByLabel('Status').selectOption('DISMISSED');
    await page.getByText('2 alerts', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('DISMISSED');
    await page.reload();
    await page.getByText('2 alerts', { exact: true }).waitFor();
    await filters.getByLabel('Severity').selectOption('LOW');
    await page.getByText('1 alert', { exact: true }).waitFor();
    await rowOf('Payment 4').waitFor();
  });

  it('shows every message about an alert, and sends one again', async () => {
    await page.goto(`${url}/alerts/deliveries`);
    const table = page.getByRole('table', { name: 'Delivery log' });
    await table.getByText('Delivered').first().waitFor();
    await browser.check('deliveries', 'Delivery log');
    const before = world.hook.received;
    await table.getByRole('button', { name: 'Send again' }).first().click();
    await expect.poll(() => world.hook.received).toBeGreaterThan(before);
  });

  it('opens a case from an alert, which keeps the alert', async () => {
    await page.goto(`${url}/alerts`);
    await rowOf('Payment 6').click();
    await page.getByRole('complementary').getByRole('button', { name: 'Open a case' }).click();
    await page.waitForURL(/\/cases\/[^/]+$/);
    await page.getByRole('heading', { level: 1, name: /#2 Payment 6/ }).waitFor();
    await page.getByText('read by the server').waitFor();
    await browser.check('case', /#2 Payment 6/);
  });

  it('changes a case and adds to its history, in which nothing is markup', async () => {
    await page.getByLabel('Priority').selectOption('URGENT');
    await page.getByLabel('Due').fill('2026-01-31');
    await page.getByLabel('Assignee').fill('bob');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('overdue').waitFor();
    for (const name of HOSTILE_NAMES.slice(0, 2)) {
      await page.getByLabel('Note').fill(name);
      await page.getByRole('button', { name: 'Add the note' }).click();
      await page.locator('.time-line').getByText(name).waitFor();
    }
    const texts = await page.locator('.time-line > li').allTextContents();
    expect(texts.length).toBeGreaterThanOrEqual(6);
    expect(texts.at(-1)).toContain('Case opened');
    await page.getByText('Add a link').first().click();
    await page.getByLabel('Address', { exact: true }).fill(SUBJECT);
    await page.getByRole('button', { name: 'Add a link' }).click();
    await page.locator('.time-line').getByText('Link added: Address').waitFor();
    await isInert();
  });

  it('prints a case with the names of people, when, and where it is', async () => {
    await page.emulateMedia({ media: 'print' });
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    const paper = await page.locator('main').textContent();
    expect(paper).toContain('· ann@example.org');
    expect(paper).not.toContain('· you');
    expect(paper).toMatch(
      /Printed from Assay at \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC\. Address of this page: http/,
    );
    await page.evaluate('dispatchEvent(new Event("afterprint"))');
    await page.emulateMedia({ media: 'screen' });
    expect(await page.getByRole('button', { name: 'Copy 0x', exact: false }).count()).toBeGreaterThan(0);
  });

  it('keeps what a person has entered if somebody else changes the case first', async () => {
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.getByLabel('Assignee').fill('carol');
    await page.getByLabel('Assignee').fill('dave');
    await page.getByLabel('Priority').selectOption('LOW');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.locator('.time-line').getByText('carol').waitFor();
    await second.close();

    await page.getByRole('button', { name: 'Save' }).click();
    const note = page.getByText('Somebody else has changed these fields meanwhile.');
    await note.waitFor();
    await page.getByRole('alert').waitFor();
    await page.locator('.warning-line').getByText('Assignee: carol').waitFor();
    expect(await page.getByLabel('Assignee').inputValue()).toBe('dave');
    expect(await page.getByLabel('Priority').inputValue()).toBe('LOW');
    expect(await browser.axe()).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.time-line').getByText('dave').waitFor();
    expect(await note.count()).toBe(0);
  });

  it('keeps a note that is being written when the session ends', async () => {
    await page.getByLabel('Note').fill('Called the customer.');
    await page.context().clearCookies({ name: 'assay_session' });
    await page.getByRole('button', { name: 'Add the note' }).click();
    await page.waitForURL(/\/login/);
    await page.getByLabel('Email address').fill('ann@example.org');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByLabel('Note').waitFor();
    expect(await page.getByLabel('Note').inputValue()).toBe('Called the customer.');
    await page.getByLabel('Note').fill('');
  });

  it('takes files and gives them back, and refuses what is not of its type', async () => {
    const name = 'evil<b>.csv'.replace(/[<>]/g, '');
    const content = Buffer.from(`=1+1,${HOSTILE_NAMES[1]}\n`);
    const field = page.getByLabel('Add files');
    await field.setInputFiles({ name, mimeType: 'text/csv', buffer: content });
    const link = page.getByRole('link', { name });
    await link.waitFor();
    const download = page.waitForEvent('download');
    await link.click();
    expect(readFileSync(await (await download).path()).equals(content)).toBe(true);
    await field.setInputFiles({ name: 'page.html', mimeType: 'text/html', buffer: content });
    await page.getByText('page.html: files of this type are not accepted.').waitFor();
    await field.setInputFiles({ name: 'no.pdf', mimeType: 'application/pdf', buffer: content });
    await page.getByText('the content is not application/pdf').waitFor();
    await isInert();
  });

  it('closes a case only after another person has approved, and says so', async () => {
    const id = new URL(page.url()).pathname.split('/').at(-1) as string;
    await page.getByText('one person proposes the decision, another one approves it').waitFor();
    await page.getByLabel('Disposition').selectOption('REPORTED');
    await page.getByLabel('Reason code').fill('mixer_exposure');
    await page.getByRole('button', { name: 'Propose the decision' }).click();
    await page.getByText('You proposed this decision, so you cannot approve it.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await browser.check('case-proposed', /#2 Payment 6/);

    const ask = async (path: string, body?: object) => {
      const response = await fetch(`${url}/api/v1/cases/${id}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${world.otherKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: JSON of the server, read without a schema.
      return (await response.json()) as any;
    };
    const { proposal } = (await ask('')).data.case;
    await ask('/events', { type: 'DECISION', decision: { action: 'APPROVE', proposal: proposal.event } });
    await page.reload();
    await page.getByText('Approved by', { exact: true }).waitFor();
    expect(await page.getByText('MIXER_EXPOSURE').count()).toBeGreaterThan(0);
    await page.getByText('the case is closed').waitFor();
    expect(await page.getByLabel('Add files').count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export (ZIP)' }).click();
    const archive = readFileSync(await (await download).path());
    expect(archive.subarray(0, 4).toString('latin1')).toBe('PK\x03\x04');
    await page.getByRole('button', { name: 'Open again' }).click();
    await page.getByRole('button', { name: 'Propose the decision' }).waitFor();
  });

  it('finds cases by text and status, which are in the URL', async () => {
    await page.goto(`${url}/cases`);
    const table = page.getByRole('table', { name: 'Cases' });
    await table.getByText('Payment 6').waitFor();
    expect(await table.locator('tbody tr').count()).toBe(2);
    await page.getByLabel('Search in titles').fill('payment');
    await page.keyboard.press('Enter');
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1);
    await page.reload();
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1);
    await browser.check('cases', 'Cases');
    await table.locator('tbody tr').first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /#2 Payment 6/ }).waitFor();
  });

  it(
    `scrolls through ${ALERTS} alerts with at most ${ROWS_MAX} rows in the document`,
    async () => {
      const quiet = await world.watch(0xbeef, 'Many payments');
      const first = alerts().length;
      await world.raise(quiet, ALERTS);
      await page.goto(`${url}/alerts?wallet=${quiet}`);
      await page.getByText(`${ALERTS.toLocaleString('en')} alerts`, { exact: true }).waitFor();
      const newest = first + ALERTS;
      const shows = async (n: number): Promise<void> => {
        await rowOf(`Payment ${n}`).first().waitFor();
        expect(await rows().count()).toBeLessThanOrEqual(ROWS_MAX);
      };
      await shows(newest);
      // Page after page, by cursor.
      for (let step = 1; step <= 6; step++) {
        await scrollTo(String(step * 60 * ROW));
        await shows(newest - step * 60);
      }
      // Anywhere, by a drag of the scroll bar, and to the end.
      await scrollTo(String((ALERTS / 2) * ROW));
      await shows(newest - ALERTS / 2);
      await scrollTo('1e9');
      await shows(first + 1);
      const read = browser.requests.filter((sent) => sent.includes('/monitoring/alerts?'));
      expect(read.some((sent) => sent.includes('cursor='))).toBe(true);
      expect(await page.locator('.alert-table').getAttribute('aria-rowcount')).toBe(String(ALERTS + 1));
      // An alert that arrives above does not move what the person reads.
      const at = await page.evaluate(`(() => {
      const frame = document.querySelector('.alert-frame');
      return frame.scrollHeight - frame.scrollTop;
    })()`);
      await world.raise(quiet, 1);
      await page.getByText(`${(ALERTS + 1).toLocaleString('en')} alerts`, { exact: true }).waitFor();
      await shows(first + 1);
      expect(
        await page.evaluate(`(() => {
        const frame = document.querySelector('.alert-frame');
        return frame.scrollHeight - frame.scrollTop;
      })()`),
      ).toBe(at);
      await scrollTo('0');
      await shows(newest + 1);
      await browser.check('alerts', 'Alerts');
      // Keys that are pressed without a pause select each alert, also beyond the rows that were read first.
      await page.reload();
      await shows(newest + 1);
      for (let row = 0; row < 130; row++) {
        await page.keyboard.press('j');
        await page.keyboard.press('x');
      }
      await page.getByText('130 alerts selected').waitFor();
    },
    SCROLL_MS,
  );

  it('speaks German and French on each of the pages', async () => {
    await page.goto(`${url}/alerts`);
    await page.getByLabel('Language').first().selectOption('de');
    await page.getByRole('heading', { level: 1, name: 'Warnungen' }).waitFor();
    await page.goto(`${url}/cases`);
    await browser.check('cases-de', 'Fälle');
    await page.getByLabel('Sprache').first().selectOption('fr');
    await page.getByRole('heading', { level: 1, name: 'Dossiers' }).waitFor();
    await page.goto(`${url}/wallets`);
    await browser.check('wallets-fr', 'Portefeuilles');
  });

  it('requests nothing of another host, violates no policy, and reports no error', async () => {
    const elsewhere = browser.requests.filter(
      (sent) => !sent.startsWith(`${url}/`) && !/^(?:data|blob):/.test(sent),
    );
    expect(elsewhere).toEqual([]);
    expect(await page.evaluate('violations')).toEqual([]);
    expect(browser.faults).toEqual([]);
  });
});
