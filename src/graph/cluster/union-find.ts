/**
 * Disjoint sets of dense ids in one typed array: Rem's algorithm with splicing (Dijkstra: "A Discipline of Programming", 1976, chapter 23),
 * the fastest in Patwary, Blair and Manne ("Experiments on Union-Find Algorithms", SEA 2010). Parents are smaller than their children, so a
 * set is identified by its smallest id, and one ascending pass flattens all sets.
 */

export interface UnionFind {
  /** Makes each of the ids from 0 up to `count - 1` a set of its own. `count` is at most the capacity. */
  reset(count: number): void;
  /** Joins the sets of two ids. */
  union(a: number, b: number): void;
  /** The smallest id of the set of each id. Two ids are in one set if and only if theirs are equal. Valid until the next change. */
  flatten(): Int32Array;
}

/** Creates a structure with memory for `capacity` ids, 4 bytes each, and no id. */
export function createUnionFind(capacity: number): UnionFind {
  const parents = new Int32Array(capacity);
  let count = 0;

  return {
    reset(to) {
      count = to;
      for (let id = 0; id < count; id++) parents[id] = id;
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

    flatten() {
      // The parent of a parent is already the smallest id of the set, because parents are smaller.
      for (let id = 0; id < count; id++) parents[id] = parents[parents[id] as number] as number;
      return parents.subarray(0, count);
    },
  };
}
