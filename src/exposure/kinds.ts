/**
 * Attributions of all addresses of a graph, as small numbers: for each address, a sweep needs to know whether value ends there, and in
 * which column it is counted.
 */
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';

/** Value passes through: the address has no label. */
export const PASSES = -1;
/** Value ends at a label without risk. */
export const NEUTRAL = -2;
/** Value cannot be followed: a hub without a label. */
export const HUB = -3;

/** Maximum number of columns: a kind has 15 bits, and each column takes 16 bytes per address during its sweep. */
export const COLUMNS_MAX = 4_096;

/** Treatment of the addresses of a graph by a sweep. */
export interface NodeKinds<C> {
  /** By node: PASSES, NEUTRAL, HUB, or the number of a column. */
  readonly kinds: Int16Array;
  /** For nodes with an attribution that depends on the time of the edge: the start of the attribution, and the kind before it. */
  readonly before: ReadonlyMap<NodeId, { readonly fromMs: number; readonly kind: number }>;
  /** By column number. */
  readonly columns: readonly C[];
  readonly hubs: readonly NodeId[];
  /** Nodes that an uncertain label attributes to a designated party. */
  readonly suspected: ReadonlySet<NodeId>;
  /** Nodes with a label, risky or not. */
  readonly attributed: number;
}

/** The part of an attribution that a sweep needs. */
export interface SweptAttribution<C> {
  /** Null if there is no risk: the value is neutral. */
  readonly column: C | null;
  /** Attributions with equal names share a column. */
  readonly name: string;
}

export interface KindsDeps<C> {
  readonly graph: TransferGraph;
  readonly weighing: Weighing;
  /** Null if the node has no label. */
  readonly attribution: (node: NodeId) => {
    readonly now: SweptAttribution<C>;
    readonly until: { readonly fromMs: number; readonly before: SweptAttribution<C> | null } | null;
  } | null;
  /** Whether an uncertain label attributes the node to a designated party, also if `attribution` is null. */
  readonly isSuspected: (node: NodeId) => boolean;
}

/** Reads the attribution of every node, and checks nodes without one for being hubs. */
export function readKinds<C>({ graph, weighing, attribution, isSuspected }: KindsDeps<C>): NodeKinds<C> {
  const { nodeCount } = graph;
  const kinds = new Int16Array(nodeCount + 1).fill(PASSES);
  const before = new Map<NodeId, { fromMs: number; kind: number }>();
  const columns: C[] = [];
  const numbers = new Map<string, number>();
  const hubs: NodeId[] = [];
  const suspected = new Set<NodeId>();
  const rows = new RowReader(graph, weighing);
  let attributed = 0;
  const kindOf = ({ column, name }: SweptAttribution<C>): number => {
    if (column === null) return NEUTRAL;
    const known = numbers.get(name);
    if (known !== undefined) return known;
    if (columns.length === COLUMNS_MAX) throw new Error(`More than ${COLUMNS_MAX} kinds of attribution.`);
    numbers.set(name, columns.length);
    return columns.push(column) - 1;
  };
  for (let node = 1; node <= nodeCount; node++) {
    const found = attribution(node);
    if (isSuspected(node)) suspected.add(node);
    if (found === null) {
      if (!rows.isHub(node, GRAPH_LIMITS.counterpartiesMax)) continue;
      kinds[node] = HUB;
      hubs.push(node);
      continue;
    }
    attributed++;
    kinds[node] = kindOf(found.now);
    const { until } = found;
    if (until === null) continue;
    const isHubBefore = until.before === null && rows.isHub(node, GRAPH_LIMITS.counterpartiesMax);
    const kind = until.before !== null ? kindOf(until.before) : isHubBefore ? HUB : PASSES;
    before.set(node, { fromMs: until.fromMs, kind });
  }
  return { kinds, before, columns, hubs, suspected, attributed };
}

/**
 * Returns the kinds without the labels of some columns: value passes through their addresses, or ends there if they are hubs. Null if
 * no column is removed.
 */
export function withoutColumns<C>(
  kinds: NodeKinds<C>,
  isTaken: (column: C) => boolean,
  { graph, weighing }: Pick<KindsDeps<C>, 'graph' | 'weighing'>,
): NodeKinds<C> | null {
  const taken = kinds.columns.map(isTaken);
  if (!taken.includes(true)) return null;
  const rows = new RowReader(graph, weighing);
  const kindOf = (node: NodeId, kind: number): number => {
    if (kind < 0 || !taken[kind]) return kind;
    return rows.isHub(node, GRAPH_LIMITS.counterpartiesMax) ? HUB : PASSES;
  };
  const left = Int16Array.from(kinds.kinds, (kind, node) => kindOf(node, kind));
  const before = new Map(
    [...kinds.before].map(([node, until]) => [node, { ...until, kind: kindOf(node, until.kind) }]),
  );
  return { ...kinds, kinds: left, before };
}
