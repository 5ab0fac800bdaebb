/** A set of nodes that may have others too: one bit for the nodes of each hash, small enough for the first cache of the processor. */
import type { NodeId } from '../graph.ts';

/** 16 KB. With 10,000 nodes, one of 13 others has the bit of one of them. */
const BITS = 17;

/** Fibonacci hashing: consecutive ids are common, and are spread far apart. */
const hashOf = (node: NodeId): number => Math.imul(node, 0x9e3779b1) >>> (32 - BITS);

export class NodeMarks {
  readonly #words = new Uint32Array(2 ** (BITS - 5));

  add(node: NodeId): void {
    const hash = hashOf(node);
    this.#words[hash >>> 5] = (this.#words[hash >>> 5] as number) | (1 << (hash & 31));
  }

  /** False only for a node that was not added. */
  mayHave(node: NodeId): boolean {
    const hash = hashOf(node);
    return (((this.#words[hash >>> 5] as number) >>> (hash & 31)) & 1) === 1;
  }
}
