/** The network of steps in which paths of one length are ranked: those of the steps found that lie on a walk of that length. */
import type { NodeId } from '../graph.ts';
import type { EdgeList } from './edge-columns.ts';
import type { Network, Step } from './path-ranking.ts';

/** Numbers of the start and the target. */
export const START = 0;
export const TARGET = 1;

/** More steps than any path has. */
const FAR = 255;

/** Step `n` leads along or against edge `n` between two numbered nodes. */
export interface FoundSteps {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly edges: EdgeList;
  readonly nodeAt: (number: number) => NodeId;
  /** The number of nodes. */
  readonly nodes: number;
}

/** Writes the least number of steps to nodes that are less than `length` steps away, in the order from `near` to `far`. */
function measureHops(
  steps: readonly number[],
  near: readonly number[],
  far: readonly number[],
  { hops, length }: { readonly hops: Uint8Array; readonly length: number },
): void {
  for (let hop = 0; hop < length; hop++) {
    let isLast = true;
    for (const step of steps) {
      if (hops[near[step] as number] !== hop || hops[far[step] as number] !== FAR) continue;
      hops[far[step] as number] = hop + 1;
      isLast = false;
    }
    if (isLast) return;
  }
}

/** Returns those of the steps that lie on a walk of at most `length` steps from the start to the target, in the same order. */
function stepsOnWalks({ from, to, nodes }: FoundSteps, steps: readonly number[], length: number): number[] {
  // Nearly all steps lead to addresses of which no step was found.
  const isLeft = new Uint8Array(nodes);
  isLeft[TARGET] = 1;
  for (const step of steps) isLeft[from[step] as number] = 1;
  const leading = steps.filter((step) => isLeft[to[step] as number] === 1);
  const toTarget = new Uint8Array(nodes).fill(FAR);
  toTarget[TARGET] = 0;
  measureHops(leading, to, from, { hops: toTarget, length });
  const ending = leading.filter((step) => toTarget[to[step] as number] !== FAR);
  const fromStart = new Uint8Array(nodes).fill(FAR);
  fromStart[START] = 0;
  measureHops(ending, from, to, { hops: fromStart, length });
  return ending.filter(
    (step) =>
      (fromStart[from[step] as number] as number) + 1 + (toTarget[to[step] as number] as number) <= length,
  );
}

/** Keeps the step of the greatest value to each address. Of equal ones it prefers the one along the flow. */
function greatestOfParallels(steps: readonly Step[]): Step[] {
  const greatest = new Map<number, Step>();
  for (const step of steps) {
    const known = greatest.get(step.to);
    const isBetter =
      known === undefined || step.value > known.value || (step.value === known.value && step.isAlong);
    if (isBetter) greatest.set(step.to, step);
  }
  return [...greatest.values()];
}

/**
 * Returns a test whether a step is the second one between two addresses. Both are found when one of the two is read, so that all steps
 * between them leave or enter the same address.
 */
function createParallelTest({ from, to, nodes }: FoundSteps): (step: number) => boolean {
  const lastFrom = new Int32Array(nodes).fill(-1);
  const lastTo = new Int32Array(nodes).fill(-1);
  return (step) => {
    const here = from[step] as number;
    const there = to[step] as number;
    const isSecond = lastFrom[there] === here || lastTo[here] === there;
    lastFrom[there] = here;
    lastTo[here] = there;
    return isSecond;
  };
}

/**
 * Creates the network of some of the steps found.
 *
 * @param steps numbers of the steps that paths may take
 * @param length number of edges of each path
 * @param hasParallels whether the lesser of two steps between the same addresses is left out
 * @returns null if no step leaves the start
 */
export function createNetwork(
  found: FoundSteps,
  steps: readonly number[],
  { length, hasParallels }: { readonly length: number; readonly hasParallels: boolean },
): Network | null {
  const { from, to, edges, nodeAt } = found;
  const places = new Int32Array(found.nodes).fill(-1);
  const ids: NodeId[] = [];
  const byPlace: Step[][] = [];
  const placeOf = (number: number): number => {
    if (places[number] === -1) {
      places[number] = ids.push(nodeAt(number)) - 1;
      byPlace.push([]);
    }
    return places[number] as number;
  };
  const start = placeOf(START);
  const target = placeOf(TARGET);
  const onWalks = stepsOnWalks(found, steps, length);
  for (const step of onWalks) {
    const node = from[step] as number;
    (byPlace[placeOf(node)] as Step[]).push({
      to: placeOf(to[step] as number),
      edge: step,
      value: edges.weight[step] as number,
      isAlong: edges.from[step] === nodeAt(node),
      firstSeenMs: edges.firstSeenMs[step] as number,
      lastSeenMs: edges.lastSeenMs[step] as number,
    });
  }
  const isSecond = hasParallels ? createParallelTest(found) : () => false;
  const deadEnds = new Uint32Array(ids.length);
  let next = 0;
  for (const step of steps) {
    const isParallel = isSecond(step);
    if (onWalks[next] === step) next++;
    else if (!isParallel && places[from[step] as number] !== -1) {
      const place = places[from[step] as number] as number;
      deadEnds[place] = (deadEnds[place] as number) + 1;
    }
  }
  if ((byPlace[start] as Step[]).length + (deadEnds[start] as number) === 0) return null;
  return { ids, start, target, steps: hasParallels ? byPlace.map(greatestOfParallels) : byPlace, deadEnds };
}
