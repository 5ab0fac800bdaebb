/** The pages for operators, in Chromium, and what a customer sees of them: the state of the installation, and reports on labels. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperatorStatus } from '../../src/http/schemas/operator.ts';
import { runCommand } from '../cli/run-command.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { axeOf, isTooWide, PATIENCE_MS } from './dashboard-page.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import { type DashboardWorld, HOSTILE, HOSTILE_NAMES, openDashboardWorld } from './dashboard-world.ts';

/** The rest of a page is inert while a dialog is open. */
const DIALOG = '[role=dialog]';
const CUSTOMER = 'customer@example.org';
const TABS = [
  ['Health', '/operator'],
  ['Labels and lists', '/operator?tab=labels'],
  ['Followed chains', '/operator?tab=chains'],
  ['Queues', '/operator?tab=queues'],
  ['Nodes', '/operator?tab=nodes'],
  ['Imports and syncs', '/operator?tab=imports'],
] as const;

describe.runIf(chromiumProgram !== null)('the page for operators', () => {
  let world: DashboardWorld;
  let browser: Browser;
  let url = '';
  const tabs: Tab[] = [];

  async function tabOf(session: string): Promise<Tab> {
    const context = await browser.newContext(DESKTOP);
    await context.addCookies([{ name: 'assay_session', value: session, url, httpOnly: true }]);
    const tab = await openTab(context);
    tabs.push(tab);
    return tab;
  }
  const accountOf = async (session: string): Promise<string> => {
    const response = await fetch(`${url}/api/v1/auth/session`, {
      headers: { cookie: `assay_session=${session}` },
    });
    const { data } = (await response.json()) as { data: { account: { id: string } } };
    return data.account.id;
  };
  /** Runs a command in this process: one of its own takes half a second of processor time. */
  const run = (...args: string[]) => runCommand(join(world.world.folder, 'store'), args);

  let operator = '';
  beforeAll(async () => {
    world = await openDashboardWorld();
    url = world.server.url;
    operator = await world.person();
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  it('is neither linked nor readable before a command makes the account an operator account', async () => {
    const tab = await tabOf(operator);
    const { page } = tab;
    await page.goto(url);
    await page.getByRole('link', { name: 'Status' }).waitFor();
    expect(await page.getByRole('link', { name: 'Installation' }).count()).toBe(0);
    await page.goto(`${url}/operator`);
    await page.getByRole('alert').getByText('your account is not one of theirs').waitFor();
    expect(await page.getByRole('tab').count()).toBe(0);
    await tab.check('refused', 'Installation');

    const id = await accountOf(operator);
    expect(await run('accounts', 'operator', id)).toMatchObject({ code: 2 });
    expect(await run('accounts', 'operator', 'acc_nobody', '--on')).toMatchObject({ code: 1 });
    const { code, out } = await run('accounts', 'operator', id, '--on');
    expect([code, out]).toEqual([
      0,
      `Owners and analysts of ${id} may read the state of this installation, and decide reports on labels.\n`,
    ]);
    const { out: log } = await run('audit', 'show', '--limit', '1', '--json');
    expect(log).toContain('operator.grant');
    await page.context().close();
  });

  let tab: Tab;

  it('is opened by its link, by a shortcut, and its parts by the keyboard', async () => {
    tab = await tabOf(operator);
    const { page } = tab;
    await page.goto(url);
    await page.getByRole('link', { name: 'Installation' }).click();
    await page.getByRole('tab', { name: 'Health' }).waitFor();
    await page.goto(url);
    await page.getByRole('link', { name: 'Installation' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('y');
    await page.waitForURL(`${url}/operator`);
    await page.getByRole('tab', { name: 'Health' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Snapshots' }).waitFor();
    expect(new URL(page.url()).searchParams.get('tab')).toBe('labels');
  });

  it('shows each part in both themes and on a narrow screen without a fault of axe', async () => {
    const { page } = tab;
    for (const [name, path] of TABS) {
      await page.goto(url + path);
      await page.getByRole('tab', { name, selected: true }).waitFor();
      await tab.check(path, 'Installation');
    }
  });

  it('says what is wrong and what to do, and shows this machine and its sources', async () => {
    const { page } = tab;
    await page.goto(`${url}/operator`);
    const checks = page.getByRole('region', { name: 'Health' });
    await checks.getByText('Run `assay sync eu`', { exact: false }).first().waitFor();
    await page.goto(`${url}/operator?tab=labels`);
    const sources = page.getByRole('table', { name: 'Sources' });
    await sources.getByText('packages').first().waitFor();
    await page.getByText('it can have fewer labels than its datasets together').waitFor();
    // Two datasets of one source have the same name.
    const rows = sources.locator('tbody tr');
    const count = await rows.count();
    expect(await rows.filter({ hasText: /^seedseed/ }).count()).toBe(2);
    const filter = page.getByRole('searchbox', { name: 'Sources' });
    for (const text of ['packages', 'seed', '']) {
      await filter.fill(text);
      await expect.poll(() => rows.count()).toBe(text === '' ? count : text === 'seed' ? 2 : 1);
    }
    await page.goto(`${url}/operator?tab=nodes`);
    await page.getByText('This machine works alone.').waitFor();
    const nodes = page.getByRole('table', { name: 'Nodes' });
    await nodes.getByText('api, worker, listener, delivery').waitFor();
    await page.goto(`${url}/operator?tab=queues`);
    await page.getByRole('region', { name: 'Exposure indexes' }).getByText('ETH').first().waitFor();
    await page.goto(`${url}/operator?tab=chains`);
    await page.getByText('No chain is followed').waitFor();
  });

  it('shows imports with their rows, rejects and errors, and a hostile name of a file as text', async () => {
    const name = `${HOSTILE_NAMES[0]}.csv`;
    const file = join(world.world.folder, name);
    writeFileSync(file, 'address,chain,entity,name,category,confidence\nnonsense,ETH,e,n,SCAM,1\n');
    expect((await run('import', 'own', file)).code).not.toBe(0);
    const { page } = tab;
    await page.goto(`${url}/operator?tab=imports`);
    const runs = page.getByRole('table', { name: 'Runs' });
    const failed = runs.locator('tbody tr').first();
    await failed.getByText('Failed').waitFor();
    expect(await failed.textContent()).toContain('<img src=x');
    await runs.getByText('Build of the index').first().waitFor();
    const data = page.getByRole('table', { name: 'Imported data' });
    expect(await data.locator('tbody tr').filter({ hasText: 'own' }).first().textContent()).toContain(
      'labels',
    );
    expect(await tab.axe()).toEqual([]);
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  it('shows hostile names of nodes, endpoints and errors as text, and asks again by itself', async () => {
    const { page } = tab;
    const [image = '', script = '', reversed = ''] = HOSTILE_NAMES;
    let asked = 0;
    await page.route('**/api/v1/operator/status', async (route) => {
      asked++;
      const response = await route.fetch();
      const body = (await response.json()) as { data: OperatorStatus };
      const { data } = body;
      const [node] = data.nodes;
      const changed = {
        ...data,
        checks: [{ check: 'CHAINS', state: 'WARNING', reasons: [image, script] }],
        nodes: [{ ...node, node: image, roles: ['listener'], leases: [script] }],
        chains: [
          {
            ...{ chain: 'ETH', state: 'WAITING', following: false, reason: null, node: reversed },
            ...{ height: 90, head: 103, lagBlocks: 13, lagSeconds: 200_000, lastError: script },
            endpoints: [
              { endpoint: image, state: 'DOWN', latencyMs: null, failures: 3, lastError: reversed },
            ],
          },
        ],
      };
      await route.fulfill({ response, json: { ...body, data: changed } });
    });
    for (const [path, text] of [
      ['/operator', image],
      ['/operator?tab=nodes', image],
      ['/operator?tab=chains', script],
    ] as const) {
      await page.goto(url + path);
      await page.getByText(text).first().waitFor();
      await tab.check(path, 'Installation');
      expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    await page.getByRole('table', { name: 'Followed chains' }).getByText('2 days').waitFor();
    const before = asked;
    await expect.poll(() => asked, { timeout: PATIENCE_MS }).toBeGreaterThan(before);
    // A request may be on its way.
    await page.unrouteAll({ behavior: 'wait' });
  });

  /** A person of another account, who reports labels. */
  let reporter: Tab;

  it('has labels reported by the keyboard, and shows the report as text', async () => {
    reporter = await tabOf(await world.person('reporter@example.org'));
    const { page } = reporter;
    await page.goto(`${url}/reports`);
    await page.getByText('No reports').waitFor();
    await page.goto(`${url}/screening/ETH/${HOSTILE}`);
    const labels = page.getByRole('table', { name: 'Labels' });
    await labels.getByRole('button', { name: /^Report: </ }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Report this label' });
    await dialog.getByText(HOSTILE_NAMES[0]).waitFor();
    await dialog.getByLabel('What is wrong with the label').focus();
    await page.keyboard.type(HOSTILE_NAMES[1]);
    expect(await axeOf(page, DIALOG)).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialog.getByText('Reported.').waitFor();
    await dialog.getByRole('link', { name: 'Label reports' }).click();
    const reports = page.getByRole('table', { name: 'Label reports' });
    await reports.getByText(HOSTILE_NAMES[1]).waitFor();
    await reports.getByText('Open', { exact: true }).waitFor();
    await reporter.check('reports', 'Label reports');
    // Only operators decide.
    await reports.locator('tbody tr').press('Enter');
    const own = page.getByRole('dialog', { name: 'Report on a label' });
    await own.getByText(HOSTILE_NAMES[1]).waitFor();
    expect(await own.getByRole('textbox').count()).toBe(0);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  it('has reports decided by operators, and publishes the dispute', async () => {
    const { page } = tab;
    await page.goto(url);
    await page.getByRole('link', { name: 'Label reports' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    const reports = page.getByRole('table', { name: 'Label reports' });
    await reports.getByText(HOSTILE_NAMES[1]).waitFor();
    await reports.getByText(await accountOf(await world.login('reporter@example.org'))).waitFor();
    await tab.check('all reports', 'Label reports');
    await reports.locator('tbody tr').press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Report on a label' });
    await dialog.getByLabel('Reason of the decision').fill('Signed with the key of the address.');
    await dialog.getByLabel('Category that holds instead').selectOption('DONATION');
    await dialog.getByLabel('Name of the party').fill('A Foundation');
    await dialog.getByLabel('Scam', { exact: true }).check();
    expect(await axeOf(page, DIALOG)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect([await isTooWide(page), await axeOf(page, DIALOG)]).toEqual([false, []]);
    await page.setViewportSize(DESKTOP.viewport);
    await dialog.getByRole('button', { name: 'Accept and dispute the labels' }).press('Enter');
    await dialog.getByText('The report is accepted.').waitFor();
    await page.keyboard.press('Escape');
    await reports.getByText('Accepted', { exact: true }).waitFor();
    const { out: disputes } = await run('labels', 'disputes', '--json');
    expect(JSON.parse(disputes)).toMatchObject([{ category: 'DONATION', name: 'A Foundation' }]);

    // The build in the background publishes it, and the account that filed it sees the decision.
    await expect
      .poll(async () => JSON.parse((await run('lookup', 'ETH', HOSTILE, '--json')).out).labels[0]?.name, {
        timeout: PATIENCE_MS,
        interval: 200,
      })
      .toBe('A Foundation');
    await reporter.page.goto(`${url}/reports?state=ACCEPTED`);
    await reporter.page.getByText('Signed with the key of the address.').waitFor();
  });

  it('speaks German and French', async () => {
    const { page } = tab;
    for (const [language, label, name] of [
      ['de', 'Language', 'Warteschlangen'],
      ['fr', 'Sprache', 'Files d’attente'],
    ] as const) {
      await page.goto(`${url}/operator?tab=queues`);
      await page.getByLabel(label).first().selectOption(language);
      await page.getByRole('tab', { name, selected: true }).waitFor();
      await tab.check(`queues ${language}`, 'Installation');
    }
    await page.goto(`${url}/reports`);
    await tab.check('reports fr', 'Signalements de labels');
    await page.getByLabel('Langue').first().selectOption('de');
    await tab.check('reports de', 'Meldungen zu Labels');
    await page.getByLabel('Sprache').first().selectOption('en');
  });

  it('is not there for a customer, and ends for an operator with the command', async () => {
    const customer = await tabOf(await world.person(CUSTOMER));
    await customer.page.goto(`${url}/operator?tab=nodes`);
    await customer.page.getByRole('alert').getByText('your account is not one of theirs').waitFor();
    expect(await customer.page.getByRole('link', { name: 'Installation' }).count()).toBe(0);

    expect((await run('accounts', 'operator', await accountOf(operator), '--off')).code).toBe(0);
    await tab.page.goto(`${url}/operator`);
    await tab.page.getByRole('alert').getByText('your account is not one of theirs').waitFor();
  });

  it('requests nothing of another host, violates no policy, and reports no error', async () => {
    const requests = tabs.flatMap((each) => each.requests);
    expect(requests.length).toBeGreaterThan(50);
    const elsewhere = requests.filter((sent) => !sent.startsWith(`${url}/`) && !/^(?:data|blob):/.test(sent));
    expect(elsewhere).toEqual([]);
    for (const each of tabs) expect(await each.faults()).toEqual([]);
  });
});
