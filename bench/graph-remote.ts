/**
 * The transfer graph in a server compared with a local one: traces of three hops over a real Redis on loopback, with an empty and with a
 * warm cache, in milliseconds and round trips; the cost of pushing and storing an edge.
 * Run: node dist/bench/graph-remote.js [--addresses N] [--edges N] [--folder PATH] [--cluster] [--no-save]
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { POWER_LAW_CHAIN, writePowerLawCsv } from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import type { NodeId, TransferGraph } from '../src/graph/graph.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import { type Traversal, traverse } from '../src/graph/kernels/traverse.ts';
import { createKernelWorkspace } from '../src/graph/kernels/workspace.ts';
import { createFetcher } from '../src/graph/remote/fetch.ts';
import { pushChain } from '../src/graph/remote/push.ts';
import { RemoteRecords } from '../src/graph/remote/records.ts';
import { createChainReader } from '../src/graph/store/reader.ts';
import { openTransferStore } from '../src/graph/store.ts';
import { openRedis, parseRedisUrl } from '../src/state/redis.ts';
import { startRedis, startRedisCluster } from '../test/setup/redis.ts';
import {
  exportEdges,
  isService,
  quantile,
  readSubject,
  storeIn,
  TRACE,
  WEIGHING,
  withGraph,
} from './graph-subject.ts';
import { argument, publish, report, row } from './harness.ts';

const SEED = 1;
const STARTS = 100;
const WARM_UP = 20;

const log = createLogger({ level: 'error' });
const workspace = createKernelWorkspace();

interface Timed {
  readonly milliseconds: readonly number[];
  readonly roundTrips: readonly number[];
  readonly edges: readonly number[];
}

/** A trace as for a response: the walk, the addresses of its nodes, and the details of each edge. */
function trace(graph: TransferGraph, start: NodeId): Traversal {
  const walked = traverse({ ...TRACE, start }, { graph, workspace, weighing: WEIGHING, isService });
  const { edges, nodes } = walked;
  graph.prefetch?.({ nodes });
  for (const node of nodes) graph.keyOf(node);
  graph.prefetch?.({ nodes: edges.from, to: edges.to });
  for (let at = 0; at < edges.count; at++) graph.edge(edges.from[at]!, edges.to[at]!);
  return walked;
}

async function timed(
  starts: readonly NodeId[],
  graphFor: () => TransferGraph,
  roundTrips: () => number,
): Promise<Timed> {
  const figures = { milliseconds: [] as number[], roundTrips: [] as number[], edges: [] as number[] };
  for (const start of starts) {
    const graph = graphFor();
    const trips = roundTrips();
    const before = systemClock.monotonic();
    const { edges } = trace(graph, start);
    figures.milliseconds.push(systemClock.monotonic() - before);
    figures.roundTrips.push(roundTrips() - trips);
    figures.edges.push(edges.count);
    // Lets the reader look up its version again, as for a new request.
    await new Promise(setImmediate);
  }
  return figures;
}

async function build(folder: string, addresses: number, transfers: number): Promise<void> {
  if (existsSync(storeIn(folder))) return exportEdges(folder);
  mkdirSync(folder, { recursive: true });
  const csv = join(folder, 'transfers.csv');
  writePowerLawCsv(csv, { addresses, edges: transfers, seed: SEED });
  const store = openTransferStore({ path: storeIn(folder), readOnly: false });
  await ingestFiles({ format: 'ndjson', files: [csv], chain: POWER_LAW_CHAIN }, { store });
  await store.close();
  rmSync(csv);
  await exportEdges(folder);
}

const memoryOf = (info: string): number => Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);

export async function benchGraphRemote(
  folder: string,
  addresses: number,
  transfers: number,
  isCluster: boolean,
) {
  const startedAt = isoTime(systemClock.now());
  await build(folder, addresses, transfers);
  const { starts: drawn, edges, nodes } = readSubject(folder);
  const starts = drawn.slice(0, STARTS);
  const servers = isCluster ? await startRedisCluster() : await startRedis();
  const used = (): number => (isCluster || !('run' in servers) ? 0 : memoryOf(servers.run('info', 'memory')));
  try {
    const empty = used();
    const redis = openRedis(parseRedisUrl(servers.url), { log });
    const path = join(storeIn(folder), `${POWER_LAW_CHAIN.toLowerCase()}.mdb`);
    const before = systemClock.monotonic();
    const pushed = await pushChain(
      { chain: POWER_LAW_CHAIN, path, graceMs: 0 },
      { redis, clock: systemClock },
    );
    const pushSeconds = (systemClock.monotonic() - before) / 1_000;
    await redis.close();
    const held = used() - empty;

    const local = await withGraph(folder, async (graph) => {
      await timed(
        starts.slice(0, WARM_UP),
        () => graph,
        () => 0,
      );
      return timed(
        starts,
        () => graph,
        () => 0,
      );
    });
    const fetcher = createFetcher({ url: servers.url, logLevel: 'error' }, { clock: systemClock, log });
    const readerOf = () =>
      createChainReader(new RemoteRecords(POWER_LAW_CHAIN, { fetch: fetcher.fetch, clock: systemClock }));
    const graphOf = (reader: ReturnType<typeof readerOf>): TransferGraph => {
      const graph = reader.graph();
      if (graph === null) throw new Error('Nothing was pushed.');
      return graph;
    };
    const trips = (): number => fetcher.roundTrips;
    await timed(starts.slice(0, WARM_UP), () => graphOf(readerOf()), trips);
    const cold = await timed(starts, () => graphOf(readerOf()), trips);
    const shared = readerOf();
    await timed(starts, () => graphOf(shared), trips);
    const warm = await timed(starts, () => graphOf(shared), trips);
    await fetcher.close();
    const differing = cold.edges.filter((count, at) => count !== local.edges[at]).length;
    const p50 = (figures: readonly number[]): number => quantile(figures, 0.5);
    const p99 = (figures: readonly number[]): number => quantile(figures, 0.99);
    return report(
      'graph-remote',
      startedAt,
      {
        graph: `${nodes} addresses, ${transfers} transfers, ${edges} edges`,
        servers: isCluster ? 'a cluster of six on loopback' : 'one Redis on loopback',
        starts: starts.length,
        seed: SEED,
      },
      [
        row(
          'trace of 3 hops with its edges, empty memory: p50',
          p50(cold.milliseconds),
          'ms',
          null,
          p50(local.milliseconds),
        ),
        row('  p99', p99(cold.milliseconds), 'ms', null, p99(local.milliseconds)),
        row('  round trips: p50', p50(cold.roundTrips), '', { atMost: 30 }),
        row('  round trips: p99', p99(cold.roundTrips), ''),
        row('  edges of a trace, median', p50(local.edges), ''),
        row('  traces whose edges differ', differing, '', { atMost: 0 }),
        row(
          'the same from a thread that has seen others: p50',
          p50(warm.milliseconds),
          'ms',
          null,
          p50(local.milliseconds),
        ),
        row('  p99', p99(warm.milliseconds), 'ms', null, p99(local.milliseconds)),
        row('  round trips: p50', p50(warm.roundTrips), ''),
        row('push: transfers a second, compared again', transfers / pushSeconds, '1/s'),
        row('  records', pushed.records, ''),
        row('  bytes pushed a transfer, its log and both its ends', pushed.writtenBytes / transfers, 'B'),
        ...(held > 0 ? [row('  memory of Redis a transfer', held / transfers, 'B')] : []),
      ],
    );
  } finally {
    await servers.stop();
  }
}

async function main(): Promise<void> {
  const at = process.argv.indexOf('--folder');
  const named = at < 0 ? undefined : process.argv[at + 1];
  const root = named ?? mkdtempSync(join(tmpdir(), 'assay-bench-remote-'));
  try {
    const bench = await benchGraphRemote(
      root,
      argument('--addresses', 200_000),
      argument('--edges', 2_000_000),
      process.argv.includes('--cluster'),
    );
    publish(bench);
  } finally {
    if (named === undefined) rmSync(root, { recursive: true, force: true });
  }
}

await main();
