import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TransferGraph } from '../../src/graph/graph.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { createAttributions, UNATTRIBUTED } from '../../src/screening/attribution.ts';
import { createRememberedDegrees } from '../../src/screening/remembered-degrees.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { createWorld, WALLETS, type World } from './world.ts';

let world: World;
let graph: TransferGraph;
beforeAll(async () => {
  world = await createWorld();
  graph = world.transfers.graph('ETH')!;
});
afterAll(() => world.close());

const nodeOf = (address: string): number => graph.idOf(parseSubject('ETH', address).key)!;

/** The reader of the world, counting look-ups. */
function counting(): { reader: LabelReader; lookups: () => number } {
  let lookups = 0;
  const { current } = world.deps.labels;
  const reader = {
    meta: current.meta,
    lookup: (key, chain) => {
      lookups++;
      return current.lookup(key, chain);
    },
  } as Pick<LabelReader, 'meta' | 'lookup'> as LabelReader;
  return { reader, lookups: () => lookups };
}

describe('attributions', () => {
  it('fold labels, a listing before all else, and leave the unknown unattributed', () => {
    const { of } = createAttributions(world.deps)(graph, counting().reader, null);
    expect(of(nodeOf(WALLETS.sanctioned))).toMatchObject({
      category: 'SANCTIONED_ENTITY',
      confidence: 1,
      sanctioned: true,
      isRisky: true,
      points: 100,
      riskLevel: 'CRITICAL',
    });
    expect(of(nodeOf(WALLETS.exchange))).toMatchObject({
      entity: { name: 'Binance' },
      jurisdiction: 'MT',
      isService: true,
      isRisky: false,
    });
    expect(of(nodeOf(WALLETS.payer))).toBe(UNATTRIBUTED);
  });

  it('read an address once a snapshot, and again when another one is in force', () => {
    const attributions = createAttributions(world.deps);
    const [first, second] = [counting(), counting()];
    for (let round = 0; round < 3; round++) attributions(graph, first.reader, null).of(nodeOf(WALLETS.mixer));
    expect(first.lookups()).toBe(1);
    attributions(graph, second.reader, null).of(nodeOf(WALLETS.mixer));
    expect(second.lookups()).toBe(1);
  });

  it('as of a date are of that date, and leave nothing behind', () => {
    const attributions = createAttributions(world.deps);
    const { reader } = counting();
    const then = attributions(graph, reader, '2018-01-01').of(nodeOf(WALLETS.sanctioned));
    expect(then.sanctioned).toBe(false);
    expect(attributions(graph, reader, null).of(nodeOf(WALLETS.sanctioned)).sanctioned).toBe(true);
  });
});

describe('remembered degrees', () => {
  it('are those of the graph, asked once until the coverage changes', () => {
    let asked = 0;
    const counted: TransferGraph = {
      ...graph,
      degree: (node, direction) => {
        asked++;
        return graph.degree(node, direction);
      },
    };
    const remembered = createRememberedDegrees();
    const coverage = world.transfers.coverage('ETH');
    const node = nodeOf(WALLETS.payer);
    for (let round = 0; round < 3; round++) {
      expect(remembered(counted, coverage).degree(node, 'out')).toBe(2);
      expect(remembered(counted, coverage).degree(node, 'in')).toBe(1);
    }
    expect(asked).toBe(2);
    remembered(counted, { ...coverage, transfers: coverage.transfers + 1 }).degree(node, 'out');
    expect(asked).toBe(3);
  });
});
