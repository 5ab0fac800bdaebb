/** Actions that are interrupted: a response is lost or late, the person leaves meanwhile, or somebody else is first. Nothing is lost or sent twice. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../accounts/temp-folder.ts';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { type InboxWorld, openInboxWorld } from './dashboard-inbox-world.ts';
import { PASSWORD } from './dashboard-world.ts';

describe.runIf(chromiumProgram !== null)('interrupted actions in a browser', () => {
  const folder = tempFolder();
  let world: InboxWorld;
  let browser: DashboardBrowser;
  let page: Page;
  let url = '';

  // biome-ignore lint/suspicious/noExplicitAny: JSON of the API, read without a schema.
  const api = async (method: string, path: string, body?: object): Promise<any> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${world.otherKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return ((await response.json()) as { readonly data: unknown }).data;
  };
  const newCase = async (title: string): Promise<string> => (await api('POST', '/cases', { title })).case.id;
  const notesOf = async (id: string): Promise<readonly string[]> =>
    (await api('GET', `/cases/${id}/events?limit=50`)).events.flatMap(
      ({ note }: { readonly note: string | null }) => note ?? [],
    );
  const note = () => page.getByLabel('Note', { exact: true });
  const addNote = () => page.getByRole('button', { name: 'Add the note' });
  /** Holds the requests of a method and a path, until the test lets them go. */
  async function intercept(path: string, method: string, handle: (route: Route) => Promise<void>) {
    await page.route(path, (route) =>
      route.request().method() === method ? handle(route) : route.continue(),
    );
  }

  beforeAll(async () => {
    world = await openInboxWorld();
    url = world.world.url;
    browser = await openDashboardBrowser(url, world.session);
    ({ page } = browser);
    await world.raise(await world.watch(1, 'Treasury'), 3);
  });
  beforeEach(async () => {
    await page.unrouteAll();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
    folder.remove();
  });

  it('forgets a note that was stored while the person was on another page', async () => {
    const id = await newCase('Left early');
    let answer = (): void => {};
    const isLate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await intercept('**/events', 'POST', async (route) => {
      const response = await route.fetch();
      await isLate;
      await route.fulfill({ response });
    });
    await page.goto(`${url}/cases/${id}`);
    await note().fill('Called the bank');
    await addNote().click();
    await expect.poll(() => notesOf(id)).toEqual(['Called the bank']);
    await page.getByRole('main').getByRole('link', { name: 'Cases' }).click();
    await page.getByRole('heading', { level: 1, name: 'Cases' }).waitFor();
    const answered = page.waitForResponse('**/events');
    answer();
    await answered;
    await page.goBack();
    await page.getByText('Called the bank').waitFor();
    await expect.poll(() => note().inputValue()).toBe('');
  });

  it('keeps what the person writes while a note is being sent', async () => {
    const id = await newCase('Fast writer');
    let answer = (): void => {};
    const isLate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await intercept('**/events', 'POST', async (route) => {
      await isLate;
      await route.continue();
    });
    await page.goto(`${url}/cases/${id}`);
    await note().fill('First');
    await addNote().click();
    await note().fill('First, and more');
    answer();
    await page.locator('.note-text', { hasText: 'First' }).waitFor();
    expect(await note().inputValue()).toBe('First, and more');
    await note().fill('');
  });

  it('stores a note, a case and a file once if their responses are lost', async () => {
    const id = await newCase('Bad network');
    let isLost = true;
    const loseFirst = async (route: Route): Promise<void> => {
      if (!isLost) return route.continue();
      isLost = false;
      await route.fetch();
      await route.abort();
    };
    await intercept('**/cases/*/events', 'POST', loseFirst);
    await page.goto(`${url}/cases/${id}`);
    await note().fill('Once');
    await addNote().click();
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    expect(await note().inputValue()).toBe('Once');
    await addNote().click();
    await expect.poll(() => note().inputValue()).toBe('');
    expect(await notesOf(id)).toEqual(['Once']);
    // An equal note is a new one if the person writes it again.
    await note().fill('Once');
    await addNote().click();
    await expect.poll(() => notesOf(id)).toEqual(['Once', 'Once']);

    isLost = true;
    await intercept('**/cases/*/files*', 'POST', loseFirst);
    const file = join(folder.path, 'list.txt');
    writeFileSync(file, 'one');
    await page.getByLabel('Add files').setInputFiles(file);
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    await page.getByLabel('Add files').setInputFiles(file);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await expect.poll(async () => (await api('GET', `/cases/${id}`)).case.fileCount).toBe(1);

    // A second try of this test finds the case of the first one.
    const title = `Only one ${Date.now()}`;
    isLost = true;
    await intercept('**/api/v1/cases', 'POST', loseFirst);
    await page.goto(`${url}/cases`);
    await page.getByText('Open a case', { exact: true }).first().click();
    await page.getByRole('textbox', { name: 'Title' }).fill(title);
    await page.getByRole('textbox', { name: 'Title' }).press('Enter');
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    await page.getByRole('textbox', { name: 'Title' }).press('Enter');
    await page.waitForURL(/\/cases\/[^/]+$/);
    expect((await api('GET', `/cases?q=${encodeURIComponent(title)}`)).cases).toHaveLength(1);
  });

  it('shows an error, and that a note is stored, also while the case cannot be read again', async () => {
    const id = await newCase('Slow server');
    await page.goto(`${url}/cases/${id}`);
    await note().fill('Once');
    let answer = (): void => {};
    const isLate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await intercept('**/cases/*/events*', 'GET', async (route) => {
      await isLate;
      await route.continue();
    });
    let isLost = true;
    await intercept('**/cases/*/events', 'POST', (route) => {
      if (!isLost) return route.continue();
      isLost = false;
      return route.abort();
    });
    await addNote().click();
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    await addNote().click();
    await expect.poll(() => note().inputValue()).toBe('');
    expect(await page.locator('.note-text').count()).toBe(0);
    answer();
    await page.locator('.note-text', { hasText: 'Once' }).waitFor();
  });

  it('adds the other files if one is refused, and says which files are missing', async () => {
    const id = await newCase('Evidence');
    const files = ['first.txt', 'bad|name.txt', 'third.txt'].map((name) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(name),
    }));
    const names = async (): Promise<readonly string[]> =>
      (await api('GET', `/cases/${id}/files?limit=10`)).files.map(
        ({ name }: { readonly name: string }) => name,
      );
    await page.goto(`${url}/cases/${id}`);
    await page.getByLabel('Add files').setInputFiles(files);
    const alert = page.getByRole('alert');
    await alert.getByText('1 file was not added:').waitFor();
    await alert.getByText('bad|name.txt: name: must contain neither').waitFor();
    await expect.poll(async () => (await names()).toSorted()).toEqual(['first.txt', 'third.txt']);
    // Without a response, the others are not tried either.
    await intercept('**/cases/*/files*', 'POST', (route) => route.abort());
    await page
      .getByLabel('Add files')
      .setInputFiles(files.map((file) => ({ ...file, name: `new ${file.name}` })));
    await page.getByText('3 files were not added. Choose the files again').waitFor();
    expect(await alert.getByText('bad|name.txt').count()).toBe(0);
    expect(await names()).toHaveLength(2);
  });

  it('says that somebody else was first, and keeps the entries', async () => {
    const id = await newCase('Two at once');
    await page.goto(`${url}/cases/${id}`);
    await page.getByLabel('Title').fill('Mine');
    await api('PATCH', `/cases/${id}`, { priority: 'URGENT', version: 1 });
    await page.getByRole('button', { name: 'Save' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Somebody else has changed this since you opened it.').waitFor();
    expect(await alert.textContent()).not.toMatch(/version|read it again/);
    expect(await page.getByLabel('Title').inputValue()).toBe('Mine');
    await expect.poll(() => page.getByLabel('Priority').inputValue()).toBe('URGENT');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await api('GET', `/cases/${id}`)).case.title).toBe('Mine');
  });

  it('keeps what was entered in a case when the session ends', async () => {
    const id = await newCase('Before the end');
    await page.goto(`${url}/cases/${id}`);
    await page.getByLabel('Title').fill('Half a tit');
    await page.getByLabel('Priority').selectOption('HIGH');
    await page.getByLabel('Reason code').fill('MIXER');
    await page.locator('summary', { hasText: 'Add a link' }).click();
    await page.getByLabel('Remark', { exact: true }).fill('Their exchange');
    await browser.context.clearCookies({ name: 'assay_session' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/login/);
    await page.getByLabel('Email address').fill('ann@example.org');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Before the end' }).waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('Half a tit');
    expect(await page.getByLabel('Priority').inputValue()).toBe('HIGH');
    expect(await page.getByLabel('Reason code').inputValue()).toBe('MIXER');
    expect(await page.getByLabel('Remark', { exact: true }).inputValue()).toBe('Their exchange');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Half a tit' }).waitFor();
    // What is stored is no draft any more: the form shows what others change.
    await api('PATCH', `/cases/${id}`, {
      title: 'Whole title',
      version: (await api('GET', `/cases/${id}`)).case.version,
    });
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Whole title' }).waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('Whole title');
    // Edits can be given up.
    await page.getByLabel('Title').fill('No');
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Title').inputValue()).toBe('Whole title');
  });

  it('keeps the alerts selected that could not be changed, and the note for them', async () => {
    await page.goto(`${url}/alerts`);
    const boxes = page.locator('.alert-row input[type=checkbox]');
    for (const at of [0, 1, 2]) await boxes.nth(at).click();
    const bulk = page.getByRole('form', { name: 'Selected alerts' });
    await bulk.getByLabel('Note').fill('Same customer');
    let sent = 0;
    await intercept('**/monitoring/alerts/*', 'PATCH', (route) =>
      ++sent === 2 ? route.abort() : route.continue(),
    );
    await bulk.getByRole('button', { name: 'Apply' }).click();
    await bulk.getByText('1 alert selected').waitFor();
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    expect(await bulk.getByLabel('Note').inputValue()).toBe('Same customer');
    await bulk.getByRole('button', { name: 'Apply' }).click();
    await bulk.waitFor({ state: 'detached' });
    const { alerts } = world.monitoring.service.store.alerts(world.accountId, {}, { limit: 10, offset: 0 });
    expect(
      alerts.map(({ history }) => history.filter((event) => event.note === 'Same customer').length),
    ).toEqual([1, 1, 1]);
  });

  it('returns to the same rows of a long list, and to the open alert, also if the answer is slow', async () => {
    await world.raise(await world.watch(3, 'Many'), 300);
    await page.goto(`${url}/alerts`);
    const scrollTop = () => page.evaluate(`document.querySelector('.alert-frame')?.scrollTop`);
    await page.locator('.alert-row').first().waitFor();
    await page.evaluate(`document.querySelector('.alert-frame').scrollTop = 8000`);
    await page.locator('tr[aria-rowindex="204"] .alert-title').click();
    const title = (await page.locator('#alert-heading').textContent()) as string;
    await page.getByRole('link', { name: 'Watched wallet' }).click();
    await page.waitForURL(/\/wallets\//);
    await intercept('**/monitoring/alerts?*', 'GET', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await page.goBack();
    await expect.poll(scrollTop).toBe(8000);
    await page.locator('#alert-heading', { hasText: title }).waitFor();
    await page.keyboard.press('j');
    await expect.poll(() => page.locator('#alert-heading').textContent()).not.toBe(title);
    expect(await scrollTop()).toBe(8000);
    // The active row is whole in the frame, below its header, and has the focus.
    const isWhole = () =>
      page.evaluate(`(() => {
        const row = document.activeElement.closest('tr[aria-current=true]')?.getBoundingClientRect();
        const frame = document.querySelector('.alert-frame').getBoundingClientRect();
        const header = document.querySelector('.alert-frame thead th').getBoundingClientRect();
        return row !== undefined && row.top >= header.bottom - 1 && row.bottom <= frame.bottom;
      })()`);
    for (const key of ['j', 'k']) {
      for (let n = 0; n < 20; n++) await page.keyboard.press(key);
      await expect.poll(isWhole).toBe(true);
    }
    // A new visit begins at the top.
    await page.getByRole('navigation').getByRole('link', { name: 'Cases' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Alerts' }).click();
    await page.locator('.alert-row').first().waitFor();
    expect(await scrollTop()).toBe(0);
  });

  it('asks again before another test message, instead of showing the result of the last one', async () => {
    await page.goto(`${url}/wallets/${await world.watch(2, null, world.hook.url)}`);
    const open = () => page.getByRole('button', { name: 'Send a test message' });
    const dialog = page.getByRole('dialog');
    await open().click();
    await dialog.getByRole('button', { name: 'Send a test message' }).click();
    await dialog.getByRole('status').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await open().click();
    await dialog.getByRole('button', { name: 'Send a test message' }).waitFor();
    expect(await dialog.getByRole('status').count()).toBe(0);
  });

  it('keeps a note if the next page cannot be loaded without a network', async () => {
    const id = await newCase('On a train');
    await page.goto(`${url}/cases/${id}`);
    await note().fill('Written in a tunnel');
    await browser.context.setOffline(true);
    await page.getByRole('navigation').getByRole('link', { name: 'Channels' }).click();
    await page.getByRole('alert').getByText('The server did not respond.').waitFor();
    await page.goBack();
    expect(await note().inputValue()).toBe('Written in a tunnel');
    await browser.context.setOffline(false);
    // The browser does not ask for the file again, so the page is loaded anew.
    await page.getByRole('navigation').getByRole('link', { name: 'Channels' }).click();
    await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
  });

  it('loads nothing that the policy forbids, and reports no fault', async () => {
    expect(await page.evaluate('globalThis.violations')).toEqual([]);
    // React reports the page that could not be loaded.
    expect(browser.faults.filter((fault) => !fault.startsWith('ApiError: No response'))).toEqual([]);
  });
});
