/** Finds the best loopless paths of one length in a small network of steps: a best-first search with upper bounds for partial paths. */
import type { NodeId } from '../graph.ts';

/** A step from an address to the next one. */
export interface Step {
  /** Index in `Network.ids` of its destination. */
  readonly to: number;
  /** The caller's identifier of the edge. */
  readonly edge: number;
  /** Effective USD. */
  readonly value: number;
  /** Whether it goes in the direction of the money. */
  readonly isAlong: boolean;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** Contains only steps that paths may take: none into the start, out of the target, or into addresses at which walks stop. */
export interface Network {
  readonly ids: readonly NodeId[];
  /** By index in `ids`. */
  readonly steps: readonly (readonly Step[])[];
  readonly start: number;
  readonly target: number;
  /** By index in `ids`: steps that no path of the length takes. They are not among `steps`, but are considered like these. */
  readonly deadEnds: Uint32Array;
}

export interface RankOptions {
  /** Number of edges of each path. */
  readonly length: number;
  readonly pathsMax: number;
  /** The most partial paths considered. */
  readonly stepsMax: number;
  readonly timeRespecting: boolean;
  /** Whether steps go both along and against the flow. Then there is no bound by time. */
  readonly isMixed: boolean;
  readonly isOver?: (() => boolean) | undefined;
}

export interface RankedPath {
  readonly nodes: readonly NodeId[];
  readonly edges: readonly number[];
}

export interface Ranking {
  /** Greatest bottleneck first, then smallest ids. */
  readonly paths: readonly RankedPath[];
  readonly stepsTaken: number;
  /** True if the step budget or the time ran out. */
  readonly isSpent: boolean;
}

/** A partial path from the start towards the target. */
interface Begun {
  readonly places: readonly number[];
  readonly edges: readonly number[];
  readonly bottleneck: number;
  /** Upper bound of the bottleneck of the complete path. */
  readonly bound: number;
  /** The earliest time at which the money can move on. For steps against the flow: the latest, negated. */
  readonly time: number;
  readonly isAlong: boolean;
}

/** Number of partial paths between two checks of the clock. */
const CLOCK_STEPS = 1024;

/** Negated, the times of a step against the flow follow the same rule as those along it. */
const earlyOf = (step: Step): number => (step.isAlong ? step.firstSeenMs : -step.lastSeenMs);
const lateOf = (step: Step): number => (step.isAlong ? step.lastSeenMs : -step.firstSeenMs);

/** The earlier of a step's two known times that is not before `time`. Infinity if both are before it. */
function timeAfter(time: number, step: Step): number {
  const early = earlyOf(step);
  if (early >= time) return early;
  const late = lateOf(step);
  return late >= time ? late : Number.POSITIVE_INFINITY;
}

/** The later of a step's two known times that is not after `time`. -Infinity if both are after it. */
function timeBefore(time: number, step: Step): number {
  const late = lateOf(step);
  if (late <= time) return late;
  const early = earlyOf(step);
  return early <= time ? early : Number.NEGATIVE_INFINITY;
}

/**
 * For each number of remaining steps and each place: the best value of all walks to the target, folded step by step. -Infinity if there is
 * no walk.
 */
function bestToTarget(
  { ids, steps, target }: Network,
  length: number,
  through: (best: number, step: Step) => number,
): Float64Array[] {
  const first = new Float64Array(ids.length).fill(Number.NEGATIVE_INFINITY);
  first[target] = Number.POSITIVE_INFINITY;
  const tables = [first];
  for (let remaining = 1; remaining <= length; remaining++) {
    const before = tables[remaining - 1] as Float64Array;
    const table = new Float64Array(ids.length).fill(Number.NEGATIVE_INFINITY);
    for (const [place, list] of steps.entries())
      for (const step of list) {
        const beyond = before[step.to] as number;
        if (beyond === Number.NEGATIVE_INFINITY) continue;
        const best = through(beyond, step);
        if (best > (table[place] as number)) table[place] = best;
      }
    tables.push(table);
  }
  return tables;
}

/** Greatest bound first, then smallest ids. A path comes before its extensions. Of parallel edges, the first one found comes first. */
function comesFirst(a: Begun, b: Begun, ids: readonly NodeId[]): boolean {
  if (a.bound !== b.bound) return a.bound > b.bound;
  const shared = Math.min(a.places.length, b.places.length);
  for (let at = 0; at < shared; at++) {
    const difference = (ids[a.places[at] as number] as NodeId) - (ids[b.places[at] as number] as NodeId);
    if (difference !== 0) return difference < 0;
  }
  if (a.places.length !== b.places.length) return a.places.length < b.places.length;
  for (const [at, edge] of a.edges.entries()) {
    const difference = edge - (b.edges[at] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** A binary heap of partial paths. */
class BestFirst {
  readonly #heap: Begun[] = [];
  readonly #ids: readonly NodeId[];

  constructor(ids: readonly NodeId[]) {
    this.#ids = ids;
  }

  push(begun: Begun): void {
    const heap = this.#heap;
    let at = heap.push(begun) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!comesFirst(begun, heap[parent] as Begun, this.#ids)) break;
      heap[at] = heap[parent] as Begun;
      at = parent;
    }
    heap[at] = begun;
  }

  pop(): Begun | undefined {
    const heap = this.#heap;
    const best = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return best;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && comesFirst(heap[child + 1] as Begun, heap[child] as Begun, this.#ids))
        child++;
      if (!comesFirst(heap[child] as Begun, last, this.#ids)) break;
      heap[at] = heap[child] as Begun;
      at = child;
    }
    heap[at] = last;
    return best;
  }
}

/**
 * Best-first search over partial paths. The bound of a partial path is the best bottleneck of any walk to the target with the remaining
 * number of steps, so no path is missed. If there are no loops, every path considered leads to a result (A* with the exact costs of the
 * relaxed problem: Hart, Nilsson and Raphael, 1968). Only walks that would close a loop mislead the search.
 */
export function rankPaths(network: Network, options: RankOptions): Ranking {
  const { ids, steps, start, target, deadEnds } = network;
  const { length, pathsMax, stepsMax, timeRespecting, isMixed, isOver } = options;
  const widest = bestToTarget(network, length, (best, step) => Math.min(best, step.value));
  const latest =
    timeRespecting && !isMixed ? bestToTarget(network, length, (best, step) => timeBefore(best, step)) : null;
  const queue = new BestFirst(ids);
  const paths: RankedPath[] = [];
  const known = new Set<string>();
  let stepsTaken = 0;
  let nextCheck = CLOCK_STEPS;

  /** Extends a partial path by one step. Returns null if it cannot reach the target that way. */
  const goOn = (begun: Begun, step: Step, remaining: number): Begun | null => {
    const beyond = widest[remaining]?.[step.to] as number;
    if (beyond === Number.NEGATIVE_INFINITY || begun.places.includes(step.to)) return null;
    const isTurn = begun.edges.length === 0 || begun.isAlong !== step.isAlong;
    const time = timeRespecting ? timeAfter(isTurn ? Number.NEGATIVE_INFINITY : begun.time, step) : 0;
    if (time === Number.POSITIVE_INFINITY) return null;
    if (latest && time > (latest[remaining]?.[step.to] as number)) return null;
    const bottleneck = Math.min(begun.bottleneck, step.value);
    return {
      places: [...begun.places, step.to],
      edges: [...begun.edges, step.edge],
      bottleneck,
      bound: Math.min(bottleneck, beyond),
      time,
      isAlong: step.isAlong,
    };
  };

  queue.push({
    places: [start],
    edges: [],
    bottleneck: Number.POSITIVE_INFINITY,
    bound: Number.POSITIVE_INFINITY,
    time: Number.NEGATIVE_INFINITY,
    isAlong: true,
  });
  for (let begun = queue.pop(); begun && paths.length < pathsMax; begun = queue.pop()) {
    const place = begun.places.at(-1) as number;
    const remaining = length - begun.edges.length;
    if (place === target) {
      const nodes = begun.places.map((each) => ids[each] as NodeId);
      const name = nodes.join(' ');
      // The same addresses, with a parallel edge between two of them.
      if (!known.has(name)) paths.push({ nodes, edges: begun.edges });
      known.add(name);
      continue;
    }
    const leaving = steps[place] as readonly Step[];
    stepsTaken += leaving.length + (deadEnds[place] as number);
    if (stepsTaken > stepsMax) return { paths, stepsTaken, isSpent: true };
    if (stepsTaken >= nextCheck) {
      if (isOver?.()) return { paths, stepsTaken, isSpent: true };
      nextCheck = stepsTaken + CLOCK_STEPS;
    }
    for (const step of leaving) {
      const next = goOn(begun, step, remaining - 1);
      if (next) queue.push(next);
    }
  }
  return { paths, stepsTaken, isSpent: false };
}
