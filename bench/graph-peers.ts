/** The trace of the graph benchmark in other programs: in DuckDB as one recursive query, in graphology in memory. Run by graph.ts. */
import { existsSync, readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import graphology from 'graphology';
import { systemClock } from '../src/base/clock.ts';
import type { NodeId } from '../src/graph/graph.ts';
import { GRAPH_LIMITS } from '../src/graph/limits.ts';
import {
  digestOf,
  duckDbIn,
  edgesIn,
  flowsIn,
  isService,
  readSubject,
  SERVICE_SQL,
  TRACE,
  WEIGHING,
} from './graph-subject.ts';

const COMMA = 0x2c;
const NEWLINE = 0x0a;

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

/**
 * The hub rule of docs/decisions/graph-walks.md. All transfers of an asset in a row count at the average rate of its priced ones. Prices
 * exist in every row with so many counterparties, so that USD is the unit of all of them.
 */
const DUCKDB_HUBS = `create table hubs as select distinct node from (
  select node from (
    select node, is_out, other, sum(rate * amount) as usd
    from sides join rates using (node, is_out, asset) group by node, is_out, other)
  group by node, is_out
  having count(*) > ${TRACE.degreeMax} and (
    count(*) > ${GRAPH_LIMITS.rowScanMax} or
    count(*) filter (usd >= ${WEIGHING.dustUsd}) > ${TRACE.degreeMax} or
    sum(usd) filter (usd < ${WEIGHING.dustUsd}) > sum(usd) / 2))`;

/** Both directions of every edge, ranked in the order of a trace, sorted by node: the equivalent of an index. */
const DUCKDB_TABLES = (folder: string): readonly string[] => [
  `create table edges as select * from read_csv('${edgesIn(folder)}', header = false, auto_detect = false,
     columns = {'source': 'INTEGER', 'target': 'INTEGER', 'asset': 'INTEGER', 'cents': 'BIGINT', 'amount': 'DOUBLE'})`,
  `create view sides as select source as node, target as other, true as is_out, asset, amount from edges
     union all select target, source, false, asset, amount from edges`,
  `create table rates as select node, is_out = 1 as is_out, asset, cents / 100 / priced_amount as rate
     from read_csv('${flowsIn(folder)}', header = false, auto_detect = false, columns = {'node': 'INTEGER', 'is_out': 'INTEGER',
     'asset': 'INTEGER', 'cents': 'BIGINT', 'priced_amount': 'DOUBLE'}) where priced_amount > 0`,
  DUCKDB_HUBS,
  `create table folded as select source, target, sum(cents)::BIGINT as cents,
     if(sum(cents) = 0, sum(amount), 0) as unpriced_amount from edges group by source, target`,
  `create table adjacency as select node, other, is_out,
     row_number() over (partition by node order by cents desc, unpriced_amount desc, other, is_out desc)::INTEGER as rank
     from (select source as node, target as other, true as is_out, cents, unpriced_amount from folded
           union all select target, source, false, cents, unpriced_amount from folded)
     order by node, rank`,
  `create table nodes as select distinct node, not (${SERVICE_SQL}) and node not in (from hubs) as passes
     from adjacency order by node`,
  'drop view sides',
  'drop table edges',
  'drop table folded',
];

/** More than the tables of the large graph need, and less than would evict other programs. */
const DUCKDB_MEMORY = '8GB';

async function traceByDuckDb(folder: string, starts: readonly NodeId[]): Promise<PeerResult> {
  const path = duckDbIn(folder);
  const isMade = existsSync(path);
  const began = systemClock.monotonic();
  const instance = await DuckDBInstance.create(path, { memory_limit: DUCKDB_MEMORY });
  const connection = await instance.connect();
  if (!isMade) for (const statement of DUCKDB_TABLES(folder)) await connection.run(statement);
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
  /** The amount of all assets together if the edge has no USD. Otherwise 0. */
  readonly unpricedAmount: number;
}

interface PeerGraph {
  readonly edges: InstanceType<typeof graphology.DirectedGraph<Record<string, never>, EdgeAttributes>>;
  readonly hubs: ReadonlySet<NodeId>;
}

type Row = readonly [number, number, number, number, number];

/** Calls `visit` for every row of a CSV of five numbers. */
function forEachRow(path: string, visit: (row: Row) => void): void {
  const bytes = readFileSync(path);
  const row: [number, number, number, number, number] = [0, 0, 0, 0, 0];
  let column = 0;
  let start = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte !== COMMA && byte !== NEWLINE) continue;
    row[column] = Number(bytes.toString('latin1', start, at));
    start = at + 1;
    column = byte === NEWLINE ? 0 : column + 1;
    if (byte === NEWLINE) visit(row);
  }
}

/** The USD of the smallest unit, by asset, of the rows that may be those of a hub: first outgoing rows by node, then incoming ones. */
function readRates(folder: string): readonly [Map<NodeId, number[]>, Map<NodeId, number[]>] {
  const rates: [Map<NodeId, number[]>, Map<NodeId, number[]>] = [new Map(), new Map()];
  forEachRow(flowsIn(folder), ([node, isOut, asset, cents, pricedAmount]) => {
    const side = rates[isOut === 1 ? 0 : 1];
    const row = side.get(node) ?? [0, 0];
    if (pricedAmount > 0) row[asset] = cents / 100 / pricedAmount;
    side.set(node, row);
  });
  return rates;
}

/** The hub rule (see DUCKDB_HUBS) for one row, given the USD of each of its edges. */
function isHubRow(usd: readonly number[]): boolean {
  if (usd.length <= TRACE.degreeMax) return false;
  if (usd.length > GRAPH_LIMITS.rowScanMax) return true;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const light = usd.filter((value) => value < WEIGHING.dustUsd);
  return usd.length - light.length > TRACE.degreeMax || sum(light) > sum(usd) / 2;
}

function readHubs(folder: string): Set<NodeId> {
  const rates = readRates(folder);
  const rows = rates.map(
    (side) => new Map([...side.keys()].map((node) => [node, new Map<NodeId, number>()])),
  );
  forEachRow(edgesIn(folder), ([from, to, asset, , amount]) => {
    for (const [side, node, other] of [
      [0, from, to],
      [1, to, from],
    ] as const) {
      const row = rows[side]?.get(node);
      if (row) row.set(other, (row.get(other) ?? 0) + rates[side].get(node)![asset]! * amount);
    }
  });
  const hubs = rows.flatMap((side) => [...side].filter(([, row]) => isHubRow([...row.values()])));
  return new Set(hubs.map(([node]) => node));
}

/** Reads the edges, each summed over its assets. */
function readEdges(
  path: string,
  count: number,
): readonly [Float64Array, Float64Array, Float64Array, Float64Array] {
  const column = () => new Float64Array(count);
  const [from, to, cents, amount] = [column(), column(), column(), column()];
  let edge = -1;
  forEachRow(path, ([source, target, , usdCents, units]) => {
    if (edge < 0 || from[edge] !== source || to[edge] !== target) edge++;
    from[edge] = source;
    to[edge] = target;
    cents[edge]! += usdCents;
    amount[edge]! += units;
  });
  return [from, to, cents, amount];
}

/** Node names make their neighbours keep the insertion order, which is that of value, so that sorting them is cheap. */
function loadGraphology(folder: string): PeerGraph {
  const graph: PeerGraph['edges'] = new graphology.DirectedGraph();
  const { edges, nodes } = readSubject(folder);
  const [from, to, cents, amount] = readEdges(edgesIn(folder), edges);
  const unpriced = amount.map((units, at) => (cents[at] === 0 ? units : 0));
  const order = Uint32Array.from({ length: edges }, (_, at) => at);
  order.sort((a, b) => cents[b]! - cents[a]! || unpriced[b]! - unpriced[a]!);
  for (let node = 1; node <= nodes; node++) graph.addNode(`n${node}`);
  for (const at of order)
    graph.addDirectedEdge(`n${from[at]}`, `n${to[at]}`, { cents: cents[at]!, unpricedAmount: unpriced[at]! });
  return { edges: graph, hubs: readHubs(folder) };
}

interface Found extends EdgeAttributes {
  readonly other: string;
  readonly id: number;
  readonly isOut: boolean;
}

/** The trace as usually written with graphology: a queue, a Map of depths, neighbours of both directions sorted by value. */
function traceGraphology({ edges, hubs }: PeerGraph, start: NodeId): string[] {
  const depths = new Map<string, number>([[`n${start}`, 0]]);
  const expanded = new Set<string>();
  const pairs: string[] = [];
  for (const [node, depth] of depths) {
    if (depth === TRACE.hops) break;
    const id = Number(node.slice(1));
    if (depth > 0 && (isService(id) || hubs.has(id))) continue;
    const found: Found[] = [];
    edges.forEachOutEdge(node, (_edge, { cents, unpricedAmount }, _source, other) => {
      found.push({ other, id: Number(other.slice(1)), cents, unpricedAmount, isOut: true });
    });
    edges.forEachInEdge(node, (_edge, { cents, unpricedAmount }, other) => {
      found.push({ other, id: Number(other.slice(1)), cents, unpricedAmount, isOut: false });
    });
    found.sort(
      (a, b) =>
        b.cents - a.cents ||
        b.unpricedAmount - a.unpricedAmount ||
        a.id - b.id ||
        Number(b.isOut) - Number(a.isOut),
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
if (peer === undefined)
  throw new Error(`name: must be one of ${Object.keys(PEERS).join(', ')} (got "${name}").`);
process.stdout.write(JSON.stringify(await peer(folder, readSubject(folder).starts.slice(0, Number(count)))));
