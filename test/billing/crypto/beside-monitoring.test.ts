/** Payments and watched wallets on one chain of a real node: one pass over its blocks, two positions, and no fault in common. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Invoice } from '../../../src/billing/records.ts';
import { openAdapter } from '../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter, ChainEvent } from '../../../src/chains/families/port.ts';
import { WatchedAddresses } from '../../../src/chains/watched-addresses.ts';
import type { Monitoring } from '../../../src/monitoring/open.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { openFor } from '../../conformance/adapter.ts';
import { openedMonitoring } from '../../monitoring/opened.ts';
import { type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { type CryptoWorld, eventually, openCryptoWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'etherscan' } };
const WALLET = '0x00000000000000000000000000000000000a11ce';

/** Counts the requests for whole blocks, by height. */
async function startCounter(target: string) {
  const counts = new Map<number, number>();
  const server: Server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', async () => {
      const body = Buffer.concat(parts).toString();
      for (const { method, params } of [JSON.parse(body)].flat())
        if (method === 'eth_getBlockByNumber' && params[1] === true)
          counts.set(Number(params[0]), (counts.get(Number(params[0])) ?? 0) + 1);
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(target, { method: 'POST', headers, body });
      outgoing.writeHead(answer.status, headers);
      outgoing.end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe.skipIf(!hasAnvil)('payments beside watched wallets', () => {
  let anvil: Anvil;
  let counter: Awaited<ReturnType<typeof startCounter>>;
  let folder: TempFolder;
  let addresses: WatchedAddresses;
  const adapters: ChainAdapter[] = [];
  let world: CryptoWorld;
  let monitoring: Monitoring;
  let walletId: string;
  /** Throws in the listener's own work for a block. */
  let ingest: (event: ChainEvent) => void;

  beforeAll(async () => {
    anvil = await startAnvil();
    counter = await startCounter(anvil.url);
  });
  afterAll(async () => {
    counter?.stop();
    await anvil?.stop();
  });
  const adapterOf = (): ChainAdapter => {
    const adapter = openFor(family, 'ETH', { rpc: [counter.url] });
    adapters.push(adapter);
    return adapter;
  };
  async function openPayments(adapter: ChainAdapter): Promise<void> {
    world = await openCryptoWorld({
      ...{ folder: folder.path, adapters: { ETH: adapter }, addresses },
      terms: { depthOf: () => ({ blocks: 3 }) },
    });
    await world.crypto.start();
  }
  async function open(isShared = true): Promise<void> {
    folder = memoryFolder();
    addresses = new WatchedAddresses();
    ingest = () => {};
    const adapter = adapterOf();
    monitoring = openedMonitoring(folder.path, {
      adapter: async () => adapter,
      addresses: isShared ? addresses : new WatchedAddresses(),
      ingest: { apply: async (_chain, event) => ingest(event) },
    });
    monitoring.start({ follows: true, sends: false, bills: false });
    await openPayments(isShared ? adapter : adapterOf());
    const { id } = await monitoring.service.register('acc_1', { walletAddress: WALLET, chain: 'ETH' });
    walletId = id;
  }
  beforeEach(() => counter.counts.clear());
  afterEach(async () => {
    await world.close();
    await monitoring.close();
    for (const adapter of adapters.splice(0)) await adapter.close();
    folder.remove();
  });

  const height = async (): Promise<number> => Number(await anvil.rpc('eth_blockNumber'));
  const listenerAt = (): number => monitoring.listener.states()[0]?.height ?? -1;
  const paymentsAt = (): number => world.crypto.watcher().states()[0]?.height ?? -1;
  const both = async (): Promise<void> => {
    const head = await height();
    await eventually(
      () => listenerAt() === head && paymentsAt() === head,
      () => ({ head, listener: monitoring.listener.states(), payments: world.crypto.watcher().states() }),
    );
  };
  const transactions = () =>
    monitoring.service.store.transactions('acc_1', walletId, { limit: 50, offset: 0 }).transactions;
  const payBoth = async (invoice: Invoice): Promise<void> => {
    await anvil.send({ to: invoice.details.crypto!.address, value: BigInt(invoice.due.amount) });
    await anvil.send({ to: WALLET, value: 5n });
    await anvil.mine(3);
  };
  const is = (invoice: Invoice, wanted: string) =>
    eventually(
      () => world.invoice(invoice).state === wanted,
      () => world.invoice(invoice),
    );
  /** Mines until both followers are at the head, so that further blocks are new to both. */
  async function joined(): Promise<void> {
    await anvil.mine(1);
    await both();
    counter.counts.clear();
  }

  it('requests each block once for both', async () => {
    await open();
    const invoice = await world.order('ETH');
    await joined();
    const from = await height();
    await payBoth(invoice);
    for (let block = 0; block < 10; block++) {
      await anvil.mine();
      await both();
    }
    await is(invoice, 'SETTLED');
    expect(transactions()).toMatchObject([{ direction: 'in', amount: '0.000000000000000005' }]);
    expect([...counter.counts].toSorted(([a], [b]) => a - b)).toEqual(
      Array.from({ length: 13 }, (_, at) => [from + at + 1, 1]),
    );
    expect(await world.faults()).toEqual([]);
  });

  it('follows for each alone on two nodes', async () => {
    await open(false);
    const invoice = await world.order('ETH');
    await joined();
    await payBoth(invoice);
    await is(invoice, 'SETTLED');
    await both();
    expect(transactions()).toHaveLength(1);
    expect(new Set(counter.counts.values())).toEqual(new Set([2]));
  });

  it('continues each position after a restart in which one lags, and joins again', async () => {
    await open();
    const [first, second] = [await world.order('ETH'), await world.order('ETH')];
    await joined();
    await payBoth(first);
    await both();
    const stoppedAt = paymentsAt();
    await world.close();
    await payBoth(second);
    await anvil.mine(20);
    await eventually(
      async () => listenerAt() === (await height()),
      () => monitoring.listener.states(),
    );
    expect(transactions()).toHaveLength(2);
    counter.counts.clear();
    await openPayments(adapters[0]!);
    await is(first, 'SETTLED');
    await is(second, 'SETTLED');
    await both();
    // It read what it had missed, and nothing before that.
    expect(Math.min(...counter.counts.keys())).toBe(stoppedAt + 1);
    expect(await world.credits()).toBe(200);
    expect(transactions()).toHaveLength(2);
    await joined();
    await anvil.mine(4);
    await both();
    expect([...counter.counts.values()]).toEqual([1, 1, 1, 1]);
  });

  it('reverts a reorg for both', async () => {
    await open();
    const invoice = await world.order('ETH');
    await joined();
    await payBoth(invoice);
    await is(invoice, 'SETTLED');
    await both();
    expect(transactions()).toMatchObject([{ reorged: false }]);
    await anvil.reorg(3);
    await anvil.mine(1);
    await is(invoice, 'PROCESSING');
    await eventually(() => transactions()[0]?.reorged === true, transactions);
    await anvil.mine(14);
    await is(invoice, 'NEW');
    await both();
    expect(await world.credits()).toBe(0);
    await payBoth(invoice);
    await is(invoice, 'SETTLED');
    await both();
    expect(transactions().filter(({ reorged }) => !reorged)).toHaveLength(1);
  });

  it('goes on with payments while the listener fails, and the other way round', async () => {
    await open();
    const [first, second] = [await world.order('ETH'), await world.order('ETH')];
    await joined();
    const failedAt = await height();
    ingest = () => {
      throw new Error('the disk of the graph is full');
    };
    await payBoth(first);
    await is(first, 'SETTLED');
    expect(listenerAt()).toBe(failedAt);
    expect(transactions()).toEqual([]);
    ingest = () => {};
    await both();
    expect(transactions()).toHaveLength(1);

    const store = world.crypto.store();
    const { advance } = store;
    store.advance = () => Promise.reject(new Error('the disk of payments is full'));
    await payBoth(second);
    await eventually(async () => listenerAt() === (await height()), listenerAt);
    expect(transactions()).toHaveLength(2);
    expect(world.invoice(second).state).toBe('PROCESSING');
    expect(paymentsAt()).toBeLessThan(await height());
    store.advance = advance;
    await is(second, 'SETTLED');
    await both();
    expect(await world.credits()).toBe(200);
    expect(await world.faults()).toEqual([]);
  });
});
