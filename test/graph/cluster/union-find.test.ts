import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createUnionFind } from '../../../src/graph/cluster/union-find.ts';

describe('union–find', () => {
  it('has the same sets as relabelling every member', () => {
    const pairs = fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 80 });
    fc.assert(
      fc.property(pairs, (unions) => {
        const sets = createUnionFind(61);
        sets.reset(61);
        const labels = Array.from({ length: 61 }, (_, id) => id);
        for (const [a, b] of unions) {
          sets.union(a, b);
          const [from, to] = [labels[a], labels[b]];
          for (const [id, label] of labels.entries()) if (label === from) labels[id] = to as number;
        }
        expect([...sets.flatten()]).toEqual(labels.map((label) => labels.indexOf(label)));
      }),
      { numRuns: 200 },
    );
  });
});
