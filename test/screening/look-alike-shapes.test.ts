import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { formatAddressKey } from '../../src/chains/address/parse.ts';
import { lookAlikeKey } from '../../src/chains/look-alike.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { createShapes, SeenShapes } from '../../src/screening/look-alike-shapes.ts';

/** A graph of addresses that differ in few characters at their ends, so that many look alike. */
function graphOf(chain: ChainId, kind: number): Pick<TransferGraph, 'chain' | 'keyOf' | 'addressOf'> {
  const keyOf = (node: number): Uint8Array => {
    const next = seededUint32(node);
    const key = Uint8Array.from({ length: 22 }, () => next() >>> 11);
    key.set([kind, 1], 0);
    key.set([next() % 3, next() % 2], 2);
    key.set([7, next() % 4], 20);
    return key;
  };
  return { chain, keyOf, addressOf: (node) => formatAddressKey(keyOf(node), chain) };
}

describe('cached shapes of addresses', () => {
  it('are equal exactly for addresses that look alike, whatever was asked before', () => {
    const shapes = createShapes();
    const eth = graphOf('ETH', 1) as TransferGraph;
    const bsc = graphOf('BSC', 1) as TransferGraph;
    const shapeOf = shapes(eth);
    const nodes = [
      ...Array.from({ length: 60 }, (_, at) => at + 1),
      // These take the slots of others.
      ...Array.from({ length: 20 }, (_, at) => at + 1 + SCREENING_LIMITS.rememberedShapes),
    ];
    for (const a of nodes)
      for (const b of nodes) {
        shapes(bsc)(b);
        const isAlike = lookAlikeKey('ETH', eth.addressOf(a)) === lookAlikeKey('ETH', eth.addressOf(b));
        expect(shapeOf(a) === shapeOf(b), `${eth.addressOf(a)} ${eth.addressOf(b)}`).toBe(isAlike);
      }
  });

  it('tell that an address looks like another one, and not that it looks like itself', () => {
    const seen = new SeenShapes();
    expect([seen.add(9, 1), seen.add(9, 1), seen.add(8, 2), seen.add(9, 3)]).toEqual([
      false,
      false,
      false,
      true,
    ]);
    seen.clear();
    // A chain that uses each address only once has one shape for all.
    expect([seen.add(9, 3), seen.add(1, 4), seen.add(1, 5)]).toEqual([false, false, false]);
  });
});
