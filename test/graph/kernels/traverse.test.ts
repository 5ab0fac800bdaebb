/** Walks against plain breadth-first search on random graphs, and by example. */
import { describe, expect, it } from 'vitest';
import type { NodeId } from '../../../src/graph/graph.ts';
import type { WalkDirection } from '../../../src/graph/kernels/stops.ts';
import { type Traversal, type TraverseOptions, traverse } from '../../../src/graph/kernels/traverse.ts';
import type { Weighing } from '../../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { expectEqual } from '../../support/equal.ts';
import { day, type MemoryEdge, memoryGraph, withAmounts } from '../memory-graph.ts';
import { randomGraph } from './random-graphs.ts';

const workspace = createKernelWorkspace();
const weighing: Weighing = { isEvidence: (asset) => asset === 'ETH', dustUsd: 0, dustShare: 0 };
const DEFAULTS: Omit<TraverseOptions, 'start'> = {
  direction: 'both',
  hops: 3,
  degreeMax: 10_000,
  nodesMax: 5_000,
  edgesMax: 10_000,
};

const walk = (
  edges: readonly MemoryEdge[],
  options: Partial<TraverseOptions> = {},
  services: ReadonlySet<NodeId> = new Set(),
): Traversal =>
  traverse(
    { ...DEFAULTS, start: 1, ...options },
    { graph: memoryGraph(edges), workspace, weighing, isService: (node) => services.has(node) },
  );

const pairsOf = ({ edges }: Traversal): string[] =>
  Array.from({ length: edges.count }, (_, at) => `${edges.from[at]}>${edges.to[at]}`);

const depthsOf = ({ nodes, depths }: Traversal): Map<NodeId, number> =>
  new Map([...nodes].map((node, at) => [node, depths[at]!]));

interface Expected {
  readonly depths: Map<NodeId, number>;
  readonly pairs: Set<string>;
}

/** Distances first, then every edge of an address nearer than `hops`: no queue, no order, no budget. */
function expected(
  edges: readonly MemoryEdge[],
  { start, direction, hops }: Pick<TraverseOptions, 'start' | 'direction' | 'hops'>,
  passes: (node: NodeId) => boolean,
): Expected {
  const real = edges.filter(({ from, to }) => from !== to);
  const ends = (edge: MemoryEdge): (readonly [NodeId, NodeId])[] => [
    ...(direction === 'in' ? [] : [[edge.from, edge.to] as const]),
    ...(direction === 'out' ? [] : [[edge.to, edge.from] as const]),
  ];
  const depths = new Map<NodeId, number>([[start, 0]]);
  const goesOn = (node: NodeId): boolean =>
    depths.has(node) && depths.get(node)! < hops && (node === start || passes(node));
  for (let round = 0; round < hops; round++) {
    const found = real.flatMap(ends).filter(([from, to]) => goesOn(from) && !depths.has(to));
    for (const [from, to] of found) if (depths.get(from) === round) depths.set(to, round + 1);
  }
  const pairs = real.filter((edge) => ends(edge).some(([from]) => goesOn(from)));
  return { depths, pairs: new Set(pairs.map(({ from, to }) => `${from}>${to}`)) };
}

/** Each kind of options occurs more than a hundred times among 500; `npm run test:long` takes more graphs. */
const CASES = process.env.ASSAY_TEST_LONG === '1' ? 2_000 : 500;
const DIRECTIONS: readonly WalkDirection[] = ['out', 'in', 'both'];

const cases = Array.from({ length: CASES }, (_, seed) => {
  const { edges, nodeCount, attributed, pick } = randomGraph(seed, 14);
  return {
    edges: withAmounts(edges),
    services: attributed,
    options: {
      start: 1 + pick(nodeCount),
      direction: DIRECTIONS[seed % 3]!,
      hops: 1 + pick(3),
      degreeMax: seed % 4 === 0 ? 5 : 10_000,
    },
  };
});

describe('on random graphs', () => {
  it('finds every node at its distance, and every edge of the visited nodes, once', () => {
    for (const { edges, services, options } of cases) {
      const graph = memoryGraph(edges);
      const isHub = (node: NodeId): boolean =>
        graph.degree(node, 'in') > options.degreeMax || graph.degree(node, 'out') > options.degreeMax;
      if (isHub(options.start)) continue;
      const result = walk(edges, options, services);
      const { depths, pairs } = expected(edges, options, (node) => !services.has(node) && !isHub(node));
      expectEqual(depthsOf(result), depths);
      expectEqual(new Set(pairsOf(result)), pairs);
      expect(result.edges.count).toBe(pairs.size);
      expect(result.isComplete).toBe(true);
      expect(result.maxDepthReached).toBe(Math.max(...depths.values()));
      for (const { node, reason } of result.stops) {
        if (services.has(node)) expect(reason).toBe('SERVICE');
        else expect(reason).toBe(depths.get(node) === options.hops ? 'DEPTH' : 'MAX_DEGREE');
      }
    }
  });

  it('shortens the same walk with a budget, and names the address', () => {
    for (const { edges, services, options } of cases) {
      const whole = walk(edges, options, services);
      for (const budget of [{ nodesMax: 4 }, { edgesMax: 6 }]) {
        const cut = walk(edges, { ...options, ...budget }, services);
        expectEqual(cut.nodes, whole.nodes.slice(0, cut.nodes.length));
        expectEqual(pairsOf(cut), pairsOf(whole).slice(0, cut.edges.count));
        const isCut = cut.edges.count < whole.edges.count;
        expect(cut.stops.some(({ reason }) => reason === 'BUDGET')).toBe(isCut);
        expect(cut.nodes.length).toBeLessThanOrEqual(budget.nodesMax ?? Infinity);
        expect(cut.edges.count).toBeLessThanOrEqual(budget.edgesMax ?? Infinity);
      }
    }
  });

  it('reads part of a start with too many counterparties, and returns no edge twice', () => {
    for (const { edges, services, options } of cases) {
      const result = walk(edges, { ...options, degreeMax: 2 }, services);
      const pairs = pairsOf(result);
      expect(new Set(pairs).size).toBe(pairs.length);
      const graph = memoryGraph(edges);
      const reads = options.direction === 'both' ? (['in', 'out'] as const) : [options.direction];
      const isHub = reads.some((direction) => graph.degree(options.start, direction) > 2);
      expect(result.isComplete).toBe(!isHub);
      expect(result.stops.some(({ node }) => node === options.start)).toBe(isHub);
    }
  });

  it('does not depend on the order of edges', () => {
    for (const { edges, services, options } of cases.slice(0, 500))
      expectEqual(walk([...edges].reverse(), options, services), walk(edges, options, services));
  });
});

describe('by example', () => {
  it('goes by value, and returns each edge with its figures', () => {
    const edges = [
      { from: 1, to: 2, valueUsd: 5, transfers: 2, firstSeenMs: day(1), lastSeenMs: day(2) },
      { from: 3, to: 1, valueUsd: 9, transfers: 3, firstSeenMs: day(3), lastSeenMs: day(4) },
      { from: 1, to: 4, unpriced: 7, firstSeenMs: day(5) },
    ];
    expect(walk(edges, { hops: 1 })).toEqual({
      nodes: Uint32Array.of(1, 3, 2, 4),
      depths: Uint8Array.of(0, 1, 1, 1),
      edges: {
        count: 3,
        from: Uint32Array.of(3, 1, 1),
        to: Uint32Array.of(1, 2, 4),
        weight: expect.any(Float64Array),
        valueUsd: Float64Array.of(9, 5, 0),
        transfers: Float64Array.of(3, 2, 1),
        unpriced: Float64Array.of(0, 0, 7),
        firstSeenMs: Float64Array.of(day(3), day(1), day(5)),
        lastSeenMs: Float64Array.of(day(4), day(2), day(5)),
      },
      stops: [
        { node: 3, reason: 'DEPTH' },
        { node: 2, reason: 'DEPTH' },
        { node: 4, reason: 'DEPTH' },
      ],
      maxDepthReached: 1,
      isComplete: true,
    });
  });

  it('does not check the start for a service or for counterparties on the other side', () => {
    const crowd = Array.from({ length: 6 }, (_, at) => ({ from: 20 + at, to: 1 }));
    const { nodes, stops } = walk([{ from: 1, to: 2 }, { from: 2, to: 3 }, ...crowd], {
      ...{ direction: 'out', degreeMax: 5, hops: 2 },
    });
    expect([...nodes]).toEqual([1, 2, 3]);
    expect(stops).toEqual([{ node: 3, reason: 'DEPTH' }]);
  });

  it('stays at the start for zero hops, and for an address without transfers', () => {
    expect(walk([{ from: 1, to: 2 }], { hops: 0 }).stops).toEqual([{ node: 1, reason: 'DEPTH' }]);
    const alone = walk([{ from: 2, to: 3 }]);
    expect([[...alone.nodes], alone.stops, alone.edges.count]).toEqual([[1], [], 0]);
  });

  it('ends at the deadline', () => {
    const { nodes, stops, isComplete } = traverse(
      { ...DEFAULTS, start: 1 },
      {
        graph: memoryGraph([{ from: 1, to: 2 }]),
        workspace,
        weighing,
        isService: () => false,
        isOver: () => true,
      },
    );
    expect([[...nodes], stops, isComplete]).toEqual([[1], [{ node: 1, reason: 'BUDGET' }], false]);
  });

  it('reuses a workspace that grew in an earlier walk', () => {
    const star = Array.from({ length: 30_000 }, (_, at) => ({ from: 1, to: 2 + at, valueUsd: at }));
    const big = walk(star, { degreeMax: 40_000, nodesMax: 40_000, edgesMax: 40_000, hops: 1 });
    expect(big.nodes.length).toBe(30_001);
    expect(big.edges.valueUsd[0]).toBe(29_999);
    expect([...walk([{ from: 1, to: 2 }]).nodes]).toEqual([1, 2]);
  });
});
