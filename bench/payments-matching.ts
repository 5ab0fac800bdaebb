/**
 * The cost of open invoices for the listener of wallets: its matching with and without them, and whole blocks with their stores. All figures
 * are processor time, so that other work of the machine counts as little as possible.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32, systemRandom } from '../src/base/random.ts';
import { ChainPayments } from '../src/billing/crypto/chain-payments.ts';
import { PaymentBook } from '../src/billing/crypto/payment-book.ts';
import { sightingsInBlock } from '../src/billing/crypto/sightings.ts';
import { PAYMENT_CHAINS } from '../src/billing/crypto/terms.ts';
import { WatchStore } from '../src/billing/crypto/watch-store.ts';
import { WatchTable } from '../src/billing/crypto/watch-table.ts';
import type { Block } from '../src/chains/block.ts';
import type { ChainAdapter } from '../src/chains/families/port.ts';
import { loadAssetFacts } from '../src/chains/known-assets.ts';
import { type ChainId, isEvm } from '../src/chains/registry.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { WatchedAddresses } from '../src/chains/watched-addresses.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import { matchBlock } from '../src/monitoring/block-evidence.ts';
import { takeEvent } from '../src/monitoring/listener.ts';
import { loadMonitoringPolicy } from '../src/monitoring/policy.ts';
import { createProcessor } from '../src/monitoring/processor.ts';
import { openMonitoringStore } from '../src/monitoring/store-lmdb.ts';
import { buildWatchTable, type WatchTable as WalletTable } from '../src/monitoring/watch-table.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import { createEncryption } from '../src/state/encryption.ts';
import { type BenchRow, heldBytes, row } from './harness.ts';

export const CHAINS: readonly ChainId[] = PAYMENT_CHAINS.filter(isEvm);
export const WALLETS = 1_000_000;
export const TRANSFERS_A_BLOCK = 400;
/** As many as a follower reads ahead. */
const BLOCKS_A_ROUND = 4;
/** Rounds and blocks before the measured ones, until the compiler has done its work. */
const WARM_UP = 40;
const ROUNDS_A_TURN = 20;
/** Rounds at the start of a turn. */
const COLD_ROUNDS = 5;
const MB = 1e6;

/** The rounds that other work of the machine disturbed least: it empties the caches of the core. */
const lowerQuartile = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] as number;

function addressOf(n: number): string {
  const next = seededUint32(n + 1);
  let text = '';
  while (text.length < 40) text += next().toString(16).padStart(8, '0');
  // A flat string, as from a parsed response.
  return Buffer.from(`0x${text.slice(0, 40)}`, 'latin1').toString('latin1');
}

/** The text of a block, from which each way of processing it decodes its own copy, as from the response of a node. */
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

/** Nanoseconds of processor time for each transfer of the blocks. */
async function timed(blocks: readonly Block[], work: (block: Block) => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (const block of blocks) {
    const working = work(block);
    if (working instanceof Promise) await working;
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1e3) / (blocks.length * TRANSFERS_A_BLOCK);
}

/**
 * Measures ways of processing blocks in turn, some rounds of one and then of another, in a random order. Each round has new blocks, as they come
 * from the response of a node. The first rounds of a turn are not measured: in operation, there is one filter, and it is in the cache.
 *
 * @returns for each way, nanoseconds of processor time for each transfer
 */
async function inTurn(
  ways: readonly ((block: Block) => unknown)[],
  { rounds, blocks }: { readonly rounds: number; readonly blocks: number },
): Promise<readonly number[]> {
  const next = seededUint32(7);
  const took = ways.map(() => [] as number[]);
  for (let turn = 0; turn * ROUNDS_A_TURN < WARM_UP + rounds; turn++) {
    const first = turn * ROUNDS_A_TURN * blocks;
    const texts = Array.from({ length: ROUNDS_A_TURN * blocks }, (_, at) => blockText(first + at));
    const order = ways.map((_, way) => ({ way, at: next() })).toSorted((a, b) => a.at - b.at);
    for (const { way } of order)
      for (let round = 0; round < ROUNDS_A_TURN; round++) {
        const own = texts.slice(round * blocks, (round + 1) * blocks).map(decoded);
        const ns = await timed(own, ways[way] as (block: Block) => unknown);
        const isMeasured = turn * ROUNDS_A_TURN >= WARM_UP && round >= COLD_ROUNDS;
        if (isMeasured) took[way]?.push(ns);
      }
  }
  return took.map(lowerQuartile);
}

/** Wallets of one chain; invoices over ten chains. */
function tablesOf(wallets: number, invoices: number): { wallets: WalletTable; invoices: WatchTable } {
  const addresses = new WatchedAddresses();
  // Without payments, no part of the program watches invoices.
  const table = new WatchTable(invoices === 0 ? new WatchedAddresses() : addresses);
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
  return { wallets: buildWatchTable(watched(), addresses), invoices: table };
}

/**
 * Measures the listener's matching without payments, the same with payments beside it, and the matching of payments on a node that does not
 * follow the chain for wallets.
 */
export async function matchingRows({
  wallets,
  invoices,
  rounds,
  hasGoal,
}: {
  readonly wallets: number;
  readonly invoices: number;
  readonly rounds: number;
  readonly hasGoal: boolean;
}): Promise<readonly BenchRow[]> {
  const without = tablesOf(wallets, 0);
  const both = tablesOf(wallets, invoices);
  const other = tablesOf(0, invoices);
  const [listener, together, payments] = (await inTurn(
    [
      (block) => matchBlock('ETH', block, without.wallets),
      (block) => {
        // Either follower may be the first one at a block.
        const early = block.height % 2 === 0 ? matchBlock('ETH', block, both.wallets) : null;
        const paid = sightingsInBlock(block, both.invoices, 0);
        return [early ?? matchBlock('ETH', block, both.wallets), paid];
      },
      (block) => sightingsInBlock(block, other.invoices, 0),
    ],
    { rounds, blocks: BLOCKS_A_ROUND },
  )) as [number, number, number];
  const of = `${wallets.toLocaleString('en-US')} wallets`;
  const goal = hasGoal ? ({ atMost: 0.02, of: 'ratio' } as const) : null;
  return [
    row(`matching of the listener, ${of}, without payments`, listener, UNIT),
    row('the same with open invoices', together, UNIT, null, listener),
    row('added by open invoices', together - listener, UNIT, goal, listener),
    row('matching of payments on another node', payments, UNIT, null, listener),
  ];
}

const UNIT = 'CPU ns per transfer';

/** Measures blocks from the adapter to both stores, without the graph: also what each follower does once for a block. */
export async function wholeBlockRows({
  wallets,
  invoices,
  blocks,
}: {
  readonly wallets: number;
  readonly invoices: number;
  readonly blocks: number;
}): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-payments-'));
  const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
  const stores = ['without', 'with'].map((name) =>
    openMonitoringStore(
      { path: join(folder, `${name}.lmdb`) },
      { ...deps, encryption: createEncryption(new Uint8Array(32), systemRandom) },
    ),
  );
  const store = new WatchStore(join(folder, 'payment-watch.mdb'));
  const nothing = (): never => {
    throw new Error('No transfer of these blocks pays an invoice.');
  };
  const listenerOver = (at: number, table: WalletTable) => {
    const processor = createProcessor({
      ...{ store: stores[at] as (typeof stores)[number], policy: loadMonitoringPolicy(), transfers: null },
      ...{ riskPolicy: loadPolicy(loadTaxonomy().rows), assets: loadAssetFacts(), labels: () => null },
      clock: systemClock,
    });
    async function* price(transfers: Iterable<Transfer>) {
      yield* transfers;
    }
    return (block: Block) =>
      takeEvent('ETH', { type: 'block', block, completeness: 'COMPLETE' }, table, {
        ...{ processor, price, ingest: null, log: silentLogger },
      });
  };
  try {
    const both = tablesOf(wallets, invoices);
    const book = new PaymentBook('ETH', {
      ...{ invoices: nothing, settlement: nothing, rateOf: nothing, screen: nothing, isKnownAsset: nothing },
      ...{ payersOf: nothing, log: silentLogger },
    });
    const payments = new ChainPayments(book, {
      ...{ adapter: { chain: 'ETH' } as ChainAdapter, store, table: both.invoices, isOwn: true },
      ...{ clock: systemClock, log: silentLogger },
    });
    const without = listenerOver(0, tablesOf(wallets, 0).wallets);
    const beside = listenerOver(1, both.wallets);
    const [listener, together] = (await inTurn(
      [
        without,
        async (block) => {
          await beside(block);
          await payments.apply({ type: 'block', block, completeness: 'COMPLETE' }, null);
        },
      ],
      { rounds: blocks, blocks: 1 },
    )) as [number, number];
    return [
      row('whole block of the listener, with its store', listener, UNIT),
      row('the same with open invoices and their store', together, UNIT, null, listener),
    ];
  } finally {
    for (const each of stores) await each.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function memoryRow(invoices: number): BenchRow {
  const before = heldBytes();
  const tables = tablesOf(0, invoices);
  const memory = heldBytes() - before;
  if (tables.invoices.size !== invoices) throw new Error('The table has another size than what was put in.');
  return row('memory of the addresses', memory / MB, 'MB', { atMost: 200 });
}
