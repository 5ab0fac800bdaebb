/** The best loopless paths of one length in a small network of steps: best first, by bounds of what each begun path can become. */
import type { NodeId } from '../graph.ts';

/** One way to go on from an address. */
export interface Step {
  /** Place in `Network.ids` of where it leads. */
  readonly to: number;
  /** What names the edge to the caller. */
  readonly edge: number;
  /** Effective USD. */
  readonly value: number;
  /** Whether it goes the way the money went. */
  readonly isAlong: boolean;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** Only what paths may pass: steps into the start, out of the target or into addresses where walks stop are not in it. */
export interface Network {
  readonly ids: readonly NodeId[];
  /** By place in `ids`. */
  readonly steps: readonly (readonly Step[])[];
  readonly start: number;
  readonly target: number;
}

export interface RankOptions {
  /** Edges of each path. */
  readonly length: number;
  readonly pathsMax: number;
  /** Begun paths that may be looked at. */
  readonly stepsMax: number;
  readonly timeRespecting: boolean;
  /** Whether steps go along and against the flow; then no bound by time holds. */
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
  /** True where steps or time ran out. */
  readonly isSpent: boolean;
}

/** A path that begins at the start, on its way to the target. */
interface Begun {
  readonly places: readonly number[];
  readonly edges: readonly number[];
  readonly bottleneck: number;
  /** What its bottleneck can be at best once it is complete. */
  readonly bound: number;
  /** The earliest time at which the money can go on; for a run against the flow, the latest, negated. */
  readonly time: number;
  readonly isAlong: boolean;
}

/** Begun paths between two looks at the clock. */
const CLOCK_STEPS = 1024;

/** Negated, the times of a step against the flow obey the rule of those along it. */
const earlyOf = (step: Step): number => (step.isAlong ? step.firstSeenMs : -step.lastSeenMs);
const lateOf = (step: Step): number => (step.isAlong ? step.lastSeenMs : -step.firstSeenMs);

/** The earlier of a step's two known times that is not before `time`; Infinity where both are. */
function timeAfter(time: number, step: Step): number {
  const early = earlyOf(step);
  if (early >= time) return early;
  const late = lateOf(step);
  return late >= time ? late : Number.POSITIVE_INFINITY;
}

/** The later of a step's two known times that is not after `time`; -Infinity where both are. */
function timeBefore(time: number, step: Step): number {
  const late = lateOf(step);
  if (late <= time) return late;
  const early = earlyOf(step);
  return early <= time ? early : Number.NEGATIVE_INFINITY;
}

/**
 * For every number of remaining steps and every place: the best of all walks to the target, folded step by step. -Infinity where
 * there is none.
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

/** Greatest bound first, then smallest ids; of one path before those it begins, of parallel edges the first met. */
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

/** A binary heap of begun paths. */
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
 * Best-first search over begun paths. The bound of a begun path is the best bottleneck of any walk on to the target of the steps
 * that remain, so no path is overlooked, and without loops every path looked at becomes one that is answered (A* with the
 * exact costs of the relaxed problem: Hart, Nilsson and Raphael, 1968). Only walks that would close a loop mislead it.
 */
export function rankPaths(network: Network, options: RankOptions): Ranking {
  const { ids, steps, start, target } = network;
  const { length, pathsMax, stepsMax, timeRespecting, isMixed, isOver } = options;
  const widest = bestToTarget(network, length, (best, step) => Math.min(best, step.value));
  const latest =
    timeRespecting && !isMixed ? bestToTarget(network, length, (best, step) => timeBefore(best, step)) : null;
  const queue = new BestFirst(ids);
  const paths: RankedPath[] = [];
  const known = new Set<string>();
  let stepsTaken = 0;

  /** The begun path one step on, or null where it leads nowhere. */
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
      // The same addresses by another edge between two of them.
      if (!known.has(name)) paths.push({ nodes, edges: begun.edges });
      known.add(name);
      continue;
    }
    for (const step of steps[place] as readonly Step[]) {
      stepsTaken++;
      if (stepsTaken > stepsMax || (stepsTaken % CLOCK_STEPS === 0 && isOver?.()))
        return { paths, stepsTaken, isSpent: true };
      const next = goOn(begun, step, remaining - 1);
      if (next) queue.push(next);
    }
  }
  return { paths, stepsTaken, isSpent: false };
}
