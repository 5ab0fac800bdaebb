/**
 * Invoices in cryptocurrency: the cost of 100,000 open invoices over ten chains beside the listener's own matching, their memory, the time
 * from the confirming block to the credits on anvil, and how far a price lock moves if the clock of the machine jumps.
 * Run: node --expose-gc dist/bench/payments.js [--invoices N] [--payments N] [--no-save]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { SteadyClock } from '../src/billing/crypto/steady-clock.ts';
import { parseEndpoint } from '../src/chains/endpoints/endpoints.ts';
import { openAdapter } from '../src/chains/families/evm/adapter.ts';
import { openCryptoWorld } from '../test/billing/crypto/world.ts';
import { hasAnvil, startAnvil } from '../test/setup/anvil.ts';
import { argument, type BenchRow, median, publish, report, row } from './harness.ts';
import {
  CHAINS,
  matchingRows,
  memoryRow,
  TRANSFERS_A_BLOCK,
  WALLETS,
  wholeBlockRows,
} from './payments-matching.ts';

const FEW_WALLETS = 1_000;
/** Turns of the matching, each of some rounds of blocks for each way. */
const TURNS = 16;
/** Turns with blocks that are also stored. */
const BLOCK_TURNS = 8;
const LOCK_MS = 15 * 60_000;
const SECOND_MS = 1_000;
const BLOCKS_TO_CONFIRM = 3;

/** Pays invoices on anvil, one after the other, and waits for the credits of each. */
async function creditedRows(payments: number): Promise<readonly BenchRow[]> {
  const anvil = await startAnvil();
  const rpc = [parseEndpoint(anvil.url, { field: 'rpc', defaultLayout: 'json-rpc', own: true })];
  const adapter = openAdapter(
    { chain: 'ETH', rpc, history: [], quorum: 1, offchainNames: false },
    { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
  );
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-payments-'));
  const accounts = Array.from({ length: payments }, (_, n) => `acc_${n}`);
  const world = await openCryptoWorld({
    ...{ folder, adapters: { ETH: adapter }, accounts },
    terms: { depthOf: () => ({ blocks: BLOCKS_TO_CONFIRM }) },
  });
  const took: number[] = [];
  try {
    await world.crypto.start();
    for (const accountId of accounts) {
      const invoice = await world.order('ETH', accountId);
      const { address } = invoice.details.crypto ?? {};
      if (address === undefined) throw new Error('The invoice has no address.');
      await anvil.send({ to: address, value: BigInt(invoice.due.amount) });
      await anvil.mine(BLOCKS_TO_CONFIRM - 1);
      while (world.invoice(invoice).state !== 'PROCESSING') await pause();
      await anvil.mine();
      const minedMs = systemClock.monotonic();
      while ((await world.credits(accountId)) === 0) await pause();
      took.push(systemClock.monotonic() - minedMs);
    }
    const faults = await world.faults();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  } finally {
    await world.close();
    await adapter.close();
    await anvil.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return [
    row('confirming block to credits, p50', median(took), 'ms', { atMost: 1_000 }),
    row('confirming block to credits, slowest', Math.max(...took), 'ms', { atMost: 1_000 }),
  ];
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** The largest difference between a lock and its duration, if the clock of the machine jumps in the middle of it. */
function lockRow(): BenchRow {
  let worstMs = 0;
  const jumps = [0, 1, 300, 499, 501, 999, 1_500, 2_500, 60_000, 3_600_000, 86_400_000];
  for (const jumpMs of [...jumps, ...jumps.map((ms) => -ms)])
    for (const atMs of [SECOND_MS, LOCK_MS / 3, LOCK_MS - 10 * SECOND_MS]) {
      let monotonicMs = 1_000;
      let offsetMs = Date.UTC(2026, 10, 26);
      const steady = new SteadyClock(
        { now: () => monotonicMs + offsetMs, monotonic: () => monotonicMs },
        LOCK_MS,
      );
      const endMs = steady.now() + LOCK_MS;
      const startMs = monotonicMs;
      while (steady.now() < endMs) {
        monotonicMs += 50;
        if (monotonicMs - startMs === atMs) offsetMs += jumpMs;
      }
      worstMs = Math.max(worstMs, Math.abs(monotonicMs - startMs - LOCK_MS));
    }
  return row('price lock, largest deviation under jumps of the clock', worstMs / SECOND_MS, 's', {
    atMost: 1,
  });
}

const startedAt = isoTime(systemClock.now());
const invoices = argument('--invoices', 100_000);
const payments = argument('--payments', 20);
const matching = [
  memoryRow(invoices),
  ...(await matchingRows({ wallets: WALLETS, invoices, turns: TURNS, hasGoal: true })),
  // Few wallets fit into the cache of a core, and so many invoices do not.
  ...(await matchingRows({ wallets: FEW_WALLETS, invoices, turns: TURNS / 2, hasGoal: false })),
];
const rows = [
  ...matching,
  ...(await wholeBlockRows({ wallets: WALLETS, invoices, turns: BLOCK_TURNS })),
  lockRow(),
];
if (hasAnvil) rows.push(...(await creditedRows(payments)));
const subject = { invoices, chains: CHAINS.length, wallets: WALLETS, transfersABlock: TRANSFERS_A_BLOCK };
publish(report('payments', startedAt, { ...subject, turns: TURNS, payments }, rows));
