/** /docs/api in a real browser: a reader sees all operations and tries some with a key, and nothing leaves the host. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { COLLECT_VIOLATIONS } from './dashboard-page.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

/** A browser on a busy machine takes seconds to start and to render. */
const PATIENCE_MS = 120_000;

/** Runs in the page: everything that a later visit could read. */
const STORED = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';

type Documented = Readonly<
  Record<string, Readonly<Record<string, { readonly summary?: string; readonly tags?: readonly string[] }>>>
>;

describe.runIf(chromiumProgram !== null)('/docs/api in a browser', () => {
  let world: World;
  let server: RunningServer;
  let browser: Browser;
  let page: Page;
  const requests: { readonly method: string; readonly url: string; readonly authorization: string }[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    world = newWorld();
    server = await world.serve();
    const granted = await world.run(['credits', 'grant', 'local', '10', '--reason', 'tests']);
    if (granted.code !== 0) throw new Error(granted.err);
    browser = await startChromium();
    page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('request', (request) => {
      const { authorization = '' } = request.headers();
      requests.push({ method: request.method(), url: request.url(), authorization });
    });
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.addInitScript(COLLECT_VIOLATIONS);
    await page.goto(`${server.url}/docs/api`);
    await page.locator('h1').first().waitFor();
  }, PATIENCE_MS);
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  /** Opens the client of an operation, sends the request with its example, and returns the text of the client. */
  async function tryOut(summary: string, method: string, path: string): Promise<string> {
    await page.getByRole('link', { name: summary }).first().click();
    const sent = page.waitForResponse((response) => response.url().includes(path));
    const shown = path.replace('/api/v1', '').slice(0, 8);
    await page
      .getByRole('button', { name: `Test Request (${method} ${shown}` })
      .first()
      .click();
    const client = page.getByRole('dialog');
    await client.getByRole('button', { name: /^Send/ }).first().click();
    await sent;
    await client.getByText('200 OK').first().waitFor();
    const text = (await client.textContent()) ?? '';
    await page.keyboard.press('Escape');
    await client.waitFor({ state: 'hidden' });
    return text;
  }

  it('shows every operation in its group', async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      readonly paths: Documented;
      readonly tags: readonly { readonly name: string }[];
    };
    for (const { name } of document.tags) {
      const group = page.getByRole('button', { name: `Open Group - ${name}` });
      if ((await group.count()) > 0) await group.click();
    }
    const links = await page.getByRole('link').allInnerTexts();
    const shown = new Set(links.map((text) => text.split('\n')[0]?.trim()));
    const summaries = Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ summary }) => summary ?? []);
    expect(summaries.length).toBeGreaterThan(50);
    expect(summaries.filter((summary) => !shown.has(summary))).toEqual([]);
    for (const { name } of document.tags) expect([...shown], name).toContain(name);
  });

  it('sends a request with the key of the reader, and shows the response', async () => {
    await page.getByPlaceholder('Token').first().fill(server.firstKey);
    const labels = await tryOut('Labels of an address', 'get', '/api/v1/entity/0x28c6');
    expect(labels).toContain('"name": "Binance"');
    const screening = await tryOut('Screen an address', 'post', '/api/v1/screening');
    expect(screening).toContain('"riskLevel"');
    const health = await tryOut('Liveness', 'get', '/health');
    expect(health).toContain('"status": "ok"');
    const authorized = requests.filter(({ authorization }) => authorization !== '');
    expect(authorized.every(({ authorization }) => authorization === `Bearer ${server.firstKey}`)).toBe(true);
    expect(authorized.map(({ method, url }) => `${method} ${new URL(url).pathname.slice(0, 24)}`)).toEqual(
      expect.arrayContaining(['GET /api/v1/entity/0x28c6c06', 'POST /api/v1/screening']),
    );
  });

  it('has samples in curl, TypeScript and Python, with the host of the page', async () => {
    await page.getByRole('link', { name: 'Check a transfer' }).first().click();
    const samples = page.getByRole('button', { name: 'curl', exact: true });
    await samples.first().click();
    expect(await page.getByRole('option').allInnerTexts()).toEqual(['curl', 'TypeScript', 'Python']);
    await page.getByRole('option', { name: 'Python' }).click();
    await page.getByText('assay.kyt.check').first().waitFor();
    expect(await page.getByText(`base_url="${server.url}"`).count()).toBeGreaterThan(0);
  });

  it('sends nothing to another host, violates no policy, keeps no key, and reports no error', async () => {
    const elsewhere = requests.filter(
      ({ url }) => !url.startsWith(`${server.url}/`) && !url.startsWith('data:'),
    );
    expect(elsewhere).toEqual([]);
    expect(await page.evaluate('violations')).toEqual([]);
    const stored = await page.evaluate<string>(STORED);
    expect(stored).not.toContain(server.firstKey);
    expect(complaints).toEqual([]);
  });
});
