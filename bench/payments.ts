/**
 * 100,000 open invoices over ten chains: the memory of their addresses, and the time that they add to the matching of the listener, with the
 * listener's own table as control in the same run.
 * Run: node --expose-gc dist/bench/payments.js [--invoices N] [--no-save]
 */
import { isoTime, systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import { sightingsInBlock } from '../src/billing/crypto/sightings.ts';
import { WatchTable } from '../src/billing/crypto/watch-table.ts';
import type { Block } from '../src/chains/block.ts';
import type { ChainId } from '../src/chains/registry.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { matchBlock } from '../src/monitoring/block-evidence.ts';
import { buildWatchTable } from '../src/monitoring/watch-table.ts';
import { argument, publish, report, row } from './harness.ts';

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
const WALLETS = 10_000;
const BLOCKS = 200;
const TRANSFERS_A_BLOCK = 400;
const ROUNDS = 5;
const REPEATS = 3;

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

function blockOf(index: number): Block {
  const transfers = Array.from({ length: TRANSFERS_A_BLOCK }, (_, at): Transfer => {
    const n = 10_000_000 + index * TRANSFERS_A_BLOCK + at;
    return {
      ...{
        chain: 'ETH',
        txHash: `0x${n.toString(16).padStart(64, '0')}`,
        position: 'value',
        blockNumber: index,
      },
      ...{ timestampMs: index * 12_000, from: addressOf(n), to: addressOf(n + 1), asset: 'ETH', amount: 1n },
      ...{ decimals: 18, valueUsd: null },
    };
  });
  const hash = `0x${index.toString(16).padStart(64, '0')}`;
  return { chain: 'ETH', height: index, hash, parentHash: hash, timestampMs: index * 12_000, transfers };
}

/** Returns the least processor time of the rounds: the rest is other work of the machine. */
function measure(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    for (let repeat = 0; repeat < REPEATS; repeat++) work();
    const { user } = process.cpuUsage(start);
    least = Math.min(least, (user * 1_000) / (REPEATS * BLOCKS * TRANSFERS_A_BLOCK));
  }
  return least;
}

const startedAt = isoTime(systemClock.now());
const invoices = argument('--invoices', 100_000);
const before = held();
const table = new WatchTable();
for (let n = 0; n < invoices; n++)
  table.add({
    ...{ chain: CHAINS[n % CHAINS.length] as ChainId, accountId: `acc_${n % 1_000}`, untilMs: n },
    ...{ invoiceId: n.toString(32).padStart(26, '0'), target: addressOf(n) },
  });
const memory = held() - before;
const wallets = buildWatchTable(
  Array.from({ length: WALLETS }, (_, n) => ({
    ...{
      chain: 'ETH' as const,
      walletAddress: addressOf(5_000_000 + n),
      accountId: 'a',
      walletId: String(n),
    },
  })),
);
const blocks = Array.from({ length: BLOCKS }, (_, index) => blockOf(index));
const listener = measure(() => {
  for (const block of blocks) matchBlock('ETH', block, wallets);
});
const payments = measure(() => {
  for (const block of blocks) sightingsInBlock(block, table, 0);
});
publish(
  report(
    'payments',
    startedAt,
    { invoices, chains: CHAINS.length, wallets: WALLETS, transfers: BLOCKS * TRANSFERS_A_BLOCK },
    [
      row('memory of the addresses', memory / 1e6, 'MB', { atMost: 200 }),
      row(
        'matching of payments, beside the listener',
        payments,
        'ns per transfer',
        { atMost: 0.02, of: 'ratio' },
        listener,
      ),
    ],
  ),
);
