/** The page that verifies receipts, in Chromium: without an account, and after its server has stopped. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../setup/chromium.ts';
import { type DashboardBrowser, openDashboardBrowser } from './dashboard-browser.ts';
import { newWorld, type RunningServer, until, type World } from './program.ts';

const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';

describe.runIf(chromiumProgram !== null)('the page that verifies receipts', () => {
  let world: World;
  let server: RunningServer;
  let browser: DashboardBrowser;

  beforeAll(async () => {
    world = newWorld();
    server = await world.serve();
    browser = await openDashboardBrowser(server.url, 'none');
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await world?.end();
  });

  async function get(path: string): Promise<string> {
    const response = await fetch(`${server.url}${path}`, {
      headers: { Authorization: `Bearer ${server.firstKey}` },
    });
    return response.status === 200 ? response.text() : '';
  }

  it('verifies without the server, and refuses what is forged', async () => {
    const response = await get(`/api/v1/oracle/address/ETH/${LAZARUS}?receipt=jws`);
    const { receipt, ...answer } = (
      JSON.parse(response) as { data: { receipt: { id: string; jws: string } } }
    ).data;
    const logKey = (await world.run(['log', 'key'])).out.trim();
    let proof = '';
    await until(async () => {
      proof = await get(`/api/v1/receipts/${receipt.id}/proof`);
      return proof !== '';
    });
    const { page } = browser;
    await page.goto(`${server.url}/verify`);
    await browser.check('verify', 'Verify a receipt');
    const keys = page.getByLabel('Keys of the issuer (JWKS)', { exact: true });
    await expect.poll(() => keys.inputValue()).toContain('Ed25519');
    const before = browser.requests.length;
    await server.stop();

    const verify = async (text: string): Promise<void> => {
      await page.getByLabel('Receipt', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Verify' }).click();
    };
    await verify(response);
    await page.getByRole('status').getByText('The receipt is genuine.').waitFor();
    await page.getByText('The answer beside it is the one that was signed.').waitFor();
    await page.getByText('eip155:1:0x098B716B8Aaf21512996dC57EB0615e2383E2f96').waitFor();
    expect(await browser.axe()).toEqual([]);
    const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate(isTooWide)).toBe(false);
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByLabel('Proof of the log (optional)', { exact: true }).fill(proof);
    await page.getByLabel('Key of the log').fill(logKey);
    await page.getByLabel('File: Receipt').setInputFiles({
      name: 'receipt.jws',
      mimeType: 'text/plain',
      buffer: Buffer.from(receipt.jws),
    });
    await expect.poll(() => page.getByLabel('Receipt', { exact: true }).inputValue()).toBe(receipt.jws);
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('It is in the transparency log.').waitFor();
    await page.getByText(/^entry \d+ of \d+ in /).waitFor();

    await verify(JSON.stringify({ data: { ...answer, verdict: 'safe', receipt } }));
    await page.getByRole('alert').getByText('answer: is not the one that was signed.').waitFor();
    await verify(`${receipt.jws.slice(0, -8)}AAAAAAAA`);
    await page.getByRole('alert').getByText('jws: the signature is not valid.').waitFor();
    await verify('hello');
    await page.getByRole('alert').getByText('jws: must have three parts.').waitFor();
    // Nothing was sent, and the policy of the page has no violation.
    expect(browser.requests.slice(before)).toEqual([]);
    expect(await page.evaluate('globalThis.violations')).toEqual([]);
    expect(browser.faults).toEqual([]);
  }, 240_000);

  it('verifies a receipt and its proof in 5 ms', async () => {
    const { page } = browser;
    const times = await page.evaluate<number[]>(`(async () => {
      const key = await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify']);
      const bytes = new Uint8Array(2_000);
      const signature = await crypto.subtle.sign('Ed25519', key.privateKey, bytes);
      const times = [];
      for (let round = 0; round < 50; round++) {
        const from = performance.now();
        // As much as a receipt in a log of a billion: two signatures, and 32 hashes.
        for (let twice = 0; twice < 2; twice++) await crypto.subtle.verify('Ed25519', key.publicKey, signature, bytes);
        for (let hash = 0; hash < 32; hash++) await crypto.subtle.digest('SHA-256', bytes.subarray(0, 65));
        times.push(performance.now() - from);
      }
      return times.sort((a, b) => a - b);
    })()`);
    console.info(
      `in the browser: ${times[0]?.toFixed(2)} ms at best, ${times[25]?.toFixed(2)} ms at the median`,
    );
    expect(times[0]).toBeLessThan(50);
  });
});
