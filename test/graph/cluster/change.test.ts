import { describe, expect, it } from 'vitest';
import { recogniseChange } from '../../../src/graph/cluster/change.ts';
import { address, pays, transaction } from './transactions.ts';

const wpkh = (number: number): string => address('p2wpkh', number);
const seen = (...addresses: string[]) => ({ isKnown: (one: string) => addresses.includes(one) });

describe('a change output', () => {
  it('returns to a paying address', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_000_000)],
      outputs: [pays(wpkh(2), 1_234_567), pays(wpkh(1), 7_760_000)],
    });
    expect(recogniseChange(tx)).toEqual({ n: 1, heuristic: 'address-reuse', confidence: 0.99 });
  });

  it('has the script of the inputs if the payment has another', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(wpkh(2), 4_444_444), pays(address('p2sh', 3), 4_600_001)],
    });
    expect(recogniseChange(tx)).toEqual({ n: 0, heuristic: 'script-type', confidence: 0.8 });
  });

  it('goes to a new address', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(wpkh(2), 4_444_444), pays(wpkh(3), 4_600_001)],
    });
    expect(recogniseChange(tx, seen(wpkh(1), wpkh(2)))).toEqual({
      n: 1,
      heuristic: 'fresh-address',
      confidence: 0.75,
    });
    expect(recogniseChange(tx)).toBeNull();
  });

  it('is not round if the payment is', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(wpkh(2), 5_000_000), pays(wpkh(3), 4_101_001)],
    });
    expect(recogniseChange(tx)).toEqual({ n: 1, heuristic: 'round-payment', confidence: 0.7 });
  });

  it('is smaller than every input', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 5_111_111), pays(wpkh(2), 6_222_223)],
      outputs: [pays(wpkh(3), 9_000_001), pays(wpkh(4), 2_300_001)],
    });
    expect(recogniseChange(tx)).toEqual({ n: 1, heuristic: 'optimal-change', confidence: 0.65 });
  });

  it('is the large remainder of a peeling step', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 900_111_111)],
      outputs: [pays(wpkh(3), 1_230_001), pays(wpkh(4), 898_800_001)],
    });
    expect(recogniseChange(tx)).toEqual({ n: 1, heuristic: 'peeling', confidence: 0.4 });
  });

  it('is more certain if heuristics agree', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(address('p2sh', 2), 5_000_000), pays(wpkh(3), 4_101_001)],
    });
    const found = recogniseChange(tx, seen(wpkh(1), address('p2sh', 2)));
    expect(found).toEqual({ n: 1, heuristic: 'script-type+fresh-address+round-payment', confidence: 0.95 });
  });

  it('is undecided if heuristics contradict, and less certain if a weak one does', () => {
    const inputs = [pays(wpkh(1), 900_111_111)];
    const against = transaction({
      inputs,
      outputs: [pays(wpkh(2), 500_000_000), pays(address('p2sh', 3), 400_101_001)],
    });
    expect(recogniseChange(against)).toBeNull();
    const weak = transaction({
      inputs,
      outputs: [pays(wpkh(2), 1_230_001), pays(address('p2sh', 3), 898_800_001)],
    });
    expect(recogniseChange(weak)).toEqual({ n: 0, heuristic: 'script-type', confidence: 0.48 });
  });

  it('is doubtful if its address was used before', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(wpkh(2), 4_444_444), pays(address('p2sh', 3), 4_600_001)],
    });
    expect(recogniseChange(tx, seen(wpkh(2), address('p2sh', 3)))?.confidence).toBe(0.4);
  });

  it('is distinguished from data outputs', () => {
    const tx = transaction({
      inputs: [pays(wpkh(1), 9_111_111)],
      outputs: [pays(null, 0), pays(address('p2sh', 3), 5_000_000), pays(wpkh(3), 4_101_001)],
    });
    expect(recogniseChange(tx)?.n).toBe(2);
  });

  it('does not exist in a sweep, a coinbase or a CoinJoin', () => {
    expect(
      recogniseChange(
        transaction({ inputs: [pays(wpkh(1), 9), pays(wpkh(2), 9)], outputs: [pays(wpkh(3), 17)] }),
      ),
    ).toBeNull();
    expect(
      recogniseChange(
        transaction({
          inputs: [],
          outputs: [pays(wpkh(3), 5_000_000), pays(wpkh(4), 123)],
          isCoinbase: true,
        }),
      ),
    ).toBeNull();
    const mixed = transaction({
      inputs: [1, 2, 3, 4, 5].map((at) => pays(wpkh(at), at < 3 ? 5_000_000 : 5_020_000)),
      outputs: [1, 2, 3, 4, 5].map((at) => pays(at === 1 ? wpkh(1) : wpkh(90 + at), 5_000_000)),
    });
    expect(recogniseChange(mixed)).toBeNull();
  });
});
