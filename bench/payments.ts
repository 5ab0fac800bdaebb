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
import { seededUint32 } from '../src/base/random.ts';
import { sightingsInBlock } from '../src/billing/crypto/sightings.ts';
import { SteadyClock } from '../src/billing/crypto/steady-clock.ts';
import { WatchTable } from '../src/billing/crypto/watch-table.ts';
import type { Block } from '../src/chains/block.ts';
import { parseEndpoint } from '../src/chains/endpoints/endpoints.ts';
import { openAdapter } from '../src/chains/families/evm/adapter.ts';
import type { ChainId } from '../src/chains/registry.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { WatchedAddresses } from '../src/chains/watched-addresses.ts';
import { matchBlock } from '../src/monitoring/block-evidence.ts';
import { buildWatchTable, type WatchTable as WalletTable } from '../src/monitoring/watch-table.ts';
import { openCryptoWorld } from '../test/billing/crypto/world.ts';
import { hasAnvil, startAnvil } from '../test/setup/anvil.ts';
import { argument, type BenchRow, publish, report, row } from './harness.ts';

const CHAINS: readonly ChainId[] = [
  ...([
    'ETH',
    'BSC',
    'POLYGON',
    'ARBITRUM',
    'OPTIMISM',
    'BASE',
    'AVALANCHE',
    'LINEA',
    'GNOSIS',
    'FANTOM',
  ] as const),
];
const WALLETS = 1_000_000;
const FEW_WALLETS = 1_000;
const ROUNDS = 300;
/** As many as a follower reads ahead. */
const BLOCKS_A_ROUND = 4;
/** Rounds before the measured ones, until the compiler has done its work. */
const WARM_UP = 40;
const GOAL = { atMost: 0.02, of: 'ratio' } as const;
const TRANSFERS_A_BLOCK = 400;
const LOCK_MS = 15 * 60_000;
const SECOND_MS = 1_000;
const MB = 1e6;
const BLOCKS_TO_CONFIRM = 3;

function held(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function addressOf(n: number): string {
  const next = seededUint32(n + 1);
  let text = '';
  while (text.length < 40) text += next().toString(16).padStart(8, '0');
  // A flat string, as from a parsed response.
  return Buffer.from(`0x${text.slice(0, 40)}`, 'latin1').toString('latin1');
}

/** The text of a block, from which each follower decodes its own copy, as it does from the response of a node. */
function blockText(index: number): string {
  const transfers = Array.from({ length: TRANSFERS_A_BLOCK }, (_, at) => {
    const n = 10_000_000 + index * TRANSFERS_A_BLOCK + at;
    return {
      ...{
        chain: 'ETH',
        txHash: `0x${n.toString(16).padStart(64, '0')}`,
        position: 'value',
        blockNumber: index,
      },
      ...{ timestampMs: index * 12_000, from: addressOf(n), to: addressOf(n + 1), asset: 'ETH', amount: 1 },
      ...{ decimals: 18, valueUsd: null },
    };
  });
  const hash = `0x${index.toString(16).padStart(64, '0')}`;
  return JSON.stringify({
    ...{ chain: 'ETH', height: index, hash, parentHash: hash, timestampMs: index * 12_000, transfers },
  });
}

function decoded(text: string): Block {
  const block = JSON.parse(text) as Omit<Block, 'transfers'> & {
    readonly transfers: readonly (Omit<Transfer, 'amount'> & { readonly amount: number })[];
  };
  return {
    ...block,
    transfers: block.transfers.map((one): Transfer => ({ ...one, amount: BigInt(one.amount) })),
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Nanoseconds of processor time for each transfer of blocks that were just decoded, each for its own. */
function timed(texts: readonly string[], work: (block: Block) => void): number {
  const blocks = texts.map(decoded);
  const before = process.cpuUsage();
  for (const block of blocks) work(block);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1e3) / (blocks.length * TRANSFERS_A_BLOCK);
}

/** Wallets of one chain; invoices over ten chains. */
function tablesOf(wallets: number, invoices: number): { wallets: WalletTable; invoices: WatchTable } {
  const addresses = new WatchedAddresses();
  const table = new WatchTable(addresses);
  for (let n = 0; n < invoices; n++)
    table.add({
      ...{ chain: CHAINS[n % CHAINS.length] as ChainId, accountId: `acc_${n % 1_000}`, untilMs: n },
      ...{ invoiceId: n.toString(32).padStart(26, '0'), target: addressOf(n) },
    });
  function* watched() {
    for (let n = 0; n < wallets; n++)
      yield {
        ...{ chain: 'ETH' as const, walletAddress: addressOf(20_000_000 + n), accountId: 'a' },
        walletId: String(n).padStart(26, '0'),
      };
  }
  return { wallets: buildWatchTable(wallets === 0 ? [] : watched(), addresses), invoices: table };
}

/**
 * Measures the listener's matching without payments, the same with payments beside it, and the matching of payments on a node that does not
 * follow the chain for wallets. Each reads its own copy of the same blocks, in turn, so that other work of the machine meets all.
 */
function matchingRows(wallets: number, invoices: number): readonly BenchRow[] {
  const without = tablesOf(wallets, 0);
  const both = tablesOf(wallets, invoices);
  const alone = tablesOf(0, invoices);
  const listener = (block: Block): unknown => matchBlock('ETH', block, without.wallets);
  const together = (block: Block): unknown => {
    // Either follower may be the first one at a block.
    const first = block.height % 2 === 0 ? matchBlock('ETH', block, both.wallets) : null;
    const paid = sightingsInBlock(block, both.invoices, 0);
    return [first ?? matchBlock('ETH', block, both.wallets), paid];
  };
  const payments = (block: Block): unknown => sightingsInBlock(block, alone.invoices, 0);
  const passes = [listener, together, payments];
  const took = passes.map(() => [] as number[]);
  for (let index = 0; index < WARM_UP + ROUNDS; index++) {
    const texts = Array.from({ length: BLOCKS_A_ROUND }, (_, at) => blockText(index * BLOCKS_A_ROUND + at));
    for (let turn = 0; turn < passes.length; turn++) {
      const which = (turn + index) % passes.length;
      const ns = timed(texts, passes[which] as (block: Block) => unknown);
      if (index >= WARM_UP) took[which]?.push(ns);
    }
  }
  const [alone1, together1, payments1] = took.map(median) as [number, number, number];
  const of = `${wallets.toLocaleString('en-US')} wallets`;
  return [
    row(`listener's matching, ${of}, no payments`, alone1, 'CPU ns per transfer'),
    row(`with open invoices, ${of}`, together1, 'CPU ns per transfer', null, alone1),
    row(`added by open invoices, ${of}`, together1 - alone1, 'CPU ns per transfer', GOAL, alone1),
    row(`payments on another node than the listener, ${of}`, payments1, 'CPU ns per transfer', null, alone1),
  ];
}

function memoryRow(invoices: number): BenchRow {
  const before = held();
  const tables = tablesOf(0, invoices);
  const memory = held() - before;
  if (tables.invoices.size !== invoices) throw new Error('The table has another size than what was put in.');
  return row('memory of the addresses', memory / MB, 'MB', { atMost: 200 });
}

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
const rows = [memoryRow(invoices), ...matchingRows(WALLETS, invoices), ...matchingRows(FEW_WALLETS, invoices), lockRow()];
if (hasAnvil) rows.push(...(await creditedRows(payments)));
publish(
  report(
    'payments',
    startedAt,
    { invoices, chains: CHAINS.length, wallets: WALLETS, transfers: ROUNDS * BLOCKS_A_ROUND * TRANSFERS_A_BLOCK, payments },
    rows,
  ),
);
