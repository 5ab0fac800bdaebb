/**
 * Disjoint sets of dense ids: union by size with path halving (Tarjan, van Leeuwen: "Worst-case Analysis of Set Union Algorithms",
 * JACM 1984) in one typed array: a negative number is a root and how many it holds, any other the parent.
 */
import { AssayError } from '../../base/errors.ts';

export interface UnionFind {
  /** Ids that exist: 0 up to this, without it. */
  readonly count: number;
  /** Makes room for ids below `count`, each a set of its own. */
  grow(count: number): void;
  /** The representative of an id's set; equal for two ids exactly where they are in one set. */
  find(id: number): number;
  /** Joins the sets of two ids; returns the representative of both. */
  union(a: number, b: number): number;
  sizeOf(id: number): number;
}

/** Ids fit 31 bits: the sign tells roots from children. */
const IDS_MAX = 2 ** 31 - 1;

export function createUnionFind(capacity = 1024): UnionFind {
  let parents = new Int32Array(Math.max(1, capacity)).fill(-1);
  let count = 0;

  const find = (id: number): number => {
    let at = id;
    let parent = parents[at] as number;
    while (parent >= 0) {
      const above = parents[parent] as number;
      if (above < 0) return parent;
      // Halving: every second step skips one, and the next walk is half as long.
      parents[at] = above;
      at = above;
      parent = parents[at] as number;
    }
    return at;
  };

  return {
    get count() {
      return count;
    },
    grow(to) {
      if (to > IDS_MAX) throw new AssayError('INVALID_REQUEST', `More than ${IDS_MAX} addresses to cluster.`);
      if (to > parents.length) {
        const larger = new Int32Array(Math.min(IDS_MAX, Math.max(to, parents.length * 2))).fill(-1);
        larger.set(parents.subarray(0, count));
        parents = larger;
      }
      count = Math.max(count, to);
    },
    find,
    union(a, b) {
      let root = find(a);
      let other = find(b);
      if (root === other) return root;
      // The larger set keeps its root; of two alike the first given, so that the outcome has one form.
      if ((parents[root] as number) > (parents[other] as number)) [root, other] = [other, root];
      parents[root] = (parents[root] as number) + (parents[other] as number);
      parents[other] = root;
      return root;
    },
    sizeOf: (id) => -(parents[find(id)] as number),
  };
}
