/** Counts the different nodes that a walk would see for the first time, as far as there is room for them, without numbering them. */
import type { NodeId } from '../graph.ts';

export class FreshNodes {
  /** Room for this many. */
  readonly #room: number;
  readonly #isSeen: (node: NodeId) => boolean;
  /** An open-addressing table, so small that it fits the processor's cache: it may be filled to three quarters. 0 is no node. */
  readonly #slots: Uint32Array;
  readonly #shift: number;
  #count = 0;
  /** Those that the last call of `add` counted. */
  #last: NodeId[] = [];

  /** @param isSeen whether the walk has seen a node already */
  constructor(room: number, isSeen: (node: NodeId) => boolean) {
    const bits = Math.ceil(Math.log2(1.35 * room + 2));
    this.#room = room;
    this.#isSeen = isSeen;
    this.#slots = new Uint32Array(2 ** bits);
    this.#shift = 32 - bits;
  }

  /** Counts the nodes of a row. Returns false if there is no room for all of them. */
  add(nodes: readonly NodeId[]): boolean {
    this.#last = [];
    for (const node of nodes) {
      if (this.#isSeen(node)) continue;
      const at = this.#find(node);
      if (this.#slots[at] === node) continue;
      if (this.#count === this.#room) return false;
      this.#slots[at] = node;
      this.#count++;
      this.#last.push(node);
    }
    return true;
  }

  /** Returns those of the nodes of a row that were fresh before the last call of `add`, and for how many there was room then. */
  beforeLast(): { readonly room: number; readonly isFresh: (node: NodeId) => boolean } {
    const last = new Set(this.#last);
    return {
      room: this.#room - this.#count + last.size,
      isFresh: (node) => !this.#isSeen(node) && (last.has(node) || this.#slots[this.#find(node)] !== node),
    };
  }

  /** The slot of a node, or the empty one in which it belongs. */
  #find(node: NodeId): number {
    const slots = this.#slots;
    let at = Math.imul(node, 0x9e3779b1) >>> this.#shift;
    while (slots[at] !== 0 && slots[at] !== node) at = (at + 1) & (slots.length - 1);
    return at;
  }
}
