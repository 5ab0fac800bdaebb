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

/** Fibonacci hashing: consecutive ids are common, and are spread far apart. */
const spread = (node: NodeId, tag: number, shift: number): number =>
  Math.imul(node + Math.imul(tag, 0x85ebca6b), 0x9e3779b1) >>> shift;

/**
 * The numbers of a run are stored above those of all earlier runs, so that old entries count as empty and nothing is cleared between runs.
 * The table's size follows the nodes that walks see. The graph may have hundreds of millions.
 */
export class NodeIndex {
  #ids = new Uint32Array(CAPACITY);
  #slotTags = new Uint32Array(CAPACITY);
  /** `#base` + number. A value below `#base` is a slot of an earlier run. */
  #values = new Uint32Array(CAPACITY);
  #nodes = new Uint32Array(CAPACITY);
  #tags = new Uint32Array(CAPACITY);
  #shift = 32 - Math.log2(CAPACITY);
  #base = 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#base += this.#size;
    this.#size = 0;
    if (this.#base < VALUE_MAX / 2) return;
    this.#values.fill(0);
    this.#base = 1;
  }

  /** The number of a node, or UNSEEN. */
  find(node: NodeId, tag = 0): number {
    const mask = this.#ids.length - 1;
    let slot = spread(node, tag, this.#shift);
    for (;;) {
      const value = this.#values[slot] as number;
      if (value < this.#base) return UNSEEN;
      if (this.#ids[slot] === node && this.#slotTags[slot] === tag) return value - this.#base;
      slot = (slot + 1) & mask;
    }
  }

  /** Assigns a number to a node that was not seen before. */
  add(node: NodeId, tag = 0): number {
    if (this.#size * 2 >= this.#ids.length) this.#grow();
    this.#place(node, tag, this.#size);
    this.#nodes[this.#size] = node;
    this.#tags[this.#size] = tag;
    return this.#size++;
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
    const mask = this.#ids.length - 1;
    let slot = spread(node, tag, this.#shift);
    while ((this.#values[slot] as number) >= this.#base) slot = (slot + 1) & mask;
    this.#ids[slot] = node;
    this.#slotTags[slot] = tag;
    this.#values[slot] = this.#base + number;
  }

  #grow(): void {
    const capacity = this.#ids.length * 2;
    const nodes = new Uint32Array(capacity);
    nodes.set(this.#nodes);
    this.#nodes = nodes;
    const tags = new Uint32Array(capacity);
    tags.set(this.#tags);
    this.#tags = tags;
    this.#ids = new Uint32Array(capacity);
    this.#slotTags = new Uint32Array(capacity);
    this.#values = new Uint32Array(capacity);
    this.#shift--;
    this.#base = 1;
    for (let number = 0; number < this.#size; number++)
      this.#place(nodes[number] as NodeId, tags[number] as number, number);
  }
}
