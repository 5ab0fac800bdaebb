/** The guide over both servers, and in a browser: the search by keyboard, no request to another host, no violation of its policy. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildGuide, writeGuide } from '../../scripts/guide/build.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { sendAsIs as ask } from './send-as-is.ts';
import { openWorld, type World } from './world.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-guide-'));
const files = buildGuide(projectRoot);
await writeGuide(files, folder, constants.BROTLI_MIN_QUALITY);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe.each(['uws', 'node'] as const)('the guide on %s', (backend) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ backend, guideFolder: folder });
  });
  afterAll(() => world.close());

  it('sends every file in both codings and as it is, with its type and policy', async () => {
    for (const { path, content, bytes = Buffer.from(content), contentType, isImmutable } of files) {
      const answers = await Promise.all([
        ask(world, path, { 'accept-encoding': 'gzip, br' }),
        ask(world, path, { 'accept-encoding': 'gzip' }),
        ask(world, path),
      ]);
      const [br, gzip, plain] = answers.map(({ body }) => body);
      expect(answers.map(({ status, headers }) => [status, headers['content-encoding']])).toEqual([
        [200, 'br'],
        [200, 'gzip'],
        [200, undefined],
      ]);
      const texts = [brotliDecompressSync(br as Buffer), gunzipSync(gzip as Buffer), plain as Buffer];
      for (const text of texts) expect(text.equals(bytes), path).toBe(true);
      for (const { headers } of answers)
        expect(headers).toMatchObject({
          'content-type': contentType,
          'content-security-policy': POLICY,
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': isImmutable ? 'max-age=31536000, immutable' : 'max-age=300',
          vary: 'Accept-Encoding',
        });
    }
  });

  it('answers 304 to the tag of a response in any coding, and 200 to another tag', async () => {
    const path = '/docs/guide/screening';
    const { headers } = await ask(world, path, { 'accept-encoding': 'br' });
    const etag = headers.etag ?? '';
    expect(etag).toMatch(/^W\/"[\w-]{16}"$/);
    for (const tag of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      const same = await ask(world, path, { 'if-none-match': tag });
      expect([same.status, same.body.length, same.headers.etag]).toEqual([304, 0, etag]);
    }
    expect((await ask(world, path, { 'if-none-match': '"x"' })).status).toBe(200);
    const other = await ask(world, '/docs/guide/names', { 'if-none-match': etag });
    expect(other.status).toBe(200);
  });

  it('answers HEAD with the headers of GET', async () => {
    for (const path of ['/docs/guide', '/docs/guide/cli', '/docs/guide/cli.md', '/llms.txt']) {
      const [get, head] = [
        await ask(world, path, { 'accept-encoding': 'br' }),
        await ask(world, path, { 'accept-encoding': 'br' }, 'HEAD'),
      ];
      expect([head.status, head.body.length]).toEqual([200, 0]);
      for (const name of ['content-type', 'content-length', 'content-encoding', 'etag'])
        expect(head.headers[name], name).toBe(get.headers[name]);
      expect(get.headers['content-length']).toBe(String(get.body.length));
    }
  });

  it('reaches no other file, whatever the path is', async () => {
    const paths = [
      '/docs/guide/',
      '/docs/guide/nothing',
      '/docs/guide/manifest.json',
      '/docs/guide/index.html',
      '/docs/guide/screening.md.gz',
      '/docs/guide/screening%00',
      '/docs/guide/..',
      '/docs/guide/../../package.json',
      '/docs/guide/..%2f..%2fpackage.json',
      '/docs/guide/%2e%2e%2f%2e%2e%2fpackage.json',
      '/docs/guide/..%5c..%5cpackage.json',
      '/docs/guide/%2fetc%2fpasswd',
      '/docs/guide/constructor',
      '/docs/guide/__proto__',
    ];
    for (const path of paths) expect([path, (await ask(world, path)).status]).toEqual([path, 404]);
    for (const path of ['/docs/guide/%', `/docs/guide/${'x'.repeat(200)}`])
      expect([path, (await ask(world, path)).status]).toEqual([path, 400]);
    const { headers, body } = await ask(world, '/docs/guide/nothing');
    expect(headers['x-error-code']).toBe('NOT_FOUND');
    expect(JSON.parse(String(body))).toEqual({
      error: 'page: the guide has no such page. /docs/guide lists all pages.',
    });
  });
});

it('answers 404 and logs a warning if the guide was not built', async () => {
  const warnings: unknown[] = [];
  const log = {
    info: () => {},
    error: () => {},
    debug: () => {},
    warn: (...line: unknown[]) => warnings.push(line),
    child: () => log,
  };
  const world = await openWorld({
    backend: 'node',
    guideFolder: join(folder, 'none'),
    log: log as never,
  });
  try {
    expect((await ask(world, '/docs/guide')).status).toBe(404);
    expect(warnings).toEqual([[{ folder: join(folder, 'none') }, 'guide was not built']]);
  } finally {
    await world.close();
  }
});

describe.skipIf(chromiumProgram === null)('the guide in a browser', () => {
  let world: World;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const requests: string[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    world = await openWorld({ backend: 'uws', guideFolder: folder });
    browser = await startChromium();
    context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    page.on('request', (sent) => requests.push(sent.url()));
    // Violations of the policy are errors of the console.
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await world.close();
  });

  /** Saves what the page looks like, for a person who asked for it. */
  async function picture(name: string, fullPage = false): Promise<void> {
    const place = process.env.ASSAY_TEST_PICTURES;
    if (place !== undefined) await page.screenshot({ path: join(place, `${name}.png`), fullPage });
  }

  const isTooWide = (): Promise<boolean> =>
    page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

  it('finds a page by a word, and follows the result, by keyboard alone', async () => {
    await page.goto(`${world.url}/docs/guide`);
    await picture('start');
    await page.keyboard.press('/');
    await page.keyboard.type('attestation');
    const options = page.getByRole('option');
    await options.first().waitFor();
    await picture('search');
    expect(await page.getByRole('combobox').getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const selected = page.locator('[role=option][aria-selected=true]');
    expect(await selected.getAttribute('id')).toBe(
      await page.getByRole('combobox').getAttribute('aria-activedescendant'),
    );
    const target = await selected.locator('a').getAttribute('href');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${target}`);
    expect(target).toBe('/docs/guide/air-gap#what-an-attestation-is');
    await expect.poll(() => page.locator('h1').textContent()).toBe('Without a network');
  });

  it('closes the results with Escape, forgives a misspelt word, and says if nothing is found', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('haircutt');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('option').count()).toBe(0);
    await page.keyboard.type('zzzqqqxx');
    await page.getByText('No page has these words.').waitFor();
  });

  it('shows every page on a screen of 360 pixels, without a request to another host or a violation of its policy', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const { path, contentType } of files)
      if (contentType.startsWith('text/html')) {
        const response = await page.goto(`${world.url}${path}`);
        expect([path, response?.status(), await isTooWide()]).toEqual([path, 200, false]);
      }
    expect(requests.length).toBeGreaterThan(files.length / 2);
    expect(requests.filter((url) => !url.startsWith(`${world.url}/`) && !url.startsWith('data:'))).toEqual(
      [],
    );
    // Also of the pages above, on a wide screen.
    expect(faults).toEqual([]);
  });

  it('opens the list of pages by a link on a narrow screen', async () => {
    await page.goto(`${world.url}/docs/guide/architecture`);
    await picture('narrow');
    await page.locator('figure').nth(2).scrollIntoViewIfNeeded();
    await picture('narrow-diagram');
    await page.goto(`${world.url}/docs/guide/cli#exit-codes`);
    await picture('narrow-table');
    await page.goto(`${world.url}/docs/guide/air-gap`);
    const list = page.getByRole('navigation', { name: 'Pages' });
    expect(await list.isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Pages', exact: true }).click();
    await picture('narrow-pages');
    const box = await list.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBe(740);
    await list.getByRole('link', { name: 'Prices' }).click();
    await page.waitForURL('**/docs/guide/prices-csv');
    expect(await list.isVisible()).toBe(false);
    await page.keyboard.press('/');
    await page.keyboard.type('price');
    await page.getByRole('option').first().waitFor();
    await picture('narrow-search');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('is light or dark as the system is, and prints its text alone', async () => {
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.goto(`${world.url}/docs/guide/screening`);
    await picture('light');
    expect(await ground()).toBe('rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('dark');
    expect(await ground()).toBe('rgb(18, 24, 29)');
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    expect(await ground()).toBe('rgb(255, 255, 255)');
    expect(await page.locator('header').isVisible()).toBe(false);
    await picture('print');
    await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
  });

  it('can be read without scripts', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const other = await plain.newPage();
    await other.goto(`${world.url}/docs/guide/tracing`);
    expect(await other.getByRole('heading', { level: 1 }).textContent()).toBe('Tracing');
    expect(await other.getByRole('search').count()).toBe(0);
    await plain.close();
  });
});
