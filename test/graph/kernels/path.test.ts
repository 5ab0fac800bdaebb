/** Paths against the enumeration of all loopless paths of random graphs, and by example. */
import { describe, expect, it } from 'vitest';
import type { NodeId } from '../../../src/graph/graph.ts';
import {
  findPaths,
  type PathEdge,
  type PathOptions,
  type PathSearch,
} from '../../../src/graph/kernels/path.ts';
import type { WalkDirection } from '../../../src/graph/kernels/stops.ts';
import type { Weighing } from '../../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { amountOf, day, type MemoryEdge, memoryGraph, withAmounts } from '../memory-graph.ts';
import { randomGraph } from './random-graphs.ts';

const workspace = createKernelWorkspace();
const weighing: Weighing = { isEvidence: (asset) => asset === 'ETH', dustUsd: 0, dustShare: 0 };
const DEFAULTS: Omit<PathOptions, 'start' | 'target'> = {
  direction: 'out',
  maxDepth: 7,
  pathsMax: 10,
  degreeMax: 10_000,
  nodesMax: 5_000,
  stepsMax: 1_000_000,
  timeRespecting: false,
};

type Ends = Pick<PathOptions, 'start' | 'target'>;

const find = (
  edges: readonly MemoryEdge[],
  options: Ends & Partial<PathOptions>,
  services: ReadonlySet<NodeId> = new Set(),
): PathSearch =>
  findPaths(
    { ...DEFAULTS, ...options },
    { graph: memoryGraph(edges), workspace, weighing, isService: (node) => services.has(node) },
  );

/** A step of a walk: against the flow if the step does not begin at `from` of the edge. */
interface Step {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly edge: MemoryEdge;
}

interface Expected {
  readonly nodes: readonly NodeId[];
  readonly bottleneck: number;
}

/** Edges without a price come after all others, by amount. */
const weightOf = ({ valueUsd = 0, unpriced = 0 }: MemoryEdge): number =>
  valueUsd > 0 ? valueUsd : -1 / (1 + Math.max(1, amountOf({ from: 1, to: 2, valueUsd, unpriced })));

/** Tries every choice of the first or the last time of each edge. */
function canBeInOrder(steps: readonly Step[]): boolean {
  for (let choice = 0; choice < 2 ** steps.length; choice++) {
    const times = steps.map(({ edge }, at) => ((choice >> at) & 1 ? edge.lastSeenMs! : edge.firstSeenMs!));
    const isOrdered = steps.every((step, at) => {
      const before = steps[at - 1];
      if (before === undefined) return true;
      const isAlong = step.edge.from === step.from;
      if (isAlong !== (before.edge.from === before.from)) return true;
      return isAlong ? times[at]! >= times[at - 1]! : times[at]! <= times[at - 1]!;
    });
    if (isOrdered) return true;
  }
  return false;
}

function compareIds(a: readonly NodeId[], b: readonly NodeId[]): number {
  for (const [at, node] of a.entries()) if (node !== b[at]) return node - b[at]!;
  return 0;
}

/** Lists every loopless path, best first, by plain recursion. */
function allPaths(
  edges: readonly MemoryEdge[],
  options: Ends & { direction: WalkDirection; maxDepth: number; timeRespecting: boolean },
  isPassable: (node: NodeId) => boolean,
): Expected[] {
  const { start, target, direction, maxDepth, timeRespecting } = options;
  const steps = edges.flatMap((edge): Step[] => {
    const along = { from: edge.from, to: edge.to, edge };
    const against = { from: edge.to, to: edge.from, edge };
    return direction === 'out' ? [along] : direction === 'in' ? [against] : [along, against];
  });
  const best = new Map<string, Expected>();
  const walk = (nodes: readonly NodeId[], taken: readonly Step[]): void => {
    const last = nodes.at(-1)!;
    if (last === target) {
      if (timeRespecting && !canBeInOrder(taken)) return;
      const bottleneck = Math.min(...taken.map(({ edge }) => weightOf(edge)));
      const known = best.get(nodes.join());
      if (known === undefined || bottleneck > known.bottleneck) best.set(nodes.join(), { nodes, bottleneck });
      return;
    }
    if (taken.length === maxDepth || (last !== start && !isPassable(last))) return;
    for (const step of steps)
      if (step.from === last && !nodes.includes(step.to)) walk([...nodes, step.to], [...taken, step]);
  };
  walk([start], []);
  return [...best.values()].sort(
    (a, b) => a.nodes.length - b.nodes.length || b.bottleneck - a.bottleneck || compareIds(a.nodes, b.nodes),
  );
}

const bottleneckOf = (edges: readonly PathEdge[]): number => Math.min(...edges.map(weightOf));

const isAdmissible = (edges: readonly PathEdge[], nodes: readonly NodeId[]): boolean =>
  canBeInOrder(edges.map((edge, at) => ({ from: nodes[at]!, to: nodes[at + 1]!, edge })));

/** Every combination of options occurs among 60 seeds; `npm run test:long` takes more graphs. */
const CASES = process.env.ASSAY_TEST_LONG === '1' ? 3_000 : 900;
const DIRECTIONS = ['out', 'in', 'both'] as const;

describe('on random graphs', () => {
  it('finds the same paths as a full enumeration, in its order', () => {
    let found = 0;
    for (let seed = 0; seed < CASES; seed++) {
      const direction = DIRECTIONS[seed % 3]!;
      const { edges: random, nodeCount, attributed, pick } = randomGraph(seed, direction === 'both' ? 6 : 8);
      const edges = withAmounts(random);
      const services = seed % 2 === 0 ? attributed : new Set<NodeId>();
      const degreeMax = seed % 5 === 0 ? 4 : 10_000;
      const graph = memoryGraph(edges);
      const isHub = (node: NodeId): boolean =>
        graph.degree(node, 'in') > degreeMax || graph.degree(node, 'out') > degreeMax;
      const start = 1 + pick(nodeCount);
      const target = 1 + pick(nodeCount);
      if (start === target || (isHub(start) && isHub(target))) continue;
      const options = {
        ...{ start, target, direction, degreeMax },
        maxDepth: 1 + pick(7),
        pathsMax: 1 + pick(10),
        timeRespecting: seed % 4 >= 2,
      };
      const all = allPaths(edges, options, (node) => !services.has(node) && !isHub(node));
      const search = find(edges, options, services);
      expect(search.truncated).toBe(false);
      expect(
        search.paths.map(({ nodes, edges: taken }) => ({ nodes, bottleneck: bottleneckOf(taken) })),
      ).toEqual(all.slice(0, options.pathsMax));
      for (const { nodes, edges: taken } of search.paths) {
        for (const [at, { from, to }] of taken.entries())
          expect([nodes[at], nodes[at + 1]].sort()).toEqual([from, to].sort());
        if (options.timeRespecting) expect(isAdmissible(taken, nodes)).toBe(true);
        found++;
      }
    }
    expect(found).toBeGreaterThan(CASES);
  });

  it('finds only real paths at any budget, and reports omissions', () => {
    for (let seed = 0; seed < CASES / 5; seed++) {
      const { edges: random, nodeCount, pick } = randomGraph(seed, 9);
      const edges = withAmounts(random);
      const start = 1 + pick(nodeCount);
      const target = 1 + pick(nodeCount);
      const direction = DIRECTIONS[seed % 3]!;
      const ends = { start, target, direction, maxDepth: 4, timeRespecting: false };
      const all = start === target ? [] : allPaths(edges, ends, () => true);
      const names = new Set(all.map(({ nodes }) => nodes.join()));
      for (const budget of [
        { nodesMax: 2 + pick(4) },
        { stepsMax: 1 + pick(20) },
        { degreeMax: 1 + pick(2) },
      ]) {
        const search = find(edges, { ...ends, ...budget, pathsMax: 1_000 });
        for (const { nodes } of search.paths) expect(names.has(nodes.join())).toBe(true);
        if (!search.truncated && search.stops.length === 0) expect(search.paths.length).toBe(all.length);
      }
    }
  });

  it('gives the same answer at any budget as if every layer were read whole', () => {
    let cut = 0;
    for (let seed = 0; seed < CASES; seed++) {
      const { edges: random, nodeCount, attributed, pick } = randomGraph(seed, 14);
      const edges = withAmounts(random);
      const options = {
        ...{ ...DEFAULTS, start: 1 + pick(nodeCount), target: 1 + pick(nodeCount) },
        ...{ direction: DIRECTIONS[seed % 3]!, maxDepth: 1 + pick(7), pathsMax: 1 + pick(10) },
        ...{ nodesMax: 2 + pick(nodeCount), degreeMax: seed % 5 === 0 ? 4 : 10_000 },
        ...{ stepsMax: seed % 7 === 0 ? 1 + pick(30) : 10_000, timeRespecting: seed % 4 >= 2 },
      };
      const services = seed % 2 === 0 ? attributed : new Set<NodeId>();
      const graph = memoryGraph(edges);
      // A graph that wants to know of all reads in advance is read layer by layer.
      const [search, whole] = [graph, { ...graph, prefetch: () => {} }].map((each) =>
        findPaths(options, { graph: each, workspace, weighing, isService: (node) => services.has(node) }),
      );
      expect(search).toEqual(whole);
      if (search!.stops.some(({ reason }) => reason === 'BUDGET')) cut++;
    }
    expect(cut).toBeGreaterThan(CASES / 20);
  });
});

describe('by example', () => {
  const line = (...nodes: NodeId[]): MemoryEdge[] =>
    nodes.slice(1).map((to, at) => ({ from: nodes[at]!, to, valueUsd: 10 }));

  it('prefers fewer hops, then the larger bottleneck', () => {
    const edges = [
      { from: 1, to: 2, valueUsd: 100 },
      { from: 2, to: 9, valueUsd: 5 },
      { from: 1, to: 3, valueUsd: 7 },
      { from: 3, to: 9, valueUsd: 90 },
      ...line(1, 4, 5, 9),
    ];
    const { paths, truncated } = find(edges, { start: 1, target: 9 });
    expect(paths.map(({ nodes, bottleneckUsd }) => [nodes, bottleneckUsd])).toEqual([
      [[1, 3, 9], 7],
      [[1, 2, 9], 5],
      [[1, 4, 5, 9], 10],
    ]);
    expect(truncated).toBe(false);
  });

  it('returns paths from start to target even if the money went the other way', () => {
    const { paths } = find(line(9, 5, 1), { start: 1, target: 9, direction: 'in' });
    expect(paths.map(({ nodes }) => nodes)).toEqual([[1, 5, 9]]);
    expect(paths[0]?.edges.map(({ from, to }) => [from, to])).toEqual([
      [5, 1],
      [9, 5],
    ]);
    expect(find(line(9, 5, 1), { start: 1, target: 9, direction: 'out' }).paths).toEqual([]);
  });

  it('finds a path of seven hops, but not of eight', () => {
    expect(find(line(1, 2, 3, 4, 5, 6, 7, 8), { start: 1, target: 8 }).paths.length).toBe(1);
    expect(find(line(1, 2, 3, 4, 5, 6, 7, 8, 9), { start: 1, target: 9 }).paths).toEqual([]);
  });

  it('ends at a service, and does not pass one', () => {
    const edges = [...line(1, 2, 9), ...line(1, 3, 4, 9)];
    const { paths, stops } = find(edges, { start: 1, target: 9 }, new Set([1, 2, 9]));
    expect(paths.map(({ nodes }) => nodes)).toEqual([[1, 3, 4, 9]]);
    expect(stops).toEqual([{ node: 2, reason: 'SERVICE' }]);
  });

  it('passes no address with too many counterparties', () => {
    const crowd = Array.from({ length: 6 }, (_, at) => ({ from: 2, to: 20 + at, valueUsd: 1 }));
    const { paths, stops } = find([...line(1, 2, 9), ...crowd], { start: 1, target: 9, degreeMax: 5 });
    expect(paths).toEqual([]);
    expect(stops).toEqual([{ node: 2, reason: 'MAX_DEGREE' }]);
  });

  it('reaches a target with too many counterparties from the other end, and likewise a start', () => {
    const crowd = Array.from({ length: 6 }, (_, at) => ({ from: 20 + at, to: 9, valueUsd: 50 }));
    const edges = [...line(1, 2, 3, 9), ...crowd];
    const forward = find(edges, { start: 1, target: 9, degreeMax: 5 });
    expect(forward.paths.map(({ nodes }) => nodes)).toEqual([[1, 2, 3, 9]]);
    expect(forward.truncated).toBe(false);
    const backward = find(edges, { start: 9, target: 1, direction: 'in', degreeMax: 5 });
    expect(backward.paths.map(({ nodes }) => nodes)).toEqual([[9, 3, 2, 1]]);
    expect(backward.truncated).toBe(false);
  });

  it('reports an incomplete search between two ends with too many counterparties', () => {
    const crowd = Array.from({ length: 6 }, (_, at) => [
      { from: 1, to: 20 + at, valueUsd: 50 - at },
      { from: 20 + at, to: 9, valueUsd: 50 },
    ]).flat();
    const { paths, stops, truncated } = find(crowd, { start: 1, target: 9, degreeMax: 5 });
    expect(paths.map(({ nodes }) => nodes[1])).toEqual([20, 21, 22, 23, 24]);
    expect(stops).toEqual([{ node: 1, reason: 'MAX_DEGREE' }]);
    expect(truncated).toBe(true);
  });

  it('ranks an edge without a price last, with an unknown bottleneck', () => {
    const edges = [{ from: 1, to: 2, unpriced: 1 }, { from: 2, to: 9, valueUsd: 500 }, ...line(1, 3, 9)];
    const { paths } = find(edges, { start: 1, target: 9 });
    expect(paths.map(({ nodes, bottleneckUsd }) => [nodes, bottleneckUsd])).toEqual([
      [[1, 3, 9], 10],
      [[1, 2, 9], null],
    ]);
  });

  it('ignores edges of assets that are not evidence', () => {
    const edges = [
      { from: 1, to: 2, asset: 'SPAM', valueUsd: 500 },
      { from: 2, to: 9, valueUsd: 500 },
      ...line(1, 3, 9),
    ];
    expect(find(edges, { start: 1, target: 9 }).paths.map(({ nodes }) => nodes)).toEqual([[1, 3, 9]]);
  });

  it('follows money only forward in time', () => {
    const edges = [
      { from: 1, to: 2, valueUsd: 10, firstSeenMs: day(5), lastSeenMs: day(9) },
      { from: 2, to: 9, valueUsd: 10, firstSeenMs: day(1), lastSeenMs: day(4) },
      { from: 1, to: 3, valueUsd: 1, firstSeenMs: day(5), lastSeenMs: day(9) },
      { from: 3, to: 9, valueUsd: 1, firstSeenMs: day(1), lastSeenMs: day(6) },
    ];
    const found = (timeRespecting: boolean, direction: WalkDirection = 'out'): unknown =>
      find(edges, { start: 1, target: 9, timeRespecting, direction }).paths.map(({ nodes }) => nodes);
    expect(found(false)).toEqual([
      [1, 2, 9],
      [1, 3, 9],
    ]);
    expect(found(true)).toEqual([[1, 3, 9]]);
    expect(found(true, 'both')).toEqual([[1, 3, 9]]);
  });

  it('assumes no transfers between the first and the last', () => {
    // Money came on day 5. The money that left on days 1 and 9 may have been other money, and no transfer on day 5 is known.
    const edges = [
      { from: 1, to: 2, valueUsd: 10, firstSeenMs: day(5) },
      { from: 2, to: 3, valueUsd: 10, firstSeenMs: day(1), lastSeenMs: day(9) },
      { from: 3, to: 9, valueUsd: 10, firstSeenMs: day(7) },
    ];
    expect(find(edges, { start: 1, target: 9, timeRespecting: true }).paths).toEqual([]);
  });

  it('finds no path from an address to itself', () => {
    expect(find(line(1, 2, 1), { start: 1, target: 1 })).toEqual({
      paths: [],
      stops: [],
      truncated: false,
    });
  });

  it('needs no budget for an unreachable target', () => {
    const crowd = Array.from({ length: 40 }, (_, at) => ({ from: 1, to: 20 + at }));
    const search = find([...crowd, ...line(2, 3, 9)], { start: 1, target: 9, nodesMax: 10 });
    expect(search).toEqual({ paths: [], stops: [], truncated: false });
  });

  it('returns where an exhausted budget ended the search', () => {
    const crowd = Array.from({ length: 40 }, (_, at) => [
      { from: 1, to: 20 + at },
      { from: 80 + at, to: 9 },
    ]).flat();
    const { paths, stops, truncated } = find(crowd, {
      ...{ start: 1, target: 9, direction: 'both', nodesMax: 10 },
    });
    expect(paths).toEqual([]);
    expect(stops).toEqual([{ node: 1, reason: 'BUDGET' }]);
    expect(truncated).toBe(true);
  });

  it('counts steps that lead nowhere towards the budget of partial paths', () => {
    const crowds = [
      ...Array.from({ length: 6 }, (_, at) => ({ from: 1, to: 20 + at, valueUsd: 1 })),
      ...Array.from({ length: 40 }, (_, at) => ({ from: 40 + at, to: 9, valueUsd: 1 })),
    ];
    const search = (direction: WalkDirection, stepsMax: number): PathSearch =>
      find([...line(1, 2, 3, 4, 9), ...crowds], { start: 1, target: 9, direction, stepsMax, pathsMax: 1 });
    for (const [direction, needed] of [['out', 24] as const, ['both', 25] as const]) {
      expect(search(direction, needed - 1)).toMatchObject({ paths: [], truncated: true });
      expect(search(direction, needed)).toMatchObject({
        paths: [{ nodes: [1, 2, 3, 4, 9] }],
        truncated: false,
      });
    }
  });

  it('ends at the deadline', () => {
    const { paths, truncated } = findPaths(
      { ...DEFAULTS, start: 1, target: 3 },
      { graph: memoryGraph(line(1, 2, 3)), workspace, weighing, isService: () => false, isOver: () => true },
    );
    expect(paths).toEqual([]);
    expect(truncated).toBe(true);
  });
});
