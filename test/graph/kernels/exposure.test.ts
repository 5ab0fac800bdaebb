/** Exposure against the exact solution of the absorbing chain, against the finite power series, and by example. */

import { describe, expect, it } from 'vitest';
import { startOfDay } from '../../../src/graph/edge-days.ts';
import type { Direction } from '../../../src/graph/flow.ts';
import type { NodeId } from '../../../src/graph/graph.ts';
import {
  type Attribution,
  type ExposureOptions,
  type ExposureResult,
  exposureOf,
} from '../../../src/graph/kernels/exposure.ts';
import { RowReader } from '../../../src/graph/kernels/rows.ts';
import type { Weighing } from '../../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../../src/graph/kernels/workspace.ts';
import { amountOf, day, type MemoryEdge, memoryGraph, pricedAmountOf } from '../memory-graph.ts';
import { type RandomGraph, randomGraph } from './random-graphs.ts';

const workspace = createKernelWorkspace();
const DEFAULTS: Omit<ExposureOptions, 'start'> = {
  direction: 'in',
  maxHops: 3,
  degreeMax: 10_000,
  nodesMax: 5_000,
  weighing: { isEvidence: (asset) => asset === 'ETH', dustUsd: 0, dustShare: 0 },
};
const weighingOf = (dustUsd: number): ExposureOptions['weighing'] => ({ ...DEFAULTS.weighing, dustUsd });

type Owners = Readonly<Record<NodeId, string>>;

const expose = (
  edges: readonly MemoryEdge[],
  owners: Owners,
  options: Partial<ExposureOptions> = {},
): ExposureResult<Attribution> =>
  exposureOf(
    { ...DEFAULTS, start: 1, ...options },
    {
      graph: memoryGraph(edges),
      workspace,
      attribution: (node) => (owners[node] === undefined ? null : { key: owners[node] }),
    },
  );

const sharesByKey = (result: ExposureResult<Attribution>): Map<string, number> => {
  const shares = new Map<string, number>();
  for (const { attribution, share } of result.rows)
    shares.set(attribution.key, (shares.get(attribution.key) ?? 0) + share);
  return shares;
};

const sumOf = (result: ExposureResult<Attribution>): number =>
  result.unknown.share + result.rows.reduce((sum, row) => sum + row.share, 0);

/** Two entities own the attributed nodes in turns, so that rows are joined. */
const ownersOf = ({ attributed }: RandomGraph): Owners =>
  Object.fromEntries([...attributed].map((node) => [node, `owner ${node % 2}`]));

interface Chain {
  /**
   * Transition matrix: the part of the value in state i that goes to state j next. A state is a node and the asset that came to it, or no
   * particular asset. States without origin have rows of zeros.
   */
  readonly step: readonly (readonly number[])[];
  readonly nodeOf: (state: number) => NodeId;
  readonly isAbsorbing: (state: number) => boolean;
  /** The state in which a walk begins: of one asset, or by the weight of the direction. */
  readonly startAt: (node: NodeId, asset?: string) => number;
}

const ASSETS = ['ETH', 'ODD', 'EVEN', 'PRIME'];

/** The chain as a dense matrix, straight from the definition. */
function chainOf(graph: RandomGraph, direction: Direction, { dustUsd, dustShare }: Weighing): Chain {
  const { nodeCount, edges, attributed } = graph;
  const tags = ASSETS.length + 1;
  const states = (nodeCount + 1) * tags;
  const ends = direction === 'in' ? (['to', 'from'] as const) : (['from', 'to'] as const);
  const sumOfEdges = (of: readonly MemoryEdge[], value: (edge: MemoryEdge) => number): number =>
    of.reduce((sum, edge) => sum + value(edge), 0);
  const moved = edges.filter(({ from, to }) => from !== to);
  /** The weight of each edge of a node's row, the unit of dust, and the asset as which value goes on. */
  function rowOf(node: NodeId, came: string | null, way: 'on' | 'back' = 'on') {
    const [mine, theirs] = way === 'on' ? ends : [ends[1], ends[0]];
    const row = moved.filter((edge) => edge[mine] === node && amountOf(edge) > 0);
    const flowOf = (asset: string) => {
      const own = row.filter((edge) => (edge.asset ?? 'ETH') === asset);
      const back = moved.filter((edge) => edge[theirs] === node && (edge.asset ?? 'ETH') === asset);
      const usd = Math.round(100 * sumOfEdges(own, ({ valueUsd = 0 }) => valueUsd)) / 100;
      const amount = sumOfEdges(own, amountOf);
      const pricedAmount = sumOfEdges(own, pricedAmountOf);
      const isPriced = pricedAmount > 0 && usd > 0;
      const isAllPriced = sumOfEdges(own, ({ unpriced = 0 }) => unpriced) === 0;
      // Unpriced amounts of an asset count at the rate of its priced amounts.
      const rate = isPriced ? usd / pricedAmount : 0;
      return {
        asset,
        usd: rate * amount,
        rate,
        amount,
        isPriced: isPriced || isAllPriced,
        greater: Math.max(amount, sumOfEdges(back, amountOf)),
      };
    };
    const flows = ASSETS.map(flowOf).filter(({ amount }) => amount > 0);
    const byAmount = (flow: (typeof flows)[number]) => ({
      weightOf: (edge: MemoryEdge) => ((edge.asset ?? 'ETH') === flow.asset ? amountOf(edge) : 0),
      // Worth less than a cent: all of it is dust.
      dust: flow.isPriced && dustUsd > 0 ? Number.POSITIVE_INFINITY : dustShare * flow.greater,
      asset: flow.asset,
      row,
    });
    const same = flows.find(
      (flow) => flow.asset === came && !flow.isPriced && flow.amount >= dustShare * flow.greater,
    );
    if (same) return byAmount(same);
    const unpriced = flows.filter((flow) => !flow.isPriced);
    const usd = flows.reduce((sum, flow) => sum + (flow.isPriced ? flow.usd : 0), 0);
    if (usd > 0 && (unpriced.length === 0 || usd >= dustUsd)) {
      const rates = new Map(flows.map((flow) => [flow.asset, flow.rate]));
      const weightOf = (edge: MemoryEdge) => amountOf(edge) * (rates.get(edge.asset ?? 'ETH') ?? 0);
      return { weightOf, dust: dustUsd, asset: null, row };
    }
    const weighed = unpriced.length > 0 ? unpriced : flows;
    if (weighed.length === 0) return { weightOf: () => 0, dust: 0, asset: null, row };
    return weighed.length === 1 ? byAmount(weighed[0]!) : null;
  }
  const stateOf = (node: NodeId, asset: string | null): number =>
    node * tags + (asset === null ? 0 : 1 + ASSETS.indexOf(asset));
  const step = Array.from({ length: states }, (_, state) => {
    const to = new Array<number>(states).fill(0);
    const tag = state % tags;
    const found = rowOf(Math.floor(state / tags), tag === 0 ? null : ASSETS[tag - 1]!);
    if (found === null) return to;
    const [, theirs] = ends;
    const weights = new Map<NodeId, number>();
    for (const edge of found.row)
      weights.set(edge[theirs], (weights.get(edge[theirs]) ?? 0) + found.weightOf(edge));
    const all = [...weights].filter(([, weight]) => weight > 0);
    const whole = all.reduce((sum, [, weight]) => sum + weight, 0);
    const dust = all.reduce((sum, [, weight]) => sum + (weight < found.dust ? weight : 0), 0);
    // Dust leaves the flow, with two exceptions: dust that exceeds both the limit and a tenth of the value together; and a row that is all
    // dust, if it is at least a tenth of the outgoing amount.
    const isPassedOn = (): boolean => {
      const back = rowOf(Math.floor(state / tags), null, 'back');
      if (found.asset !== null || back === null || back.asset !== null) return false;
      return whole >= 0.1 * sumOfEdges(back.row, back.weightOf);
    };
    const isFollowed = dust > 0.1 * whole && (dust >= found.dust || (whole < found.dust && isPassedOn()));
    const kept = all.filter(([, weight]) => isFollowed || weight >= found.dust);
    const total = kept.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [other, weight] of kept) to[stateOf(other, found.asset)] = weight / total;
    return to;
  });
  const nodeOf = (state: number): NodeId => Math.floor(state / tags);
  return {
    step,
    nodeOf,
    isAbsorbing: (state) => attributed.has(nodeOf(state)),
    startAt: (node, asset) => stateOf(node, asset ?? rowOf(node, null)?.asset ?? null),
  };
}

/** The value that each node has absorbed after `hops` hops, by plain matrix steps. */
function powerSeries({ step, nodeOf, isAbsorbing }: Chain, start: number, hops: number): number[] {
  const absorbed = new Array<number>(step.length).fill(0);
  let flow = new Array<number>(step.length).fill(0);
  flow[start] = 1;
  for (let hop = 1; hop <= hops; hop++) {
    const next = new Array<number>(step.length).fill(0);
    for (const [state, share] of flow.entries()) {
      if (share === 0) continue;
      for (const [other, part] of step[state]!.entries()) {
        if (isAbsorbing(other)) absorbed[nodeOf(other)]! += share * part;
        else next[other]! += share * part;
      }
    }
    flow = next;
  }
  return absorbed;
}

/** Solves A x = b by Gauss-Jordan elimination with partial pivoting. */
function solve(matrix: number[][], right: number[]): number[] {
  const size = right.length;
  const rows = matrix.map((row, at) => [...row, right[at]!]);
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column + 1; row < size; row++)
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row;
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const factor = rows[row]![column]! / rows[column]![column]!;
      if (factor === 0) continue;
      for (let at = column; at <= size; at++) rows[row]![at]! -= factor * rows[column]![at]!;
    }
  }
  return rows.map((row, at) => row[size]! / row[at]!);
}

/**
 * The probability of ending at the node `target`, from each state that can reach it: (I - Q) x = r over the transient states that can reach
 * an end at all. The others never do, and would make the matrix singular.
 */
function exactAbsorption({ step, nodeOf, isAbsorbing }: Chain, target: NodeId): Map<number, number> {
  const ends = [...step.keys()].filter((state) => nodeOf(state) === target);
  const reaches = new Set<number>(ends);
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (let state = 1; state < step.length; state++) {
      if (reaches.has(state) || isAbsorbing(state)) continue;
      if (!step[state]!.some((part, other) => part > 0 && reaches.has(other))) continue;
      reaches.add(state);
      isGrowing = true;
    }
  }
  const states = [...reaches].filter((state) => nodeOf(state) !== target);
  const matrix = states.map((row) => states.map((column) => (row === column ? 1 : 0) - step[row]![column]!));
  const right = states.map((row) => ends.reduce((sum, end) => sum + step[row]![end]!, 0));
  const solved = solve(matrix, right);
  return new Map([
    ...states.map((state, at) => [state, solved[at]!] as const),
    ...ends.map((end) => [end, 1] as const),
  ]);
}

/** Every combination of options occurs among 60 seeds; `npm run test:long` takes more graphs. */
const CASES = process.env.ASSAY_TEST_LONG === '1' ? 3_000 : 1_000;

/** Numbers assets as `memoryGraph` does. */
const assetNumber = ({ edges }: RandomGraph, asset: string): number =>
  1 + [...new Set(edges.map((edge) => edge.asset ?? 'ETH'))].indexOf(asset);

describe('on random graphs with cycles, self-transfers, zero values, dust and unpriced transfers', () => {
  const cases = Array.from({ length: CASES }, (_, seed) => {
    const assets = seed % 5 < 2 ? 4 : 1;
    const graph = randomGraph(seed, assets === 1 ? 9 : 7, assets);
    const direction: Direction = seed % 2 === 0 ? 'in' : 'out';
    const dustUsd = seed % 3 === 0 ? 1 : 0;
    const weighing = { isEvidence: () => true, dustUsd, dustShare: seed % 4 < 2 ? 0.01 : 0 };
    const start = 1 + graph.pick(graph.nodeCount);
    // In some cases only one asset is followed.
    const asset =
      seed % 5 === 1 ? graph.edges.find((edge) => (edge.asset ?? 'ETH') !== 'ETH')?.asset : undefined;
    const chain = chainOf(graph, direction, weighing);
    const by = asset === undefined ? {} : { asset: assetNumber(graph, asset) };
    const options = { start, direction, weighing, ...by };
    return { graph, assets, asset, dustUsd, options, chain, first: chain.startAt(start, asset) };
  });

  it('gives the first terms of the power series with a limit of hops', () => {
    let byAsset = 0;
    for (const { graph, options, chain, first } of cases) {
      const owners = ownersOf(graph);
      for (const maxHops of [1, 2, 3, 5]) {
        const result = expose(graph.edges, owners, { ...options, maxHops });
        const absorbed = powerSeries(chain, first, maxHops);
        const expected = new Map<string, number>();
        for (const [node, share] of absorbed.entries())
          if (share > 0) expected.set(owners[node]!, (expected.get(owners[node]!) ?? 0) + share);
        const found = sharesByKey(result);
        expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
        for (const [key, share] of expected) expect(found.get(key)).toBeCloseTo(share, 12);
        const moved = result.basis === 'UNKNOWN' || chain.step[first]!.some((part) => part > 0) ? 1 : 0;
        expect(sumOf(result)).toBeCloseTo(moved, 12);
        expect(result.stops.every(({ reason }) => reason === 'UNPRICED')).toBe(true);
        if (result.asset !== null && result.asset !== 'ETH' && result.rows.some(({ hops }) => hops > 1))
          byAsset++;
      }
    }
    expect(byAsset).toBeGreaterThan(CASES / 15);
  });

  it('converges to the absorbing chain without a limit', () => {
    let exact = 0;
    for (const { graph, options, chain, first } of cases) {
      const owners = ownersOf(graph);
      const result = expose(graph.edges, owners, { ...options, maxHops: 3_000 });
      const expected = new Map<string, number>();
      for (const node of graph.attributed) {
        const ending = exactAbsorption(chain, node);
        const share = chain.step[first]!.reduce((sum, part, to) => sum + part * (ending.get(to) ?? 0), 0);
        if (share > 0) expected.set(owners[node]!, (expected.get(owners[node]!) ?? 0) + share);
      }
      const found = sharesByKey(result);
      // Only the value that still circles after so many hops may be missing: a cycle may lose 0.4 of 3,000 a turn, or nothing.
      const onItsWay = result.unknown.byReason.DEPTH;
      let missing = 0;
      for (const [key, share] of expected) {
        expect(found.get(key) ?? 0).toBeLessThanOrEqual(share + 1e-9);
        missing += share - (found.get(key) ?? 0);
      }
      expect(missing).toBeLessThanOrEqual(onItsWay + 1e-9);
      if (missing < 1e-9) exact++;
      expect([...found.keys()].every((key) => expected.has(key))).toBe(true);
    }
    expect(exact).toBeGreaterThan(0.98 * CASES);
  });

  it('does not depend on the order of edges', () => {
    for (const { graph, asset, options } of cases.slice(0, 500)) {
      const one = expose(graph.edges, ownersOf(graph), { ...options, maxHops: 5 });
      const reversed = [...graph.edges].reverse();
      const by = asset === undefined ? {} : { asset: assetNumber({ ...graph, edges: reversed }, asset) };
      const other = expose(reversed, ownersOf(graph), { ...options, ...by, maxHops: 5 });
      expect(other).toEqual(one);
    }
  });

  it('distributes priced USD completely, and counts each transfer once', () => {
    for (const { graph, assets, dustUsd, options } of cases.slice(0, 1_500)) {
      if (assets > 1) continue;
      const { start, direction } = options;
      const result = expose(graph.edges, ownersOf(graph), { ...options, maxHops: 4 });
      const own = graph.edges.filter(
        (edge) => edge.from !== edge.to && (direction === 'in' ? edge.to : edge.from) === start,
      );
      const worthOf = (edges: readonly MemoryEdge[], edge: MemoryEdge): number => {
        const whole = edges.reduce((sum, { valueUsd = 0 }) => sum + valueUsd, 0);
        const units = edges.reduce((sum, one) => sum + pricedAmountOf(one), 0);
        return whole > 0 && units > 0 ? (whole / units) * amountOf(edge) : 0;
      };
      const sumWorth = (edges: readonly MemoryEdge[]): number =>
        edges.reduce((sum, edge) => sum + worthOf(edges, edge), 0);
      const usd = sumWorth(own);
      const dust = own
        .map((edge) => worthOf(own, edge))
        .reduce((sum, weight) => sum + (weight < dustUsd ? weight : 0), 0);
      const back = graph.edges.filter(
        (edge) => edge.from !== edge.to && (direction === 'in' ? edge.from : edge.to) === start,
      );
      const passed = sumWorth(back);
      const backUnits = back.reduce((sum, edge) => sum + amountOf(edge), 0);
      const isPassedOn = usd < dustUsd && (passed > 0 || backUnits === 0) && usd >= 0.1 * passed;
      const known = dust > 0.1 * usd && (dust >= dustUsd || isPassedOn) ? usd : usd - dust;
      const shared = result.rows.reduce((sum, { valueUsd }) => sum + (valueUsd ?? 0), 0);
      expect(shared + (result.unknown.valueUsd ?? 0)).toBeCloseTo(known, 9);
      const all = graph.edges.reduce((sum, { transfers = 0 }) => sum + transfers, 0);
      expect(result.rows.reduce((sum, row) => sum + row.transfers, 0)).toBeLessThanOrEqual(all);
    }
  });

  it('has shares that add up at any budget, and no row larger than without one', () => {
    for (const { graph, options: by } of cases.slice(0, CASES / 4)) {
      const options = { ...by, maxHops: 4 };
      const { start } = options;
      const whole = sharesByKey(expose(graph.edges, ownersOf(graph), options));
      for (const budget of [{ nodesMax: 0 }, { nodesMax: 2 }, { edgesMax: 3 }, { degreeMax: 3 }]) {
        const result = expose(graph.edges, ownersOf(graph), { ...options, ...budget });
        const startsAsHub = result.stops.some(({ node }) => node === start);
        expect(sumOf(result)).toBeCloseTo(result.total > 0 || result.basis === 'UNKNOWN' ? 1 : 0, 12);
        expect(result.isComplete).toBe(result.stops.length === 0);
        if (startsAsHub) continue;
        for (const [key, share] of sharesByKey(result))
          expect(share).toBeLessThanOrEqual((whole.get(key) ?? 0) + 1e-12);
      }
    }
  });
});

describe('by example', () => {
  it('splits value between known and unknown sources, hop by hop', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 60, transfers: 3 },
      { from: 3, to: 1, valueUsd: 40, transfers: 2 },
      { from: 4, to: 3, valueUsd: 30, transfers: 7 },
      { from: 5, to: 3, valueUsd: 10 },
    ];
    const result = expose(edges, { 2: 'exchange', 4: 'mixer' });
    expect(result.rows).toEqual([
      {
        attribution: { key: 'exchange' },
        type: 'DIRECT',
        hops: 1,
        share: 0.6,
        shareByHop: [0.6],
        valueUsd: 60,
        transfers: 3,
        unpricedTransfers: 0,
        largestNode: 2,
      },
      {
        attribution: { key: 'mixer' },
        type: 'INDIRECT',
        hops: 2,
        share: expect.closeTo(0.3, 12),
        shareByHop: [0, expect.closeTo(0.3, 12)],
        valueUsd: expect.closeTo(30, 12),
        transfers: 7,
        unpricedTransfers: 0,
        largestNode: 4,
      },
    ]);
    expect(result.unknown).toEqual({
      share: expect.closeTo(0.1, 12),
      byReason: { ORIGIN: expect.closeTo(0.1, 12), DEPTH: 0, MAX_DEGREE: 0, BUDGET: 0, UNPRICED: 0 },
      valueUsd: expect.closeTo(10, 12),
    });
    expect(result.total).toBe(100);
  });

  it('has a row each for an entity reached directly and indirectly', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 1 },
      { from: 3, to: 1, valueUsd: 3 },
      { from: 2, to: 3, valueUsd: 5 },
    ];
    const { rows } = expose(edges, { 2: 'exchange' });
    expect(rows.map(({ type, share }) => [type, share])).toEqual([
      ['INDIRECT', 0.75],
      ['DIRECT', 0.25],
    ]);
  });

  it('follows returned money to its first source', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 50 },
      { from: 1, to: 2, valueUsd: 50 },
      { from: 3, to: 1, valueUsd: 50 },
      { from: 4, to: 2, valueUsd: 50 },
    ];
    const shares = sharesByKey(expose(edges, { 3: 'exchange', 4: 'mixer' }, { maxHops: 200 }));
    expect(shares.get('exchange')).toBeCloseTo(2 / 3, 12);
    expect(shares.get('mixer')).toBeCloseTo(1 / 3, 12);
  });

  it('leaves a cycle without a source unknown', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 5 },
      { from: 3, to: 2, valueUsd: 5 },
      { from: 2, to: 3, valueUsd: 5 },
    ];
    const { rows, unknown } = expose(edges, {}, { maxHops: 1_000 });
    expect(rows).toEqual([]);
    expect(unknown.byReason).toEqual({ ORIGIN: 0, DEPTH: 1, MAX_DEGREE: 0, BUDGET: 0, UNPRICED: 0 });
  });

  it('absorbs value that returns to an attributed start', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 1 },
      { from: 1, to: 2, valueUsd: 1 },
      { from: 3, to: 2, valueUsd: 1 },
    ];
    const shares = sharesByKey(expose(edges, { 1: 'me', 3: 'mixer' }, { maxHops: 500 }));
    expect(shares).toEqual(
      new Map([
        ['me', 0.5],
        ['mixer', 0.5],
      ]),
    );
  });

  it('shares by amount within one asset, with or without prices', () => {
    const edges = [
      { from: 2, to: 1, amount: 300, unpriced: 3 },
      { from: 3, to: 1, amount: 100, pricedAmount: 100, valueUsd: 100 },
    ];
    const result = expose(edges, { 2: 'mixer', 3: 'exchange' });
    expect(result.rows.map(({ share, valueUsd }) => [share, valueUsd])).toEqual([
      [0.75, 300],
      [0.25, 100],
    ]);
    expect(result).toMatchObject({ basis: 'USD', asset: null, total: 400 });
    const unpriced = expose(
      [
        { from: 2, to: 1, amount: 300, unpriced: 90 },
        { from: 3, to: 1, amount: 100, unpriced: 1 },
      ],
      { 2: 'mixer' },
    );
    expect(unpriced.rows.map(({ share, valueUsd }) => [share, valueUsd])).toEqual([[0.75, null]]);
    expect(unpriced).toMatchObject({ basis: 'ASSET', asset: 'ETH', total: 400 });
  });

  it('adds up only priced value across assets', () => {
    const weighing = { ...DEFAULTS.weighing, isEvidence: () => true };
    const edges = [
      { from: 2, to: 1, asset: 'USDC', amount: 5, valueUsd: 100 },
      { from: 3, to: 1, asset: 'ETH', amount: 7, valueUsd: 300 },
      { from: 4, to: 1, asset: 'ODD', amount: 10 ** 9, unpriced: 1_000 },
    ];
    const result = expose(edges, { 2: 'a', 3: 'b', 4: 'c' }, { weighing });
    expect(sharesByKey(result)).toEqual(
      new Map([
        ['b', 0.75],
        ['a', 0.25],
      ]),
    );
    expect(result.unknown.share).toBe(0);
  });

  it.each([
    ['of another asset', { from: 5, to: 1, asset: 'ETH', amount: 1, valueUsd: 0 }],
    ['worth a cent', { from: 5, to: 1, asset: 'ETH', amount: 10, valueUsd: 0.01 }],
    ['on the way', { from: 5, to: 2, asset: 'ETH', amount: 10, valueUsd: 0.99 }],
  ] as const)('follows an asset without a price past priced dust: %s', (_name, dust) => {
    const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 0.001 };
    const edges = [
      { from: 3, to: 2, asset: 'ODD', amount: 1_000, unpriced: 1 },
      { from: 2, to: 1, asset: 'ODD', amount: 1_000, unpriced: 1 },
    ];
    const clean = expose(edges, { 3: 'mixer' }, { weighing });
    const dusted = expose([...edges, dust], { 3: 'mixer' }, { weighing });
    expect(sharesByKey(clean)).toEqual(new Map([['mixer', 1]]));
    expect(sharesByKey(dusted)).toEqual(new Map([['mixer', 1]]));
    expect(dusted).toMatchObject({ basis: 'ASSET', asset: 'ODD', total: 1_000 });
    // More than dust decides, because shares over several assets are shares of priced value.
    const priced = expose([...edges, { ...dust, to: 1, valueUsd: 1 }], { 3: 'mixer' }, { weighing });
    expect(priced).toMatchObject({ basis: 'USD', total: 1 });
  });

  it('cannot weigh several assets without a price, at the start or on the path', () => {
    const weighing = { ...DEFAULTS.weighing, isEvidence: () => true };
    const odd = [
      { from: 3, to: 2, asset: 'ODD', unpriced: 1 },
      { from: 4, to: 2, asset: 'EVEN', unpriced: 1 },
    ];
    const start = expose(odd, { 3: 'mixer' }, { start: 2, weighing });
    expect(start).toMatchObject({
      basis: 'UNKNOWN',
      rows: [],
      unknown: { share: 1, byReason: { UNPRICED: 1 } },
    });
    const way = expose([{ from: 2, to: 1, valueUsd: 5 }, ...odd], { 3: 'mixer' }, { weighing });
    expect(way.rows).toEqual([]);
    expect(way.stops).toEqual([{ node: 2, reason: 'UNPRICED', share: 1 }]);
  });

  it('ignores assets that are not evidence', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 5 },
      { from: 3, to: 1, asset: 'SPAM', valueUsd: 1_000_000, unpriced: 50 },
      { from: 4, to: 3, valueUsd: 5 },
    ];
    const result = expose(edges, { 2: 'exchange', 3: 'sanctioned' });
    expect(sharesByKey(result)).toEqual(new Map([['exchange', 1]]));
    expect(result.total).toBe(5);
  });

  it('excludes dust from the flow and counts it, by USD or by share of the asset', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 0.5, transfers: 9 },
      { from: 3, to: 1, valueUsd: 10 },
      { from: 5, to: 3, valueUsd: 0.9 },
    ];
    const result = expose(edges, { 2: 'phisher', 5: 'mixer' }, { weighing: weighingOf(1) });
    expect(result.rows).toEqual([]);
    expect(result.dust).toEqual({ counterparties: 1, transfers: 9, valueUsd: 0.5 });
    expect(result.unknown.byReason.ORIGIN).toBeCloseTo(1, 12);
    const weighing = { ...DEFAULTS.weighing, dustShare: 1e-4 };
    const wei = [
      { from: 2, to: 1, unpriced: 1, amount: 1 },
      { from: 3, to: 1, unpriced: 1, amount: 10 ** 20 },
    ];
    const owners = { 2: 'sanctioned', 3: 'exchange' };
    expect(sharesByKey(expose(wei, owners, { weighing }))).toEqual(new Map([['exchange', 1]]));
    // For a small outflow, the greater inflow sets the limit of dust.
    const sent = [...wei, { from: 1, to: 2, unpriced: 1, amount: 1 }];
    expect(expose(sent, owners, { weighing, direction: 'out' }).total).toBe(0);
  });

  it('follows dust that is a considerable part of the flow', () => {
    const mids = Array.from({ length: 40 }, (_, at) => [
      { from: 3, to: 100 + at, valueUsd: 0.9 },
      { from: 100 + at, to: 1, valueUsd: 0.9 },
    ]).flat();
    const shareOf = (edges: readonly MemoryEdge[]): number =>
      sharesByKey(expose(edges, { 2: 'exchange', 3: 'mixer' }, { weighing: weighingOf(1) })).get('mixer') ??
      0;
    expect(shareOf(mids)).toBeCloseTo(1, 12);
    expect(shareOf([...mids, { from: 2, to: 1, valueUsd: 4 }])).toBeCloseTo(0.9, 12);
    expect(shareOf([...mids, { from: 2, to: 1, valueUsd: 323 }])).toBeCloseTo(36 / 359, 12);
    // If dust is a tenth of the direction or less, it leaves the flow.
    expect(shareOf([...mids, { from: 2, to: 1, valueUsd: 324 }])).toBe(0);
    // So does a small sum that is less than a tenth of the payments of an address, here and on the path.
    const small = mids.slice(0, 2);
    expect(shareOf([...small, { from: 1, to: 9, valueUsd: 9 }])).toBeCloseTo(1, 12);
    expect(shareOf([...small, { from: 1, to: 9, valueUsd: 9.1 }])).toBe(0);
    expect(
      shareOf([...mids, ...mids.map((edge) => ({ ...edge, from: edge.to, to: 9, valueUsd: 9.1 }))]),
    ).toBe(0);
  });

  it('does not attribute a payment to a sum below one cent', () => {
    const edges = [
      { from: 3, to: 2, amount: 1, valueUsd: 0 },
      { from: 2, to: 1, amount: 10 ** 6, valueUsd: 100 },
    ];
    const { rows, unknown } = expose(
      edges,
      { 3: 'mixer' },
      { weighing: { ...weighingOf(1), dustShare: 1e-4 } },
    );
    expect(rows).toEqual([]);
    expect(unknown.byReason.ORIGIN).toBe(1);
  });

  it('spends no budget on dust while larger value needs it', () => {
    const dust = Array.from({ length: 400 }, (_, at) => ({ from: 1_000 + at, to: 2, valueUsd: 0.9 }));
    const edges = [
      { from: 2, to: 1, valueUsd: 60 },
      { from: 3, to: 1, valueUsd: 40 },
      { from: 4, to: 2, valueUsd: 60 },
      { from: 5, to: 3, valueUsd: 40 },
      ...dust,
    ];
    const budget = { weighing: weighingOf(1), nodesMax: 40, maxHops: 2 };
    const shares = sharesByKey(expose(edges, { 4: 'mixer', 5: 'scam' }, budget));
    expect(shares.get('scam')).toBeCloseTo(0.4, 12);
    expect(shares.get('mixer')).toBeCloseTo((0.6 * 60) / 420, 12);
  });

  it.each([
    ['a unit of another asset', { from: 9, to: 1, asset: 'EVEN', amount: 1, unpriced: 1 }],
    ['priced value', { from: 9, to: 1, asset: 'ETH', amount: 10, valueUsd: 5 }],
    ['a unit of another asset on the way', { from: 9, to: 2, asset: 'EVEN', amount: 1, unpriced: 1 }],
    ['priced value on the way', { from: 9, to: 2, asset: 'ETH', amount: 10, valueUsd: 5 }],
  ] as const)('follows an asset on its own past %s', (_name, other) => {
    const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };
    const edges: MemoryEdge[] = [
      { from: 3, to: 2, asset: 'ODD', amount: 1_000, unpriced: 1 },
      { from: 2, to: 1, asset: 'ODD', amount: 900, unpriced: 1 },
      other,
    ];
    const result = expose(edges, { 3: 'mixer' }, { weighing, asset: 1 });
    expect(result).toMatchObject({ basis: 'ASSET', asset: 'ODD', total: 900, isComplete: true });
    expect(sharesByKey(result)).toEqual(new Map([['mixer', 1]]));
  });

  it('follows first the assets an address moved both ways, then in order of discovery, and dust last', () => {
    const dustAmount = (asset: string): number => (/DUST/.test(asset) ? 10 : 0);
    const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4, dustAmount };
    const graph = memoryGraph([
      { from: 2, to: 1, asset: 'DUST', amount: 9, unpriced: 99, transfers: 99 },
      { from: 1, to: 3, asset: 'DUST', amount: 9, unpriced: 1 },
      { from: 2, to: 1, asset: 'SENT DUST', amount: 10, unpriced: 1 },
      { from: 1, to: 3, asset: 'SENT DUST', amount: 9, unpriced: 1 },
      { from: 2, to: 1, asset: 'RARE', amount: 1, unpriced: 1 },
      { from: 2, to: 1, asset: 'OFTEN', amount: 1, unpriced: 50, transfers: 50 },
      { from: 2, to: 1, asset: 'ONCE', amount: 10 ** 9, unpriced: 1 },
      { from: 2, to: 1, asset: 'DEALT', amount: 5, unpriced: 2, transfers: 2 },
      { from: 1, to: 3, asset: 'DEALT', amount: 4, unpriced: 1 },
      { from: 2, to: 1, asset: 'SWAPPED', amount: 1, unpriced: 1 },
      { from: 1, to: 3, asset: 'SWAPPED', amount: 10 ** 6, unpriced: 1 },
      { from: 2, to: 1, asset: 'ETH', amount: 10 ** 6, valueUsd: 5 },
    ]);
    const rows = new RowReader(graph, weighing);
    expect(rows.apartOf(1, 'in').map(({ asset, total, isDust }) => [asset, total, isDust])).toEqual([
      ['DEALT', 5, false],
      ['SENT DUST', 10, false],
      ['RARE', 1, false],
      ['OFTEN', 1, false],
      ['ONCE', 10 ** 9, false],
      ['DUST', 9, true],
    ]);
    expect(rows.apartOf(1, 'in').map(({ dust }) => dust)).toEqual(
      [5, 10, 1, 1, 10 ** 9, 9].map((amount) => amount * 1e-4),
    );
    expect(rows.apartOf(1, 'out').map(({ asset }) => asset)).toEqual([
      'DEALT',
      'SWAPPED',
      'SENT DUST',
      'DUST',
    ]);
    // The asset by which the whole direction is weighed is not listed apart.
    expect(rows.basisOf(3, 'in')).toMatchObject({ basis: 'UNKNOWN' });
    expect(new RowReader(memoryGraph([{ from: 2, to: 1, unpriced: 1 }]), weighing).apartOf(1, 'in')).toEqual(
      [],
    );
  });

  it('follows a swapped asset by the asset that came in for it', () => {
    const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };
    const edges: MemoryEdge[] = [
      { from: 3, to: 2, valueUsd: 60 },
      { from: 4, to: 2, valueUsd: 40 },
      // So little of it came in that it is not the asset that was passed on.
      { from: 5, to: 2, asset: 'ODD', amount: 1, unpriced: 1 },
      { from: 2, to: 1, asset: 'ODD', amount: 1_000_000, unpriced: 1 },
    ];
    const owners = { 3: 'mixer', 4: 'exchange', 5: 'scam' };
    const shares = sharesByKey(expose(edges, owners, { weighing }));
    expect(shares.get('mixer')).toBeCloseTo(0.6, 12);
    expect(shares.get('scam')).toBeUndefined();
  });

  it('is not cut short by dust, spam and transfers without value', () => {
    const crowd = Array.from({ length: 30 }, (_, at) => [
      { from: 100 + at, to: 2, valueUsd: 0.01 },
      { from: 200 + at, to: 2, asset: 'SPAM', valueUsd: 1_000 },
      { from: 2, to: 300 + at, valueUsd: 0 },
    ]).flat();
    const edges = [{ from: 2, to: 1, valueUsd: 50 }, { from: 3, to: 2, valueUsd: 50 }, ...crowd];
    const result = expose(edges, { 3: 'mixer' }, { degreeMax: 10, weighing: weighingOf(1) });
    expect(sharesByKey(result)).toEqual(new Map([['mixer', 1]]));
    // If dust is more than half of all that moved, the address is a hub of small customers.
    const faucet = Array.from({ length: 30 }, (_, at) => ({ from: 100 + at, to: 2, valueUsd: 0.9 }));
    const small = [{ from: 2, to: 1, valueUsd: 5 }, { from: 3, to: 2, valueUsd: 5 }, ...faucet];
    const hub = expose(small, { 3: 'mixer' }, { degreeMax: 10, weighing: weighingOf(1) });
    expect(hub.stops).toEqual([{ node: 2, reason: 'MAX_DEGREE', share: 1 }]);
  });

  it('hides edges first seen later', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 5, firstSeenMs: day(0) },
      { from: 3, to: 1, valueUsd: 15, firstSeenMs: day(9) },
    ];
    const result = expose(edges, { 2: 'exchange', 3: 'mixer' }, { seenUntilMs: day(5) });
    expect(sharesByKey(result)).toEqual(new Map([['exchange', 1]]));
  });

  it('applies an attribution by the time of the last transfer', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 1, lastSeenMs: day(1) },
      { from: 3, to: 1, valueUsd: 3, lastSeenMs: day(9) },
      { from: 4, to: 1, valueUsd: 4, lastSeenMs: day(1) },
      { from: 5, to: 4, valueUsd: 4 },
    ];
    const until = (before: Attribution | null): Attribution => ({
      key: 'designated',
      until: { fromMs: day(5), before },
    });
    const owners: Record<number, Attribution> = {
      2: until({ key: 'exchange' }),
      3: until({ key: 'exchange' }),
      4: until(null),
      5: { key: 'mixer' },
    };
    const result = exposureOf(
      { ...DEFAULTS, start: 1 },
      { graph: memoryGraph(edges), workspace, attribution: (node) => owners[node] ?? null },
    );
    expect(sharesByKey(result)).toEqual(
      new Map([
        ['mixer', 0.5],
        ['designated', 0.375],
        ['exchange', 0.125],
      ]),
    );
  });

  it('splits an edge that was used before and after an attribution applies', () => {
    const dated = (since: number, before: number) => [
      { day: 19_800, amount: BigInt(since), transfers: 1 },
      { day: 19_700, amount: BigInt(before), transfers: 3 },
    ];
    const span = {
      firstSeenMs: startOfDay(19_690),
      lastSeenMs: startOfDay(19_800),
      transfers: 4,
      unpriced: 0,
    };
    const edges = [
      { from: 2, to: 1, valueUsd: 4, amount: 400, ...span, days: dated(100, 300) },
      // Money that moved earlier goes on to the owners behind the node if it had no known owner then.
      { from: 3, to: 1, valueUsd: 4, amount: 400, ...span, days: dated(200, 200) },
      { from: 4, to: 3, valueUsd: 4 },
      // If no days are kept, all of it counts as later.
      { from: 5, to: 1, valueUsd: 2, amount: 200, ...span },
    ];
    const until = (key: string, before: Attribution | null): Attribution => ({
      key,
      until: { fromMs: startOfDay(19_750), before },
    });
    const owners: Record<number, Attribution> = {
      2: until('first', { key: 'exchange' }),
      3: until('second', null),
      4: { key: 'mixer' },
      5: until('third', { key: 'exchange' }),
    };
    const result = exposureOf(
      { ...DEFAULTS, start: 1 },
      { graph: memoryGraph(edges), workspace, attribution: (node) => owners[node] ?? null },
    );
    expect(sharesByKey(result)).toEqual(
      new Map([
        ['exchange', expect.closeTo(0.3, 12)],
        ['mixer', expect.closeTo(0.2, 12)],
        ['second', expect.closeTo(0.2, 12)],
        ['third', expect.closeTo(0.2, 12)],
        ['first', expect.closeTo(0.1, 12)],
      ]),
    );
    const transfers = new Map(result.rows.map((row) => [row.attribution.key, row.transfers]));
    expect(transfers.get('first')).toBe(1);
    expect(transfers.get('exchange')).toBe(3);
    expect(transfers.get('third')).toBe(4);
  });

  it('has no shares for an address that moved no value', () => {
    const result = expose([{ from: 2, to: 1, valueUsd: 0 }], { 2: 'mixer' });
    expect(result.rows).toEqual([]);
    expect(result.unknown.share).toBe(0);
    expect(result.total).toBe(0);
  });

  it('reports coins mined by the start as of unknown origin', () => {
    const graph = memoryGraph([{ from: 2, to: 1, valueUsd: 100 }]);
    const mined = {
      asset: 1,
      transfers: 9,
      unpriced: 0,
      cents: 40_000,
      amount: 40_000,
      pricedAmount: 40_000,
    };
    const sums = (node: NodeId) => (node === 1 ? { in: [mined], out: [] } : graph.sums(node));
    const attribution = (node: NodeId) => (node === 2 ? { key: 'exchange' } : null);
    const result = exposureOf(
      { ...DEFAULTS, start: 1 },
      { graph: { ...graph, sums }, workspace, attribution },
    );
    expect(result.rows[0]?.share).toBe(0.25);
    expect(result.unknown).toEqual({
      share: 0.75,
      byReason: { ORIGIN: 0.75, DEPTH: 0, MAX_DEGREE: 0, BUDGET: 0, UNPRICED: 0 },
      valueUsd: 300,
    });
    expect(result.isComplete).toBe(true);
  });

  it('reads the largest counterparties of a start with too many, and reports the rest as unknown', () => {
    const edges = Array.from({ length: 10 }, (_, at) => ({ from: 2 + at, to: 1, valueUsd: 10 - at }));
    const result = expose(edges, { 2: 'exchange', 11: 'mixer' }, { degreeMax: 4 });
    expect(result.rows.map(({ attribution, share }) => [attribution.key, share])).toEqual([
      ['exchange', 10 / 55],
    ]);
    expect(result.unknown.byReason.MAX_DEGREE).toBeCloseTo(21 / 55, 12);
    expect(result.stops).toEqual([{ node: 1, reason: 'MAX_DEGREE', share: expect.closeTo(21 / 55, 12) }]);
    expect(result.isComplete).toBe(false);
  });

  it('does not follow an address with too many counterparties, on either side', () => {
    const crowd = Array.from({ length: 5 }, (_, at) => ({ from: 2, to: 10 + at, valueUsd: 1 }));
    const edges = [{ from: 2, to: 1, valueUsd: 1 }, { from: 3, to: 2, valueUsd: 1 }, ...crowd];
    const result = expose(edges, { 3: 'mixer' }, { degreeMax: 4 });
    expect(result.rows).toEqual([]);
    expect(result.stops).toEqual([{ node: 2, reason: 'MAX_DEGREE', share: 1 }]);
  });

  it('spends a small budget on the largest shares first, and reports the rest as unread', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 10 },
      { from: 3, to: 1, valueUsd: 90 },
      { from: 4, to: 2, valueUsd: 10 },
      { from: 5, to: 3, valueUsd: 90 },
    ];
    const result = expose(edges, { 4: 'mixer', 5: 'exchange' }, { maxHops: 2, nodesMax: 1 });
    expect(sharesByKey(result)).toEqual(new Map([['exchange', 0.9]]));
    expect(result.stops).toEqual([{ node: 2, reason: 'BUDGET', share: 0.1 }]);
  });

  it('keeps budget for farther hops', () => {
    const crowd = Array.from({ length: 50 }, (_, at) => ({ from: 100 + at, to: 2, valueUsd: 1 }));
    const edges = [
      { from: 2, to: 1, valueUsd: 1 },
      { from: 3, to: 2, valueUsd: 50 },
      { from: 4, to: 3, valueUsd: 1 },
      ...crowd,
    ];
    const shares = sharesByKey(expose(edges, { 4: 'mixer' }, { nodesMax: 10 }));
    expect(shares.get('mixer')).toBeCloseTo(0.5, 12);
  });

  it('is not changed by an earlier walk that failed in the middle', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 60 },
      { from: 3, to: 1, valueUsd: 40 },
      { from: 4, to: 2, valueUsd: 60 },
      { from: 5, to: 4, valueUsd: 30 },
      { from: 6, to: 3, valueUsd: 40 },
    ];
    const walk = (attribution: (node: NodeId) => Attribution | null, own = workspace) =>
      exposureOf({ ...DEFAULTS, start: 1 }, { graph: memoryGraph(edges), workspace: own, attribution });
    const mixer = (node: NodeId): Attribution | null => (node === 6 ? { key: 'mixer' } : null);
    const expected = walk(mixer, createKernelWorkspace());
    for (const broken of [2, 3, 4, 5, 6]) {
      const failing = (node: NodeId): Attribution | null => {
        if (node === broken) throw new Error('The store is damaged.');
        return null;
      };
      expect(() => walk(failing)).toThrow('The store is damaged.');
      expect(walk(mixer)).toEqual(expected);
    }
  });

  it('returns its result so far at the deadline', () => {
    const edges = [
      { from: 2, to: 1, valueUsd: 1 },
      { from: 3, to: 1, valueUsd: 1 },
      { from: 4, to: 3, valueUsd: 1 },
    ];
    const result = exposureOf(
      { ...DEFAULTS, start: 1 },
      {
        graph: memoryGraph(edges),
        workspace,
        attribution: (node) => (node === 2 ? { key: 'exchange' } : null),
        isOver: () => true,
      },
    );
    expect(result.rows.map(({ share }) => share)).toEqual([0.5]);
    expect(result.unknown.byReason.BUDGET).toBe(0.5);
    expect(result.isComplete).toBe(false);
  });
});
