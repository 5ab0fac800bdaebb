import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressTable } from '../../../src/graph/cluster/address-table.ts';
import { createUnionFind } from '../../../src/graph/cluster/union-find.ts';

describe('union–find', () => {
  it('has the same sets as relabelling every member', () => {
    const pairs = fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 80 });
    fc.assert(
      fc.property(pairs, (unions) => {
        const sets = createUnionFind(1);
        sets.grow(61);
        const labels = Array.from({ length: 61 }, (_, id) => id);
        for (const [a, b] of unions) {
          sets.union(a, b);
          const [from, to] = [labels[a], labels[b]];
          for (const [id, label] of labels.entries()) if (label === from) labels[id] = to as number;
        }
        const sizes = sets.sizes();
        for (let a = 0; a <= 60; a++) {
          const members = labels.flatMap((label, id) => (label === labels[a] ? [id] : []));
          if (sets.find(a) !== members[0] || sizes[members[0] as number] !== members.length)
            expect.fail(`size of ${a}`);
          for (let b = 0; b < a; b++)
            if ((sets.find(a) === sets.find(b)) !== (labels[a] === labels[b])) expect.fail(`${a} and ${b}`);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('keeps its sets while it grows', () => {
    const sets = createUnionFind(2);
    sets.grow(3);
    sets.union(0, 2);
    sets.grow(5000);
    expect(sets.find(0)).toBe(sets.find(2));
    expect(sets.sizes()[4999]).toBe(1);
    expect(sets.sizes()[2]).toBe(0);
  });
});

describe('the address table', () => {
  it('gives each key one id in order of insertion, and returns the key', () => {
    const table = createAddressTable();
    const keys = new Map<string, number>();
    for (let number = 0; number < 60_000; number++) {
      const key = Buffer.alloc(number % 3 === 0 ? 34 : 22);
      key.writeUInt32BE((number * 2_654_435_761) >>> 0, 4);
      if (table.find(key, key.length) !== -1) expect.fail(`${number} was there`);
      keys.set(key.toString('hex'), table.idOf(key, key.length));
    }
    let id = 0;
    for (const [hex, given] of keys) {
      const key = Buffer.from(hex, 'hex');
      if (given !== id++ || table.idOf(key, key.length) !== given || !key.equals(table.keyOf(given)))
        expect.fail(`id ${given} of ${hex}`);
    }
    expect(table.count).toBe(60_000);
  });

  it('distinguishes a key from a longer one with the same prefix', () => {
    const table = createAddressTable();
    const key = Buffer.alloc(34, 7);
    expect(table.idOf(key, 22)).toBe(0);
    expect(table.idOf(key, 34)).toBe(1);
    expect(table.compare(0, 1)).toBeLessThan(0);
  });
});
