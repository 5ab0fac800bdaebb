/** The trace of the graph benchmark in other programs: in DuckDB as one recursive query, in graphology in memory. Run by graph.ts. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import graphology from 'graphology';
import { systemClock } from '../src/base/clock.ts';
import type { NodeId } from '../src/graph/graph.ts';
import { digestOf, edgesIn, isService, readSubject, SERVICE_SQL, TRACE } from './graph-subject.ts';

export interface PeerResult {
  readonly milliseconds: readonly number[];
  /** Digest of the edges of each start. */
  readonly digests: readonly string[];
  readonly loadSeconds: number;
  /** After loading and a garbage collection. */
  readonly heapMb: number;
}

const heapMb = (): number => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};

/**
 * Nodes in the order of discovery are numbered by (depth, number of the node they were found from, rank among its neighbours). A level may
 * contain nodes of an earlier one. They lead to nothing new, and their first number counts. A level needs no more than twice the nodes of
 * the result, because at most that many can be repeated.
 */
const DUCKDB_TRACE = `
with recursive walk(node, depth, number) as (
  select ?::INTEGER, 0, 1::BIGINT
  union all
  select other, depth, number from (
    select other, depth, row_number() over (order by parent, rank) as number from (
      select a.other, w.depth + 1 as depth, w.number as parent, a.rank,
             row_number() over (partition by a.other order by w.number, a.rank) as nth
      from walk w join nodes n on n.node = w.node join adjacency a on a.node = w.node
      where w.depth < ${TRACE.hops} and (w.depth = 0 or n.passes)
    ) where nth = 1
  ) where number <= ${2 * TRACE.nodesMax}
),
found as (
  select node, min(depth) as depth, row_number() over (order by min(depth), arg_min(number, depth)) as number
  from walk group by node
),
kept as (select * from found where number <= ${TRACE.nodesMax}),
seen as (
  select a.node, a.other, a.is_out, row_number() over (order by k.number, a.rank) as place, o.node is null as is_over
  from kept k join nodes n on n.node = k.node join adjacency a on a.node = k.node left join kept o on o.node = a.other
  where k.depth < ${TRACE.hops} and (k.depth = 0 or n.passes)
),
pairs as (
  select if(is_out, node, other) as source, if(is_out, other, node) as target, min(place) as place
  from seen
  where place < coalesce((select min(place) from seen where is_over), 9223372036854775807)
  group by all
)
select source, target from pairs order by place limit ${TRACE.edgesMax}`;

/** Both directions of every edge, ranked in the order of a trace, sorted by node: the equivalent of an index. */
const DUCKDB_TABLES = (csv: string): readonly string[] => [
  `create table edges as select * from read_csv('${csv}', header = false,
     columns = {'source': 'INTEGER', 'target': 'INTEGER', 'cents': 'BIGINT', 'unpriced': 'INTEGER'})`,
  `create table adjacency as select node, other, is_out,
     row_number() over (partition by node order by cents desc, unpriced desc, other, is_out desc)::INTEGER as rank
     from (select source as node, target as other, true as is_out, cents, unpriced from edges
           union all select target, source, false, cents, unpriced from edges)
     order by node, rank`,
  `create table nodes as select node, not (${SERVICE_SQL}) and
     count(*) filter (is_out) <= ${TRACE.degreeMax} and count(*) filter (not is_out) <= ${TRACE.degreeMax} as passes
     from adjacency group by node order by node`,
  'drop table edges',
];

/** More than the tables of the large graph need, and less than would evict other programs. */
const DUCKDB_MEMORY = '8GB';

async function traceByDuckDb(folder: string, starts: readonly NodeId[]): Promise<PeerResult> {
  const path = join(folder, 'edges.duckdb');
  const isMade = existsSync(path);
  const began = systemClock.monotonic();
  const instance = await DuckDBInstance.create(path, { memory_limit: DUCKDB_MEMORY });
  const connection = await instance.connect();
  if (!isMade) for (const statement of DUCKDB_TABLES(edgesIn(folder))) await connection.run(statement);
  const loadSeconds = (systemClock.monotonic() - began) / 1000;
  const query = await connection.prepare(DUCKDB_TRACE);
  const milliseconds: number[] = [];
  const digests: string[] = [];
  for (const [at, start] of [starts[0]!, ...starts].entries()) {
    query.bindInteger(1, start);
    const before = systemClock.monotonic();
    const rows = (await query.runAndReadAll()).getRows();
    // The first run warms the cache.
    if (at === 0) continue;
    milliseconds.push(systemClock.monotonic() - before);
    digests.push(digestOf(rows.map(([from, to]) => `${from}>${to}`)));
  }
  return { milliseconds, digests, loadSeconds, heapMb: heapMb() };
}

interface EdgeAttributes {
  readonly cents: number;
  readonly unpriced: number;
}

type PeerGraph = InstanceType<typeof graphology.DirectedGraph<Record<string, never>, EdgeAttributes>>;

/** Returns the columns of the CSV. */
function readEdges(path: string, count: number): readonly Float64Array[] {
  const columns = [0, 1, 2, 3].map(() => new Float64Array(count));
  const bytes = readFileSync(path);
  let column = 0;
  let edge = 0;
  let value = 0;
  for (const byte of bytes) {
    if (byte >= 48) {
      value = value * 10 + byte - 48;
      continue;
    }
    columns[column]![edge] = value;
    value = 0;
    column = byte === 10 ? 0 : column + 1;
    if (byte === 10) edge++;
  }
  return columns;
}

/** Node names make their neighbours keep the insertion order, which is that of value, so that sorting them is cheap. */
function loadGraphology(folder: string): PeerGraph {
  const graph: PeerGraph = new graphology.DirectedGraph();
  const { edges, nodes } = readSubject(folder);
  const [from, to, cents, unpriced] = readEdges(edgesIn(folder), edges) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const order = Uint32Array.from({ length: edges }, (_, at) => at);
  order.sort((a, b) => cents[b]! - cents[a]! || unpriced[b]! - unpriced[a]!);
  for (let node = 1; node <= nodes; node++) graph.addNode(`n${node}`);
  for (const at of order)
    graph.addDirectedEdge(`n${from[at]}`, `n${to[at]}`, { cents: cents[at]!, unpriced: unpriced[at]! });
  return graph;
}

interface Found extends EdgeAttributes {
  readonly other: string;
  readonly id: number;
  readonly isOut: boolean;
}

/** The trace as usually written with graphology: a queue, a Map of depths, neighbours of both directions sorted by value. */
function traceGraphology(graph: PeerGraph, start: NodeId): string[] {
  const depths = new Map<string, number>([[`n${start}`, 0]]);
  const expanded = new Set<string>();
  const pairs: string[] = [];
  for (const [node, depth] of depths) {
    if (depth === TRACE.hops) break;
    const id = Number(node.slice(1));
    const isSuper = graph.outDegree(node) > TRACE.degreeMax || graph.inDegree(node) > TRACE.degreeMax;
    if (depth > 0 && (isService(id) || isSuper)) continue;
    const found: Found[] = [];
    graph.forEachOutEdge(node, (_edge, { cents, unpriced }, _source, other) => {
      found.push({ other, id: Number(other.slice(1)), cents, unpriced, isOut: true });
    });
    graph.forEachInEdge(node, (_edge, { cents, unpriced }, other) => {
      found.push({ other, id: Number(other.slice(1)), cents, unpriced, isOut: false });
    });
    found.sort(
      (a, b) =>
        b.cents - a.cents || b.unpriced - a.unpriced || a.id - b.id || Number(b.isOut) - Number(a.isOut),
    );
    for (const { other, id: otherId, isOut } of found) {
      if (expanded.has(other)) continue;
      if (pairs.length === TRACE.edgesMax) return pairs;
      if (!depths.has(other)) {
        if (depths.size === TRACE.nodesMax) return pairs;
        depths.set(other, depth + 1);
      }
      pairs.push(isOut ? `${id}>${otherId}` : `${otherId}>${id}`);
    }
    expanded.add(node);
  }
  return pairs;
}

async function traceByGraphology(folder: string, starts: readonly NodeId[]): Promise<PeerResult> {
  const began = systemClock.monotonic();
  const graph = loadGraphology(folder);
  const loadSeconds = (systemClock.monotonic() - began) / 1000;
  const memory = heapMb();
  const milliseconds: number[] = [];
  const digests: string[] = [];
  for (const start of starts) traceGraphology(graph, start);
  for (const start of starts) {
    const before = systemClock.monotonic();
    const pairs = traceGraphology(graph, start);
    milliseconds.push(systemClock.monotonic() - before);
    digests.push(digestOf(pairs));
  }
  return { milliseconds, digests, loadSeconds, heapMb: memory };
}

const PEERS: Readonly<Record<string, typeof traceByDuckDb>> = {
  duckdb: traceByDuckDb,
  graphology: traceByGraphology,
};

const [name = '', folder = '', count = ''] = process.argv.slice(2);
const peer = PEERS[name];
if (peer === undefined) throw new Error(`'${name}' is none of ${Object.keys(PEERS).join(', ')}.`);
process.stdout.write(JSON.stringify(await peer(folder, readSubject(folder).starts.slice(0, Number(count)))));
