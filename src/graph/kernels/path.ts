/** The shortest paths between two addresses, searched from both ends. */
import type { Direction } from '../flow.ts';
import type { NeighbourColumns, NodeId, Upcoming } from '../graph.ts';
import { FreshNodes } from './fresh-nodes.ts';
import { UNSEEN } from './node-index.ts';
import { NodeMarks } from './node-marks.ts';
import { createNetwork, START, TARGET } from './path-network.ts';
import { type Network, type RankedPath, rankPaths } from './path-ranking.ts';
import type { FoundPath, PathEdge, PathOptions, PathSearch } from './path-types.ts';
import { RowReader } from './rows.ts';
import { DIRECTIONS_OF, type Stop, type StopReason, type WalkDirection } from './stops.ts';
import type { WalkDeps } from './workspace.ts';

export type { FoundPath, PathEdge, PathOptions, PathSearch } from './path-types.ts';

const OPPOSITE: Readonly<Record<WalkDirection, WalkDirection>> = { in: 'out', out: 'in', both: 'both' };

/** Hops from an end to a node that was not reached from there. */
const UNREACHED = 255;

/** Whether paths may pass a node. Determined once per node. */
const NOT_ASKED = 0;
const PASSABLE = 1;
const IMPASSABLE = 2;

/** The search from one end. */
interface Side {
  readonly reads: readonly Direction[];
  /** By number of node. */
  readonly distance: Uint8Array;
  readonly isExpanded: Uint8Array;
  /** Numbers of the nodes that are `depth` hops away. May include nodes that no path may pass, until `cost` is known. */
  layer: readonly number[];
  /** Number of edges that reading the layer costs. Null until the layer is to be read. */
  cost: number | null;
  /** All nodes up to this distance are known. */
  depth: number;
  /** True if the end has too many counterparties to be read from this side. */
  readonly isClosed: boolean;
}

/** A layer of which only the edges to the other side were read, and the state before that. */
interface Glimpse {
  readonly side: Side;
  readonly other: Side;
  readonly isAhead: boolean;
  /** Number of edges. */
  readonly edges: number;
  /** That of the side. */
  readonly depth: number;
  /** Numbers of the nodes that were first reached by it. */
  readonly reached: number[];
  /** True if the budget ended it. */
  isCut: boolean;
}

/**
 * Searches from both ends in turns, expanding the side with fewer edges first, until both together reach far enough for paths of the next
 * length. Then it ranks the paths of that length, so that longer paths are searched only if needed. Within the budgets the result is exact:
 * the same as ranking all loopless paths.
 *
 * Of the last layer that paths of a length need, only the edges to nodes that the other side has reached belong to such paths. The others,
 * which are nearly all, are read once longer paths are needed.
 *
 * An end with too many counterparties is reached only from the other end. If both have too many, the greatest `degreeMax` counterparties of
 * the start are read, and the result is `truncated`. Start and target themselves may be services. There is no path from an address to
 * itself.
 */
export const findPaths = (options: PathOptions, deps: WalkDeps): PathSearch =>
  new PathWalk(options, deps).run();

/** One search: the state of each node, by its number, and the steps found. */
class PathWalk {
  readonly #options: PathOptions;
  readonly #deps: WalkDeps;
  readonly #sides: readonly [Side, Side];
  readonly #passable: Uint8Array;
  readonly #rows: RowReader;
  /** Numbers of the nodes between which each edge's step leads, as walked from start to target. */
  readonly #stepFrom: number[] = [];
  readonly #stepTo: number[] = [];
  readonly #stops: Stop[] = [];
  #isSpent = false;
  #isPartial = false;
  #stepsLeft: number;
  #glimpse: Glimpse | null = null;
  /** Counterparties of one row that the other side has not reached. */
  readonly #leftOut: NodeId[] = [];

  constructor(options: PathOptions, deps: WalkDeps) {
    const { start, target, direction, nodesMax, stepsMax } = options;
    this.#options = options;
    this.#deps = deps;
    this.#stepsLeft = stepsMax;
    this.#rows = new RowReader(deps.graph, deps.weighing);
    this.#passable = new Uint8Array(nodesMax);
    const { seen, edges } = deps.workspace;
    seen.clear();
    edges.clear();
    const ends = [seen.add(start), start === target ? 0 : seen.add(target)] as const;
    const isStartHub = this.#isHub(start, direction);
    const isTargetHub = this.#isHub(target, OPPOSITE[direction]);
    this.#isPartial = isStartHub && isTargetHub;
    this.#sides = [
      this.#sideOf(ends[0], direction, isStartHub && !isTargetHub),
      this.#sideOf(ends[1], OPPOSITE[direction], isTargetHub),
    ];
  }

  run(): PathSearch {
    const { start, target, maxDepth, pathsMax } = this.#options;
    const paths: FoundPath[] = [];
    if (this.#isPartial && start !== target) this.#stop(0, 'MAX_DEGREE');
    for (let length = 1; start !== target && length <= maxDepth && paths.length < pathsMax; length++) {
      this.#reach(length);
      // Edges of a layer that was read in part are read again later, with other numbers.
      for (const path of this.#rank(length, pathsMax - paths.length)) paths.push(this.#pathOf(path));
    }
    return {
      paths,
      stops: this.#stops,
      truncated: this.#isSpent || this.#isPartial,
    };
  }

  #isHub(node: NodeId, direction: WalkDirection): boolean {
    return DIRECTIONS_OF[direction].some((each) => this.#rows.isHubIn(node, each, this.#options.degreeMax));
  }

  #sideOf(end: number, direction: WalkDirection, isClosed: boolean): Side {
    const distance = new Uint8Array(this.#options.nodesMax).fill(UNREACHED);
    distance[end] = 0;
    return {
      reads: DIRECTIONS_OF[direction],
      distance,
      isExpanded: new Uint8Array(this.#options.nodesMax),
      layer: [end],
      cost: null,
      depth: 0,
      isClosed,
    };
  }

  /** The ends have the numbers 0 and 1. */
  #isEnd(number: number): boolean {
    return number < 2;
  }

  #stop(number: number, reason: StopReason): void {
    this.#stops.push({ node: this.#deps.workspace.seen.nodeAt(number), reason });
  }

  #isPassable(number: number): boolean {
    if (this.#isEnd(number)) return true;
    if (this.#passable[number] === NOT_ASKED) {
      const { isService, workspace } = this.#deps;
      const node = workspace.seen.nodeAt(number);
      const reason: StopReason | null = isService(node)
        ? 'SERVICE'
        : this.#rows.isHub(node, this.#options.degreeMax)
          ? 'MAX_DEGREE'
          : null;
      this.#passable[number] = reason === null ? PASSABLE : IMPASSABLE;
      if (reason !== null) this.#stop(number, reason);
    }
    return this.#passable[number] === PASSABLE;
  }

  /** Ensures that all edges of paths of this length are known, as far as the budget allows. */
  #reach(length: number): void {
    const [ahead, back] = this.#sides;
    this.#readGlimpsed();
    while (!this.#isSpent && ahead.depth + back.depth < length) {
      this.#announce(this.#sides.flatMap(({ layer }) => layer));
      for (const side of this.#sides) this.#prepare(side);
      // If a side has no nodes left to expand, every path is known.
      if ((!ahead.isClosed && ahead.layer.length === 0) || (!back.isClosed && back.layer.length === 0))
        return;
      const isAhead = back.isClosed || (!ahead.isClosed && (ahead.cost as number) <= (back.cost as number));
      const [side, other] = isAhead ? [ahead, back] : [back, ahead];
      const isLast = ahead.depth + back.depth + 1 === length;
      // A graph in servers wants to know of all reads in advance.
      if (isLast && this.#deps.graph.prefetch === undefined) this.#peek(side, other, isAhead);
      else this.#expand(side, other, isAhead);
    }
  }

  /** Leaves the nodes that no path may pass out of a side's layer, and determines its cost. */
  #prepare(side: Side): void {
    if (side.cost !== null) return;
    const { graph, workspace } = this.#deps;
    let cost = 0;
    side.layer = side.layer.filter((number) => {
      if (!this.#isPassable(number)) return false;
      // The test has just read the degrees.
      for (const direction of side.reads) cost += graph.degree(workspace.seen.nodeAt(number), direction);
      return true;
    });
    side.cost = cost;
  }

  /** Announces reads of many addresses. */
  #announce(numbers: readonly number[], neighbours?: Upcoming['neighbours']): void {
    const { graph, workspace } = this.#deps;
    if (!graph.prefetch) return;
    const nodes = numbers.map((number) => workspace.seen.nodeAt(number));
    graph.prefetch(neighbours ? { nodes, neighbours } : { nodes });
  }

  /**
   * Reads the edges between a side's layer and the nodes that the other side has reached. If the budget may end the search in the layer, the
   * new nodes of each row are counted, so that the search ends at the same edge as if all were read.
   */
  #peek(side: Side, other: Side, isAhead: boolean): void {
    const { isOver, workspace } = this.#deps;
    const { seen, edges } = workspace;
    const { depth } = side;
    const glimpse = { side, other, isAhead, edges: edges.count, depth, reached: [], isCut: false };
    const reachedMarks = new NodeMarks();
    const seenMarks = new NodeMarks();
    for (let number = 0; number < seen.size; number++) {
      const node = seen.nodeAt(number);
      seenMarks.add(node);
      if (other.distance[number] !== UNREACHED) reachedMarks.add(node);
    }
    const isReached = (node: NodeId): boolean => {
      // The marks rule out nearly all nodes, without a look-up in the larger table.
      if (!reachedMarks.mayHave(node)) return false;
      const number = seen.find(node);
      return number !== UNSEEN && other.distance[number] !== UNREACHED;
    };
    const room = this.#options.nodesMax - seen.size;
    const isSeen = (node: NodeId): boolean => seenMarks.mayHave(node) && seen.find(node) !== UNSEEN;
    const fresh = (side.cost as number) <= room ? null : new FreshNodes(room, isSeen);
    for (const [at, number] of side.layer.entries()) {
      this.#isSpent ||= isOver?.() === true;
      const isCut = !this.#isSpent && !this.#peekAt(number, glimpse, isReached, fresh);
      if (isCut) {
        glimpse.isCut = true;
        this.#glimpse = glimpse;
        this.#isSpent = true;
      }
      if (!this.#isSpent) continue;
      for (const left of side.layer.slice(at)) this.#stop(left, 'BUDGET');
      return;
    }
    side.depth++;
    this.#glimpse = glimpse;
  }

  /** Returns false if the budget ended it. */
  #peekAt(
    number: number,
    glimpse: Glimpse,
    isReached: (node: NodeId) => boolean,
    fresh: FreshNodes | null,
  ): boolean {
    const { degreeMax } = this.#options;
    const { workspace } = this.#deps;
    const node = workspace.seen.nodeAt(number);
    const leftOut = fresh === null ? undefined : this.#leftOut;
    for (const direction of glimpse.side.reads) {
      const neighbours = workspace.neighbours(direction, degreeMax);
      const choice = { isWanted: isReached, leftOut };
      const count = this.#rows.readAll(node, direction, degreeMax, neighbours, choice);
      if (fresh !== null) {
        for (let at = 0; at < count; at++) {
          const id = neighbours.ids[at] as NodeId;
          if (!isReached(id)) this.#leftOut.push(id);
        }
        if (!fresh.add(this.#leftOut)) {
          this.#peekBefore(number, glimpse, direction, fresh);
          return false;
        }
      }
      for (let at = 0; at < count; at++) this.#take(number, glimpse, neighbours, at, direction);
    }
    return true;
  }

  /** Reads the edges of a row up to the one to the node for which there is no room any more. */
  #peekBefore(number: number, glimpse: Glimpse, direction: Direction, fresh: FreshNodes): void {
    const { degreeMax } = this.#options;
    const { workspace } = this.#deps;
    const { room, isFresh } = fresh.beforeLast();
    const neighbours = workspace.neighbours(direction, degreeMax);
    const count = this.#rows.readAll(workspace.seen.nodeAt(number), direction, degreeMax, neighbours);
    for (let at = 0, left = room; at < count; at++) {
      if (isFresh(neighbours.ids[at] as NodeId) && --left < 0) return;
      this.#take(number, glimpse, neighbours, at, direction);
    }
  }

  /** Adds the edge at `at` of the neighbours of a node if the other side has reached its other node. */
  #take(
    number: number,
    { side, other, isAhead, reached }: Glimpse,
    neighbours: NeighbourColumns,
    at: number,
    direction: Direction,
  ): void {
    const met = this.#deps.workspace.seen.find(neighbours.ids[at] as NodeId);
    if (met === UNSEEN || other.distance[met] === UNREACHED) return;
    if (side.distance[met] === UNREACHED) {
      side.distance[met] = (side.distance[number] as number) + 1;
      reached.push(met);
    }
    if (other.isExpanded[met] !== 1) this.#pushStep(number, met, neighbours, at, direction, isAhead);
  }

  /** Reads the rest of a layer of which only the edges to the other side were read. */
  #readGlimpsed(): void {
    const glimpse = this.#glimpse;
    if (glimpse === null) return;
    this.#glimpse = null;
    const { side, other, isAhead, edges, depth, reached, isCut } = glimpse;
    this.#deps.workspace.edges.truncate(edges);
    this.#stepFrom.length = edges;
    this.#stepTo.length = edges;
    for (const number of reached) side.distance[number] = UNREACHED;
    side.depth = depth;
    // If ranking spent the budget of steps, the layer was read before that.
    const wasSpent = this.#isSpent;
    const stops = this.#stops.length;
    this.#isSpent = false;
    this.#expand(side, other, isAhead);
    this.#isSpent ||= wasSpent;
    // The addresses of the layer that the budget left out are stops already.
    if (isCut) this.#stops.length = stops;
  }

  /** Reads all addresses of a side's layer. Nodes first reached from there form its next layer. */
  #expand(side: Side, other: Side, isAhead: boolean): void {
    const next: number[] = [];
    const { isOver } = this.#deps;
    this.#announce(side.layer, { directions: side.reads, degreeMax: this.#options.degreeMax });
    for (const [at, number] of side.layer.entries()) {
      this.#isSpent ||= isOver?.() === true || !this.#expandNode(number, side, other, isAhead, next);
      if (!this.#isSpent) continue;
      for (const left of side.layer.slice(at)) this.#stop(left, 'BUDGET');
      return;
    }
    side.layer = next;
    side.cost = null;
    side.depth++;
  }

  /** Returns false if the budget ended it. */
  #expandNode(number: number, side: Side, other: Side, isAhead: boolean, next: number[]): boolean {
    const { degreeMax, nodesMax } = this.#options;
    const { workspace } = this.#deps;
    const { seen } = workspace;
    const node = seen.nodeAt(number);
    for (const direction of side.reads) {
      const neighbours = workspace.neighbours(direction, degreeMax);
      const count = this.#rows.readAll(node, direction, degreeMax, neighbours);
      for (let at = 0; at < count; at++) {
        const neighbour = neighbours.ids[at] as NodeId;
        let met = seen.find(neighbour);
        if (met === UNSEEN) {
          if (seen.size === nodesMax) return false;
          met = seen.add(neighbour);
        }
        if (side.distance[met] === UNREACHED) {
          side.distance[met] = (side.distance[number] as number) + 1;
          if (!this.#isEnd(met)) next.push(met);
        }
        if (other.isExpanded[met] !== 1) this.#pushStep(number, met, neighbours, at, direction, isAhead);
      }
    }
    side.isExpanded[number] = 1;
    return true;
  }

  /** Adds the edge at `at` of the neighbours of a node. */
  #pushStep(
    number: number,
    met: number,
    neighbours: NeighbourColumns,
    at: number,
    direction: Direction,
    isAhead: boolean,
  ): void {
    const { seen, edges } = this.#deps.workspace;
    const node = seen.nodeAt(number);
    const neighbour = neighbours.ids[at] as NodeId;
    if (direction === 'out') edges.push(node, neighbour, neighbours, at);
    else edges.push(neighbour, node, neighbours, at);
    this.#stepFrom.push(isAhead ? number : met);
    this.#stepTo.push(isAhead ? met : number);
  }

  #rank(length: number, pathsMax: number): readonly RankedPath[] {
    const network = this.#network(length);
    if (network === null) return [];
    const { timeRespecting, direction } = this.#options;
    const ranking = rankPaths(network, {
      length,
      pathsMax,
      stepsMax: this.#stepsLeft,
      timeRespecting,
      isMixed: direction === 'both',
      isOver: this.#deps.isOver,
    });
    this.#stepsLeft -= ranking.stepsTaken;
    this.#isSpent ||= ranking.isSpent;
    return ranking.paths;
  }

  /** The steps that paths of this length can consist of, or null if there are none. */
  #network(length: number): Network | null {
    const { edges, seen } = this.#deps.workspace;
    const { timeRespecting, direction } = this.#options;
    const [ahead, back] = this.#sides;
    const reach = ({ distance, depth }: Side, number: number): number =>
      distance[number] === UNREACHED ? depth + 1 : (distance[number] as number);
    const fits = (from: number, to: number): boolean =>
      from !== TARGET && to !== START && reach(ahead, from) + 1 + reach(back, to) <= length;
    if (this.#deps.graph.prefetch) {
      const asked = this.#stepFrom.flatMap((from, edge) => {
        const to = this.#stepTo[edge] as number;
        return fits(from, to) ? [from, to] : [];
      });
      this.#announce([...new Set(asked)].filter((number) => this.#passable[number] === NOT_ASKED));
    }
    const steps: number[] = [];
    for (let edge = 0; edge < edges.count; edge++) {
      const from = this.#stepFrom[edge] as number;
      const to = this.#stepTo[edge] as number;
      if (fits(from, to) && this.#isPassable(from) && this.#isPassable(to)) steps.push(edge);
    }
    const nodeAt = (number: number): NodeId => seen.nodeAt(number);
    return createNetwork(
      { from: this.#stepFrom, to: this.#stepTo, edges, nodeAt, nodes: seen.size },
      steps,
      // Without time constraints, the lesser of two parallel edges cannot improve a path.
      { length, hasParallels: direction === 'both' && !timeRespecting },
    );
  }

  #pathOf({ nodes, edges: numbers }: RankedPath): FoundPath {
    const { edges } = this.#deps.workspace;
    const found = numbers.map(
      (edge): PathEdge => ({
        from: edges.from[edge] as NodeId,
        to: edges.to[edge] as NodeId,
        valueUsd: edges.valueUsd[edge] as number,
        transfers: edges.transfers[edge] as number,
        unpriced: edges.unpriced[edge] as number,
        firstSeenMs: edges.firstSeenMs[edge] as number,
        lastSeenMs: edges.lastSeenMs[edge] as number,
      }),
    );
    const isPriced = found.every(({ valueUsd, unpriced }) => valueUsd > 0 || unpriced === 0);
    const bottleneckUsd = isPriced ? Math.min(...found.map(({ valueUsd }) => valueUsd)) : null;
    return { nodes, edges: found, bottleneckUsd };
  }
}
