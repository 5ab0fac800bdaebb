/**
 * The transfer store on the synthetic power-law graph: bulk load from CSV, size, live upserts, and a hub's update and top 100, compared
 * with plain puts into LMDB. Run: node dist/bench/graph-ingest.js [--edges N] [--addresses N] [--keep]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  POWER_LAW_CHAIN,
  POWER_LAW_HUB,
  powerLawAddress,
  writePowerLawCsv,
} from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import type { Block } from '../src/chains/block.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { createNeighbourColumns } from '../src/graph/graph.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import { openChainStore } from '../src/graph/store/chain-store.ts';
import { counterpartiesIn } from '../src/graph/store/node-record.ts';
import { openTransferStore, type TransferStore } from '../src/graph/store.ts';
import { openEnvironment } from '../src/state/lmdb.ts';
import { argument, type BenchReport, publish, report, row, runChild } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const SEED = 1;
const LIVE_TRANSFERS = 200_000;
const HUB_UPDATES = 20_000;
const BLOCK_TRANSFERS = 200;
const BLOCKS = 250;
/** Blocks that `assay watch --ingest` stores together while it catches up. */
const BLOCKS_AT_ONCE = 16;
/** Blocks before the last measurement: the store then has free pages all over its file, as that of a running server has. */
const EARLIER_BLOCKS = 2_000;

interface LoadResult {
  readonly perSecond: number;
  readonly cpuSeconds: number;
  readonly rssMb: number;
  /** Puts of one neighbour each into a plain B-tree, in key order. */
  readonly barePuts: number;
}

interface SizeResult {
  readonly edges: number;
  readonly adjacencyBytes: number;
}

interface LiveResult {
  readonly upserts: number;
  /** Two puts per transfer by composite key, in the same batches. */
  readonly bareUpserts: number;
  readonly blockTransfers: number;
  /** The same blocks, several in one transaction. */
  readonly groupTransfers: number;
  readonly hubDegree: number;
  readonly hubUpdateUs: number;
  readonly hubTopMs: number;
  /** As `blockTransfers`, after many more blocks. */
  readonly laterTransfers: number;
  readonly laterCpuUs: number;
}

const perSecond = (count: number, start: number): number =>
  (count * 1000) / (systemClock.monotonic() - start);

async function benchGraphIngest(edges: number, addresses: number, keep: boolean): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-graph-'));
  try {
    const csv = join(folder, 'graph.csv');
    writePowerLawCsv(csv, { addresses, edges, seed: SEED });
    const load = await runChild<LoadResult>(SELF, ['load', csv, folder]);
    rmSync(csv);
    const size = await runChild<SizeResult>(SELF, ['size', folder]);
    const bytes = statSync(fileOf(folder)).size;
    const live = await runChild<LiveResult>(SELF, ['live', folder, String(addresses)]);
    return report(
      'graph-ingest',
      startedAt,
      { addresses, transfers: edges, 'edges, both directions': size.edges, seed: SEED },
      [
        row('load from CSV', load.perSecond, 'transfers/s', { atLeast: 450e3 }, load.barePuts),
        row('  processor time', (load.cpuSeconds * 1e6) / edges, 'µs a transfer'),
        row('peak memory of the load', load.rssMb, 'MB', { atMost: 2000 }),
        row('adjacency on disk', size.adjacencyBytes / size.edges, 'bytes an edge and direction', {
          atMost: 60,
        }),
        row('everything on disk', bytes / edges, 'bytes a transfer', { atMost: 110 }),
        row('live upserts', live.upserts, 'transfers/s', { atLeast: 150e3 }, live.bareUpserts),
        row(`  in blocks of ${BLOCK_TRANSFERS}`, live.blockTransfers, 'transfers/s', { atLeast: 100e3 }),
        row(`  ${BLOCKS_AT_ONCE} blocks at a time`, live.groupTransfers, 'transfers/s'),
        row('counterparties of the hub', live.hubDegree, ''),
        row('update of the hub', live.hubUpdateUs, 'µs', { atMost: 50 }),
        row('top 100 of the hub', live.hubTopMs, 'ms', { atMost: 20 }),
        row(
          `in blocks of ${BLOCK_TRANSFERS}, after ${EARLIER_BLOCKS} more`,
          live.laterTransfers,
          'transfers/s',
        ),
        row('  processor time', live.laterCpuUs, 'µs a transfer'),
      ],
    );
  } finally {
    if (keep) process.stderr.write(`Kept: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

const fileOf = (folder: string): string => join(folder, 'store', `${POWER_LAW_CHAIN.toLowerCase()}.mdb`);
const storeIn = (folder: string): TransferStore =>
  openTransferStore({ path: join(folder, 'store'), readOnly: false });

/** Child: CSV to store. */
async function measureLoad(csv: string, folder: string): Promise<LoadResult> {
  const store = storeIn(folder);
  const start = systemClock.monotonic();
  const { rows, stored } = await ingestFiles(
    { format: 'ndjson', files: [csv], chain: POWER_LAW_CHAIN },
    { store },
  );
  const rate = perSecond(rows, start);
  if (stored !== rows) throw new Error(`Of ${rows} transfers ${stored} were stored.`);
  await store.close();
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const rssMb = maxRSS / 1024;
  return {
    perSecond: rate,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    rssMb,
    barePuts: await barePuts(join(folder, 'bare.mdb')),
  };
}

/** One composite key and 30 bytes per edge, appended in order. */
async function barePuts(path: string): Promise<number> {
  const count = 1_000_000;
  const bare = openEnvironment(path, { encoding: 'binary', keyEncoding: 'binary', noSubdir: true });
  const value = Buffer.alloc(30, 7);
  const start = systemClock.monotonic();
  for (let from = 0; from < count; from += 250_000)
    bare.transactionSync(() => {
      for (let index = from; index < from + 250_000; index++)
        bare.putSync(compositeKey(index, 1, index), value);
    });
  await bare.flushed;
  const rate = perSecond(count, start);
  await bare.close();
  return rate;
}

function compositeKey(node: number, direction: number, counterparty: number): Buffer {
  const key = Buffer.allocUnsafe(9);
  key.writeUInt32BE(node, 0);
  key[4] = direction;
  key.writeUInt32BE(counterparty, 5);
  return key;
}

/** Child: pages of the adjacency, and the edges in it. */
async function measureSize(folder: string): Promise<SizeResult> {
  const store = openChainStore(fileOf(folder), POWER_LAW_CHAIN, true);
  if (store === null) throw new Error('nothing was ingested');
  let edges = 0;
  for (const { value } of store.nodes.getRange())
    edges += counterpartiesIn(value, 0) + counterpartiesIn(value, 1);
  const stats = store.edges.getStats() as unknown as Record<string, number>;
  const pages =
    (stats.treeBranchPageCount ?? 0) + (stats.treeLeafPageCount ?? 0) + (stats.overflowPages ?? 0);
  await store.root.close();
  return { edges, adjacencyBytes: pages * (stats.pageSize ?? 4096) };
}

/** Child: the work of a running server. */
async function measureLive(folder: string, addresses: number): Promise<LiveResult> {
  const store = storeIn(folder);
  const next = seededUint32(77);
  const draw = (): string => powerLawAddress(Math.floor(addresses * (next() / 2 ** 32) ** 2));
  const hub = powerLawAddress(POWER_LAW_HUB);
  // Transactions that no earlier run created.
  let index = store.coverage(POWER_LAW_CHAIN).transfers;
  const make = (from: string, to: string, height: number): Transfer => ({
    chain: POWER_LAW_CHAIN,
    txHash: `0x${(++index).toString(16).padStart(64, 'f')}`,
    position: 'value',
    blockNumber: height,
    timestampMs: Date.UTC(2024, 0, 1) + height * 12_000,
    from,
    to,
    asset: 'ETH',
    amount: BigInt(next()) * 1_000_000_000n,
    decimals: 18,
    valueUsd: (next() % 100_000) / 100,
  });
  const random = (height: number): Transfer => make(draw(), draw(), height);

  const transfers = Array.from({ length: LIVE_TRANSFERS }, () => random(20_000_000));
  let start = systemClock.monotonic();
  await store.ingest(transfers);
  const upserts = perSecond(LIVE_TRANSFERS, start);
  const bareUpserts = await bareUpsertsOf(join(folder, 'bare-live.mdb'), addresses);

  const blockAt = (height: number): Block => ({
    chain: POWER_LAW_CHAIN,
    height,
    hash: `${height}`,
    parentHash: `${height - 1}`,
    timestampMs: Date.UTC(2024, 0, 1) + height * 12_000,
    transfers: Array.from({ length: BLOCK_TRANSFERS }, () => random(height)),
  });
  const blocksFrom = (height: number, count: number): Block[] =>
    Array.from({ length: count }, (_, at) => blockAt(height + at));
  const blocks = blocksFrom(20_000_001, 2 * BLOCKS);
  start = systemClock.monotonic();
  for (const block of blocks.slice(0, BLOCKS)) await store.appendBlock(block);
  const blockTransfers = perSecond(BLOCKS * BLOCK_TRANSFERS, start);
  start = systemClock.monotonic();
  for (let at = BLOCKS; at < blocks.length; at += BLOCKS_AT_ONCE)
    await store.appendBlocks(blocks.slice(at, at + BLOCKS_AT_ONCE));
  const groupTransfers = perSecond(BLOCKS * BLOCK_TRANSFERS, start);

  const updates = Array.from({ length: HUB_UPDATES }, () => make(draw(), hub, 20_001_000));
  start = systemClock.monotonic();
  await store.ingest(updates);
  const hubUpdateUs = ((systemClock.monotonic() - start) * 1000) / HUB_UPDATES;

  const graph = store.graph(POWER_LAW_CHAIN);
  const node = graph?.idOf(parseAddress(POWER_LAW_CHAIN, hub).key) ?? 0;
  const columns = createNeighbourColumns(100);
  const times = Array.from({ length: 21 }, () => {
    const begun = systemClock.monotonic();
    if (graph?.neighbours(node, 'in', 100, columns) !== 100)
      throw new Error('The hub has lost its neighbours.');
    return systemClock.monotonic() - begun;
  }).sort((a, b) => a - b);
  const hubDegree = graph?.degree(node, 'in') ?? 0;

  const earlier = blocksFrom(20_002_000, EARLIER_BLOCKS);
  for (let at = 0; at < EARLIER_BLOCKS; at += BLOCKS_AT_ONCE)
    await store.appendBlocks(earlier.slice(at, at + BLOCKS_AT_ONCE));
  const later = blocksFrom(20_002_000 + EARLIER_BLOCKS, BLOCKS);
  const cpu = process.cpuUsage();
  start = systemClock.monotonic();
  for (const block of later) await store.appendBlock(block);
  const laterTransfers = perSecond(BLOCKS * BLOCK_TRANSFERS, start);
  const { user, system } = process.cpuUsage(cpu);
  await store.close();
  return {
    upserts,
    bareUpserts,
    blockTransfers,
    groupTransfers,
    hubDegree,
    hubUpdateUs,
    hubTopMs: times[10]!,
    laterTransfers,
    laterCpuUs: (user + system) / (BLOCKS * BLOCK_TRANSFERS),
  };
}

async function bareUpsertsOf(path: string, addresses: number): Promise<number> {
  const count = 50_000;
  const next = seededUint32(78);
  const bare = openEnvironment(path, { encoding: 'binary', keyEncoding: 'binary', noSubdir: true });
  const value = Buffer.alloc(30, 7);
  const start = systemClock.monotonic();
  for (let from = 0; from < count; from += 10_000)
    bare.transactionSync(() => {
      for (let index = 0; index < 10_000; index++) {
        const [a, b] = [next() % addresses, next() % addresses];
        for (const key of [compositeKey(a, 1, b), compositeKey(b, 0, a)]) {
          bare.getBinaryFast(key);
          bare.putSync(key, value);
        }
      }
    });
  await bare.flushed;
  const rate = perSecond(count, start);
  await bare.close();
  return rate;
}

const [mode, ...args] = process.argv.slice(2);
if (mode === 'load') process.stdout.write(JSON.stringify(await measureLoad(args[0]!, args[1]!)));
else if (mode === 'size') process.stdout.write(JSON.stringify(await measureSize(args[0]!)));
else if (mode === 'live') process.stdout.write(JSON.stringify(await measureLive(args[0]!, Number(args[1]))));
else {
  const bench = await benchGraphIngest(
    argument('--edges', 20_000_000),
    argument('--addresses', 2_000_000),
    process.argv.includes('--keep'),
  );
  publish(bench);
}
