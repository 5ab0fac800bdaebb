/**
 * Takes pictures of all pages, light, dark and 360 pixels wide, of a server with data of its own. It needs `npm run build` of the project
 * and Debian's chromium, which it unpacks itself. With `--docs`, it writes the pictures of the guide: small ones of what a screen shows.
 *
 * Usage: node dashboard/screenshots.mjs <folder> [part of a name]
 *        node dashboard/screenshots.mjs --docs
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  NOBODY,
  openDashboardWorld,
  PASSWORD,
  SANCTIONED,
  SUBJECT,
  TRANSACTIONS,
} from '../dist/test/e2e/dashboard-world.js';
import { startChromium } from '../dist/test/setup/chromium.js';
import { writePicturesPage } from './pictures-page.mjs';

async function chooseFile(page) {
  const buffer = Buffer.from(`address,chain\n${SUBJECT},ETH\n${SANCTIONED},ETH\n${NOBODY},ETH\n`);
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer });
  await page.getByText('are left').or(page.getByText('is left')).first().waitFor();
}

async function beginTotp(page) {
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('dialog').getByLabel('Current password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('img', { name: 'QR code' }).waitFor();
}

/** Gives the account keys, a job and an invitation. */
async function fillAccount(url, session) {
  const send = async (path, body, type = 'application/json') => {
    const headers = { cookie: `assay_session=${session}`, origin: url, 'content-type': type };
    const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  };
  await send('/keys', JSON.stringify({ name: 'payments, production', permissions: ['kyt', 'screening'] }));
  await send('/keys', JSON.stringify({ name: 'data warehouse', permissions: ['intel'] }));
  await send('/people/invitations', JSON.stringify({ email: 'bea@example.org', role: 'auditor' }));
  await send(
    '/jobs?kind=labels',
    `address,chain\n${SUBJECT},ETH\n${SANCTIONED},ETH\nnonsense,ETH\n`,
    'text/csv',
  );
}

/** Makes the account of a session an operator account. */
async function makeOperator({ world, server }, session) {
  const headers = { cookie: `assay_session=${session}` };
  const { data } = await (await fetch(`${server.url}/api/v1/auth/session`, { headers })).json();
  await world.run(['accounts', 'operator', data.account.id, '--on']);
  // Three looks of every page, each with screenings and traces.
  await world.run([
    'credits',
    'grant',
    data.account.id,
    '1000',
    '--reason',
    'pictures',
    '--pool',
    'dashboard',
  ]);
}

/** Name, path, and what a person does before the picture. `open` pages have no session. */
const PAGES = [
  { name: 'login', path: '/login', open: true },
  { name: 'register', path: '/register', open: true },
  { name: 'confirm', path: '/confirm#token=x', open: true },
  { name: 'home', path: '/' },
  {
    name: 'search',
    path: '/',
    act: (page) => page.getByLabel('Address, name, transaction hash or list').fill(SUBJECT),
  },
  {
    name: 'addresses',
    path: '/',
    async act(page) {
      const list = `${SUBJECT}, ${SANCTIONED}, ${NOBODY}, bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh, nonsense`;
      await page.getByLabel('Address, name, transaction hash or list').fill(list);
      await page.getByText('A list of').waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('table').waitFor();
    },
  },
  { name: 'screening', path: `/screening/ETH/${SUBJECT}` },
  {
    name: 'screening-saved',
    path: `/screening/ETH/${SUBJECT}`,
    async act(page) {
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('This answer is kept.').waitFor();
    },
  },
  { name: 'saved', path: '/saved' },
  { name: 'screening-counterparties', path: `/screening/ETH/${SUBJECT}?tab=counterparties`, isTab: true },
  { name: 'screening-law', path: `/screening/ETH/${SUBJECT}?tab=legal`, isTab: true },
  { name: 'screening-sanctioned', path: `/screening/ETH/${SANCTIONED}` },
  { name: 'screening-nobody', path: `/screening/ETH/${NOBODY}?tab=coverage` },
  { name: 'bulk', path: '/bulk' },
  { name: 'bulk-file', path: '/bulk', act: chooseFile },
  {
    name: 'bulk-job',
    path: '/bulk',
    act: (page) => page.getByRole('table').locator('tbody tr').first().press('Enter'),
  },
  { name: 'keys', path: '/keys' },
  {
    name: 'keys-new',
    path: '/keys',
    act: (page) => page.getByRole('button', { name: 'Create a key' }).click(),
  },
  {
    name: 'keys-one',
    path: '/keys',
    act: (page) => page.getByRole('button', { name: 'payments, production' }).click(),
  },
  { name: 'usage', path: '/usage' },
  { name: 'billing', path: '/billing' },
  { name: 'billing-cancel', path: '/billing/cancel' },
  { name: 'people', path: '/people' },
  { name: 'account', path: '/account' },
  { name: 'account-totp', path: '/account', act: beginTotp },
  { name: 'audit', path: '/audit' },
  { name: 'channels', path: '/channels' },
  { name: 'status', path: '/status' },
  ...['health', 'labels', 'chains', 'queues', 'nodes', 'imports'].map((tab) => ({
    name: `operator-${tab}`,
    path: `/operator?tab=${tab}`,
  })),
  { name: 'invite', path: '/invite#token=x', open: true },
  {
    name: 'trace',
    path: `/trace/ETH/${SUBJECT}?hops=2`,
    act: (page) => page.locator('.trace-canvas[data-frames]').waitFor(),
  },
  { name: 'transaction', path: `/transactions/${TRANSACTIONS.mixer}` },
  { name: 'transaction-several', path: `/transactions/${TRANSACTIONS.several}` },
  { name: 'transaction-unknown', path: `/transactions/${TRANSACTIONS.unknown}` },
  { name: 'screening-transfers', path: `/screening/ETH/${SUBJECT}?tab=transfers`, isTab: true },
  { name: 'exchanges', path: '/exchanges?name=Kraken' },
  {
    name: 'names',
    path: '/names',
    async act(page) {
      await page.getByLabel('Name', { exact: true }).fill('Wladimir Putin');
      await page.keyboard.press('Enter');
      await page
        .getByRole('heading', { name: /^(\d+ match|No match: )/ })
        .first()
        .waitFor();
    },
  },
  { name: 'alerts', path: '/alerts' },
  { name: 'deliveries', path: '/alerts/deliveries' },
  {
    name: 'case',
    path: '/cases',
    async act(page) {
      await page.getByText('Open a case', { exact: true }).first().click();
      await page.getByLabel('Title', { exact: true }).fill('Deposit from a mixer');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: /Deposit from a mixer/ }).waitFor();
    },
  },
  { name: 'cases', path: '/cases' },
  { name: 'wallets', path: `/wallets?chain=ETH&address=${SUBJECT}` },
  { name: 'help', path: '/', act: (page) => page.keyboard.press('?') },
  { name: 'not-found', path: '/nothing' },
];

const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: '360', colorScheme: 'light', viewport: { width: 360, height: 740 } },
];

/** Pictures of the guide are for orientation: smaller than a screen, and 3 MB in all. */
const DOCS = {
  folder: join(import.meta.dirname, '..', 'docs', 'images', 'dashboard'),
  scales: { light: 0.75, dark: 0.5, 360: 0.75 },
  quality: 38,
};
/** Pages of which a variant shows nothing else in the guide. */
const NOT_IN_DOCS = new Set([
  'search',
  'screening-saved',
  'billing-cancel',
  'transaction-several',
  'confirm',
  'help',
]);

const [target, wanted = ''] = process.argv.slice(2);
if (target === undefined) {
  process.stderr.write('usage: node dashboard/screenshots.mjs <folder> [part of a name] | --docs\n');
  process.exit(2);
}
const isForDocs = target === '--docs';
const folder = isForDocs ? DOCS.folder : resolve(target);
mkdirSync(folder, { recursive: true });

/** Saves what the page shows. */
async function save(page, name) {
  if (!isForDocs) return page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: DOCS.quality });
  await session.detach();
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
}

const world = await openDashboardWorld();
const browser = await startChromium();
const failed = [];
try {
  const { url } = world.server;
  const first = await world.person();
  await fillAccount(url, first);
  await makeOperator(world, first);
  for (const { name: look, ...options } of LOOKS) {
    const scale = isForDocs ? { deviceScaleFactor: DOCS.scales[look] } : {};
    const context = await browser.newContext({
      ...options,
      ...scale,
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    // A session for each look: the requests of a minute are counted by session.
    const session = await world.login();
    // One tab for all: it asks for its session once.
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const pages = PAGES.filter(({ name }) => name.includes(wanted) && !(isForDocs && NOT_IN_DOCS.has(name)));
    for (const { name, path, act, open = false, isTab = false } of pages) {
      try {
        await context.clearCookies();
        if (!open) await context.addCookies([{ name: 'assay_session', value: session, url, httpOnly: true }]);
        await page.goto(url + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        await act?.(page);
        await page.waitForLoadState('networkidle');
        // What a screen shows of a tab begins with the tabs.
        if (isForDocs && isTab) {
          await page.getByRole('tablist').waitFor();
          await page.evaluate(`document.querySelector('[role=tablist]').scrollIntoView({ block: 'start' })`);
          await page.mouse.wheel(0, -64);
        }
        await save(page, `${name}-${look}`);
      } catch (error) {
        // The other pictures are taken anyway.
        failed.push(`${name}-${look}: ${String(error).split('\n', 1)[0]}`);
      }
    }
    await context.close();
  }
} finally {
  await browser.close();
  await world.end();
}
if (isForDocs) writePicturesPage();
for (const line of failed) process.stderr.write(`${line}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
