/**
 * The nodes that a walk has seen, numbered in the order it saw them. An open-addressing table that is cleared in constant time. A walk that
 * may reach a node in several ways gives each way a tag, and a number of its own.
 */
import type { NodeId } from '../graph.ts';

/** The node was not seen. */
export const UNSEEN = -1;

/** Large enough for a default trace at a load of less than a third. */
const CAPACITY = 2 ** 14;
const VALUE_MAX = 2 ** 32 - 1;

/**
 * Words of a slot: node, tag, value, and one without use. A slot is in one line of the processor's cache, and most look-ups end at their first
 * slot. The value is `#base` + number; one below `#base` is of an earlier run.
 */
const SLOT_WORDS = 4;
const TAG = 1;
const VALUE = 2;

/** Fibonacci hashing: consecutive ids are common, and are spread far apart. */
const spread = (node: NodeId, tag: number, shift: number): number =>
  Math.imul(node + Math.imul(tag, 0x85ebca6b), 0x9e3779b1) >>> shift;

/**
 * The numbers of a run are stored above those of all earlier runs, so that old entries count as empty and nothing is cleared between runs.
 * The table's size follows the nodes that walks see. The graph may have hundreds of millions.
 */
export class NodeIndex {
  #slots: Uint32Array;
  #nodes: Uint32Array;
  #tags: Uint32Array;
  #shift: number;
  #base = 1;
  #size = 0;

  /** @param capacity - slots at first, a power of two: more than twice the nodes of most walks */
  constructor(capacity = CAPACITY) {
    this.#slots = new Uint32Array(capacity * SLOT_WORDS);
    this.#nodes = new Uint32Array(capacity);
    this.#tags = new Uint32Array(capacity);
    this.#shift = 32 - Math.log2(capacity);
  }

  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#base += this.#size;
    this.#size = 0;
    if (this.#base < VALUE_MAX / 2) return;
    this.#slots.fill(0);
    this.#base = 1;
  }

  /** The number of a node, or UNSEEN. */
  find(node: NodeId, tag = 0): number {
    const slots = this.#slots;
    const base = this.#base;
    let at = spread(node, tag, this.#shift) * SLOT_WORDS;
    for (;;) {
      const value = slots[at + VALUE] as number;
      if (value < base) return UNSEEN;
      if (slots[at] === node && slots[at + TAG] === tag) return value - base;
      at = (at + SLOT_WORDS) & (slots.length - 1);
    }
  }

  /** Assigns a number to a node that was not seen before. */
  add(node: NodeId, tag = 0): number {
    const number = this.#size;
    if (number * 2 >= this.#nodes.length) this.#grow();
    this.#place(node, tag, number);
    this.#nodes[number] = node;
    this.#tags[number] = tag;
    this.#size = number + 1;
    return number;
  }

  nodeAt(number: number): NodeId {
    return this.#nodes[number] as NodeId;
  }

  tagAt(number: number): number {
    return this.#tags[number] as number;
  }

  /** The nodes in the order they were added, as a copy. */
  toArray(): Uint32Array {
    return this.#nodes.slice(0, this.#size);
  }

  #place(node: NodeId, tag: number, number: number): void {
    const slots = this.#slots;
    let at = spread(node, tag, this.#shift) * SLOT_WORDS;
    while ((slots[at + VALUE] as number) >= this.#base) at = (at + SLOT_WORDS) & (slots.length - 1);
    slots[at] = node;
    slots[at + TAG] = tag;
    slots[at + VALUE] = this.#base + number;
  }

  #grow(): void {
    const capacity = this.#nodes.length * 2;
    const nodes = new Uint32Array(capacity);
    nodes.set(this.#nodes);
    this.#nodes = nodes;
    const tags = new Uint32Array(capacity);
    tags.set(this.#tags);
    this.#tags = tags;
    this.#slots = new Uint32Array(capacity * SLOT_WORDS);
    this.#shift--;
    this.#base = 1;
    for (let number = 0; number < this.#size; number++)
      this.#place(nodes[number] as NodeId, tags[number] as number, number);
  }
}
