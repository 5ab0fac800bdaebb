/** Invoices in ETH and in a token on a real EVM node: confirmations, reorgs, parts, surplus, late and wrong payments, and their senders. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTerms } from '../../../src/billing/crypto/terms.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { openFor } from '../../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, callData, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { type CryptoWorld, eventually, openCryptoWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'etherscan' } };
const shipped = readTerms();

describe.skipIf(!hasAnvil)('invoices on a real EVM node', () => {
  let anvil: Anvil;
  let token: string;
  let adapter: ChainAdapter;
  let folder: TempFolder;
  let world: CryptoWorld;
  let terms: Partial<typeof shipped>;

  beforeAll(async () => {
    anvil = await startAnvil();
    token = parseAddress('ETH', await anvil.deploy('Token')).canonical;
  });
  afterAll(() => anvil?.stop());
  beforeEach(async () => {
    // The token of the test instead of the one on the main network.
    const assets = shipped.assets.map((one) =>
      one.currency === 'ETH:USDC' ? { ...one, asset: token } : one,
    );
    terms = { assets, depthOf: () => ({ blocks: 3 }) };
    folder = memoryFolder();
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
    await open();
  });
  afterEach(async () => {
    await world.close();
    await adapter.close();
    folder.remove();
  });

  async function open(): Promise<void> {
    world = await openCryptoWorld({ folder: folder.path, adapters: { ETH: adapter }, terms, known: [token] });
    world.usd[token] = 1;
    await world.crypto.start();
  }
  const address = (invoice: Invoice): string => invoice.details.crypto!.address;
  const pay = (invoice: Invoice, value: bigint) => anvil.send({ to: address(invoice), value });
  const state = (invoice: Invoice) => world.invoice(invoice);
  const is = (invoice: Invoice, wanted: string) =>
    eventually(
      () => state(invoice).state === wanted,
      () => state(invoice),
    );
  const due = (invoice: Invoice): bigint => BigInt(invoice.due.amount);

  it('books the credits within a second of the confirming block', async () => {
    const invoice = await world.order('ETH');
    expect(invoice).toMatchObject({
      state: 'NEW',
      due: { asset: 'ETH', amount: '99500000000000000', decimals: 18 },
    });
    await pay(invoice, due(invoice));
    await anvil.mine();
    await is(invoice, 'PROCESSING');
    expect(await world.credits()).toBe(0);
    await anvil.mine();
    const mined = performance.now();
    await anvil.mine();
    await is(invoice, 'SETTLED');
    const took = performance.now() - mined;
    console.log(`block to credited: ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(20_000);
    expect(await world.credits()).toBe(100);
    expect(state(invoice).payments).toMatchObject([
      { state: 'CONFIRMED', credits: 100, facts: { payers: ACCOUNTS[0], verdict: 'CLEAR' } },
    ]);
    expect(await world.faults()).toEqual([]);
    expect(await world.crypto.compareWithChains()).toMatchObject({ payments: 1, addresses: 1, faults: [] });
  });

  it('adds parts up, books a surplus, and gives no address twice', async () => {
    const [first, second] = [await world.order('ETH'), await world.order('ETH')];
    expect(address(first)).not.toBe(address(second));
    await pay(first, due(first) / 4n);
    await anvil.mine(3);
    await eventually(
      () => state(first).exceptions.includes('PAID_PARTIAL'),
      () => state(first),
    );
    await pay(first, due(first) - due(first) / 4n);
    await pay(second, due(second) * 2n);
    await anvil.mine(3);
    await is(first, 'SETTLED');
    await is(second, 'SETTLED');
    expect(state(first)).toMatchObject({ exceptions: [], payments: [{ credits: 25 }, { credits: 75 }] });
    expect(state(second)).toMatchObject({ exceptions: ['PAID_OVER'], payments: [{ credits: 200 }] });
    expect(await world.credits()).toBe(300);
    expect(world.crypto.keyUses().find(({ key }) => key === 'EVM')).toMatchObject({ next: 2, range: [0, 1] });
    expect(await world.faults()).toEqual([]);
  });

  it('accepts a payment that is short by the tolerance, and no more', async () => {
    const [short, shorter] = [await world.order('ETH'), await world.order('ETH')];
    await pay(short, due(short) - (due(short) * 50n) / 10_000n);
    await pay(shorter, due(shorter) - (due(shorter) * 50n) / 10_000n - 1n);
    await anvil.mine(3);
    await is(short, 'SETTLED');
    await eventually(
      () => state(shorter).exceptions.includes('PAID_PARTIAL'),
      () => state(shorter),
    );
    expect(await world.credits()).toBe(100);
  });

  it('takes credits back when a reorg removes the payment, and books them again with it', async () => {
    const invoice = await world.order('ETH');
    const hash = await pay(invoice, due(invoice));
    await anvil.mine(3);
    await is(invoice, 'SETTLED');
    await anvil.reorg(3);
    await anvil.mine();
    await is(invoice, 'PROCESSING');
    await eventually(
      async () => (await world.credits()) === 0,
      () => state(invoice),
    );
    expect(hash).toBe(state(invoice).payments[0]!.facts.transaction);
    await anvil.mine(12);
    // Anvil drops the transactions of replaced blocks.
    await eventually(
      () => state(invoice).payments[0]!.state === 'REVERTED',
      () => state(invoice),
    );
    expect(state(invoice)).toMatchObject({
      state: 'NEW',
      entries: [{ cause: 'PURCHASE' }, { cause: 'REVERSAL' }],
    });
    await pay(invoice, due(invoice));
    await anvil.mine(3);
    await eventually(
      async () => (await world.credits()) === 100,
      () => state(invoice),
    );
    expect(state(invoice).state).toBe('SETTLED');
    expect(await world.faults()).toEqual([]);
  });

  it('counts only the token of the invoice, and reports another asset', async () => {
    const invoice = await world.order('ETH:USDC');
    expect(invoice.due).toEqual({ asset: 'ETH:USDC', amount: '199000000', decimals: 6 });
    await pay(invoice, 5n);
    const data = callData('transfer', address(invoice), due(invoice));
    await anvil.mine(3);
    await eventually(
      () => state(invoice).payments.length === 1,
      () => state(invoice),
    );
    expect(state(invoice)).toMatchObject({
      state: 'NEW',
      payments: [{ state: 'WRONG_ASSET', asset: 'ETH:ETH' }],
    });
    await anvil.send({ to: token, data });
    await anvil.mine(3);
    await is(invoice, 'SETTLED');
    expect(await world.credits()).toBe(100);
    expect(await world.faults()).toEqual([]);
    expect((await world.crypto.compareWithChains()).faults).toEqual([]);
  });

  it('settles a late payment at the current rate', async () => {
    const invoice = await world.order('ETH');
    world.usd.ETH = 1_000;
    await anvil.rpc('evm_setNextBlockTimestamp', Math.ceil(invoice.expiresAtMs / 1000) + 1);
    await pay(invoice, due(invoice));
    await anvil.mine(3);
    await eventually(
      () => state(invoice).exceptions.includes('PAID_PARTIAL'),
      () => state(invoice),
    );
    expect(state(invoice).payments[0]).toMatchObject({
      value: String(due(invoice) / 2n),
      amount: invoice.due.amount,
    });
    await pay(invoice, due(invoice));
    await anvil.mine(3);
    await is(invoice, 'SETTLED');
    expect(state(invoice).exceptions).toContain('PAID_LATE');
    expect(await world.credits()).toBe(100);
    await anvil.stop();
    anvil = await startAnvil();
    token = parseAddress('ETH', await anvil.deploy('Token')).canonical;
  });

  it('holds the payment of a sanctioned sender, and one while the lists are stale', async () => {
    world.sanctioned.add(ACCOUNTS[1]);
    const [bad, stale] = [await world.order('ETH'), await world.order('ETH')];
    await anvil.send({ from: ACCOUNTS[1], to: address(bad), value: due(bad) });
    await anvil.mine(3);
    await is(bad, 'HELD');
    expect(state(bad).reason).toContain(ACCOUNTS[1]);
    world.stale = 'The lists were not checked for 3 days.';
    await pay(stale, due(stale));
    await anvil.mine(3);
    await is(stale, 'HELD');
    expect(await world.credits()).toBe(0);
    world.stale = null;
    await is(stale, 'SETTLED');
    world.sanctioned.clear();
    expect(state(bad).state).toBe('HELD');
    await world.billing
      .settlement()
      .apply('acc_1', bad.id, { kind: 'release', paymentId: state(bad).payments[0]!.id });
    await is(bad, 'SETTLED');
    expect(await world.credits()).toBe(200);
  });

  it('finds payments that were made while it was stopped, and waits for finality if the amount needs it', async () => {
    terms = { ...terms, depthOf: () => ({ tag: 'finalized' }) };
    await world.close();
    await open();
    const invoice = await world.order('ETH');
    await world.close();
    await pay(invoice, due(invoice));
    await anvil.mine(3);
    await open();
    await is(invoice, 'PROCESSING');
    await anvil.mine(80);
    await is(invoice, 'SETTLED');
    expect(await world.credits()).toBe(100);
  });

  it('waits for the confirmations of all that is paid, also by a surplus in several payments', async () => {
    terms = { ...terms, depthOf: (_, usdCents) => ({ blocks: usdCents < 100_000 ? 3 : 6 }) };
    await world.close();
    await open();
    const invoice = await world.order('ETH');
    await pay(invoice, due(invoice));
    await anvil.mine();
    // 199 USD, and 1,990 USD more: the second payment changes what the first one needs.
    await pay(invoice, due(invoice) * 10n);
    await anvil.mine(3);
    await eventually(
      () => state(invoice).payments.length === 2,
      () => state(invoice),
    );
    await world.close();
    await open();
    await anvil.mine();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(state(invoice)).toMatchObject({ state: 'PROCESSING', exceptions: ['PAID_OVER'] });
    expect(await world.credits()).toBe(0);
    await anvil.mine(2);
    await is(invoice, 'SETTLED');
    // The surplus is a booking of its own, after that of the price.
    await expect.poll(() => world.credits(), { timeout: 20_000 }).toBe(1_100);
    expect(await world.faults()).toEqual([]);
  });

  it('refuses an invoice without a rate, a node or an offered currency, and takes no address for it', async () => {
    delete world.usd.ETH;
    await expect(world.order('ETH')).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'currency' });
    await expect(world.order('BTC')).rejects.toThrow(/currency: must be one of ETH, ETH:USDC, ETH:USDT/);
    expect(world.crypto.keyUses().find(({ key }) => key === 'EVM')?.next).toBe(0);
  });
});
