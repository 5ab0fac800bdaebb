/**
 * Caches the rows along which addresses pass value on, across walks. A row depends only on the transfers of its own address, and walks from
 * different starts meet the same busy addresses again and again. Reading a row decodes its records, sums them by asset, tests for a hub and
 * sorts; a cached row is copied.
 */
import type { NeighbourColumns, NodeId, PassedRow, RowState } from '../graph.ts';

/** Identifies a row within a version of a graph. */
export interface RowName {
  readonly node: NodeId;
  /** Code of the direction and tag of the asset: `2 * tag + (direction is out)`. */
  readonly way: number;
  /** Number of the version of the graph, from 1, chosen by the owner of the cache. */
  readonly era: number;
}

/** Words of 8 bytes of one edge: weight, first and last time, id and transfers, unpriced transfers. */
const EDGE_WORDS = 5;

export interface PassedRowLimits {
  /** A power of two. */
  readonly rows: number;
  readonly edges: number;
}

/**
 * A slot has eight words, one line of the processor's cache: node and era, way, place of the edges, dust, total, their number and the tag,
 * state.
 */
const SLOT_WORDS = 8;
const WAY = 1;
const BEGIN = 2;
const DUST = 3;
const TOTAL = 4;
const STATE = 6;
/** Places of the 32-bit fields. */
const NODE_HALF = 0;
const ERA_HALF = 1;
const COUNT_HALF = 10;
const TAG_HALF = 11;

/**
 * The memory of a cache: a table with one slot for each row, and a ring of edges. New edges overwrite the oldest ones; a slot remembers where
 * its edges begin, counted in words from the first ever written, so that overwritten ones are recognised.
 */
export class PassedRows {
  readonly #mask: number;
  readonly #slots: Float64Array;
  /** The same memory. */
  readonly #slotHalves: Uint32Array;
  readonly #words: number;
  readonly #ring: Float64Array;
  /** The same memory. */
  readonly #ringHalves: Uint32Array;
  /** Words ever written. */
  #written = 0;

  constructor({ rows, edges }: PassedRowLimits) {
    this.#mask = rows - 1;
    this.#slots = new Float64Array(rows * SLOT_WORDS);
    this.#slotHalves = new Uint32Array(this.#slots.buffer);
    this.#words = edges * EDGE_WORDS;
    this.#ring = new Float64Array(this.#words);
    this.#ringHalves = new Uint32Array(this.#ring.buffer);
  }

  /** Index of the first word of the slot of a row. */
  #slotOf({ node, way, era }: RowName): number {
    const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(way + 1, 0x85ebca6b) ^ Math.imul(era, 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 15)) & this.#mask) * SLOT_WORDS;
  }

  /** Writes the edges of a row to the columns. Returns undefined if it is not cached. */
  get(name: RowName, into: NeighbourColumns): PassedRow | undefined {
    const slot = this.#slotOf(name);
    const slots = this.#slots;
    const halves = this.#slotHalves;
    if (halves[2 * slot + NODE_HALF] !== name.node || halves[2 * slot + ERA_HALF] !== name.era)
      return undefined;
    if (slots[slot + WAY] !== name.way) return undefined;
    const count = halves[2 * slot + COUNT_HALF] as number;
    const begin = slots[slot + BEGIN] as number;
    if (count > 0) {
      if (this.#written - begin > this.#words) return undefined;
      this.#copy(begin % this.#words, count, into);
    }
    return {
      state: slots[slot + STATE] as RowState,
      tag: halves[2 * slot + TAG_HALF] as number,
      dust: slots[slot + DUST] as number,
      total: slots[slot + TOTAL] as number,
      count,
    };
  }

  #copy(begin: number, count: number, into: NeighbourColumns): void {
    const ring = this.#ring;
    const halves = this.#ringHalves;
    const { ids, weight, transfers, unpriced, firstSeenMs, lastSeenMs } = into;
    for (let at = 0, word = begin; at < count; at++, word += EDGE_WORDS) {
      weight[at] = ring[word] as number;
      firstSeenMs[at] = ring[word + 1] as number;
      lastSeenMs[at] = ring[word + 2] as number;
      ids[at] = halves[2 * word + 6] as number;
      transfers[at] = halves[2 * word + 7] as number;
      unpriced[at] = ring[word + 4] as number;
    }
  }

  /** Stores a row without its edges of weight 0, along which nothing is passed on. */
  set(name: RowName, row: PassedRow, from: NeighbourColumns): void {
    const { weight, transfers } = from;
    let kept = 0;
    for (let at = 0; at < row.count; at++) {
      if (weight[at] === 0) continue;
      // Stored in 32 bits.
      if ((transfers[at] as number) > 0xffffffff) return;
      kept++;
    }
    const words = kept * EDGE_WORDS;
    // One row must not displace a considerable part of the others.
    if (words > this.#words / 8) return;
    // The edges of a row are in one piece.
    const place = this.#written % this.#words;
    if (place + words > this.#words) this.#written += this.#words - place;
    const slot = this.#slotOf(name);
    const slots = this.#slots;
    const halves = this.#slotHalves;
    halves[2 * slot + NODE_HALF] = name.node;
    halves[2 * slot + ERA_HALF] = name.era;
    slots[slot + WAY] = name.way;
    slots[slot + BEGIN] = this.#written;
    slots[slot + DUST] = row.dust;
    slots[slot + TOTAL] = row.total;
    halves[2 * slot + COUNT_HALF] = kept;
    halves[2 * slot + TAG_HALF] = row.tag;
    slots[slot + STATE] = row.state;
    this.#append(row.count, from);
    this.#written += words;
  }

  #append(count: number, from: NeighbourColumns): void {
    const ring = this.#ring;
    const halves = this.#ringHalves;
    const { ids, weight, transfers, unpriced, firstSeenMs, lastSeenMs } = from;
    let word = this.#written % this.#words;
    for (let at = 0; at < count; at++) {
      if (weight[at] === 0) continue;
      ring[word] = weight[at] as number;
      ring[word + 1] = firstSeenMs[at] as number;
      ring[word + 2] = lastSeenMs[at] as number;
      halves[2 * word + 6] = ids[at] as number;
      halves[2 * word + 7] = transfers[at] as number;
      ring[word + 4] = unpriced[at] as number;
      word += EDGE_WORDS;
    }
  }
}
