/** Collects everything within a few hops of an address: nodes with their depth, folded edges, and every place at which the walk stopped. */
import type { NeighbourColumns, NodeId } from '../graph.ts';
import type { EdgeList } from './edge-columns.ts';
import { UNSEEN } from './node-index.ts';
import { RowReader } from './rows.ts';
import { DIRECTIONS_OF, type Stop, type StopReason, type WalkDirection } from './stops.ts';
import type { WalkDeps } from './workspace.ts';

export interface TraverseOptions {
  readonly start: NodeId;
  readonly direction: WalkDirection;
  /** 0 to 255. */
  readonly hops: number;
  /** The walk does not pass addresses with more counterparties than this in either direction. From the start it reads this many. */
  readonly degreeMax: number;
  /** The most nodes of the result, including the start. */
  readonly nodesMax: number;
  /** The most edges of the result. */
  readonly edgesMax: number;
}

export interface Traversal {
  /** In the order of discovery: the start first, then by depth. */
  readonly nodes: Uint32Array;
  /** Hops from the start, for each entry of `nodes`. */
  readonly depths: Uint8Array;
  /** In the order of discovery. A pair that traded both ways has two edges. */
  readonly edges: EdgeList;
  /** At most one per node, in the order of `nodes`. */
  readonly stops: readonly Stop[];
  readonly maxDepthReached: number;
  /** False if a budget, the time limit or the start's own size left something out. */
  readonly isComplete: boolean;
}

/** Marks of a node's two possible edges with a start that was read in part. */
const FROM_START = 1;
const TO_START = 2;

/** How many neighbours are read for each one that may be new, and how many in addition. */
const NEW_MARGIN = 2;
const NEW_LEAST = 64;

const NONE: NeighbourColumns | null = null;

/** Returns true if the neighbour at `a` of one list comes before the one at `b` of the other, in the order of TransferGraph.row. */
function comesFirst(one: NeighbourColumns, a: number, other: NeighbourColumns, b: number): boolean {
  const weight = (one.weight[a] as number) - (other.weight[b] as number);
  if (weight !== 0) return weight > 0;
  return (one.ids[a] as number) <= (other.ids[b] as number);
}

/**
 * Walks breadth first along edges of evidence. The neighbours of an address are visited in the order of value, both directions together. A
 * spent budget ends the walk at the exact edge, and the result contains what was found before it. So the same graph and options give the
 * same result, however fast the walk runs, unless `isOver` ended it.
 */
export function traverse(options: TraverseOptions, deps: WalkDeps): Traversal {
  const { start, direction, hops, degreeMax, nodesMax, edgesMax } = options;
  const { graph, workspace, weighing, isService, isOver } = deps;
  const rows = new RowReader(graph, weighing);
  const { seen, edges } = workspace;
  const out = direction === 'in' ? NONE : workspace.neighbours('out', degreeMax);
  const into = direction === 'out' ? NONE : workspace.neighbours('in', degreeMax);
  const depths = new Uint8Array(nodesMax);
  const isExpanded = new Uint8Array(nodesMax);
  const startEdges = new Uint8Array(nodesMax);
  const stops: Stop[] = [];
  let isStartPartial = false;
  let isSpent = false;
  let expanded = 0;

  seen.clear();
  edges.clear();
  seen.add(start);

  /** Adds the neighbour at `at`. Returns false if the budget does not allow it. */
  const take = (number: number, neighbours: NeighbourColumns, at: number): boolean => {
    const node = seen.nodeAt(number);
    const other = neighbours.ids[at] as NodeId;
    const isOut = neighbours === out;
    let otherNumber = seen.find(other);
    // If both directions are walked, an expanded neighbour has already added the edge. A start that was read in part may not have.
    if (otherNumber !== UNSEEN && isExpanded[otherNumber] === 1 && direction === 'both') {
      if (otherNumber > 0 || !isStartPartial) return true;
      if (((startEdges[number] as number) & (isOut ? TO_START : FROM_START)) > 0) return true;
    }
    if (edges.count === edgesMax) return false;
    if (otherNumber === UNSEEN) {
      if (seen.size === nodesMax) return false;
      otherNumber = seen.add(other);
      depths[otherNumber] = (depths[number] as number) + 1;
    }
    if (number === 0)
      startEdges[otherNumber] = (startEdges[otherNumber] as number) | (isOut ? FROM_START : TO_START);
    if (isOut) edges.push(node, other, neighbours, at);
    else edges.push(other, node, neighbours, at);
    return true;
  };

  /** Returns false if the budget ended it. */
  const expand = (number: number): boolean => {
    const node = seen.nodeAt(number);
    // A node with more neighbours than this spends the budget before the last: at most `expanded` of them lead to a known edge.
    const room = Math.min(degreeMax, nodesMax, edgesMax - edges.count + expanded + 1);
    // Usually the budget of nodes ends the walk sooner: few neighbours were met before. If they do not suffice, the row is read again.
    const first = Math.min(room, NEW_MARGIN * (nodesMax - seen.size + 1) + NEW_LEAST);
    let outRoom = first;
    let inRoom = first;
    let outCount = out === null ? 0 : rows.readAll(node, 'out', outRoom, out);
    let inCount = into === null ? 0 : rows.readAll(node, 'in', inRoom, into);
    let outAt = 0;
    let inAt = 0;
    while (outAt < outCount || inAt < inCount) {
      if (out !== null && outAt === outCount && outCount === outRoom && outRoom < room) {
        outRoom = room;
        outCount = rows.readAll(node, 'out', outRoom, out);
      }
      if (into !== null && inAt === inCount && inCount === inRoom && inRoom < room) {
        inRoom = room;
        inCount = rows.readAll(node, 'in', inRoom, into);
      }
      const isOutNext =
        inAt === inCount ||
        (outAt < outCount && comesFirst(out as NeighbourColumns, outAt, into as NeighbourColumns, inAt));
      const isTaken = isOutNext
        ? take(number, out as NeighbourColumns, outAt++)
        : take(number, into as NeighbourColumns, inAt++);
      if (!isTaken) return false;
    }
    return true;
  };

  const isReadInPart = (node: NodeId): boolean =>
    direction === 'both' ? rows.isHub(node, degreeMax) : rows.isHubIn(node, direction, degreeMax);

  /** Returns why the node is not expanded, or not completely. Returns null if it is. */
  const visit = (number: number): StopReason | null => {
    const node = seen.nodeAt(number);
    if (number > 0 && isService(node)) return 'SERVICE';
    if (depths[number] === hops) return 'DEPTH';
    isSpent ||= isOver?.() === true;
    if (isSpent) return 'BUDGET';
    if (number === 0) isStartPartial = isReadInPart(node);
    else if (rows.isHub(node, degreeMax)) return 'MAX_DEGREE';
    isExpanded[number] = 1;
    expanded++;
    isSpent = !expand(number);
    if (isSpent) return 'BUDGET';
    return number === 0 && isStartPartial ? 'MAX_DEGREE' : null;
  };

  /** Announces the reads of a hop. All its addresses are known when the first is visited. */
  const announce = (number: number): void => {
    const nodes = Array.from({ length: seen.size - number }, (_, at) => seen.nodeAt(number + at));
    const isLast = depths[number] === hops;
    graph.prefetch?.(
      isLast ? { nodes } : { nodes, neighbours: { directions: DIRECTIONS_OF[direction], degreeMax } },
    );
  };

  let announced = -1;
  for (let number = 0; number < seen.size; number++) {
    if (graph.prefetch && (depths[number] as number) > announced) {
      announced = depths[number] as number;
      announce(number);
    }
    const reason = visit(number);
    if (reason !== null) stops.push({ node: seen.nodeAt(number), reason });
  }

  return {
    nodes: seen.toArray(),
    depths: depths.slice(0, seen.size),
    edges: edges.toList(),
    stops,
    maxDepthReached: depths[seen.size - 1] as number,
    isComplete: !isSpent && !isStartPartial,
  };
}
