/** The layout of the trace picture: deterministic, incremental, without overlaps, and fast enough to be computed in the page. */
import { describe, expect, it } from 'vitest';
import { hashPlaces, type LayoutEdge, type LayoutNode, layOut, spread } from '../src/pages/trace/layout.ts';

/** Numbers that look random and are the same in every run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Graph {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly LayoutEdge[];
}

/** Columns from -3 to 3, and edges between neighbouring ones. */
function graphOf(nodeCount: number, edgeCount: number, seed = 1): Graph {
  const random = numbers(seed);
  const nodes = Array.from({ length: nodeCount }, (_, at) => ({
    id: `n${at}`,
    column: at === 0 ? 0 : Math.floor(random() * 7) - 3,
    weight: Math.floor(random() * 1_000),
  }));
  const edges: LayoutEdge[] = [];
  while (edges.length < edgeCount) {
    const from = nodes[Math.floor(random() * nodeCount)] as LayoutNode;
    const to = nodes[Math.floor(random() * nodeCount)] as LayoutNode;
    if (from.column + 1 === to.column) edges.push({ from: from.id, to: to.id });
  }
  return { nodes, edges };
}

const spots = (places: ReturnType<typeof layOut>): ReadonlySet<string> =>
  new Set([...places.values()].map(({ column, row }) => `${column} ${row}`));

/** Pairs of edges between the same two columns that cross. */
function crossings({ edges }: Graph, places: ReturnType<typeof layOut>): number {
  const lines = edges.map(({ from, to }) => [places.get(from), places.get(to)] as const);
  let count = 0;
  for (const [a, b] of lines)
    for (const [c, d] of lines)
      if (a?.column === c?.column && (a?.row ?? 0) < (c?.row ?? 0) && (b?.row ?? 0) > (d?.row ?? 0)) count++;
  return count;
}

describe('the layout of a trace', () => {
  it('puts every node into the column of its signed hops, and no two into one place', () => {
    const { nodes, edges } = graphOf(400, 800);
    const places = layOut(nodes, edges);
    for (const { id, column } of nodes) expect(places.get(id)?.column).toBe(column);
    expect(spots(places).size).toBe(400);
    for (const { row } of places.values()) expect(Number.isInteger(row)).toBe(true);
  });

  it('is the same for the same input, in whatever order it comes', () => {
    const { nodes, edges } = graphOf(400, 800);
    const first = hashPlaces(layOut(nodes, edges));
    expect(hashPlaces(layOut(nodes.toReversed(), edges.toReversed()))).toBe(first);
    expect(
      hashPlaces(
        layOut(...(Object.values(graphOf(400, 800, 2)).slice(0, 2) as [LayoutNode[], LayoutEdge[]])),
      ),
    ).not.toBe(first);
  });

  it('moves no node if others are added', () => {
    const all = graphOf(600, 1_200);
    const early = new Set(all.nodes.slice(0, 200).map(({ id }) => id));
    const before = layOut(
      all.nodes.filter(({ id }) => early.has(id)),
      all.edges.filter(({ from, to }) => early.has(from) && early.has(to)),
    );
    const after = layOut(all.nodes, all.edges, before);
    for (const [id, place] of before) expect(after.get(id)).toEqual(place);
    expect(after.size).toBe(600);
    expect(spots(after).size).toBe(600);
    const { nodes, edges } = all;
    expect(hashPlaces(layOut(nodes.toReversed(), edges, before))).toBe(hashPlaces(after));
  });

  it('places an added node at the nearest free row of its neighbour', () => {
    const nodes = ['a', 'b', 'c', 'd'].map((id, at) => ({ id, column: at === 0 ? 0 : 1, weight: 10 - at }));
    const edges = nodes.slice(1).map(({ id }) => ({ from: 'a', to: id }));
    const places = layOut(
      nodes,
      edges,
      new Map([
        ['a', { column: 0, row: 5 }],
        ['b', { column: 1, row: 5 }],
      ]),
    );
    expect(places.get('c')).toEqual({ column: 1, row: 4 });
    expect(places.get('d')).toEqual({ column: 1, row: 6 });
  });

  it('has fewer crossings than the order of value alone', () => {
    const graph = graphOf(60, 90, 3);
    const rank = new Map<number, number>();
    const byValue = new Map(
      graph.nodes
        .toSorted((a, b) => b.weight - a.weight)
        .map(({ id, column }) => {
          const row = rank.get(column) ?? 0;
          rank.set(column, row + 1);
          return [id, { column, row }] as const;
        }),
    );
    expect(crossings(graph, layOut(graph.nodes, graph.edges))).toBeLessThan(crossings(graph, byValue) * 0.7);
  });

  it('lays out 5,000 nodes and 10,000 edges in less time than drawing them takes', () => {
    const { nodes, edges } = graphOf(5_000, 10_000);
    // A control on the same machine: sorting a million numbers.
    const random = numbers(7);
    const values = Array.from({ length: 1_000_000 }, random);
    const controlFrom = performance.now();
    values.sort((a, b) => a - b);
    const control = performance.now() - controlFrom;
    const from = performance.now();
    const places = layOut(nodes, edges);
    const took = performance.now() - from;
    expect(spots(places).size).toBe(5_000);
    expect(took / control).toBeLessThan(2);
  });
});

describe('rows as close as possible to the wanted ones', () => {
  it.each([
    [[], []],
    [
      [0, 0, 0],
      [-1, 0, 1],
    ],
    [
      [5, 5],
      [5, 6],
    ],
    [
      [-3, 0, 4],
      [-3, 0, 4],
    ],
    [
      [4, 0],
      [2, 3],
    ],
  ])('%j become %j', (wanted, rows) => {
    const found = spread(wanted);
    expect(found.map((row) => row + 0)).toEqual(rows.map((row) => row + 0));
  });
});
