/** Payments over both kinds of live state: addresses that two nodes give out, a restart, and a chain that one node follows. */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import type {
  BlockRef,
  Call,
  ChainAdapter,
  ChainEvent,
  FollowFrom,
} from '../../../src/chains/families/port.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { type LiveState, overLiveStates, replicatedState } from '../../setup/live-state.ts';
import { hasRedis, startRedis } from '../../setup/redis.ts';
import { redisLeases } from '../x402/world.ts';
import { SimChain } from './sim-chain.ts';
import { type CryptoWorld, eventually, openCryptoWorld } from './world.ts';

/** An adapter that delivers the blocks of a simulated chain as they appear. */
function followed(sim: SimChain): ChainAdapter {
  return {
    ...sim.adapter(),
    async *subscribe({ known }: FollowFrom, { signal }: Call): AsyncGenerator<ChainEvent> {
      let position: BlockRef[] = [...known];
      while (!signal.aborted) {
        for (const event of sim.eventsAfter(position)) {
          yield event;
          if (event.type === 'block') position.push(event.block);
          else position = position.filter(({ height }) => height <= (event.ancestor?.height ?? -1));
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  } as unknown as ChainAdapter;
}

/** An adapter whose node does not answer. */
const AWAY = {
  async head() {
    throw new AssayError('CHAIN_UNREACHABLE', 'No endpoint of ETH is reachable.');
  },
  // biome-ignore lint/correctness/useYield: no event arrives.
  async *subscribe({ onFault }: FollowFrom, { signal }: Call): AsyncGenerator<ChainEvent> {
    onFault?.(new AssayError('CHAIN_UNREACHABLE', 'No endpoint of ETH is reachable.'));
    await once(signal, 'abort');
  },
};

describe.skipIf(!hasRedis)('on two nodes', () => {
  it('follows a chain on another node if the holder of the lease does not reach it', async () => {
    const redis = await startRedis();
    const folders = [tempFolder(), tempFolder()] as const;
    const states = [replicatedState(redis, 'two'), replicatedState(redis, 'two')] as const;
    const sim = new SimChain('ETH', false);
    const worlds: CryptoWorld[] = [];
    const start = async (at: 0 | 1, change: object): Promise<CryptoWorld> => {
      const adapter = { ...followed(sim), ...change } as ChainAdapter;
      const world = await openCryptoWorld({
        ...{ folder: folders[at].path, openStore: states[at].openStore, adapters: { ETH: adapter } },
        ...{ leases: redisLeases(states[at], `node${at}`), patienceMs: 500 },
        terms: { depthOf: () => ({ blocks: 2 }) },
      });
      world.billing.open();
      world.crypto.store();
      await states[at].ready();
      worlds.push(world);
      return world;
    };
    const [away, other] = [await start(0, AWAY), await start(1, {})];
    const invoice = await other.order('ETH');
    await away.crypto.start();
    // The first node holds the lease.
    await eventually(
      () => away.crypto.watcher().states().length === 1,
      () => away.crypto.watcher().states(),
    );
    await other.crypto.start();
    const transaction = {
      id: sim.newId(),
      from: 'sender',
      to: invoice.details.crypto!.address,
      asset: 'ETH',
    };
    sim.pool.set(transaction.id, { ...transaction, amount: BigInt(invoice.due.amount) });
    sim.mine(() => true, Date.now());
    sim.mine(() => true, Date.now());
    await eventually(
      () => other.invoice(invoice).state === 'SETTLED',
      () => other.invoice(invoice),
      30_000,
    );
    expect(await other.credits()).toBe(100);
    for (const world of worlds) await world.close();
    for (const state of states) await state.close();
    for (const folder of folders) folder.remove();
    await redis.stop();
  }, 60_000);
});

overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let sim: SimChain;
  let world: CryptoWorld;
  const open = async (): Promise<CryptoWorld> => {
    const opened = await openCryptoWorld({
      ...{ folder: folder.path, openStore: state.openStore, adapters: { ETH: followed(sim) } },
      terms: { depthOf: () => ({ blocks: 2 }) },
    });
    opened.billing.open();
    opened.crypto.store();
    await state.ready();
    return opened;
  };
  beforeEach(async () => {
    folder = tempFolder();
    state = makeState();
    sim = new SimChain('ETH', false);
    world = await open();
  });
  afterEach(async () => {
    await world.close();
    await state.close();
    folder.remove();
  });
  const pay = (invoice: Invoice, amount = BigInt(invoice.due.amount)): void => {
    const id = sim.newId();
    const to = invoice.details.crypto!.address;
    sim.pool.set(id, { id, from: 'sender', to, asset: 'ETH', amount });
    sim.mine(() => true, Date.now());
    sim.mine(() => true, Date.now());
  };
  const settled = (invoice: Invoice) =>
    eventually(
      () => world.invoice(invoice).state === 'SETTLED',
      () => world.invoice(invoice),
    );

  it('gives addresses out once, also at the same time, and books what was paid while it was stopped', async () => {
    const invoices = await Promise.all(Array.from({ length: 8 }, () => world.order('ETH')));
    const addresses = invoices.map(({ details }) => details.crypto!.address);
    expect(new Set(addresses).size).toBe(8);
    expect(invoices.map(({ details }) => details.crypto!.index).toSorted((a, b) => a! - b!)).toEqual([
      ...Array.from({ length: 8 }).keys(),
    ]);
    await world.crypto.start();
    pay(invoices[0]!);
    await settled(invoices[0]!);
    await world.close();
    pay(invoices[1]!);
    world = await open();
    await world.crypto.start();
    await settled(invoices[1]!);
    expect(await world.credits()).toBe(200);
    expect((await world.order('ETH')).details.crypto!.index).toBe(8);
  });

  it('books a payment that is delivered again after its position was not stored', async () => {
    const invoice = await world.order('ETH');
    await world.crypto.start();
    pay(invoice);
    await settled(invoice);
    await world.crypto.stop();
    await world.crypto.store().revert('ETH', 0, null);
    await world.close();
    world = await open();
    await world.crypto.start();
    pay(invoice, 1n);
    await eventually(
      () => world.invoice(invoice).payments.length === 2,
      () => world.invoice(invoice),
    );
    expect(await world.credits()).toBe(100);
  });

  it('watches an address until late payments are no longer looked for', async () => {
    const invoice = await world.order('ETH');
    await world.crypto.start();
    expect(world.crypto.watcher().watched).toBe(1);
    expect([...world.crypto.store().all()]).toMatchObject([
      { invoiceId: invoice.id, untilMs: invoice.monitorUntilMs },
    ]);
  });
});
