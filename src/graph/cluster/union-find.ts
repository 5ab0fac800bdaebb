/**
 * Disjoint sets of dense ids in one typed array: Rem's algorithm with splicing (Dijkstra: "A Discipline of Programming", 1976,
 * chapter 23), which Patwary, Blair and Manne ("Experiments on Union-Find Algorithms", SEA 2010) found the fastest. Parents are
 * smaller than their children, so a set is named by its smallest id, and one rising pass flattens all.
 */
import { AssayError } from '../../base/errors.ts';

export interface UnionFind {
  /** Ids that exist: 0 up to this, without it. */
  readonly count: number;
  /** Makes room for ids below `count`, each a set of its own. Throws INVALID_REQUEST past 2^31 - 1. */
  grow(count: number): void;
  /** The smallest id of an id's set; equal for two ids exactly where they are in one set. */
  find(id: number): number;
  /** Joins the sets of two ids. */
  union(a: number, b: number): void;
  /** How many ids each set has, at its smallest id; 0 at all others. */
  sizes(): Uint32Array;
}

const IDS_MAX = 2 ** 31 - 1;

export function createUnionFind(capacity = 1024): UnionFind {
  let parents = new Int32Array(Math.max(1, capacity));
  let count = 0;

  return {
    get count() {
      return count;
    },

    grow(to) {
      if (to > IDS_MAX) throw new AssayError('INVALID_REQUEST', `More than ${IDS_MAX} addresses to cluster.`);
      if (to > parents.length) {
        const larger = new Int32Array(Math.min(IDS_MAX, Math.max(to, parents.length * 2)));
        larger.set(parents.subarray(0, count));
        parents = larger;
      }
      for (; count < to; count++) parents[count] = count;
    },

    find(id) {
      let at = id;
      let parent = parents[at] as number;
      while (parent !== at) {
        // Halving: every second step skips one, and the next walk is half as long.
        const above = parents[parent] as number;
        parents[at] = above;
        at = above;
        parent = parents[at] as number;
      }
      return at;
    },

    union(a, b) {
      let x = a;
      let y = b;
      let parentOfX = parents[x] as number;
      let parentOfY = parents[y] as number;
      // Both walk upwards by turns, the one whose parent is greater; on its way it is hung below the smaller parent (splicing).
      while (parentOfX !== parentOfY) {
        if (parentOfX > parentOfY) {
          parents[x] = parentOfY;
          if (x === parentOfX) return;
          x = parentOfX;
          parentOfX = parents[x] as number;
        } else {
          parents[y] = parentOfX;
          if (y === parentOfY) return;
          y = parentOfY;
          parentOfY = parents[y] as number;
        }
      }
    },

    sizes() {
      const sizes = new Uint32Array(count);
      for (let id = 0; id < count; id++) {
        const root = parents[parents[id] as number] as number;
        parents[id] = root;
        sizes[root] = (sizes[root] as number) + 1;
      }
      return sizes;
    },
  };
}
