/** Payments that wait for a finalized block: it must be one of the processed blocks, because another node may have named it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { ChainPayments } from '../../../src/billing/crypto/chain-payments.ts';
import { PaymentBook } from '../../../src/billing/crypto/payment-book.ts';
import { readTerms } from '../../../src/billing/crypto/terms.ts';
import { WatchTable } from '../../../src/billing/crypto/watch-table.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import type { BlockRef, ChainAdapter } from '../../../src/chains/families/port.ts';
import { CHAIN_LIMITS } from '../../../src/chains/limits.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { SimChain } from './sim-chain.ts';
import { type CryptoWorld, openCryptoWorld } from './world.ts';

const START_MS = Date.UTC(2026, 10, 27, 9);
const DEPTH = { tag: 'finalized' } as const;

describe('a payment that waits for a finalized block', () => {
  let folder: TempFolder;
  let sim: SimChain;
  let world: CryptoWorld;
  let invoice: Invoice;
  let follower: ChainPayments;
  let known: BlockRef[];
  let nowMs: number;
  let finalized: BlockRef | null;
  /** Blocks of the other node, if it is on another branch. */
  let others: Map<number, string>;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START_MS };

  beforeEach(async () => {
    nowMs = START_MS;
    finalized = null;
    others = new Map();
    folder = memoryFolder();
    sim = new SimChain('ETH', false);
    grow(20);
    const adapter: ChainAdapter = {
      ...sim.adapter(),
      taggedBlock: async () => finalized,
      header: async (height) => {
        const hash = others.get(height) ?? sim.blocks[height]?.hash;
        return hash === undefined ? null : { height, hash, timestampMs: nowMs };
      },
    };
    world = await openCryptoWorld({
      ...{ folder: folder.path, clock, adapters: { ETH: adapter } },
      terms: { depthOf: () => DEPTH, assets: readTerms().assets },
    });
    invoice = await world.order('ETH');
    const table = new WatchTable();
    for (const watched of world.crypto.store().all()) table.add(watched);
    const book = new PaymentBook('ETH', {
      invoices: () => world.billing.store(),
      settlement: () => world.billing.settlement(),
      depthOf: () => DEPTH,
      rateOf: (chain, asset) => world.crypto.rateOf(chain, asset),
      screen: () => ({ kind: 'CLEAR', reason: null }),
      ...{ isKnownAsset: () => true, payersOf: async () => null, log: silentLogger },
    });
    const store = world.crypto.store();
    follower = new ChainPayments(book, { adapter, store, table, clock, log: silentLogger, isOwn: true });
    known = [...(await follower.begin())];
  });
  afterEach(async () => {
    await world.close();
    folder.remove();
  });

  const grow = (count: number): void => {
    for (let n = 0; n < count; n++) sim.mine(() => false, nowMs);
  };
  const refOf = (height: number): BlockRef => {
    const { hash } = sim.blocks[height] as BlockRef;
    return { height, hash };
  };

  /** Pays the invoice in a new block, and returns its height. */
  async function pay(): Promise<number> {
    const { address } = invoice.details.crypto as { address: string };
    const [id, amount] = [sim.newId(), BigInt(invoice.due.amount)];
    sim.pool.set(id, { id, from: `0x${'7'.repeat(40)}`, to: address, asset: 'ETH', amount });
    sim.mine(() => true, nowMs);
    await read();
    return sim.head.height;
  }
  async function read(): Promise<void> {
    for (const event of sim.eventsAfter(known)) {
      await follower.apply(event, null);
      if (event.type === 'block') known.push({ height: event.block.height, hash: event.block.hash });
      else known.length -= event.dropped.length;
    }
  }
  /** Looks for finality, and returns the state of the invoice. */
  async function look(): Promise<string> {
    nowMs += 2_000;
    await follower.check(new AbortController().signal, null);
    return world.invoice(invoice).state;
  }

  it('is confirmed by the block itself or one after it, and not by one before it', async () => {
    const height = await pay();
    expect(await look()).toBe('PROCESSING');
    grow(3);
    await read();
    finalized = refOf(height - 1);
    expect(await look()).toBe('PROCESSING');
    finalized = refOf(height);
    expect(await look()).toBe('SETTLED');
  });

  it('is not confirmed while the node that has it is on another branch than the finalized block', async () => {
    const height = await pay();
    grow(3);
    await read();
    // The node that is stuck has the payment; the other one has other blocks, and is far ahead.
    finalized = { height: height + 1, hash: 'another branch' };
    expect(await look()).toBe('PROCESSING');
    finalized = { height: height + 100, hash: 'another branch' };
    expect([await look(), await look()]).toEqual(['PROCESSING', 'PROCESSING']);
    // The stuck node comes back: the payment is in no block.
    sim.reorg(4, () => false);
    grow(20);
    await read();
    finalized = refOf(sim.head.height);
    expect(await look()).toBe('NEW');
    expect(world.invoice(invoice).payments).toMatchObject([{ state: 'REVERTED' }]);
  });

  it('is confirmed once a finalized block that was not processed yet is', async () => {
    const height = await pay();
    grow(3);
    finalized = refOf(height + 3);
    expect(await look()).toBe('PROCESSING');
    // A later one does not put it off.
    grow(3);
    finalized = refOf(height + 6);
    expect(await look()).toBe('PROCESSING');
    sim.blocks.splice(height + 4);
    await read();
    expect(await look()).toBe('SETTLED');
  });

  it.each([
    ['is confirmed', false, 'SETTLED'],
    ['is not confirmed by a node with another block in its place', true, 'PROCESSING'],
  ])('%s, also if the finalized block is too old to be remembered', async (_, isOther, state) => {
    const height = await pay();
    grow(CHAIN_LIMITS.reorgBlocksMax + 60);
    await read();
    finalized = refOf(height + 2);
    if (isOther) others.set(height, 'another branch');
    expect(await look()).toBe(state);
  });
});
