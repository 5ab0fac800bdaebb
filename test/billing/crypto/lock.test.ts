/** The price lock under jumps of the machine's clock: it ends by the second at which it was promised, neither earlier nor later. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Invoice } from '../../../src/billing/records.ts';
import type {
  BlockRef,
  Call,
  ChainAdapter,
  ChainEvent,
  FollowFrom,
} from '../../../src/chains/families/port.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { SimChain } from './sim-chain.ts';
import { type CryptoWorld, eventually, openCryptoWorld } from './world.ts';

const LOCK_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;

let folder: TempFolder;
let world: CryptoWorld;
let sim: SimChain;
let wallMs: number;
let monotonicMs: number;
const pass = (ms: number): void => {
  wallMs += ms;
  monotonicMs += ms;
};

/** An adapter with the pool of a simulated chain. */
function adapterOf(chain: SimChain): ChainAdapter {
  return {
    ...chain.adapter(),
    unconfirmed: {
      ids: async () => [...chain.pool.keys()],
      transaction: async (txid: string) => {
        const found = chain.pool.get(txid);
        if (found === undefined) return null;
        const inputs = [{ txid: 'f'.repeat(64), vout: 0, address: found.from, value: found.amount }];
        return {
          txid,
          inputs,
          outputs: [{ n: 0, address: found.to, value: found.amount, script: 'p2pkh' }],
          receivedAtMs: null,
        };
      },
      withSources: async (transaction: object) => transaction,
    },
    async *subscribe({ known }: FollowFrom, { signal }: Call): AsyncGenerator<ChainEvent> {
      const position: BlockRef[] = [...known];
      while (!signal.aborted) {
        for (const event of chain.eventsAfter(position)) {
          yield event;
          if (event.type === 'block') position.push(event.block);
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  } as unknown as ChainAdapter;
}

beforeEach(async () => {
  wallMs = Date.UTC(2026, 10, 26, 12);
  monotonicMs = 1_000;
  folder = memoryFolder();
  sim = new SimChain('LTC', true);
  const clock = { now: () => wallMs, monotonic: () => monotonicMs };
  world = await openCryptoWorld({
    ...{
      folder: folder.path,
      clock,
      adapters: { LTC: adapterOf(sim) },
      terms: { depthOf: () => ({ blocks: 1 }) },
    },
  });
  await world.crypto.start();
});
afterEach(async () => {
  await world.close();
  folder.remove();
});

/** Pays an invoice and waits until the payment is seen in the pool, then makes a block. */
async function payAndMine(invoice: Invoice): Promise<Invoice> {
  const id = sim.newId();
  const amount = BigInt(invoice.due.amount);
  sim.pool.set(id, { id, from: 'sender', to: invoice.details.crypto!.address, asset: 'LTC', amount });
  await eventually(
    () => world.invoice(invoice).payments.length === 1,
    () => world.invoice(invoice),
  );
  sim.mine(() => true, wallMs);
  await eventually(
    () => world.invoice(invoice).payments[0]!.state === 'CONFIRMED',
    () => world.invoice(invoice),
  );
  return world.invoice(invoice);
}

it.each([
  ['no jump', 0, LOCK_MS - 1, false],
  ['no jump', 0, LOCK_MS, true],
  ['a jump of an hour ahead', HOUR_MS, LOCK_MS - 1, false],
  ['a jump of an hour ahead', HOUR_MS, LOCK_MS, true],
  ['a jump of an hour back', -HOUR_MS, LOCK_MS - 1, false],
  ['a jump of an hour back', -HOUR_MS, LOCK_MS, true],
])('with %s of %i ms, a payment after %i ms is late: %s', async (_, jumpMs, afterMs, isLate) => {
  const invoice = await world.order('LTC');
  world.usd.LTC = 40;
  // Half of the lock before the jump: a jump that lasts for a whole lock is a correction.
  pass(LOCK_MS / 2);
  wallMs += jumpMs;
  pass(afterMs - LOCK_MS / 2);
  const paid = await payAndMine(invoice);
  expect(paid.exceptions.includes('PAID_LATE')).toBe(isLate);
  const value = BigInt(paid.payments[0]!.value);
  expect(value).toBe(isLate ? BigInt(invoice.due.amount) / 2n : BigInt(invoice.due.amount));
  await eventually(
    async () => (await world.credits()) === (isLate ? 0 : 100),
    () => world.invoice(invoice),
  );
});
