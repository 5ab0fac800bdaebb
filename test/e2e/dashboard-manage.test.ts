/** The pages that manage an account, in Chromium: keys, usage, bulk jobs, people, second factor, audit log, channels, status. */
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { fromBase32 } from '../support/base32.ts';
import { until } from '../support/wait.ts';
import { PATIENCE_MS } from './dashboard-page.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import {
  type DashboardWorld,
  EMAIL,
  HOSTILE_NAMES,
  openDashboardWorld,
  PASSWORD,
  SANCTIONED,
  SUBJECT,
} from './dashboard-world.ts';

const COLLEAGUE = 'bea@example.org';
/** The first four attack whoever shows them; the fifth is longer than a name may be. */
const HOSTILE_KEY_NAMES = HOSTILE_NAMES.slice(0, 4);

describe.runIf(chromiumProgram !== null)('the pages that manage an account', () => {
  let world: DashboardWorld;
  let browser: Browser;
  let tab: Tab;
  let url = '';
  const tabs: Tab[] = [];

  /** Logs a person in, in a browser of its own: the requests of a minute are counted for each session. */
  async function login(email = EMAIL): Promise<Tab> {
    const context = await browser.newContext(DESKTOP);
    const opened = await openTab(context);
    tabs.push(opened);
    await opened.page.goto(`${url}/login`);
    await opened.page.getByLabel('Email address').fill(email);
    await opened.page.getByLabel('Password').fill(PASSWORD);
    await opened.page.keyboard.press('Enter');
    await opened.page.waitForURL(`${url}/`);
    return opened;
  }
  async function newLogin(): Promise<void> {
    await tab?.page.context().close();
    tab = await login();
  }
  const visit = async (path: string, heading: string): Promise<void> => {
    await tab.page.goto(url + path);
    await tab.check(path, heading);
  };
  const api = async (path: string, key: string, body?: object): Promise<number> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.status;
  };
  const textOfDownload = async (start: () => Promise<void>): Promise<string> => {
    const download = tab.page.waitForEvent('download');
    await start();
    return readFileSync(await (await download).path(), 'utf8');
  };

  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    await world.person();
    browser = await startChromium();
    tab = await login();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  let apiKey = '';

  it('creates a key by keyboard alone, and shows it once', async () => {
    const { page } = tab;
    await visit('/keys', 'Keys');
    await page.getByText('No keys yet').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').focus();
    await page.keyboard.type('payments');
    await page.keyboard.press('Enter');
    await dialog.getByText('Choose at least one permission.').waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await dialog.getByLabel('Name').press('Enter');
    await page.getByRole('dialog', { name: 'The key is created' }).waitFor();
    apiKey = (await dialog.locator('.secret-text').textContent()) ?? '';
    await dialog.getByText('This is shown only once.').waitFor();
    expect(await tab.axe()).toEqual([]);
    // Neither Escape nor a click beside it closes what cannot be shown again.
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await api('/screening', apiKey, { address: SUBJECT, chain: 'ETH' })).toBe(200);
    expect(await page.content()).not.toContain(apiKey);
  });

  it('switches a permission at once', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'payments' }).click();
    const dialog = page.getByRole('dialog', { name: 'payments' });
    expect(await dialog.getByLabel('intel').isChecked()).toBe(false);
    await dialog.getByLabel('intel').click();
    await expect.poll(() => dialog.getByLabel('intel').isChecked()).toBe(true);
    expect(await tab.axe()).toEqual([]);
    expect(await api(`/address/ETH/${SUBJECT}/labels`, apiKey)).toBe(200);
    await dialog.getByLabel('screening').click();
    await expect.poll(() => dialog.getByLabel('screening').isChecked()).toBe(false);
    expect(await api('/screening', apiKey, { address: SUBJECT, chain: 'ETH' })).toBe(403);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  });

  it('revokes a key with the keys that it created, and shows hostile names as text', async () => {
    for (const name of HOSTILE_KEY_NAMES)
      expect(await api('/keys', apiKey, { name, permissions: ['intel'] })).toBe(200);
    await newLogin();
    const { page } = tab;
    await visit('/keys', 'Keys');
    const table = page.getByRole('table', { name: 'API keys' });
    await expect.poll(() => table.locator('tbody tr').count()).toBe(5);
    await page.getByText(HOSTILE_KEY_NAMES[0] ?? '').waitFor();
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    const csv = await textOfDownload(() => page.getByRole('button', { name: 'CSV' }).click());
    expect(csv).toContain(`'=HYPERLINK`);
    expect(csv).not.toMatch(/(^|,|")=HYPERLINK/m);

    await page.getByRole('button', { name: 'payments' }).click();
    const dialog = page.getByRole('dialog', { name: 'payments' });
    await dialog.getByLabel('Also revoke the 4 keys that it or these created').click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    const question = page.getByRole('dialog', { name: 'Revoke this key?' });
    await question.getByText('4 keys').waitFor();
    expect(await tab.axe()).toEqual([]);
    await question.getByRole('button', { name: 'Revoke' }).click();
    await expect.poll(() => table.getByText('Revoked').count()).toBe(5);
    expect(await api('/usage', apiKey)).toBe(401);
  });

  it('shows both balances, the plan with its quotas, and the ledger with filters and CSV', async () => {
    const { page } = tab;
    await page.goto(`${url}/screening/ETH/${SUBJECT}`);
    await page.getByText('9 credits are left.').waitFor();
    await visit('/usage', 'Usage');
    const dashboard = page.getByRole('region', { name: 'Dashboard', exact: true });
    expect(await dashboard.locator('.balance').textContent()).toBe('9');
    expect(
      await page.getByRole('region', { name: 'API', exact: true }).locator('.balance').textContent(),
    ).toBe('9');
    await page.getByRole('region', { name: 'Plan FREE' }).getByText('999 of 1,000 left').waitFor();
    const ledger = page.getByRole('table', { name: 'Ledger' });
    await expect.poll(() => ledger.locator('tbody tr').count()).toBe(2);
    await page.getByRole('combobox', { name: 'Type' }).selectOption('Screening');
    await expect.poll(() => ledger.locator('tbody tr').count()).toBe(1);
    expect(new URL(page.url()).searchParams.get('ledger.only.type')).toBe('Screening');
    const region = page.getByRole('region', { name: 'Ledger', exact: true }).first();
    const csv = await textOfDownload(() => region.getByRole('button', { name: 'CSV' }).click());
    expect(csv.trim().split('\r\n')).toHaveLength(2);
    expect(csv).toMatch(/Screening,.*,-1,9,/);
    await page.getByRole('combobox', { name: 'Balance' }).selectOption('api');
    await expect.poll(() => new URL(page.url()).searchParams.get('pool')).toBe('api');
  });

  const jobState = (): Promise<string | null> =>
    tab.page.getByRole('table', { name: 'Jobs' }).locator('tbody tr').first().textContent();

  it('sends a file as a job, shows its progress, and downloads the result', async () => {
    const { page } = tab;
    await visit('/bulk', 'Bulk jobs');
    const file = `address,chain\n${SUBJECT},ETH\n${SANCTIONED},ETH\nnonsense,ETH\n`;
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose a file' }).click();
    await (await chooser).setFiles({
      name: '<img src=x>.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(file),
    });
    await page.getByText('<img src=x>.csv').waitFor();
    await page.getByText('This job needs at most 3 look-ups of the monthly quota').waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.getByRole('button', { name: 'Start the job' }).click();
    await expect.poll(jobState, { timeout: PATIENCE_MS }).toMatch(/Labels.*Done.*3 of 3 lines/);
    await page.getByRole('table', { name: 'Jobs' }).locator('tbody tr').first().press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Job: Labels' });
    expect(await tab.axe()).toEqual([]);
    const ndjson = await textOfDownload(() => dialog.getByRole('link', { name: 'Result as NDJSON' }).click());
    const lines = ndjson
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatchObject({ address: 'nonsense', line: 4 });
    const csv = await textOfDownload(() => dialog.getByRole('button', { name: 'Result as CSV' }).click());
    const rows = csv.trim().split('\r\n');
    expect(rows).toHaveLength(4);
    expect(rows[0]).toMatch(/^\uFEFF?.*address/);
    await dialog.getByRole('button', { name: 'Delete the job' }).click();
    await page
      .getByRole('dialog', { name: 'Delete this job?' })
      .getByRole('button', { name: 'Delete the job' })
      .click();
    await page.getByText('No jobs yet').waitFor();
  });

  it('takes a file that is dropped, and refuses more credits than there are', async () => {
    const { page } = tab;
    await page.goto(`${url}/bulk`);
    const drop = page.locator('.drop');
    await drop.waitFor();
    const lines = Array.from({ length: 50 }, (_, at) => `0x${String(at).padStart(40, '0')}`).join('\n');
    const transfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(lines)}], 'list.txt'));
      return transfer;
    })()`);
    await drop.dispatchEvent('drop', { dataTransfer: transfer });
    await page.getByText('50 lines').waitFor();
    await page.getByLabel('Question').selectOption('screening');
    await page.getByLabel('Chain of lines that name none').selectOption('ETH');
    await page.getByText('This job needs at most 50 credits').waitFor();
    await page.getByText('9 credits of the dashboard are left.').waitFor();
    await page.getByRole('button', { name: 'Start the job' }).click();
    await page.getByRole('alert').getByText('There are not enough credits or quota for this.').waitFor();
  });

  it('leads from a long pasted list to a job, with the chain of every address', async () => {
    const { page } = tab;
    await page.goto(url);
    const addresses = Array.from({ length: 119 }, (_, at) => `0x${String(at).padStart(40, '0')}`);
    const list = ['bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh', ...addresses].join(', ');
    await page.getByLabel('Address, name, transaction hash or list').fill(list);
    await page.getByText('A list of 120 entries, which becomes a bulk job.').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('The pasted list of 120 entries').waitFor();
    await tab.check('/bulk', 'Bulk jobs');
    await page.getByLabel('Question').selectOption('sanctions');
    await page.getByRole('button', { name: 'Start the job' }).click();
    await expect.poll(jobState, { timeout: PATIENCE_MS }).toMatch(/Sanctions.*Done.*120 of 120 lines0/);
  });

  let secret = '';
  let lastStep = 0;
  /** The next code of the app. A code counts once, so this waits for a new one. */
  async function nextCode(): Promise<string> {
    await expect.poll(() => stepOf(Date.now()), { timeout: PATIENCE_MS }).toBeGreaterThan(lastStep);
    lastStep = stepOf(Date.now());
    return hotp(fromBase32(secret), lastStep);
  }
  let recovery: readonly string[] = [];

  it('enables a second factor with a QR code, and shows the recovery codes once', async () => {
    await newLogin();
    const { page } = tab;
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Your account' }).click();
    await tab.check('/account', 'Your account');
    await page.getByRole('button', { name: 'Enable' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Current password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    const picture = dialog.getByRole('img', { name: 'QR code for the authenticator app' });
    await picture.waitFor();
    // A code of this length has 45 modules and more; a canvas that was not drawn is 300 pixels wide.
    await expect
      .poll(() => picture.evaluate((canvas) => (canvas as unknown as { width: number }).width))
      .toBeLessThan(100);
    expect(await tab.axe()).toEqual([]);
    secret = (await dialog.locator('.secret-text').textContent()) ?? '';
    await dialog.getByLabel('Code of the app').fill('000000');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Code of the app').fill(await nextCode());
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Recovery codes' }).waitFor();
    recovery = await dialog.locator('.codes li').allTextContents();
    expect(recovery.length).toBeGreaterThan(5);
    expect(await tab.axe()).toEqual([]);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('region', { name: 'Second factor' }).getByText('Enabled').waitFor();
  });

  it('asks for a code at the next login, by keyboard alone, and accepts a recovery code', async () => {
    const context: BrowserContext = await browser.newContext(DESKTOP);
    const own = await openTab(context);
    tabs.push(own);
    const { page } = own;
    await page.goto(`${url}/login`);
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').waitFor();
    expect(await own.axe()).toEqual([]);
    // The field has the focus.
    await page.keyboard.type('999999');
    await page.keyboard.press('Enter');
    await page.getByText('The code is wrong, or was used before.').waitFor();
    await page.getByLabel('Code').fill(recovery[0] ?? '');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/`);
  });

  it('lists the sessions, and ends the others', async () => {
    const { page } = tab;
    await page.goto(`${url}/account`);
    const table = page.getByRole('table', { name: 'Sessions' });
    await table.getByText('this session').waitFor();
    const before = await table.locator('tbody tr').count();
    expect(before).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click();
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1);
    // The page of the ended session leads to the login.
    const other = tabs.at(-1) as Tab;
    await other.page.reload();
    await other.page.goto(`${url}/usage`);
    await other.page.waitForURL(/\/login/);
  });

  it('disables the second factor with a password and a code', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disable' });
    await dialog.getByLabel('Current password').fill(PASSWORD);
    await dialog.getByLabel('Code of the app, or a recovery code').fill(recovery[1] ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Second factor' }).getByText('Disabled').waitFor();
  });

  it('invites a person, whose link leads to a page with the right role', async () => {
    await newLogin();
    const { page } = tab;
    await visit('/people', 'People');
    await page.getByLabel('Email address').fill(COLLEAGUE);
    const add = page.getByRole('region', { name: 'Add a person' });
    await add.getByLabel('Role').selectOption('auditor');
    await add.getByLabel('Email address').press('Enter');
    await page.getByText(`${COLLEAGUE} was invited.`).waitFor();
    const table = page.getByRole('table', { name: 'People' });
    await table.getByText('Invited').waitFor();

    const isInvitation = (letter: string): boolean => letter.includes(`To: ${COLLEAGUE}`);
    await until(() => world.mail.letters.some(isInvitation), 'the invitation');
    const letter = world.mail.letters.find(isInvitation) ?? '';
    // Quoted-printable: long lines end in `=`, and `=` itself is `=3D`.
    const token = /#token=([\w-]{43})/.exec(letter.replace(/=\r?\n/g, '').replaceAll('=3D', '='))?.[1] ?? '';
    expect(token).not.toBe('');
    const context = await browser.newContext(DESKTOP);
    const own = await openTab(context);
    tabs.push(own);
    await own.page.goto(`${url}/invite#token=${token}`);
    await own.check('/invite', 'Accept the invitation');
    expect(new URL(own.page.url()).hash).toBe('');
    await own.page.getByLabel('New password').fill(PASSWORD);
    await own.page.keyboard.press('Enter');
    await own.page.waitForURL(`${url}/`);
    expect(own.requests.filter((sent) => sent.includes(token))).toEqual([]);
    await own.page.goto(`${url}/keys`);
    await own.page.getByText('Only owners of the account can change something here.').waitFor();
    expect(await own.page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
    await own.page.goto(`${url}/bulk`);
    await own.page.getByText('Your role reads results, and starts no jobs.').waitFor();
  });

  it('changes the role of a person, and removes the person', async () => {
    const { page } = tab;
    await page.goto(`${url}/people`);
    const table = page.getByRole('table', { name: 'People' });
    await table.locator('tbody tr', { hasText: COLLEAGUE }).press('Enter');
    const dialog = page.getByRole('dialog', { name: COLLEAGUE });
    expect(await tab.axe()).toEqual([]);
    // Nobody becomes an owner without the password of an owner.
    await dialog.getByLabel('Role').selectOption('owner');
    await dialog.getByRole('button', { name: 'Change the role' }).click();
    const change = page.getByRole('dialog', { name: 'Change of an owner' });
    await change.getByLabel('Your password').fill('a wrong password');
    await change.getByRole('button', { name: 'Change the role' }).click();
    await change.getByRole('alert').waitFor();
    expect(await tab.axe()).toEqual([]);
    await change.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByLabel('Role').selectOption('analyst');
    await dialog.getByRole('button', { name: 'Change the role' }).click();
    // The rest of the page is hidden from roles while the dialog is open.
    await page.locator('main tbody tr', { hasText: COLLEAGUE }).getByText('Analyst').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: 'Remove' }).getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1);
  });

  it('keeps the last owner', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: EMAIL }).click();
    const dialog = page.getByRole('dialog', { name: EMAIL });
    await dialog.getByLabel('Role').selectOption('auditor');
    await dialog.getByRole('button', { name: 'Change the role' }).click();
    const change = page.getByRole('dialog', { name: 'Change of an owner' });
    await change.getByLabel('Your password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await change.getByRole('alert').getByText('last owner').waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.getByLabel('Role').inputValue()).toBe('owner');
    await page.keyboard.press('Escape');
  });

  it('lists who did all this in the audit log', async () => {
    await newLogin();
    await visit('/audit', 'Audit log');
    const table = tab.page.getByRole('table', { name: 'Entries' });
    for (const action of ['Key created', 'Key revoked', 'Second factor enabled', 'Person removed'])
      await table.getByText(action).first().waitFor();
    await table.locator('tbody tr', { hasText: 'Person removed' }).getByText(EMAIL).waitFor();
    await tab.page.getByRole('combobox', { name: 'Action' }).selectOption('Role changed');
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1);
  });

  it('sets and removes channels, whose secrets are masked, and issues a webhook secret once', async () => {
    const { page } = tab;
    await visit('/channels', 'Channels');
    const slack = page.getByRole('region', { name: 'Slack' });
    const hook = 'https://hooks.slack.com/services/T000/B000/verysecretpart';
    await slack.getByLabel('URL of the webhook').fill(hook);
    await slack.getByRole('button', { name: 'Set' }).click();
    await slack.getByRole('button', { name: 'Replace' }).waitFor();
    expect(await page.content()).not.toContain('verysecretpart');
    await slack.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: 'Remove Slack?' }).getByRole('button', { name: 'Remove' }).click();
    await slack.getByText('not set').waitFor();
    const email = page.getByRole('region', { name: 'Email' });
    await email.getByLabel('Email address').fill('not an address');
    await email.getByRole('button', { name: 'Set' }).click();
    expect(await email.getByText('not set').isVisible()).toBe(true);

    await page.getByRole('button', { name: 'Issue a new secret' }).click();
    await page
      .getByRole('dialog', { name: 'Issue a new secret' })
      .getByRole('button', { name: 'Issue a new secret' })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Webhook secret' });
    expect(await dialog.locator('.secret-text').textContent()).toMatch(/^whsec_/);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain('whsec_');
  });

  it('shows the state of the service, and reads no metrics of others', async () => {
    const { page } = tab;
    await visit('/status', 'Status');
    // The links in emails of this server lead to this machine alone, so it is never just ready.
    await page.getByText('Not ready').or(page.getByText('Ready, but not everything works')).first().waitFor();
    await page.getByText('No chain is followed').waitFor();
    await page.getByRole('region', { name: 'Your queues' }).getByText('Open bulk jobs').waitFor();
    await page.getByRole('table', { name: 'Sanctions lists' }).waitFor();
    expect(tab.requests.filter((sent) => sent.includes('metrics'))).toEqual([]);
  });

  it('speaks German and French on these pages', async () => {
    const { page } = tab;
    for (const [language, label, heading] of [
      ['de', 'Language', 'Sammelaufträge'],
      ['fr', 'Sprache', 'Tâches groupées'],
    ] as const) {
      await page.goto(`${url}/bulk`);
      await page.getByLabel(label).first().selectOption(language);
      await tab.check(`/bulk ${language}`, heading);
    }
    await page.getByLabel('Langue').first().selectOption('en');
  });

  it('opens pages by their shortcuts', async () => {
    const { page } = tab;
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const [key, path] of [
      ['b', '/bulk'],
      ['u', '/usage'],
      ['i', '/status'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL(url + path);
    }
  });

  it('requests nothing of another host, violates no policy, and reports no error', async () => {
    const requests = tabs.flatMap((each) => each.requests);
    expect(requests.length).toBeGreaterThan(50);
    const elsewhere = requests.filter((sent) => !sent.startsWith(`${url}/`) && !/^(?:data|blob):/.test(sent));
    expect(elsewhere).toEqual([]);
    for (const each of tabs) expect(await each.faults()).toEqual([]);
  });
});
