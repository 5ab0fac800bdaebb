/** Invoices in LTC on a real Litecoin node: the pool, replaced transactions, blocks and reorgs; in BTC on bcoin and in BCH on bcash. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Invoice } from '../../../src/billing/records.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import { openAdapter } from '../../../src/chains/families/utxo/adapter.ts';
import { outputScriptOf } from '../../../src/chains/families/utxo/wire.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { openFor } from '../../conformance/adapter.ts';
import { type Bcoin, hasBcoin, startBcoin } from '../../setup/bcoin.ts';
import { hasLitecoind, type Litecoind, startLitecoind } from '../../setup/litecoind.ts';
import { type CryptoWorld, eventually, openCryptoWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };

const is = (world: CryptoWorld, invoice: Invoice, wanted: string) =>
  eventually(
    () => world.invoice(invoice).state === wanted,
    () => world.invoice(invoice),
  );

describe.skipIf(!hasLitecoind)('invoices in LTC on a real node', () => {
  let node: Litecoind;
  let adapter: ChainAdapter;
  let folder: TempFolder;
  let world: CryptoWorld;

  beforeAll(async () => {
    // Litecoin's nodes accept no replacement by default.
    node = await startLitecoind({ args: ['-txindex=1', '-mempoolreplacement=1'] });
    await node.mine(110);
    // One world for all tests: another one would give the same addresses out again.
    folder = memoryFolder();
    adapter = openFor(family, 'LTC', { rpc: [node.url] });
    world = await openCryptoWorld({
      ...{ folder: folder.path, adapters: { LTC: adapter } },
      terms: { depthOf: () => ({ blocks: 2 }) },
    });
    await world.crypto.start();
  });
  afterAll(async () => {
    await world?.close();
    await adapter?.close();
    await node?.stop();
    folder?.remove();
  });

  /** The address of an invoice as the test network writes it. */
  async function regtestAddress(invoice: Invoice): Promise<string> {
    const script = outputScriptOf(parseAddress('LTC', invoice.details.crypto!.address).key)!;
    const { address, addresses } = await node.rpc<{ address?: string; addresses?: string[] }>(
      'decodescript',
      Buffer.from(script).toString('hex'),
    );
    return address ?? addresses![0]!;
  }
  const coins = (amount: bigint): string =>
    `${amount / 100_000_000n}.${String(amount % 100_000_000n).padStart(8, '0')}`;
  const pay = async (invoice: Invoice, amount: bigint): Promise<string> =>
    node.rpc('sendtoaddress', await regtestAddress(invoice), coins(amount), '', '', false, true);
  const due = (invoice: Invoice): bigint => BigInt(invoice.due.amount);

  it('sees a payment in the pool, books it in its second block, and takes it back in a reorg', async () => {
    const invoice = await world.order('LTC');
    await pay(invoice, due(invoice));
    await is(world, invoice, 'PROCESSING');
    expect(world.invoice(invoice).payments).toMatchObject([{ state: 'PENDING', facts: { height: null } }]);
    await node.mine(2);
    await is(world, invoice, 'SETTLED');
    expect(await world.credits()).toBe(100);
    expect(world.invoice(invoice).payments[0]!.facts.payers).toMatch(/^ltc1|^[LM]/);
    expect((await world.crypto.compareWithChains()).faults).toEqual([]);
    await node.reorg(2);
    await node.mine();
    await eventually(
      async () => (await world.credits()) === 0,
      () => world.invoice(invoice),
    );
    // The transaction is in the pool again, so the next block has it.
    await node.mine(3);
    await eventually(
      async () => (await world.credits()) === 100,
      () => world.invoice(invoice),
    );
    expect(world.invoice(invoice).state).toBe('SETTLED');
    expect(world.invoice(invoice).entries.filter(({ cause }) => cause === 'PURCHASE')).toHaveLength(1);
    expect(await world.faults()).toEqual([]);
  });

  it('returns to NEW if the payment is replaced, and counts the replacement', async () => {
    const invoice = await world.order('LTC');
    const first = await pay(invoice, due(invoice));
    await is(world, invoice, 'PROCESSING');
    const { txid } = await node.rpc<{ txid: string }>('bumpfee', first, { fee_rate: 200 });
    expect(await node.rpc('getrawmempool')).toEqual([txid]);
    await eventually(
      () => world.invoice(invoice).payments.some((one) => one.state === 'REVERTED'),
      () => world.invoice(invoice),
    );
    await node.mine(2);
    await is(world, invoice, 'SETTLED');
    expect(world.invoice(invoice).payments).toMatchObject([
      { state: 'REVERTED', facts: { transaction: first }, credits: 0 },
      { state: 'CONFIRMED', facts: { transaction: txid }, credits: 100 },
    ]);
    expect(await world.credits()).toBe(200);
  });

  it('adds up parts that were paid in one transaction and in several', async () => {
    const [one, two] = [await world.order('LTC'), await world.order('LTC')];
    const half = due(one) / 2n;
    const to = { [await regtestAddress(one)]: coins(half), [await regtestAddress(two)]: coins(due(two)) };
    await node.rpc('sendmany', '', to);
    await node.mine(2);
    await is(world, two, 'SETTLED');
    expect(world.invoice(one).exceptions).toEqual(['PAID_PARTIAL']);
    await pay(one, due(one) - half);
    await node.mine(2);
    await is(world, one, 'SETTLED');
    expect(await world.credits()).toBe(400);
    expect(await world.faults()).toEqual([]);
  });
});

describe.skipIf(!hasBcoin).each([
  ['BTC', 'bcoin'],
  ['BCH', 'bcash'],
] as const)('invoices in %s on %s', (chain, program) => {
  let node: Bcoin;
  beforeAll(async () => {
    node = await startBcoin(program);
    await node.mine(110);
  });
  afterAll(() => node?.stop());

  it('sees a payment in the pool, books it, takes it back in a reorg, and books it again', async () => {
    const folder = memoryFolder();
    const adapter = openFor(family, chain, { rpc: [node.url] });
    const world = await openCryptoWorld({
      ...{ folder: folder.path, adapters: { [chain]: adapter } },
      terms: { depthOf: () => ({ blocks: 2 }) },
    });
    await world.crypto.start();
    try {
      const invoice = await world.order(chain);
      const script = outputScriptOf(parseAddress(chain, invoice.details.crypto!.address).key)!;
      const pay = (): Promise<string> => node.pay(1, [{ script, value: BigInt(invoice.due.amount) }]);
      const txid = await pay();
      await is(world, invoice, 'PROCESSING');
      await node.mine(2);
      await is(world, invoice, 'SETTLED');
      expect(await world.credits()).toBe(100);
      await node.reorg(2);
      await eventually(
        async () => (await world.credits()) === 0,
        () => world.invoice(invoice),
      );
      // These nodes drop transactions of replaced blocks. A wallet sends its transaction again.
      await is(world, invoice, 'NEW');
      expect(world.invoice(invoice).payments).toMatchObject([{ state: 'REVERTED' }]);
      expect(await pay()).toBe(txid);
      await is(world, invoice, 'PROCESSING');
      await node.mine(3);
      await eventually(
        async () => (await world.credits()) === 100,
        () => world.invoice(invoice),
      );
      expect(world.invoice(invoice).entries.filter(({ cause }) => cause === 'PURCHASE')).toHaveLength(1);
      expect(await world.faults()).toEqual([]);
      expect((await world.crypto.compareWithChains()).faults).toEqual([]);
    } finally {
      await world.close();
      await adapter.close();
      folder.remove();
    }
  });
});
