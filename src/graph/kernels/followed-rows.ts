/**
 * The rows along which walks followed value: each was read, weighed and ordered, and is used again by the next walks that come to its
 * address. Walks from different addresses meet the same addresses again and again.
 */
import type { Direction } from '../flow.ts';
import type { HubLimits, NeighbourColumns, NodeId } from '../graph.ts';
import { GRAPH_LIMITS } from '../limits.ts';

/** The columns of an edge that a walk needs: 36 bytes. */
export interface FollowedColumns
  extends Pick<NeighbourColumns, 'ids' | 'weight' | 'firstSeenMs' | 'lastSeenMs'> {
  readonly transfers: Uint32Array;
  readonly unpriced: Uint32Array;
}

/** How an address passes value on. */
export interface RowHead {
  /** State of the address in the walk (exposure.ts). */
  readonly state: number;
  /** Tag of the addresses of the row. */
  readonly tag: number;
  /** Weight of the followed value. */
  readonly total: number;
  /** Edges below this weight are dust. */
  readonly dust: number;
}

const EDGES_FIRST = 2 ** 12;
const SLOTS = GRAPH_LIMITS.followedRowsKept;

const createColumns = (edges: number): FollowedColumns => ({
  ids: new Uint32Array(edges),
  weight: new Float64Array(edges),
  transfers: new Uint32Array(edges),
  unpriced: new Uint32Array(edges),
  firstSeenMs: new Float64Array(edges),
  lastSeenMs: new Float64Array(edges),
});

function copyEdges(
  from: NeighbourColumns | FollowedColumns,
  into: FollowedColumns,
  at: number,
  count: number,
): void {
  // A loop is faster than `set` for the few edges that most rows have.
  for (let edge = 0; edge < count; edge++) {
    const to = at + edge;
    into.ids[to] = from.ids[edge] as number;
    into.weight[to] = from.weight[edge] as number;
    into.transfers[to] = from.transfers[edge] as number;
    into.unpriced[to] = from.unpriced[edge] as number;
    into.firstSeenMs[to] = from.firstSeenMs[edge] as number;
    into.lastSeenMs[to] = from.lastSeenMs[edge] as number;
  }
}

/**
 * Holds the row that was found or put last, and keeps earlier ones: their edges one after another in a ring, so that new rows replace the
 * oldest, and their heads in slots of which each keeps its last row. Create one per thread.
 */
export class FollowedRows implements RowHead {
  columns: FollowedColumns = createColumns(EDGES_FIRST);
  /** Position of the first edge of the row in `columns`, and the number of its edges. */
  at = 0;
  count = 0;
  state = 0;
  tag = 0;
  total = 0;
  dust = 0;
  /** Number of the next edge, counted over all that were kept. Those of a row that is not kept are overwritten by the next row. */
  #end = 0;
  /** Number behind the last edge that was written. A row is whole if fewer than the length of the ring were written since it began. */
  #written = 0;
  #limits: HubLimits | null = null;
  // Allocated with the first kept row.
  #nodes = new Uint32Array(0);
  #eras = new Uint32Array(0);
  #ways = new Uint32Array(0);
  #states = new Uint8Array(0);
  #tags = new Uint32Array(0);
  #counts = new Uint32Array(0);
  #totals = new Float64Array(0);
  #dusts = new Float64Array(0);
  #starts = new Float64Array(0);

  /** Returns true if rows with these limits are kept: those of the first walk. All screenings have the same. */
  accepts(limits: HubLimits): boolean {
    this.#limits ??= limits;
    const { degreeMax, dustUsd, dustShare } = this.#limits;
    return degreeMax === limits.degreeMax && dustUsd === limits.dustUsd && dustShare === limits.dustShare;
  }

  /**
   * Finds a kept row.
   *
   * @param era - state of the graph; rows of others are not found
   * @param tag - of the address, by the asset that came to it
   */
  find(era: number, node: NodeId, direction: Direction, tag: number): boolean {
    if (this.#nodes.length === 0) return false;
    const way = wayOf(direction, tag);
    const slot = slotOf(era, node, way);
    if (this.#nodes[slot] !== node || this.#eras[slot] !== era || this.#ways[slot] !== way) return false;
    const start = this.#starts[slot] as number;
    const { length } = this.columns.ids;
    const count = this.#counts[slot] as number;
    if (count > 0 && start < this.#written - length) return false;
    this.at = start % length;
    this.count = count;
    this.state = this.#states[slot] as number;
    this.tag = this.#tags[slot] as number;
    this.total = this.#totals[slot] as number;
    this.dust = this.#dusts[slot] as number;
    return true;
  }

  /**
   * Puts the first `count` edges of the columns as the current row.
   *
   * @param era - 0 if the row must not be found later
   */
  put(
    { era, node, direction, tag }: { era: number; node: NodeId; direction: Direction; tag: number },
    head: RowHead,
    edges: NeighbourColumns,
    count: number,
  ): void {
    const start = this.#reserve(count, era !== 0);
    const { length } = this.columns.ids;
    copyEdges(edges, this.columns, start % length, count);
    this.at = start % length;
    this.count = count;
    this.state = head.state;
    this.tag = head.tag;
    this.total = head.total;
    this.dust = head.dust;
    if (era === 0) return;
    if (this.#nodes.length === 0) this.#allocate();
    const way = wayOf(direction, tag);
    const slot = slotOf(era, node, way);
    this.#nodes[slot] = node;
    this.#eras[slot] = era;
    this.#ways[slot] = way;
    this.#states[slot] = head.state;
    this.#tags[slot] = head.tag;
    this.#counts[slot] = count;
    this.#totals[slot] = head.total;
    this.#dusts[slot] = head.dust;
    this.#starts[slot] = start;
  }

  /** Makes room for edges in one piece, and returns the number of the first. */
  #reserve(count: number, isKept: boolean): number {
    let { length } = this.columns.ids;
    while (length < GRAPH_LIMITS.followedEdgesKept && this.#end + count > length) length *= 2;
    while (length < count) length *= 2;
    if (length !== this.columns.ids.length) this.#grow(length);
    const place = this.#end % length;
    const start = place + count > length ? this.#end + length - place : this.#end;
    this.#written = Math.max(this.#written, start + count);
    this.#end = isKept ? start + count : start;
    return start;
  }

  #grow(length: number): void {
    const before = this.columns;
    const isWrapped = this.#written > before.ids.length;
    this.columns = createColumns(length);
    if (isWrapped) {
      // Positions in the ring depend on its length: all rows are forgotten. This happens only for a row that is longer than the limit.
      this.#eras.fill(0);
      this.#end = 0;
      this.#written = 0;
    } else copyEdges(before, this.columns, 0, this.#end);
  }

  #allocate(): void {
    this.#nodes = new Uint32Array(SLOTS);
    this.#eras = new Uint32Array(SLOTS);
    this.#ways = new Uint32Array(SLOTS);
    this.#states = new Uint8Array(SLOTS);
    this.#tags = new Uint32Array(SLOTS);
    this.#counts = new Uint32Array(SLOTS);
    this.#totals = new Float64Array(SLOTS);
    this.#dusts = new Float64Array(SLOTS);
    this.#starts = new Float64Array(SLOTS);
  }
}

/** The direction and the tag as one number. Numbers of assets are far below 2^31. */
const wayOf = (direction: Direction, tag: number): number => 2 * tag + (direction === 'in' ? 0 : 1);

/** Fibonacci hashing, by the upper bits: consecutive ids are common. */
const slotOf = (era: number, node: NodeId, way: number): number =>
  Math.imul(node + Math.imul(way, 0x85ebca6b) + Math.imul(era, 0xc2b2ae35), 0x9e3779b1) >>> SLOT_SHIFT;

const SLOT_SHIFT = 32 - Math.log2(SLOTS);
