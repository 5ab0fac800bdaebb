/**
 * Disjoint sets of dense ids in one typed array: Rem's algorithm with splicing (Dijkstra: "A Discipline of Programming", 1976, chapter 23),
 * the fastest in Patwary, Blair and Manne ("Experiments on Union-Find Algorithms", SEA 2010). Parents are smaller than their children, so a
 * set is identified by its smallest id, and one ascending pass flattens all sets.
 */
import { AssayError } from '../../base/errors.ts';

export interface UnionFind {
  /** Number of ids, which start at 0. */
  readonly count: number;
  /** Adds ids up to `count - 1`, each as a set of its own. Throws INVALID_REQUEST above 2^31 - 1. */
  grow(count: number): void;
  /** Returns the smallest id in an id's set. Two ids are in one set if and only if their results are equal. */
  find(id: number): number;
  /** Joins the sets of two ids. */
  union(a: number, b: number): void;
  /** The size of each set at its smallest id, and 0 at all other ids. */
  sizes(): Uint32Array;
}

const IDS_MAX = 2 ** 31 - 1;

/** Creates an empty structure with room for `capacity` ids. */
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
        // Path halving: every second step skips one, and the next walk is half as long.
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
      // Both walk upwards in turns: the one with the greater parent moves, and is attached below the smaller parent on its way (splicing).
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
