/**
 * Seeded scenarios of invoices: exact, partial, excess, dust, late and wrong payments, replaced transactions, reorgs, sanctioned senders,
 * stale lists, and crashes before and after each step. At the end every unit on the chain is accounted for. Each seed is a world of its own,
 * with its chain, its stores and its ledger.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { ChainPayments, payersInBlock } from '../../../src/billing/crypto/chain-payments.ts';
import { payerScreening } from '../../../src/billing/crypto/payer.ts';
import { PaymentBook } from '../../../src/billing/crypto/payment-book.ts';
import { paymentIdOf, sightingsInTransaction } from '../../../src/billing/crypto/sightings.ts';
import { readTerms } from '../../../src/billing/crypto/terms.ts';
import { WatchTable } from '../../../src/billing/crypto/watch-table.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import type { BlockRef } from '../../../src/chains/families/port.ts';
import { SimChain, type SimTransaction } from './sim-chain.ts';
import { type CryptoWorld, openCryptoWorld } from './world.ts';

/** A few invoices and accounts, so that payments of one world meet each other. */
const INVOICES = 6;
const ACCOUNTS = ['acc_0', 'acc_1'];
const STEPS = 40;
const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const DEPTH = 3;
const SANCTIONED = 'sanctioned-sender';

/** Mulberry32. */
function randomOf(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    chance: (share: number): boolean => next() < share,
    below: (end: number): number => Math.floor(next() * end),
    of: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
  };
}

const assetOf = (invoice: Invoice): string => invoice.details.crypto!.asset;

class Crash extends Error {}

/** Checks an invoice against the chain. Returns its booked credits, and the number of its payments. */
function checkInvoice(
  { accountId, id }: Invoice,
  {
    seed,
    world,
    sim,
    isUtxo,
  }: { readonly seed: number; readonly world: CryptoWorld; readonly sim: SimChain; readonly isUtxo: boolean },
): { readonly booked: number; readonly payments: number } {
  const invoice = world.billing.invoice(accountId, id);
  const { address } = invoice.details.crypto!;
  const onChain = new Map<string, SimTransaction>();
  for (const one of sim.blocks) {
    const block = sim.block(one);
    for (const transfer of block.transfers)
      if (transfer.to === address && transfer.asset !== 'SPAM')
        onChain.set(paymentIdOf(transfer), one.transactions.find((tx) => tx.id === transfer.txHash)!);
    for (const tx of one.transactions)
      if (isUtxo && tx.to === address) onChain.set(`${sim.chain} ${tx.id} out:0`, tx);
  }
  // Every unit on the chain is a payment in a final state, and no other payment counts.
  const counted = invoice.payments.filter(({ state }) => state !== 'REVERTED');
  const shown = JSON.stringify({ seed, invoice, onChain: [...onChain.keys()] }, null, 1);
  expect(counted.map((one) => one.id).toSorted(), shown).toEqual([...onChain.keys()].toSorted());
  let sum = 0n;
  for (const payment of counted) {
    const tx = onChain.get(payment.id)!;
    expect(payment.amount, shown).toBe(String(tx.amount));
    const expected =
      tx.asset !== assetOf(invoice) ? 'WRONG_ASSET' : tx.from === SANCTIONED ? 'HELD' : 'CONFIRMED';
    expect(payment.state, shown).toBe(expected);
    if (expected === 'CONFIRMED') sum += BigInt(payment.value);
    const isLate = payment.seenAtMs >= invoice.expiresAtMs;
    if (!isLate && expected !== 'WRONG_ASSET') expect(payment.value, shown).toBe(payment.amount);
  }
  // The credits follow from the sum alone.
  const due = BigInt(invoice.due.amount);
  const isCovered = sum >= due - (due * 50n) / 10_000n;
  const whole = BigInt(invoice.credits);
  const covered = sum <= due ? whole : whole + ((sum - due) * whole) / due;
  const wasSettled = invoice.settledAtMs !== null;
  const hasHeld = invoice.payments.some(({ state }) => state === 'HELD');
  const credits = isCovered ? (wasSettled || !hasHeld ? covered : 0n) : wasSettled ? (sum * whole) / due : 0n;
  const booked = invoice.entries.reduce((total, entry) => total + entry.credits, 0);
  expect(booked, shown).toBe(Number(credits));
  // One purchase for each payment, whatever happened to it.
  const purchases = invoice.entries
    .filter(({ cause }) => cause === 'PURCHASE')
    .map(({ paymentId }) => paymentId);
  expect(new Set(purchases).size, shown).toBe(purchases.length);
  return { booked, payments: counted.length };
}

export interface ScenarioCounts {
  settled: number;
  payments: number;
  crashes: number;
}

/** Runs one world and checks it. */
async function run(seed: number): Promise<ScenarioCounts> {
  const random = randomOf(seed);
  const isUtxo = seed % 2 === 0;
  const chain = isUtxo ? 'LTC' : 'ETH';
  const currencies = isUtxo ? ['LTC'] : ['ETH', 'ETH:USDC'];
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'assay-payments-'));
  const sim = new SimChain(chain, isUtxo);
  let nowMs = Date.UTC(2026, 10, 26, 12);
  const startedMs = nowMs;
  const clock = { now: () => nowMs, monotonic: () => nowMs - startedMs };
  const world: CryptoWorld = await openCryptoWorld({
    ...{ folder, clock, accounts: ACCOUNTS, adapters: { [chain]: sim.adapter() }, known: [TOKEN] },
    terms: { depthOf: () => ({ blocks: DEPTH }), assets: readTerms().assets },
  });
  world.usd[TOKEN] = 1;
  world.sanctioned.add(SANCTIONED);
  let crashes = 0;
  let mayCrash = true;
  const table = new WatchTable();
  const start = (): { follower: ChainPayments; book: PaymentBook } => {
    const adapter = sim.adapter();
    const book = new PaymentBook(chain, {
      invoices: () => world.billing.store(),
      settlement: () => ({
        async apply(...event) {
          if (mayCrash && random.chance(0.02)) throw new Crash('before');
          const applied = await world.billing.settlement().apply(...event);
          if (mayCrash && random.chance(0.02)) throw new Crash('after');
          return applied;
        },
      }),
      rateOf: (id, asset) => world.crypto.rateOf(id, asset),
      depthOf: () => ({ blocks: DEPTH }),
      screen: payerScreening((_, address) => ({
        ...{ sanctioned: world.sanctioned.has(address), lists: ['OFAC'], stale: world.stale },
      })),
      isKnownAsset: (_, asset) => asset !== 'SPAM',
      payersOf: (tx, position, block) => payersInBlock(adapter, tx, position, block),
      log: silentLogger,
    });
    for (const watched of world.crypto.store().all()) {
      table.add(watched);
      book.load(watched);
    }
    const deps = { adapter, table, clock, log: silentLogger, store: world.crypto.store(), isOwn: true };
    return { book, follower: new ChainPayments(book, deps) };
  };
  let { follower, book } = start();
  /** What the follower has been given; null before it begins. */
  let given: BlockRef[] | null = null;
  const restart = (): void => {
    ({ follower, book } = start());
    given = null;
  };

  /** Lets the follower see the chain and the pool; a crash starts it again. */
  async function follow(): Promise<void> {
    for (;;)
      try {
        given ??= [...(await follower.begin())];
        for (const event of sim.eventsAfter(given)) {
          await follower.apply(event, null);
          if (event.type === 'block') given.push({ height: event.block.height, hash: event.block.hash });
          else given.length -= event.dropped.length;
        }
        if (!isUtxo) return;
        for (const transaction of sim.pool.values()) await see(transaction);
        await book.compareWithPool(new Set(sim.pool.keys()));
        return;
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        crashes++;
        restart();
      }
  }
  async function see({ id, from, to, amount }: SimTransaction): Promise<void> {
    const inputs = [{ txid: 'f'.repeat(64), vout: 0, address: from, value: amount }];
    const outputs = [{ n: 0, address: to, value: amount, script: 'p2pkh' as const }];
    const place = { block: null, seenAtMs: nowMs, isCoinbase: false };
    for (const sighting of sightingsInTransaction(chain, { txid: id, inputs, outputs }, table, place))
      await book.observe(sighting);
  }

  const invoices: Invoice[] = [];
  for (let made = 0; made < INVOICES; made++) {
    invoices.push(await world.order(random.of(currencies), ACCOUNTS[made % ACCOUNTS.length]));
    nowMs += random.below(10_000);
  }
  for (const watched of world.crypto.store().all()) table.add(watched);
  const pay = (): void => {
    const invoice = random.of(invoices);
    const due = BigInt(invoice.due.amount);
    const amount = random.of([
      due,
      due,
      due / 2n,
      due / 3n,
      due * 2n,
      (due * 996n) / 1000n,
      (due * 994n) / 1000n,
      1n,
    ]);
    const isWrong = !isUtxo && random.chance(0.1);
    const asset = isWrong
      ? random.of([assetOf(invoice) === TOKEN ? 'ETH' : TOKEN, 'SPAM'])
      : assetOf(invoice);
    const from = random.chance(0.08) ? SANCTIONED : `sender-${random.below(50)}`;
    const transaction = { id: sim.newId(), from, to: invoice.details.crypto!.address, asset, amount };
    sim.pool.set(transaction.id, transaction);
  };
  const replace = (): void => {
    const old = random.of([...sim.pool.values()]);
    if (old === undefined) return;
    sim.pool.delete(old.id);
    if (random.chance(0.5)) return;
    const id = sim.newId();
    sim.pool.set(id, { ...old, id, amount: old.amount + 1n });
  };

  for (let step = 0; step < STEPS; step++) {
    nowMs += random.below(90_000);
    if (random.chance(0.8)) pay();
    if (random.chance(0.15)) replace();
    if (random.chance(0.1))
      for (const name of Object.keys(world.usd)) world.usd[name]! *= 0.9 + random.below(20) / 100;
    if (random.chance(0.1)) world.stale = random.chance(0.5) ? 'The lists are stale.' : null;
    if (random.chance(0.12)) {
      const isKept = random.chance(0.7);
      sim.reorg(1 + random.below(4), () => isKept || random.chance(0.5));
      sim.mine(() => random.chance(0.5), nowMs);
    }
    if (random.chance(0.6)) sim.mine(() => random.chance(0.7), nowMs);
    if (random.chance(0.7)) await follow();
    if (random.chance(0.05)) restart();
    if (random.chance(0.1)) await world.billing.sweep();
  }

  // The end: everything is mined, deep and checked.
  world.stale = null;
  mayCrash = false;
  sim.mine(() => true, nowMs);
  for (let block = 0; block < 20; block++) sim.mine(() => true, nowMs);
  restart();
  await follow();
  await book.advance(sim.head.height);
  if (isUtxo) for (let look = 0; look < 3; look++) await follow();

  const faults = await world.faults();
  let payments = 0;
  const bought = new Map<string, number>();
  for (const invoice of invoices) {
    const checked = checkInvoice(invoice, { seed, world, sim, isUtxo });
    bought.set(invoice.accountId, (bought.get(invoice.accountId) ?? 0) + checked.booked);
    payments += checked.payments;
  }
  for (const accountId of ACCOUNTS) expect(await world.credits(accountId)).toBe(bought.get(accountId) ?? 0);
  expect(faults).toEqual([]);
  const settled = invoices.filter(
    ({ accountId, id }) => world.billing.invoice(accountId, id).state === 'SETTLED',
  ).length;
  await world.close();
  rmSync(folder, { recursive: true, force: true });
  return { settled, payments, crashes };
}

/** Runs the worlds of consecutive seeds. The error of a failed one names its seed. */
export async function runScenarios(first: number, worlds: number): Promise<ScenarioCounts> {
  const total = { settled: 0, payments: 0, crashes: 0 };
  for (let seed = first; seed < first + worlds; seed++) {
    const found = await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    });
    total.settled += found.settled;
    total.payments += found.payments;
    total.crashes += found.crashes;
  }
  return total;
}
