/**
 * All rows of a chain's graph in memory: for each address and direction, the counterparties at or above dust and the share of its value
 * that each has. The kernel's own reader weighs the rows, so that a sweep and a walk multiply the same shares.
 */
import type { Direction } from '../graph/flow.ts';
import { createNeighbourColumns, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import { flowOf, type RowBasis, type Weighing } from '../graph/kernels/weighing.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import { SCREENING_LIMITS } from '../screening/limits.ts';
import { HUB, NEUTRAL, type NodeKinds, PASSES } from './kinds.ts';

/**
 * Rows of assets without a price, at addresses that are weighed by something else in the direction: those of node v are `start[v]` to
 * `start[v + 1]`.
 */
export interface ApartRows {
  readonly start: Uint32Array;
  readonly node: Uint32Array;
  /** Number of the asset. The assets of one node are in the order of `RowReader.apartOf`. */
  readonly asset: Uint32Array;
  /** 1 if the address is a hub for this asset. */
  readonly isHub: Uint8Array;
}

/**
 * The rows of one direction: those of row v are at `start[v]` to `start[v + 1]`. Row v is that of node v; after the last node follow
 * the rows of separate assets, in their order. A row number thus identifies both the address that value reaches and the asset it is in.
 */
export interface DirectionRows {
  readonly start: Float64Array;
  /** Row number. */
  readonly other: Uint32Array;
  /** Share of the value of the direction. */
  readonly share: Float64Array;
  /** USD of the direction without dust, or the amount of its only asset; 0 if none of it can be weighed. */
  readonly total: Float64Array;
  /** The part of the dust that belongs to labelled addresses without risk. */
  readonly neutralDust: Float64Array;
  /** Share of the labelled counterparties, risky or not. */
  readonly attributed: Float64Array;
  /** Properties of a row: bits of `ROW`. */
  readonly flags: Uint8Array;
  /**
   * Counterparties that are not in the row, or have transfers that may be worth less than dust by asset: those of node v are at
   * `lightStart[v]` to `lightStart[v + 1]`.
   */
  readonly lightStart: Float64Array;
  readonly light: Uint32Array;
  readonly apart: ApartRows;
}

/**
 * Properties of a row.
 *
 * - IS_ASSET: weighed by the amount of one asset.
 * - RISKY: a direct counterparty is a risk, even if only by dust.
 * - ALONE: a sweep does not see the row as a walk does.
 * - EARLIER: there were dealings before the counterparty was designated.
 * - ASSET_LEFT: more assets without a price moved than are followed.
 * - SUSPECTED: an uncertain label attributes a counterparty to a designated party.
 * - OTHERS: there are counterparties with which no amount of evidence moved; `light` does not include them.
 */
export const ROW = {
  IS_ASSET: 1,
  RISKY: 2,
  ALONE: 4,
  EARLIER: 8,
  OTHERS: 16,
  ASSET_LEFT: 32,
  SUSPECTED: 64,
} as const;

export interface ReadRowsOptions {
  readonly graph: TransferGraph;
  readonly direction: Direction;
  readonly weighing: Weighing;
  readonly kinds: NodeKinds<unknown>;
  readonly onProgress?: (nodes: number) => void;
}

/** If an edge is worth at least this many times the dust limit and has at most four assets, one of them is worth the limit. */
const LIGHT_DUSTS = 4;

const ID_MASK = 0x7fff_ffff;

/** Number of nodes between two progress reports. */
const PROGRESS_NODES = 2 ** 14;

/** Block size of columns that grow without being copied: a list of blocks that are joined once. */
const BLOCK = 2 ** 20;

class GrowingRows {
  readonly #others: Uint32Array[] = [];
  readonly #shares: Float64Array[] = [];
  #other = new Uint32Array(0);
  #share = new Float64Array(0);
  #at = BLOCK;
  count = 0;

  push(other: number, share: number): void {
    if (this.#at === BLOCK) {
      this.#other = new Uint32Array(BLOCK);
      this.#share = new Float64Array(BLOCK);
      this.#others.push(this.#other);
      this.#shares.push(this.#share);
      this.#at = 0;
    }
    this.#other[this.#at] = other;
    this.#share[this.#at++] = share;
    this.count++;
  }

  /** Joins the blocks, and frees each block after it has been copied. */
  join(): { other: Uint32Array; share: Float64Array } {
    const joined = { other: new Uint32Array(this.count), share: new Float64Array(this.count) };
    for (let at = 0; at < this.count; at += BLOCK) {
      const left = Math.min(BLOCK, this.count - at);
      joined.other.set((this.#others.shift() as Uint32Array).subarray(0, left), at);
      joined.share.set((this.#shares.shift() as Float64Array).subarray(0, left), at);
    }
    return joined;
  }
}

/** A growing list of nodes. */
class GrowingIds {
  #ids = new Uint32Array(BLOCK);
  count = 0;

  push(id: number): void {
    if (this.count === this.#ids.length) {
      const ids = new Uint32Array(this.#ids.length * 2);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    this.#ids[this.count++] = id;
  }

  get ids(): Uint32Array {
    return this.#ids.subarray(0, this.count);
  }
}

/** Bit that is set in `other` if this part of the edge moved before the counterparty's attribution applied. Ids have 31 bits. */
export const IS_BEFORE = 0x8000_0000;

/** Reads the rows of one direction. Rows of hubs stay empty, because no walk passes through hubs. */
export function readRows(options: ReadRowsOptions): DirectionRows {
  const { graph, direction, onProgress } = options;
  const { nodeCount } = graph;
  const rows = new RowsOfDirection(options);
  for (let node = 1; node <= nodeCount; node++) {
    if (node % PROGRESS_NODES === 0) onProgress?.(node);
    rows.addNode(node, graph.degree(node, direction));
  }
  return rows.finish();
}

/** The rows of all nodes in order, then those of separate assets. */
class RowsOfDirection {
  readonly #options: ReadRowsOptions;
  readonly #reader: RowReader;
  readonly #columns = createNeighbourColumns(GRAPH_LIMITS.rowScanMax);
  readonly #rows = new GrowingRows();
  readonly #light = new GrowingIds();
  readonly #nodes: PerRow;
  readonly #flags: Uint8Array;
  readonly #lightStart: Float64Array;
  readonly #apartStart: Uint32Array;
  readonly #apartNode = new GrowingIds();
  readonly #apartAsset = new GrowingIds();
  /** Nodes that are weighed by one asset, and that asset. */
  readonly #byAsset = { node: new GrowingIds(), asset: new GrowingIds() };

  constructor(options: ReadRowsOptions) {
    const { nodeCount } = options.graph;
    this.#options = options;
    this.#reader = new RowReader(options.graph, options.weighing);
    this.#nodes = perRow(nodeCount);
    this.#flags = new Uint8Array(nodeCount + 1);
    this.#lightStart = new Float64Array(nodeCount + 2);
    this.#apartStart = new Uint32Array(nodeCount + 2);
  }

  addNode(node: NodeId, degree: number): void {
    const { direction, kinds } = this.#options;
    this.#nodes.start[node] = this.#rows.count;
    this.#lightStart[node] = this.#light.count;
    this.#apartStart[node] = this.#apartNode.count;
    if (kinds.kinds[node] === HUB || degree > GRAPH_LIMITS.counterpartiesMax) {
      this.#flag(node, ROW.ALONE);
      if (kinds.kinds[node] === HUB || degree > GRAPH_LIMITS.rowScanMax) return;
    }
    const basis = this.#reader.basisOf(node, direction);
    if (basis.basis === 'NOTHING') {
      if (degree > 0) this.#flag(node, ROW.OTHERS);
      return;
    }
    if (basis.assetId !== null) {
      this.#flag(node, ROW.IS_ASSET);
      this.#byAsset.node.push(node);
      this.#byAsset.asset.push(basis.assetId);
    }
    let followed = 0;
    for (const { assetId, isDust } of this.#reader.apartOf(node, direction)) {
      this.#apartNode.push(node);
      this.#apartAsset.push(assetId as number);
      if (!isDust) followed++;
    }
    if (followed > SCREENING_LIMITS.exposureAssetsMax) this.#flag(node, ROW.ASSET_LEFT);
    const { count, heavy } = this.#addRow(node, basis, { into: this.#nodes, at: node });
    if (degree > count) this.#flag(node, ROW.OTHERS);
    const { ids, weight, valueUsd } = this.#columns;
    const least = LIGHT_DUSTS * this.#options.weighing.dustUsd;
    const hasRow = (this.#nodes.total[node] as number) > 0;
    for (let at = 0; at < count; at++) {
      const each = weight[at] as number;
      // An edge's weight exceeds the value of its priced transfers if others have no price; its USD exceeds it if they moved no amount.
      if (at >= heavy || each === 0 || !hasRow || Math.min(each, valueUsd[at] as number) < least)
        this.#light.push(ids[at] as number);
    }
  }

  finish(): DirectionRows {
    const { graph, direction } = this.#options;
    const { nodeCount } = graph;
    const nodes = this.#nodes;
    nodes.start[nodeCount + 1] = this.#rows.count;
    this.#lightStart[nodeCount + 1] = this.#light.count;
    this.#apartStart[nodeCount + 1] = this.#apartNode.count;
    const apartCount = this.#apartNode.count;
    const isHub = new Uint8Array(apartCount);
    const all = apartCount === 0 ? nodes : longer(nodes, nodeCount + apartCount);
    const apartNode = this.#apartNode.ids;
    const apartAsset = this.#apartAsset.ids;
    for (let at = 0; at < apartCount; at++) {
      const node = apartNode[at] as number;
      const row = nodeCount + 1 + at;
      all.start[row] = this.#rows.count;
      const basis = this.#reader.passingOf(node, direction, apartAsset[at] as number);
      if (this.#reader.isHubIn(node, direction, GRAPH_LIMITS.counterpartiesMax, basis)) isHub[at] = 1;
      this.#addRow(node, basis, { into: all, at: row });
    }
    all.start[nodeCount + apartCount + 1] = this.#rows.count;
    const apart = {
      start: this.#apartStart,
      node: apartNode,
      asset: apartAsset,
      isHub,
    };
    const { other, share } = this.#rows.join();
    this.#pointToAssets(other, all.start, apart);
    return {
      ...all,
      other,
      share,
      flags: this.#flags,
      lightStart: this.#lightStart,
      light: this.#light.ids,
      apart,
    };
  }

  #flag(node: NodeId, flag: number): void {
    this.#flags[node] = (this.#flags[node] as number) | flag;
  }

  /** Reads a row and adds the edges along which value is followed. Returns the number of edges of evidence, and of those above dust. */
  #addRow(
    node: NodeId,
    basis: RowBasis,
    { into, at: row }: { readonly into: PerRow; readonly at: number },
  ): { readonly count: number; readonly heavy: number } {
    const { direction, kinds } = this.#options;
    const { ids, weight, firstSeenMs, lastSeenMs } = this.#columns;
    const all = { ...basis, dust: 0 };
    const { count } = this.#reader.read(node, direction, all, GRAPH_LIMITS.rowScanMax, this.#columns);
    // Sorted by weight, largest first: dust is at the end of the row.
    let heavy = count;
    let light = 0;
    while (heavy > 0 && (weight[heavy - 1] as number) < basis.dust) light += weight[--heavy] as number;
    const isAll = this.#reader.followsDust(node, direction, basis, light);
    // A walk reads at most this many; the rest of the flow has no known origin.
    const followed = isAll ? Math.max(heavy, Math.min(count, GRAPH_LIMITS.counterpartiesMax)) : heavy;
    const flow = isAll ? basis.total : flowOf(basis.total, light);
    into.total[row] = flow;
    const addPart = (other: NodeId, part: number, isFollowed: boolean, isBefore: boolean): void => {
      const kind = isBefore ? (kinds.before.get(other)?.kind ?? PASSES) : (kinds.kinds[other] as number);
      if (isBefore) this.#flag(node, ROW.EARLIER);
      if (kinds.suspected.has(other)) this.#flag(node, ROW.SUSPECTED);
      if (kind >= 0) this.#flag(node, ROW.RISKY);
      if (!isFollowed && kind === NEUTRAL) into.neutralDust[row] = (into.neutralDust[row] as number) + part;
      if (!isFollowed || part <= 0 || flow === 0) return;
      this.#rows.push(isBefore ? (other | IS_BEFORE) >>> 0 : other, part / flow);
      if (kind >= 0 || kind === NEUTRAL)
        into.attributed[row] = (into.attributed[row] as number) + part / flow;
    };
    for (let at = 0; at < count; at++) {
      const each = weight[at] as number;
      const other = ids[at] as number;
      const isFollowed = at < followed;
      const fromMs = kinds.before.size === 0 ? undefined : kinds.before.get(other)?.fromMs;
      if (fromMs === undefined || (firstSeenMs[at] as number) >= fromMs) {
        addPart(other, each, isFollowed, false);
        continue;
      }
      const isAllBefore = (lastSeenMs[at] as number) < fromMs;
      const since = isAllBefore ? 0 : this.#reader.since(node, other, direction, basis, fromMs).weight;
      addPart(other, each - Math.min(each, since), isFollowed, true);
      if (!isAllBefore) addPart(other, Math.min(each, since), isFollowed, false);
    }
    return { count, heavy };
  }

  /** Redirects the edges of rows that are weighed by an asset to the row of that asset, if the other side has one. */
  #pointToAssets(other: Uint32Array, start: Float64Array, apart: ApartRows): void {
    const { nodeCount } = this.#options.graph;
    const pointTo = (row: number, asset: number): void => {
      for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
        const to = other[at] as number;
        const found = apartRowOf(apart, to & ID_MASK, asset);
        if (found >= 0) other[at] = ((to & IS_BEFORE) | (nodeCount + 1 + found)) >>> 0;
      }
    };
    if (apart.node.length === 0) return;
    const nodes = this.#byAsset.node.ids;
    const assets = this.#byAsset.asset.ids;
    for (let at = 0; at < nodes.length; at++) pointTo(nodes[at] as number, assets[at] as number);
    for (let at = 0; at < apart.node.length; at++) pointTo(nodeCount + 1 + at, apart.asset[at] as number);
  }
}

/** Returns the index of a node's row of an asset among the separate rows; -1 if it has none. */
function apartRowOf({ start, asset }: ApartRows, node: NodeId, wanted: number): number {
  for (let at = start[node] as number; at < (start[node + 1] as number); at++)
    if (asset[at] === wanted) return at;
  return -1;
}

/** The figures of each row: those of nodes, then those of separate assets. */
type PerRow = Pick<DirectionRows, 'start' | 'total' | 'neutralDust' | 'attributed'>;

const perRow = (rows: number): PerRow => ({
  start: new Float64Array(rows + 2),
  total: new Float64Array(rows + 1),
  neutralDust: new Float64Array(rows + 1),
  attributed: new Float64Array(rows + 1),
});

function longer(known: PerRow, rows: number): PerRow {
  const all = perRow(rows);
  for (const name of ['start', 'total', 'neutralDust', 'attributed'] as const) all[name].set(known[name]);
  return all;
}

/** Returns the kinds of a direction's rows: the row of a separate asset has the kind of its node, or is a hub itself. */
export function rowKinds(
  { apart }: DirectionRows,
  { kinds, before }: Pick<NodeKinds<unknown>, 'kinds' | 'before'>,
): Pick<NodeKinds<unknown>, 'kinds' | 'before'> {
  const count = apart.node.length;
  if (count === 0) return { kinds, before };
  const all = new Int16Array(kinds.length + count);
  all.set(kinds);
  const allBefore = new Map(before);
  for (let at = 0; at < count; at++) {
    const node = apart.node[at] as number;
    const row = kinds.length + at;
    const kindOf = (kind: number): number => (kind === PASSES && apart.isHub[at] === 1 ? HUB : kind);
    all[row] = kindOf(kinds[node] as number);
    const until = before.get(node);
    if (until !== undefined) allBefore.set(row, { ...until, kind: kindOf(until.kind) });
  }
  return { kinds: all, before: allBefore };
}

/** Returns the node at which an edge ends, in any of its rows. */
export const nodeAt = ({ apart, flags }: DirectionRows, other: number): NodeId => {
  const row = other & ID_MASK;
  return row < flags.length ? row : (apart.node[row - flags.length] as number);
};
