import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { UNATTRIBUTED } from '../../src/screening/attribution.ts';
import { createAttributions } from '../../src/screening/attributions.ts';
import { createRememberedDegrees } from '../../src/screening/remembered-degrees.ts';
import { createShownLabels } from '../../src/screening/shown-labels.ts';
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

/** A label reader that counts lookups. */
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

describe('attribution', () => {
  it('combines labels, lists first, and leaves unknown addresses unattributed', () => {
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

  it('reads an address once per snapshot, and again after a snapshot change', () => {
    const attributions = createAttributions(world.deps);
    const [first, second] = [counting(), counting()];
    for (let round = 0; round < 3; round++) attributions(graph, first.reader, null).of(nodeOf(WALLETS.mixer));
    expect(first.lookups()).toBe(1);
    attributions(graph, second.reader, null).of(nodeOf(WALLETS.mixer));
    expect(second.lookups()).toBe(1);
  });

  it('of an address without a label is read once per snapshot too, also beyond the addresses that were known', () => {
    const attributions = createAttributions(world.deps);
    const [first, second] = [counting(), counting()];
    const fewer = { ...graph, nodeCount: 1 };
    const node = nodeOf(WALLETS.payer);
    for (let round = 0; round < 3; round++) {
      expect(attributions(fewer, first.reader, null).of(node)).toBe(UNATTRIBUTED);
      expect(attributions(graph, first.reader, null).of(node)).toBe(UNATTRIBUTED);
    }
    // A neighbouring number shares its byte.
    expect(attributions(graph, first.reader, null).of(nodeOf(WALLETS.exchange)).entity?.name).toBe('Binance');
    expect(first.lookups()).toBe(2);
    expect(attributions(graph, second.reader, null).of(node)).toBe(UNATTRIBUTED);
    expect(second.lookups()).toBe(1);
  });

  it('is read again if the chain becomes the graph of another store, whose ids are of other addresses', () => {
    const attributions = createAttributions(world.deps);
    const shown = createShownLabels(world.deps);
    const { reader } = counting();
    const node = nodeOf(WALLETS.mixer);
    const other = nodeOf(WALLETS.payer);
    const keyOf = (id: number) => graph.keyOf(id === node ? other : id === other ? node : id);
    const swapped = (source: string): TransferGraph => ({ ...graph, source, keyOf, peekKey: keyOf });
    // More stores than a slot has numbers for.
    for (let round = 0; round < 300; round++) {
      const [here, there] = [
        attributions(graph, reader, null),
        attributions(swapped(`s${round}`), reader, null),
      ];
      expect([here.of(node).isRisky, here.of(other)]).toEqual([true, UNATTRIBUTED]);
      expect([there.of(node), there.of(other).isRisky]).toEqual([UNATTRIBUTED, true]);
    }
    expect(shown({ graph, reader, asOf: null }, other, UNATTRIBUTED)).toBeNull();
    expect(shown({ graph: swapped('s'), reader, asOf: null }, other, UNATTRIBUTED)?.source).toBe(
      'graphsense',
    );
  });

  it('as of a date uses that date only, and is not cached', () => {
    const attributions = createAttributions(world.deps);
    const { reader } = counting();
    const then = attributions(graph, reader, '2018-01-01').of(nodeOf(WALLETS.sanctioned));
    expect(then.sanctioned).toBe(false);
    expect(attributions(graph, reader, null).of(nodeOf(WALLETS.sanctioned)).sanctioned).toBe(true);
  });
});

describe('the label that an exposure shows', () => {
  it('is read once per snapshot, and each time as of a date or before a designation', () => {
    const shown = createShownLabels(world.deps);
    const { reader, lookups } = counting();
    const node = nodeOf(WALLETS.exchange);
    const first = shown({ graph, reader, asOf: null }, node, UNATTRIBUTED);
    expect(first).toEqual({
      address: WALLETS.exchange,
      source: 'graphsense',
      sourceUrl: null,
      // The publisher gives only the first day.
      date: '2021-05-01',
      confidence: 0.9,
    });
    expect(shown({ graph, reader, asOf: null }, node, UNATTRIBUTED)).toBe(first);
    const bare = nodeOf(WALLETS.payer);
    for (let round = 0; round < 2; round++)
      expect(shown({ graph, reader, asOf: null }, bare, UNATTRIBUTED)).toBeNull();
    expect(lookups()).toBe(2);
    for (let round = 0; round < 2; round++) {
      shown({ graph, reader, asOf: '2026-01-01' }, node, UNATTRIBUTED);
      shown({ graph, reader, asOf: null }, node, { ...UNATTRIBUTED, designatedLater: {} as never });
    }
    expect(lookups()).toBe(6);
    const other = counting();
    expect(shown({ graph, reader: other.reader, asOf: null }, node, UNATTRIBUTED)).toEqual(first);
    expect(other.lookups()).toBe(1);
  });
});

describe('cached degrees', () => {
  it('match the graph, and are read once until the coverage changes', () => {
    let reads = 0;
    const counted: TransferGraph = {
      ...graph,
      degree: (node, direction) => {
        reads++;
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
    expect(reads).toBe(2);
    remembered(counted, { ...coverage, transfers: coverage.transfers + 1 }).degree(node, 'out');
    expect(reads).toBe(3);
  });

  it('expire if a block is replaced by another of the same height, time and number of transfers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-degrees-'));
    const store = openTransferStore({ path: folder, readOnly: false });
    const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
    const block = (hash: string, receivers: readonly number[]): Block => ({
      chain: 'ETH',
      height: 100,
      hash,
      parentHash: null,
      timestampMs: 1_700_000_000_000,
      transfers: receivers.map((to, index) => ({
        chain: 'ETH',
        txHash: `0x${hash}${String(index).padStart(62, '0')}`,
        position: 'value',
        blockNumber: 100,
        timestampMs: 1_700_000_000_000,
        from: address(1),
        to: address(to),
        asset: 'ETH',
        amount: 1n,
        decimals: 18,
        valueUsd: 1,
      })),
    });
    const remembered = createRememberedDegrees();
    const degree = (): number => {
      const stored = store.graph('ETH') as TransferGraph;
      const node = stored.idOf(parseAddress('ETH', address(1)).key) as number;
      return remembered(stored, store.coverage('ETH')).degree(node, 'out');
    };
    await store.appendBlock(block('aa', [2, 2, 2]));
    expect(degree()).toBe(1);
    await store.revertBlock('ETH', 100);
    await store.appendBlock(block('bb', [3, 4, 5]));
    expect(degree()).toBe(3);
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
