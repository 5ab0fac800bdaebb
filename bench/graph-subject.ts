/**
 * The test data of the graph benchmark: the synthetic graph of scripts/ as a store, the same edges and the inputs of the hub rule as CSV for
 * the compared programs, starts drawn by degree, and the set of services. It is built once and kept in the folder.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  POWER_LAW_CHAIN,
  POWER_LAW_COIN,
  POWER_LAW_HUB,
  powerLawAddress,
} from '../scripts/power-law-graph.ts';
import { seededUint32 } from '../src/base/random.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import type { Direction } from '../src/graph/flow.ts';
import { createNeighbourColumns, type NodeId, type TransferGraph } from '../src/graph/graph.ts';
import { RowReader } from '../src/graph/kernels/rows.ts';
import type { TraverseOptions } from '../src/graph/kernels/traverse.ts';
import type { Weighing } from '../src/graph/kernels/weighing.ts';
import { GRAPH_LIMITS } from '../src/graph/limits.ts';
import { openTransferStore } from '../src/graph/store.ts';
import type { TransferCoverage } from '../src/graph/transfers.ts';
import { SCREENING_LIMITS } from '../src/screening/limits.ts';

/** Number of starts drawn. The first of them are used for comparison. */
const STARTS = 1_100;
const SEED = 20_261;
const FLUSH_BYTES = 1 << 20;

/** The weights of screening. All assets of the generated graph are evidence. */
export const WEIGHING: Weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };

/** The assets of the generated graph. */
const assetNumber = (name: string): number => (name === POWER_LAW_COIN ? 0 : 1);

/** One address in this many is a service. */
const SERVICE_EVERY = 200;
/** Fibonacci hashing, the same in SQL. */
export const SERVICE_FACTOR = 2_654_435_761;

/** A service is determined only by its number, so that a database can compute the same. */
export const isService = (node: NodeId): boolean =>
  (Math.imul(node, SERVICE_FACTOR) >>> 0) % SERVICE_EVERY === 0;
export const SERVICE_SQL = `(node::UBIGINT * ${SERVICE_FACTOR}) % 4294967296 % ${SERVICE_EVERY} = 0`;

/** A default trace of three hops. */
export const TRACE: Omit<TraverseOptions, 'start'> = {
  direction: 'both',
  hops: 3,
  degreeMax: GRAPH_LIMITS.counterpartiesMax,
  nodesMax: SCREENING_LIMITS.traceNodesMax,
  edgesMax: SCREENING_LIMITS.traceEdgesMax,
};

export interface Subject {
  readonly nodes: number;
  /** Pairs of addresses, folded. */
  readonly edges: number;
  /** Drawn in proportion to their number of counterparties. Super-nodes, which no trace passes, are left out. */
  readonly starts: readonly NodeId[];
  readonly hub: NodeId;
  readonly hubDegree: number;
}

export const storeIn = (folder: string): string => join(folder, 'store');
/** The folder of everything that is derived from the store. Its number is that of the format: data of another format is exported again. */
const exportIn = (folder: string): string => join(folder, 'export-2');
/** `from,to,asset,cents,amount`: one row for each asset of an edge. Rows of one edge follow each other. */
export const edgesIn = (folder: string): string => join(exportIn(folder), 'edges.csv');
/**
 * `node,is_out,asset,cents,priced_amount`: the priced part of each flow of a direction with so many counterparties that it may be a hub. An
 * edge does not have it: the USD of an edge do not say which part of its amount has a price.
 */
export const flowsIn = (folder: string): string => join(exportIn(folder), 'flows.csv');
export const duckDbIn = (folder: string): string => join(exportIn(folder), 'edges.duckdb');
const subjectIn = (folder: string): string => join(exportIn(folder), 'subject.json');

/** Runs `work` on the store's graph, and closes the store. */
export async function withGraph<T>(
  folder: string,
  work: (graph: TransferGraph, coverage: TransferCoverage) => T | Promise<T>,
): Promise<T> {
  const store = openTransferStore({ path: storeIn(folder), readOnly: true });
  try {
    const graph = store.graph(POWER_LAW_CHAIN);
    if (graph === null) throw new Error(`${folder} holds no graph.`);
    return await work(graph, store.coverage(POWER_LAW_CHAIN));
  } finally {
    await store.close();
  }
}

export const readSubject = (folder: string): Subject =>
  JSON.parse(readFileSync(subjectIn(folder), 'utf8')) as Subject;

/** Writes the edges, the flows and the starts of the store's graph. Does nothing if that was already done. */
export async function exportEdges(folder: string): Promise<void> {
  if (existsSync(subjectIn(folder))) return;
  mkdirSync(exportIn(folder), { recursive: true });
  await withGraph(folder, (graph) => {
    const { drawn, edges } = writeEdges(graph, edgesIn(folder));
    writeFileSync(flowsIn(folder), flowsOf(graph));
    const rows = new RowReader(graph, WEIGHING);
    const starts = drawn.filter((node) => !rows.isHub(node, TRACE.degreeMax)).slice(0, STARTS);
    const hub = graph.idOf(parseAddress(POWER_LAW_CHAIN, powerLawAddress(POWER_LAW_HUB)).key);
    if (hub === null) throw new Error('The graph has lost its hub.');
    const hubDegree = graph.degree(hub, 'in');
    const subject: Subject = { nodes: graph.nodeCount, edges, starts, hub, hubDegree };
    writeFileSync(subjectIn(folder), JSON.stringify(subject));
  });
}

/** Returns the number of edges, and twice the starts that are needed: some of them are super-nodes. */
function writeEdges(graph: TransferGraph, path: string): { drawn: NodeId[]; edges: number } {
  const next = seededUint32(SEED);
  const drawn: NodeId[] = [];
  const file = openSync(path, 'w');
  let columns = createNeighbourColumns(2 ** 16);
  let text = '';
  let edges = 0;
  for (let from = 1; from <= graph.nodeCount; from++) {
    const degree = graph.degree(from, 'out');
    if (degree > columns.ids.length) columns = createNeighbourColumns(degree);
    const count = graph.neighbours(from, 'out', degree, columns);
    for (let at = 0; at < count; at++) {
      const to = columns.ids[at]!;
      for (const { asset, valueUsd, amount } of graph.edge(from, to))
        text += `${from},${to},${assetNumber(asset)},${Math.round((valueUsd ?? 0) * 100)},${amount}\n`;
      // Algorithm R (Vitter, 1985): the ends of a uniformly drawn edge are drawn by degree.
      const slot = drawn.length < 2 * STARTS ? drawn.length : next() % (edges + 1);
      const end = next() % 2 === 0 ? from : to;
      if (slot < 2 * STARTS) drawn[slot] = end;
      edges++;
    }
    if (text.length < FLUSH_BYTES) continue;
    writeSync(file, text);
    text = '';
  }
  writeSync(file, text);
  closeSync(file);
  return { drawn, edges };
}

function flowsOf(graph: TransferGraph): string {
  let text = '';
  for (let node = 1; node <= graph.nodeCount; node++)
    for (const direction of ['in', 'out'] satisfies Direction[]) {
      if (graph.degree(node, direction) <= TRACE.degreeMax) continue;
      for (const { asset, cents, pricedAmount } of graph.sums(node)[direction])
        text += `${node},${direction === 'out' ? 1 : 0},${assetNumber(graph.assetName(asset))},${cents},${pricedAmount}\n`;
    }
  return text;
}

/** One number for a set of edges, independent of their order. */
export function digestOf(pairs: readonly string[]): string {
  return createHash('sha256')
    .update([...pairs].sort().join('\n'))
    .digest('hex')
    .slice(0, 16);
}

/** The quantile of figures. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
