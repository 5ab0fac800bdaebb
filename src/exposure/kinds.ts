/**
 * Attributions of all addresses of a graph, as small numbers: a sweep needs to know of an address whether value ends there, and in which
 * column it is counted.
 */
import { LIMITS } from '../base/limits.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { RowReader, type Weighing } from '../graph/kernels/rows.ts';

/** Value passes through: no label names the address. */
export const PASSES = -1;
/** Value ends at a label that is no risk. */
export const NEUTRAL = -2;
/** Value cannot be followed: a hub without a label. */
export const HUB = -3;

/** The most columns: a kind has 15 bits, and each column costs 8 bytes an address while it is swept. */
export const COLUMNS_MAX = 4_096;

/** How a sweep treats the addresses of a graph. */
export interface NodeKinds<C> {
  /** By node: PASSES, NEUTRAL, HUB, or the number of a column. */
  readonly kinds: Int16Array;
  /** Of nodes whose attribution depends on the time of the edge: from when it applies, and the kind before. */
  readonly before: ReadonlyMap<NodeId, { readonly fromMs: number; readonly kind: number }>;
  /** By number. */
  readonly columns: readonly C[];
  readonly hubs: readonly NodeId[];
  /** Nodes with a label, risky or not. */
  readonly attributed: number;
}

/** An attribution as far as a sweep needs it. */
export interface SweptAttribution<C> {
  /** Null: no risk, the value is neutral. */
  readonly column: C | null;
  /** Attributions of equal names share a column. */
  readonly name: string;
}

export interface KindsDeps<C> {
  readonly graph: TransferGraph;
  readonly weighing: Weighing;
  /** Null if no label names the node. */
  readonly attribution: (node: NodeId) => {
    readonly now: SweptAttribution<C>;
    readonly until: { readonly fromMs: number; readonly before: SweptAttribution<C> | null } | null;
  } | null;
}

/** Asks for every node's attribution, and for those without one whether they are hubs. */
export function readKinds<C>({ graph, weighing, attribution }: KindsDeps<C>): NodeKinds<C> {
  const { nodeCount } = graph;
  const kinds = new Int16Array(nodeCount + 1).fill(PASSES);
  const before = new Map<NodeId, { fromMs: number; kind: number }>();
  const columns: C[] = [];
  const numbers = new Map<string, number>();
  const hubs: NodeId[] = [];
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
    if (found === null) {
      if (!rows.isHub(node, LIMITS.counterpartiesMax)) continue;
      kinds[node] = HUB;
      hubs.push(node);
      continue;
    }
    attributed++;
    kinds[node] = kindOf(found.now);
    const { until } = found;
    if (until === null) continue;
    const isHubBefore = until.before === null && rows.isHub(node, LIMITS.counterpartiesMax);
    const kind = until.before !== null ? kindOf(until.before) : isHubBefore ? HUB : PASSES;
    before.set(node, { fromMs: until.fromMs, kind });
  }
  return { kinds, before, columns, hubs, attributed };
}

/**
 * Returns the kinds with the labels of some columns taken away: value passes their addresses, or ends there as at a hub. Null if no
 * column is taken away.
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
    return rows.isHub(node, LIMITS.counterpartiesMax) ? HUB : PASSES;
  };
  const left = Int16Array.from(kinds.kinds, (kind, node) => kindOf(node, kind));
  const before = new Map(
    [...kinds.before].map(([node, until]) => [node, { ...until, kind: kindOf(node, until.kind) }]),
  );
  return { ...kinds, kinds: left, before };
}
