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
import { type BenchRow, heldBytes, median, row } from './harness.ts';

export const CHAINS: readonly ChainId[] = PAYMENT_CHAINS.filter(isEvm);
export const WALLETS = 1_000_000;
export const TRANSFERS_A_BLOCK = 400;
/** As many as a follower reads ahead. */
const BLOCKS_A_ROUND = 4;
/** Turns before the measured ones, until the compiler has done its work. */
const WARM_UP_TURNS = 3;
const ROUNDS_A_TURN = 20;
/** Rounds at the start of a turn that are not measured. */
const COLD_ROUNDS = 5;
/** Pairs of tables without and with invoices: where a table lies in memory matters more than what is measured. */
const PAIRS = 2;
const FIRST_WALLET = 20_000_000;
const FIRST_STRANGER = 10_000_000;
const BLOCKS_A_DAY = 7_200;
/** Transfers of watched wallets in a block of Ethereum, if each of a million moves once in 30 days. */
const WALLET_TRANSFERS = WALLETS / 30 / BLOCKS_A_DAY;
/** Days for which an invoice is watched: its lock, and the time for late payments. */
const DAYS_OPEN = 1 + 15 / (24 * 60);
const MB = 1e6;

const addresses = new Map<number, string>();

/** The address with a number. Those of wallets and invoices are remembered: several tables have them. */
function addressOf(n: number): string {
  if (n >= FIRST_STRANGER && n < FIRST_WALLET) return newAddress(n);
  const known = addresses.get(n) ?? newAddress(n);
  addresses.set(n, known);
  return known;
}

function newAddress(n: number): string {
  const next = seededUint32(n + 1);
  let text = '';
  while (text.length < 40) text += next().toString(16).padStart(8, '0');
  // A flat string, as from a parsed response.
  return Buffer.from(`0x${text.slice(0, 40)}`, 'latin1').toString('latin1');
}

/** How many transfers of a block concern watched wallets and invoices, on average. */
interface Hits {
  readonly wallets: number;
  readonly invoices: number;
}

const NO_HITS: Hits = { wallets: 0, invoices: 0 };

/** Every wallet moves once in 30 days. */
const ofWallets = (wallets: number): Hits => ({
  wallets: (WALLET_TRANSFERS * wallets) / WALLETS,
  invoices: 0,
});

/** Every invoice of the chain is also paid once while it is open: more is not possible on Ethereum. */
const allPaid = (wallets: number, invoices: number): Hits => ({
  ...ofWallets(wallets),
  invoices: invoices / CHAINS.length / DAYS_OPEN / BLOCKS_A_DAY,
});

/** The text of a block, from which each way of processing it decodes its own copy, as from the response of a node. */
function blockText(index: number, hits: Hits, sizes: { wallets: number; invoices: number }): string {
  const next = seededUint32(index + 1);
  const share = (of: number): boolean => next() / 2 ** 32 < of / TRANSFERS_A_BLOCK;
  const transfers = Array.from({ length: TRANSFERS_A_BLOCK }, (_, at) => {
    const n = FIRST_STRANGER + ((index * TRANSFERS_A_BLOCK + at) % (FIRST_WALLET - FIRST_STRANGER - 1));
    const wallet = share(hits.wallets) ? FIRST_WALLET + (next() % sizes.wallets) : null;
    const invoice = share(hits.invoices) ? next() % sizes.invoices : null;
    const isSender = wallet !== null && next() % 2 === 0;
    return {
      ...{
        chain: 'ETH',
        txHash: `0x${n.toString(16).padStart(64, '0')}`,
        position: 'value',
        blockNumber: index,
      },
      ...{ timestampMs: index * 12_000, from: addressOf(isSender ? (wallet as number) : n) },
      ...{ to: addressOf(invoice ?? (isSender ? null : wallet) ?? n + 1), asset: 'ETH', amount: 1 },
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
 * @param textOf - returns the text of the block at a height
 * @returns for each way, the median of each turn, in nanoseconds of processor time for each transfer
 */
async function inTurn(
  ways: readonly ((block: Block) => unknown)[],
  textOf: (height: number) => string,
  { turns, blocks }: { readonly turns: number; readonly blocks: number },
): Promise<readonly (readonly number[])[]> {
  const next = seededUint32(7);
  const took = ways.map(() => [] as number[]);
  for (let turn = 0; turn < WARM_UP_TURNS + turns; turn++) {
    const first = turn * ROUNDS_A_TURN * blocks;
    const texts = Array.from({ length: ROUNDS_A_TURN * blocks }, (_, at) => textOf(first + at));
    const order = ways.map((_, way) => ({ way, at: next() })).toSorted((a, b) => a.at - b.at);
    for (const { way } of order) {
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS_A_TURN; round++) {
        const own = texts.slice(round * blocks, (round + 1) * blocks).map(decoded);
        const ns = await timed(own, ways[way] as (block: Block) => unknown);
        if (round >= COLD_ROUNDS) rounds.push(ns);
      }
      if (turn >= WARM_UP_TURNS) took[way]?.push(median(rounds));
    }
  }
  return took;
}

/** The median of the relations of two ways in the same turns. */
const relation = (of: readonly number[], to: readonly number[]): number =>
  median(of.map((ns, turn) => ns / (to[turn] as number)));

/** Wallets of one chain; invoices over ten chains. */
function tablesOf(wallets: number, invoices: number): { wallets: WalletTable; invoices: WatchTable } {
  const watchedAddresses = new WatchedAddresses();
  // Without payments, no part of the program watches invoices.
  const table = new WatchTable(invoices === 0 ? new WatchedAddresses() : watchedAddresses);
  for (let n = 0; n < invoices; n++)
    table.add({
      ...{ chain: CHAINS[n % CHAINS.length] as ChainId, accountId: `acc_${n % 1_000}`, untilMs: n },
      ...{ invoiceId: n.toString(32).padStart(26, '0'), target: addressOf(n) },
    });
  function* watched() {
    for (let n = 0; n < wallets; n++)
      yield {
        ...{ chain: 'ETH' as const, walletAddress: addressOf(FIRST_WALLET + n), accountId: 'a' },
        walletId: String(n).padStart(26, '0'),
      };
  }
  return { wallets: buildWatchTable(watched(), watchedAddresses), invoices: table };
}

/** The matching of the listener, and of payments after it or before it: either follower may be the first one at a block. */
const matchBoth = (block: Block, of: ReturnType<typeof tablesOf>): unknown => {
  const early = block.height % 2 === 0 ? matchBlock('ETH', block, of.wallets) : null;
  const paid = sightingsInBlock(block, of.invoices, 0);
  return [early ?? matchBlock('ETH', block, of.wallets), paid];
};

/**
 * Measures the listener's matching without payments, the same with payments beside it, and the matching of payments on a node that does not
 * follow the chain for wallets. Tables without invoices are also compared with each other: this difference should be nothing.
 */
export async function matchingRows({
  wallets,
  invoices,
  turns,
  hasGoal,
}: {
  readonly wallets: number;
  readonly invoices: number;
  readonly turns: number;
  readonly hasGoal: boolean;
}): Promise<readonly BenchRow[]> {
  const pairs = Array.from({ length: PAIRS }, () => ({
    without: tablesOf(wallets, 0),
    beside: tablesOf(wallets, invoices),
  }));
  const other = tablesOf(0, invoices);
  const ways = [
    (block: Block) => sightingsInBlock(block, other.invoices, 0),
    ...pairs.flatMap(({ without, beside }) => [
      (block: Block) => matchBlock('ETH', block, without.wallets),
      (block: Block) => matchBoth(block, beside),
    ]),
  ];
  const of = `${wallets.toLocaleString('en-US')} wallets`;
  const measured = async (hits: Hits): Promise<readonly BenchRow[]> => {
    const textOf = (height: number): string => blockText(height, hits, { wallets, invoices });
    const [payments = [], ...both] = await inTurn(ways, textOf, { turns, blocks: BLOCKS_A_ROUND });
    const alone = both.filter((_, way) => way % 2 === 0);
    const together = both.filter((_, way) => way % 2 === 1);
    const listener = median(alone.flat());
    // All pairs of a turn first: a pair whose tables lie badly is one of several.
    const mean = (of: readonly (readonly number[])[]): number[] =>
      (of[0] ?? []).map((_, turn) => of.reduce((sum, each) => sum + (each[turn] as number), 0) / of.length);
    const added = relation(mean(together), mean(alone)) - 1;
    const apart = alone.slice(1).map((each) => relation(each, alone[0] as readonly number[]) - 1);
    const noise = Math.max(...apart.map(Math.abs));
    if (hits.invoices > 0) {
      const perPayment = (added * listener * TRANSFERS_A_BLOCK) / hits.invoices / 1e3;
      return [
        row(
          `added if all are paid within a day (${hits.invoices.toFixed(2)} a block)`,
          added * listener,
          UNIT,
          null,
          listener,
        ),
        row('matching of one payment', perPayment, 'CPU µs'),
      ];
    }
    const goal = hasGoal ? ({ atMost: 0.02, of: 'ratio' } as const) : null;
    return [
      row(`matching of the listener, ${of}, without payments`, listener, UNIT),
      row('added by open invoices', added * listener, UNIT, goal, listener),
      row('difference of two listeners without payments', noise * listener, UNIT, null, listener),
      row('matching of payments on another node', median(payments), UNIT, null, listener),
    ];
  };
  const open = await measured(ofWallets(wallets));
  return hasGoal ? [...open, ...(await measured(allPaid(wallets, invoices)))] : open;
}

const UNIT = 'CPU ns per transfer';

/** Measures blocks from the adapter to both stores, without the graph: also what each follower does once for a block. */
export async function wholeBlockRows({
  wallets,
  invoices,
  turns,
}: {
  readonly wallets: number;
  readonly invoices: number;
  readonly turns: number;
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
      ...{
        invoices: nothing,
        settlement: nothing,
        depthOf: () => ({ blocks: 12 }),
        rateOf: nothing,
        screen: nothing,
        isKnownAsset: nothing,
      },
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
      (height) => blockText(height, NO_HITS, { wallets, invoices }),
      { turns, blocks: 1 },
    )) as [number[], number[]];
    const alone = median(listener);
    return [
      row('whole block of the listener, with its store', alone, UNIT),
      row(
        'the same with open invoices and their store',
        alone * relation(together, listener),
        UNIT,
        null,
        alone,
      ),
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
