/** The stored position of a followed chain: when it is stored, and what a start does with payments above it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { ChainPayments } from '../../../src/billing/crypto/chain-payments.ts';
import { CRYPTO_LIMITS } from '../../../src/billing/crypto/limits.ts';
import { PaymentBook } from '../../../src/billing/crypto/payment-book.ts';
import { readTerms } from '../../../src/billing/crypto/terms.ts';
import { WatchTable } from '../../../src/billing/crypto/watch-table.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import type { BlockRef } from '../../../src/chains/families/port.ts';
import { SimChain } from './sim-chain.ts';
import { type CryptoWorld, openCryptoWorld } from './world.ts';

const DEPTH = 3;
const START_MS = Date.UTC(2026, 10, 27, 9);

describe('the position of a chain that is followed for payments', () => {
  let folder: string;
  let sim: SimChain;
  let world: CryptoWorld;
  let invoice: Invoice;
  let nowMs: number;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START_MS };

  beforeEach(async () => {
    nowMs = START_MS;
    folder = mkdtempSync(join(tmpdir(), 'assay-position-'));
    sim = new SimChain('ETH', false);
    world = await openCryptoWorld({
      ...{ folder, clock, adapters: { ETH: sim.adapter() } },
      terms: { depthOf: () => ({ blocks: DEPTH }), assets: readTerms().assets },
    });
    invoice = await world.order('ETH');
  });
  afterEach(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts to follow, as after a kill of the process: only what is stored is left. Returns a function that reads to the head. */
  async function start(): Promise<() => Promise<void>> {
    const table = new WatchTable();
    const book = new PaymentBook('ETH', {
      invoices: () => world.billing.store(),
      settlement: () => world.billing.settlement(),
      depthOf: () => ({ blocks: DEPTH }),
      rateOf: (chain, asset) => world.crypto.rateOf(chain, asset),
      screen: () => ({ kind: 'CLEAR', reason: null }),
      ...{ isKnownAsset: () => true, payersOf: async () => null, log: silentLogger },
    });
    for (const watched of world.crypto.store().all()) {
      table.add(watched);
      book.load(watched);
    }
    const follower = new ChainPayments(book, {
      ...{
        adapter: sim.adapter(),
        store: world.crypto.store(),
        table,
        clock,
        log: silentLogger,
        isOwn: true,
      },
    });
    const given: BlockRef[] = [...(await follower.begin())];
    return async () => {
      for (const event of sim.eventsAfter(given)) {
        await follower.apply(event, null);
        if (event.type === 'block') given.push({ height: event.block.height, hash: event.block.hash });
        else given.length -= event.dropped.length;
      }
    };
  }
  const mine = (count: number): void => {
    for (let block = 0; block < count; block++) sim.mine(() => true, nowMs);
  };
  const pay = (): void => {
    const id = sim.newId();
    const { address } = invoice.details.crypto!;
    sim.pool.set(id, { id, from: 'sender', to: address, asset: 'ETH', amount: BigInt(invoice.due.amount) });
  };
  const stored = (): number => world.crypto.store().blocks('ETH').at(-1)?.height ?? -1;

  it('is stored for 32 blocks together, or after a minute', async () => {
    const follow = await start();
    mine(1);
    await follow();
    const first = stored();
    expect(first).toBe(sim.head.height);
    mine(CRYPTO_LIMITS.unstoredBlocksMax - 1);
    await follow();
    expect(stored()).toBe(first);
    mine(1);
    await follow();
    expect(stored()).toBe(sim.head.height);
    // All of them are stored: each shows a reorg at its height.
    expect(world.crypto.store().blocks('ETH')).toHaveLength(sim.blocks.length);
    mine(1);
    await follow();
    expect(stored()).toBe(sim.head.height - 1);
    nowMs += CRYPTO_LIMITS.unstoredMs;
    mine(1);
    await follow();
    expect(stored()).toBe(sim.head.height);
  });

  it('is stored before a payment is confirmed, which a start does not read again', async () => {
    let follow = await start();
    mine(1);
    await follow();
    pay();
    mine(DEPTH - 1);
    await follow();
    expect(stored()).toBe(sim.head.height - DEPTH + 1);
    expect(world.invoice(invoice).state).toBe('PROCESSING');
    mine(1);
    await follow();
    expect([stored(), world.invoice(invoice).state]).toEqual([sim.head.height, 'SETTLED']);
    follow = await start();
    await follow();
    expect(world.invoice(invoice).entries).toHaveLength(1);
    expect(await world.credits()).toBe(100);
  });

  it('books a payment above it once, although its block is read again after a kill', async () => {
    let follow = await start();
    mine(1);
    await follow();
    pay();
    mine(1);
    await follow();
    expect(stored()).toBeLessThan(sim.head.height);
    follow = await start();
    // Nothing is confirmed by a block that was not read again.
    expect(world.invoice(invoice).state).toBe('PROCESSING');
    mine(DEPTH - 1);
    await follow();
    expect(world.invoice(invoice)).toMatchObject({ state: 'SETTLED' });
    expect(world.invoice(invoice).entries).toHaveLength(1);
    expect(await world.credits()).toBe(100);
    expect(await world.faults()).toEqual([]);
  });

  it('never books a payment above it whose block the chain reverted while the process was killed', async () => {
    let follow = await start();
    mine(1);
    await follow();
    pay();
    mine(1);
    await follow();
    expect(world.invoice(invoice).state).toBe('PROCESSING');
    expect(stored()).toBe(sim.head.height - 1);
    sim.reorg(1, () => false);
    mine(1);
    follow = await start();
    mine(DEPTH + CRYPTO_LIMITS.reinclusionBlocks);
    await follow();
    expect(world.invoice(invoice)).toMatchObject({ state: 'NEW', payments: [{ state: 'REVERTED' }] });
    expect(await world.credits()).toBe(0);
    expect(await world.faults()).toEqual([]);
  });
});
