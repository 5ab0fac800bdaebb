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

/**
 * Words of 8 bytes of one edge. A wide edge has weight, first and last time, id and transfers, unpriced transfers. A compact one has weight, id
 * and first time, last time and both counts: times in whole seconds, as the blocks of nearly all chains have them, and counts below 65,536. All
 * edges of a row have the same form.
 */
const WIDE_WORDS = 5;
const COMPACT_WORDS = 3;
const COUNT_BITS = 16;
const COUNT_MAX = 2 ** COUNT_BITS - 1;
const SECONDS_MAX = 2 ** 32 - 1;

export interface PassedRowLimits {
  /** A power of two, at least SET_SLOTS. */
  readonly rows: number;
  /** Memory of their edges: 24 bytes each, or 40 if they are wide. */
  readonly edgeBytes: number;
}

/**
 * A slot has eight words, one line of the processor's cache: era, way, place of the edges, dust, total, their number and the tag, state, form
 * of the edges. Its node is apart, so that those of a set are in one line.
 */
const SLOT_WORDS = 8;
const WAY = 1;
const BEGIN = 2;
const DUST = 3;
const TOTAL = 4;
const STATE = 6;
/** 1 if the edges are compact. */
const FORM = 7;
/** Places of the 32-bit fields. */
const ERA_HALF = 0;
const COUNT_HALF = 10;
const TAG_HALF = 11;

/**
 * Slots among which a row has its place: with one alone, rows that share it displace each other while others are free. In 20,000 screenings on a
 * graph of 200,000 addresses, whose rows fill two thirds of the table, 46 rows were read for each instead of 19; four slots give 22.
 */
const SET_SLOTS = 8;

/**
 * The memory of a cache: a table with one slot for each row, and a ring of edges. New edges overwrite the oldest ones; a slot remembers where
 * its edges begin, counted in words from the first ever written, so that overwritten ones are recognised.
 */
export class PassedRows {
  readonly #mask: number;
  /** The node of each slot; 0, which no node has, if it is free. */
  readonly #nodes: Uint32Array;
  readonly #slots: Float64Array;
  /** The same memory. */
  readonly #slotHalves: Uint32Array;
  readonly #words: number;
  readonly #ring: Float64Array;
  /** The same memory. */
  readonly #ringHalves: Uint32Array;
  /** Words ever written. */
  #written = 0;

  constructor({ rows, edgeBytes }: PassedRowLimits) {
    this.#mask = rows / SET_SLOTS - 1;
    this.#nodes = new Uint32Array(rows);
    this.#slots = new Float64Array(rows * SLOT_WORDS);
    this.#slotHalves = new Uint32Array(this.#slots.buffer);
    this.#words = edgeBytes / 8;
    this.#ring = new Float64Array(this.#words);
    this.#ringHalves = new Uint32Array(this.#ring.buffer);
  }

  /** Returns the first of the slots among which a row has its place. */
  #setOf({ node, way, era }: RowName): number {
    const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(way + 1, 0x85ebca6b) ^ Math.imul(era, 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 15)) & this.#mask) * SET_SLOTS;
  }

  /** Returns the slot of a row; -1 if it has none. */
  #slotOf(name: RowName): number {
    const first = this.#setOf(name);
    for (let slot = first; slot < first + SET_SLOTS; slot++)
      if (
        this.#nodes[slot] === name.node &&
        this.#slotHalves[2 * slot * SLOT_WORDS + ERA_HALF] === name.era &&
        this.#slots[slot * SLOT_WORDS + WAY] === name.way
      )
        return slot;
    return -1;
  }

  /** Returns the slot that a row takes: its own, or that of the row of its set that was stored first, if none is free. */
  #slotFor(name: RowName): number {
    const own = this.#slotOf(name);
    if (own >= 0) return own;
    const beginOf = (slot: number): number => this.#slots[slot * SLOT_WORDS + BEGIN] as number;
    const first = this.#setOf(name);
    let oldest = first;
    for (let slot = first; slot < first + SET_SLOTS; slot++) {
      if (this.#nodes[slot] === 0) return slot;
      if (beginOf(slot) < beginOf(oldest)) oldest = slot;
    }
    return oldest;
  }

  /** Writes the edges of a row to the columns. Returns undefined if it is not cached. */
  get(name: RowName, into: NeighbourColumns): PassedRow | undefined {
    const number = this.#slotOf(name);
    if (number < 0) return undefined;
    const slot = number * SLOT_WORDS;
    const slots = this.#slots;
    const halves = this.#slotHalves;
    const count = halves[2 * slot + COUNT_HALF] as number;
    const begin = slots[slot + BEGIN] as number;
    if (count > 0) {
      if (this.#written - begin > this.#words) return undefined;
      if (slots[slot + FORM] === 1) this.#copyCompact(begin % this.#words, count, into);
      else this.#copyWide(begin % this.#words, count, into);
    }
    return {
      state: slots[slot + STATE] as RowState,
      tag: halves[2 * slot + TAG_HALF] as number,
      dust: slots[slot + DUST] as number,
      total: slots[slot + TOTAL] as number,
      count,
    };
  }

  #copyWide(begin: number, count: number, into: NeighbourColumns): void {
    const ring = this.#ring;
    const halves = this.#ringHalves;
    const { ids, weight, transfers, unpriced, firstSeenMs, lastSeenMs } = into;
    for (let at = 0, word = begin; at < count; at++, word += WIDE_WORDS) {
      weight[at] = ring[word] as number;
      firstSeenMs[at] = ring[word + 1] as number;
      lastSeenMs[at] = ring[word + 2] as number;
      ids[at] = halves[2 * word + 6] as number;
      transfers[at] = halves[2 * word + 7] as number;
      unpriced[at] = ring[word + 4] as number;
    }
  }

  #copyCompact(begin: number, count: number, into: NeighbourColumns): void {
    const ring = this.#ring;
    const halves = this.#ringHalves;
    const { ids, weight, transfers, unpriced, firstSeenMs, lastSeenMs } = into;
    for (let at = 0, word = begin; at < count; at++, word += COMPACT_WORDS) {
      const half = 2 * word;
      weight[at] = ring[word] as number;
      ids[at] = halves[half + 2] as number;
      firstSeenMs[at] = (halves[half + 3] as number) * 1000;
      lastSeenMs[at] = (halves[half + 4] as number) * 1000;
      const counts = halves[half + 5] as number;
      transfers[at] = counts & COUNT_MAX;
      unpriced[at] = counts >>> COUNT_BITS;
    }
  }

  /** Stores a row without its edges of weight 0, along which nothing is passed on. */
  set(name: RowName, row: PassedRow, from: NeighbourColumns): void {
    const { weight, transfers } = from;
    let kept = 0;
    let isCompact = true;
    for (let at = 0; at < row.count; at++) {
      if (weight[at] === 0) continue;
      // Stored in 32 bits.
      if ((transfers[at] as number) > 0xffffffff) return;
      isCompact &&= fitsCompact(from, at);
      kept++;
    }
    const words = kept * (isCompact ? COMPACT_WORDS : WIDE_WORDS);
    // One row must not displace a considerable part of the others.
    if (words > this.#words / 8) return;
    // The edges of a row are in one piece.
    const place = this.#written % this.#words;
    if (place + words > this.#words) this.#written += this.#words - place;
    const number = this.#slotFor(name);
    const slot = number * SLOT_WORDS;
    const slots = this.#slots;
    const halves = this.#slotHalves;
    this.#nodes[number] = name.node;
    halves[2 * slot + ERA_HALF] = name.era;
    slots[slot + WAY] = name.way;
    slots[slot + BEGIN] = this.#written;
    slots[slot + DUST] = row.dust;
    slots[slot + TOTAL] = row.total;
    halves[2 * slot + COUNT_HALF] = kept;
    halves[2 * slot + TAG_HALF] = row.tag;
    slots[slot + STATE] = row.state;
    slots[slot + FORM] = isCompact ? 1 : 0;
    if (isCompact) this.#appendCompact(row.count, from);
    else this.#appendWide(row.count, from);
    this.#written += words;
  }

  #appendWide(count: number, from: NeighbourColumns): void {
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
      word += WIDE_WORDS;
    }
  }

  #appendCompact(count: number, from: NeighbourColumns): void {
    const ring = this.#ring;
    const halves = this.#ringHalves;
    const { ids, weight, transfers, unpriced, firstSeenMs, lastSeenMs } = from;
    let word = this.#written % this.#words;
    for (let at = 0; at < count; at++) {
      if (weight[at] === 0) continue;
      const half = 2 * word;
      ring[word] = weight[at] as number;
      halves[half + 2] = ids[at] as number;
      halves[half + 3] = (firstSeenMs[at] as number) / 1000;
      halves[half + 4] = (lastSeenMs[at] as number) / 1000;
      halves[half + 5] = (transfers[at] as number) | ((unpriced[at] as number) << COUNT_BITS);
      word += COMPACT_WORDS;
    }
  }
}

const isSeconds = (timeMs: number): boolean => {
  const seconds = timeMs / 1000;
  return seconds >= 0 && seconds <= SECONDS_MAX && Math.floor(seconds) === seconds;
};

const fitsCompact = (
  { transfers, unpriced, firstSeenMs, lastSeenMs }: NeighbourColumns,
  at: number,
): boolean =>
  (transfers[at] as number) <= COUNT_MAX &&
  (unpriced[at] as number) <= COUNT_MAX &&
  isSeconds(firstSeenMs[at] as number) &&
  isSeconds(lastSeenMs[at] as number);
