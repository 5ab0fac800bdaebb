/**
 * Walks of the transfer graph: traces of three hops on a graph of 2 million addresses and 20 million transfers and on one ten times
 * smaller, compared with DuckDB and graphology over the same edges, and with arrays in C as the limit; exposure and paths. A folder given on the command line is kept, with
 * the data built in it.
 * Run: node --expose-gc dist/bench/graph.js [--addresses N] [--edges N] [--folder PATH] [--no-save]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writePowerLawCsv } from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import type { NodeId, TransferGraph } from '../src/graph/graph.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import { exposureOf } from '../src/graph/kernels/exposure.ts';
import { findPaths } from '../src/graph/kernels/path.ts';
import { traverse } from '../src/graph/kernels/traverse.ts';
import { createKernelWorkspace } from '../src/graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../src/graph/limits.ts';
import { openTransferStore } from '../src/graph/store.ts';
import type { TransferCoverage } from '../src/graph/transfers.ts';
import { SCREENING_LIMITS } from '../src/screening/limits.ts';
import { createRememberedDegrees } from '../src/screening/remembered-degrees.ts';
import { hasCompiler, type LimitResult, orderedDigest, traceByArrays } from './graph-limit.ts';
import type { PeerResult } from './graph-peers.ts';
import {
  digestOf,
  exportEdges,
  isService,
  quantile,
  readSubject,
  type Subject,
  storeIn,
  TRACE,
  WEIGHING,
  withGraph,
} from './graph-subject.ts';
import { argument, type BenchRow, publish, report, row, runChild } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const PEERS = fileURLToPath(new URL('./graph-peers.js', import.meta.url));
const SEED = 1;
/** Factor by which the smaller graph is smaller. */
const SMALLER = 10;
const WARM_UP = 100;
/** Starts that the compared programs trace too: DuckDB takes seconds for some. */
const STARTS_DUCKDB = 20;
const STARTS_GRAPHOLOGY = 200;
/** Pairs of different addresses: of fewer, one or two searches decide the p99. */
const PATH_PAIRS = 500;
const HUB_TRACES = 20;
/** Number of entities that the services belong to. */
const ENTITIES = 50;
/** The most entries that V8 allows in one Map. graphology keeps its edges in one. */
const GRAPHOLOGY_EDGES_MAX = 2 ** 24;

interface TraceResult {
  readonly milliseconds: readonly number[];
  /** The same traces, with each hub test computed from its row. */
  readonly uncachedMs: readonly number[];
  readonly nodes: readonly number[];
  readonly digests: readonly string[];
  /** The same in the order of the trace, for all starts. */
  readonly orderedDigests: readonly number[];
  /** From the hub: the first one reads its whole row, the others find its greatest edges in memory. */
  readonly hubMilliseconds: readonly number[];
  /** Resident memory, including touched pages of the store's map, which the system reclaims if it needs them. */
  readonly rssMb: number;
  /** The part of it that is the process's own. */
  readonly ownMb: number;
}

interface FlowResult {
  readonly exposureMs: readonly number[];
  readonly exposureNodes: readonly number[];
  readonly pathMs: readonly number[];
  /** The searches before them, in a process that has just started. */
  readonly firstPathMs: readonly number[];
  readonly pathsFound: number;
}

type Pair = readonly [start: NodeId, target: NodeId];

/** Each of the first half with its counterpart in the second half. No address is in two pairs. */
const pairsOf = (nodes: readonly NodeId[]): Pair[] =>
  nodes.slice(0, nodes.length >> 1).map((start, at) => [start, nodes[nodes.length - 1 - at] as NodeId]);

/** Runs the work once per item. Returns milliseconds. */
function timed<Item>(items: readonly Item[], work: (item: Item) => void): number[] {
  return items.map((item) => {
    const before = systemClock.monotonic();
    work(item);
    return systemClock.monotonic() - before;
  });
}

/** Resident memory without file-backed pages, in MB. All resident memory if the system does not distinguish them. */
function ownMemoryMb(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? process.memoryUsage.rss() / 2 ** 20 : Number(kilobytes) / 1024;
}

/** The graph as screening reads it: with cached degrees and hub tests. The compared programs have theirs computed in advance too. */
const remembering = (stored: TransferGraph, coverage: TransferCoverage): TransferGraph =>
  createRememberedDegrees()(stored, coverage);

/** Child: traces by the kernel on the store. */
function measureTraces(
  stored: TransferGraph,
  coverage: TransferCoverage,
  { starts, hub }: Subject,
): TraceResult {
  const workspace = createKernelWorkspace();
  const traceIn = (graph: TransferGraph, start: NodeId) =>
    traverse({ ...TRACE, start }, { graph, workspace, weighing: WEIGHING, isService });
  const graph = remembering(stored, coverage);
  const trace = (start: NodeId) => traceIn(graph, start);
  const measured = starts.slice(0, -WARM_UP);
  timed(starts.slice(-WARM_UP), trace);
  const nodes: number[] = [];
  const milliseconds = timed(measured, (start) => {
    nodes.push(trace(start).nodes.length);
  });
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  const ownMb = ownMemoryMb();
  const digests = measured.slice(0, STARTS_GRAPHOLOGY).map((start) => {
    const { edges } = trace(start);
    return digestOf(Array.from({ length: edges.count }, (_, at) => `${edges.from[at]}>${edges.to[at]}`));
  });
  const orderedDigests = measured.map((start) => orderedDigest(trace(start).edges));
  const hubMilliseconds = timed(new Array<NodeId>(HUB_TRACES).fill(hub), trace);
  const uncachedMs = timed(measured, (start) => traceIn(stored, start));
  return { milliseconds, uncachedMs, nodes, digests, orderedDigests, hubMilliseconds, rssMb, ownMb };
}

/** Child: exposure in both directions, as in a screening, and paths between starts. */
function measureFlows(stored: TransferGraph, coverage: TransferCoverage, { starts }: Subject): FlowResult {
  const graph = remembering(stored, coverage);
  const workspace = createKernelWorkspace();
  const entities = Array.from({ length: ENTITIES }, (_, at) => ({ key: `entity ${at}` }));
  const attribution = (node: NodeId) => (isService(node) ? (entities[node % ENTITIES] ?? null) : null);
  const exposureNodes: number[] = [];
  const exposure = (start: NodeId): void => {
    for (const direction of ['in', 'out'] as const) {
      const { nodesSeen } = exposureOf(
        {
          ...{ start, direction, maxHops: 3, degreeMax: GRAPH_LIMITS.counterpartiesMax },
          ...{ nodesMax: SCREENING_LIMITS.exposureNodesMax, weighing: WEIGHING },
        },
        { graph, workspace, attribution },
      );
      exposureNodes.push(nodesSeen);
    }
  };
  const measured = starts.slice(0, -WARM_UP);
  timed(starts.slice(-WARM_UP), exposure);
  exposureNodes.length = 0;
  const exposureMs = timed(measured, exposure);
  let pathsFound = 0;
  const search = ([start, target]: Pair): void => {
    const { paths } = findPaths(
      {
        ...{
          start,
          target,
          direction: 'out',
          maxDepth: 7,
          pathsMax: 10,
          degreeMax: GRAPH_LIMITS.counterpartiesMax,
        },
        ...{ nodesMax: SCREENING_LIMITS.pathNodesMax, stepsMax: SCREENING_LIMITS.pathStepsMax },
        timeRespecting: false,
      },
      { graph, workspace, weighing: WEIGHING, isService },
    );
    if (paths.length > 0) pathsFound++;
  };
  const firstPathMs = timed(pairsOf(starts.slice(-WARM_UP)), search);
  pathsFound = 0;
  const pathMs = timed(pairsOf(measured).slice(0, PATH_PAIRS), search);
  return { exposureMs, exposureNodes, firstPathMs, pathMs, pathsFound };
}

/** Builds the graph in the folder, once. */
async function build(folder: string, addresses: number, edges: number): Promise<void> {
  if (!existsSync(storeIn(folder))) {
    mkdirSync(folder, { recursive: true });
    const csv = join(folder, 'transfers.csv');
    writePowerLawCsv(csv, { addresses, edges, seed: SEED });
    const making = `${storeIn(folder)}.making`;
    rmSync(making, { recursive: true, force: true });
    const store = openTransferStore({ path: making, readOnly: false });
    await ingestFiles({ format: 'ndjson', files: [csv], chain: 'ETH' }, { store });
    await store.close();
    rmSync(csv);
    renameSync(making, storeIn(folder));
  }
  await exportEdges(folder);
}

interface Scale {
  readonly folder: string;
  readonly subject: Subject;
  readonly traces: TraceResult;
  readonly flows: FlowResult;
}

async function measure(folder: string, addresses: number, edges: number): Promise<Scale> {
  await runChild<null>(SELF, ['build', folder, String(addresses), String(edges)]);
  const traces = await runChild<TraceResult>(SELF, ['trace', folder], ['--expose-gc']);
  const flows = await runChild<FlowResult>(SELF, ['flow', folder], ['--expose-gc']);
  return { folder, subject: readSubject(folder), traces, flows };
}

const peer = (name: string, folder: string, starts: number): Promise<PeerResult> =>
  runChild<PeerResult>(PEERS, [name, folder, String(starts)], ['--expose-gc', '--max-old-space-size=8192']);

/** The number of starts for which a compared program finds other edges than the kernel. */
const differing = (traces: TraceResult, { digests }: PeerResult): number =>
  digests.filter((digest, at) => digest !== traces.digests[at]).length;

const median = (figures: readonly number[]): number => quantile(figures, 0.5);
const p99 = (figures: readonly number[]): number => quantile(figures, 0.99);

function rowsOfScale(name: string, { traces, flows }: Scale, isLarge: boolean): BenchRow[] {
  return [
    row(`trace of 3 hops, ${name}: p50`, median(traces.milliseconds), 'ms', isLarge ? { atMost: 5 } : null),
    row('  p99', p99(traces.milliseconds), 'ms', isLarge ? { atMost: 25 } : null),
    row('  without cached hub tests: p50', median(traces.uncachedMs), 'ms'),
    row('  addresses of a trace, median', median(traces.nodes), '', { atLeast: 1000 }),
    row('  from the hub itself: p50', median(traces.hubMilliseconds), 'ms', isLarge ? { atMost: 12 } : null),
    row('  from the hub for the first time', traces.hubMilliseconds[0] ?? Number.NaN, 'ms'),
    row(`exposure in and out, 3 hops, ${name}: p50`, median(flows.exposureMs), 'ms'),
    row('  p99', p99(flows.exposureMs), 'ms'),
    row('  addresses of one direction, median', median(flows.exposureNodes), ''),
    row(`paths to 7 hops, ${name}: p50`, median(flows.pathMs), 'ms'),
    row('  p99', p99(flows.pathMs), 'ms', isLarge ? { atMost: 25 } : null),
    row('  the slowest of the first searches of a process', Math.max(...flows.firstPathMs), 'ms'),
    row('  pairs with a path', flows.pathsFound / PATH_PAIRS, ''),
  ];
}

/** The traces of a scale beside those of the C program. */
function rowsOfLimit(name: string, { traces }: Scale, limit: LimitResult): BenchRow[] {
  const { milliseconds, orderedDigests } = traces;
  const differ = limit.digests.filter((digest, at) => digest !== orderedDigests[at]).length;
  return [
    row(
      `trace beside arrays in C, ${name}: p50`,
      median(milliseconds),
      'ms',
      null,
      median(limit.milliseconds),
    ),
    row('  p99', p99(milliseconds), 'ms', null, p99(limit.milliseconds)),
    row('  traces whose edges differ', differ, '', { atMost: 0 }),
  ];
}

export async function benchGraph(root: string, addresses: number, edges: number) {
  const startedAt = isoTime(systemClock.now());
  const small = await measure(
    join(root, `${addresses / SMALLER}-${edges / SMALLER}`),
    addresses / SMALLER,
    edges / SMALLER,
  );
  const large = await measure(join(root, `${addresses}-${edges}`), addresses, edges);
  // If graphology cannot hold the large graph, the comparison uses the small one.
  const compared = large.subject.edges < GRAPHOLOGY_EDGES_MAX ? large : small;
  const comparedName = compared === large ? 'large' : 'small';
  const duckdb = await peer('duckdb', large.folder, STARTS_DUCKDB);
  const duckdbSmall = await peer('duckdb', small.folder, STARTS_DUCKDB);
  const graphology = await peer('graphology', compared.folder, STARTS_GRAPHOLOGY);
  const limits = hasCompiler()
    ? rowsOfLimit('large', large, await runChild<LimitResult>(SELF, ['limit', large.folder]))
    : [];
  const firsts = (scale: Scale, count: number): readonly number[] =>
    scale.traces.milliseconds.slice(0, count);
  return report(
    'graph',
    startedAt,
    {
      'large graph': `${large.subject.nodes} addresses, ${edges} transfers, ${large.subject.edges} edges`,
      'small graph': `${small.subject.nodes} addresses, ${small.subject.edges} edges`,
      'hub of the large graph': `${large.subject.hubDegree} counterparties`,
      starts: large.traces.milliseconds.length,
      ...(limits.length === 0 ? { 'arrays in C': 'skipped: cc, the C compiler, is missing' } : {}),
      seed: SEED,
    },
    [
      ...rowsOfScale('large', large, true),
      ...rowsOfScale('small', small, false),
      ...limits,
      row(
        'p99 of traces, large beside small',
        p99(large.traces.milliseconds),
        'ms',
        { atMost: 2.5, of: 'ratio' },
        p99(small.traces.milliseconds),
      ),
      row(
        'trace by DuckDB, large: p50',
        median(duckdb.milliseconds),
        'ms',
        { atLeast: 10, of: 'ratio' },
        median(firsts(large, STARTS_DUCKDB)),
      ),
      row('  traces whose edges differ', differing(large.traces, duckdb), '', { atMost: 0 }),
      row('  on the small graph', differing(small.traces, duckdbSmall), '', { atMost: 0 }),
      row(
        `trace beside graphology, ${comparedName}: p50`,
        median(firsts(compared, STARTS_GRAPHOLOGY)),
        'ms',
        { atMost: 3, of: 'ratio' },
        median(graphology.milliseconds),
      ),
      row('  traces whose edges differ', differing(compared.traces, graphology), '', { atMost: 0 }),
      row(
        '  memory of the process beside its heap',
        compared.traces.ownMb,
        'MB',
        { atMost: 0.25, of: 'ratio' },
        graphology.heapMb,
      ),
      row('  with the touched pages of the store', compared.traces.rssMb, 'MB'),
    ],
  );
}

async function main(): Promise<void> {
  const at = process.argv.indexOf('--folder');
  const named = at < 0 ? undefined : process.argv[at + 1];
  const root = named ?? mkdtempSync(join(tmpdir(), 'assay-bench-graph-'));
  try {
    const bench = await benchGraph(root, argument('--addresses', 2_000_000), argument('--edges', 20_000_000));
    publish(bench);
  } finally {
    if (named === undefined) rmSync(root, { recursive: true, force: true });
  }
}

const CHILDREN: Readonly<Record<string, (args: readonly string[]) => Promise<unknown>>> = {
  build: ([folder = '', addresses, edges]) =>
    build(folder, Number(addresses), Number(edges)).then(() => null),
  trace: ([folder = '']) =>
    withGraph(folder, (graph, coverage) => measureTraces(graph, coverage, readSubject(folder))),
  limit: ([folder = '']) =>
    withGraph(folder, (graph) => traceByArrays(graph, readSubject(folder).starts.slice(0, -WARM_UP))),
  flow: ([folder = '']) =>
    withGraph(folder, (graph, coverage) => measureFlows(graph, coverage, readSubject(folder))),
};

const child = CHILDREN[process.argv[2] ?? ''];
if (child) process.stdout.write(JSON.stringify(await child(process.argv.slice(3))));
else await main();
