/** Paying an invoice in USDC by a signature on the page Credits, in Chromium with a stand-in for the extension of a wallet (EIP-1193). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHAIN_ID,
  deployToken,
  newPayer,
  RELAY,
  RELAY_KEY,
  signTyped,
  type Token,
} from '../billing/x402/world.ts';
import { hasAnvil } from '../setup/anvil.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { DESKTOP, openTab, type Tab } from './dashboard-tab.ts';
import { call, openPaymentsWorld, type PaymentsWorld } from './payments-world.ts';
import type { RunningServer } from './program.ts';

/** More blocks than anvil counts until a block is safe. */
const SAFE = 80;

describe.runIf(chromiumProgram !== null && hasAnvil)('paying by a signature on the page Credits', () => {
  let of: PaymentsWorld;
  let token: Token;
  let payer: Wallet;
  let server: RunningServer;
  let browser: Browser;
  let tab: Tab;
  /** Methods that the page has called, and the chain that the wallet shows. */
  const methods: string[] = [];
  let isWilling = false;

  /** Answers as wallets do. */
  async function wallet(method: string, params: readonly string[]): Promise<object> {
    methods.push(method);
    if (method === 'eth_requestAccounts') return { result: [payer.address] };
    if (method === 'wallet_switchEthereumChain') return { result: null };
    if (!isWilling) return { error: { code: 4001, message: 'User rejected the request.' } };
    expect(params[0]).toBe(payer.address);
    return { result: await signTyped(payer, { typedData: params[1] ?? '' }) };
  }

  beforeAll(async () => {
    of = await openPaymentsWorld({}, { chain: 'BASE', chainId: CHAIN_ID });
    token = await deployToken(of.anvil);
    payer = await newPayer(token, 10n ** 12n);
    const keyFile = join(of.world.folder, 'relay.key');
    writeFileSync(keyFile, RELAY_KEY, { mode: 0o600 });
    Object.assign(of.environment, {
      ...{ ASSAY_RELAY_KEY_FILE: keyFile, ASSAY_RELAY_BALANCE_MAX: '1000000', ASSAY_GASLESS_CHAINS: 'BASE' },
    });
    server = await of.serve();
    const [name, value] = (await of.login(server)).split('=') as [string, string];
    browser = await startChromium();
    const context = await browser.newContext(DESKTOP);
    await context.addCookies([{ name, value, url: server.url }]);
    await context.exposeFunction('walletOfTest', wallet);
    await context.addInitScript(`window.ethereum = {
      async request({ method, params }) {
        const { result, error } = await window.walletOfTest(method, params);
        if (error !== undefined) throw error;
        return result;
      },
    };`);
    tab = await openTab(context);
    await tab.page.goto(`${server.url}/billing`);
  });
  afterAll(async () => {
    await browser?.close();
    await of?.end();
  });

  it('asks the wallet for the signature, shows its refusal, and follows the payment until it is booked', async () => {
    const { page } = tab;
    const currency = page.getByRole('combobox', { name: 'Cryptocurrency' });
    const sign = page.getByRole('button', { name: 'Sign the payment in this browser' });
    await currency.selectOption('BASE:ETH');
    await page.getByRole('button', { name: 'Create invoice' }).click();
    await page.getByLabel('QR code of the payment').waitFor();
    // Coins are not paid by a signature.
    expect(await sign.count()).toBe(0);
    await currency.selectOption('BASE:USDC');
    await page.getByRole('button', { name: 'Create invoice' }).click();
    await sign.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'User rejected the request.' }).waitFor();
    await tab.check('/billing with a refused signature', 'Credits');
    isWilling = true;
    await sign.click();
    await page.getByRole('status').filter({ hasText: 'Signed.' }).waitFor();
    const [invoice] = (await call(server, server.firstKey, '/billing/invoices?limit=1')).invoices;
    await expect.poll(() => token.balance(invoice.crypto.address)).toBe(BigInt(invoice.due.amount));
    await of.anvil.mine(SAFE);
    await page.getByRole('status').filter({ hasText: /^Paid/ }).waitFor();
    const usage = await call(server, server.firstKey, '/usage');
    expect(usage.history[0]).toMatchObject({ type: 'PURCHASE', amount: 100 });
    expect(methods.slice(-3)).toEqual([
      'eth_requestAccounts',
      'wallet_switchEthereumChain',
      'eth_signTypedData_v4',
    ]);
    expect(await tab.faults()).toEqual([]);
  });

  it('shows operators the gas-paying account with its balance', async () => {
    const { page } = tab;
    const granted = await of.world.run(['accounts', 'operator', 'local', '--on'], {
      environment: of.environment,
    });
    expect(granted.code, granted.err).toBe(0);
    await page.goto(`${server.url}/operator?tab=chains`);
    const row = page.getByRole('table', { name: 'Gas-paying account' }).getByRole('row').nth(1);
    await row.waitFor();
    const response = await page.request.get(`${server.url}/api/v1/operator/status`);
    const [shown] = (await response.json()).data.gasAccounts;
    expect(shown).toMatchObject({
      chain: 'BASE',
      address: RELAY.toLowerCase(),
      symbol: 'ETH',
      problem: null,
    });
    expect(Number(shown.balance)).toBeGreaterThan(9_000);
    const text = (await row.textContent()) ?? '';
    expect(text).toContain('BASE');
    expect(text).toContain(`${shown.balance} ETH`);
    await tab.check('/operator with the gas-paying account', 'Installation');
    expect(await tab.faults()).toEqual([]);
  });
});
