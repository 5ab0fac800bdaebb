/**
 * One chain's transfer graph as kernels read it: addresses are dense ids, and all transfers from one address to another form one edge.
 * Implemented by the store, and in memory by tests. Kernels do not depend on where a graph is stored.
 */
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { EdgeDay } from './edge-days.ts';
import type { AssetFlow, Direction } from './flow.ts';

/** A dense id, from 1 to `nodeCount`. */
export type NodeId = number;

/** The missing side of a coinbase, a mint or a fee. Never a neighbour. */
export const NOBODY: NodeId = 0;

/** Columns into which a kernel reads neighbours. Reused for all calls. */
export interface NeighbourColumns {
  readonly ids: Uint32Array;
  /** Weight by which a row query orders. `neighbours` does not write it. */
  readonly weight: Float64Array;
  /** USD of the priced transfers of all assets together. 0 if none is priced. */
  readonly valueUsd: Float64Array;
  readonly transfers: Float64Array;
  /** Transfers of an amount without a known price. */
  readonly unpriced: Float64Array;
  /** Milliseconds since the epoch. */
  readonly firstSeenMs: Float64Array;
  readonly lastSeenMs: Float64Array;
}

/** Allocates columns for `capacity` neighbours. */
export const createNeighbourColumns = (capacity: number): NeighbourColumns => ({
  ids: new Uint32Array(capacity),
  weight: new Float64Array(capacity),
  valueUsd: new Float64Array(capacity),
  transfers: new Float64Array(capacity),
  unpriced: new Float64Array(capacity),
  firstSeenMs: new Float64Array(capacity),
  lastSeenMs: new Float64Array(capacity),
});

/** Sums of one asset in one direction of an address, with or without a counterparty. Self-transfers are not included. */
export interface AssetSums {
  /** Number of the asset in this graph (`TransferGraph.assetName`). */
  readonly asset: number;
  readonly transfers: number;
  readonly unpriced: number;
  /** USD of the priced transfers in whole cents. */
  readonly cents: number;
  /** Smallest units, as the nearest double. */
  readonly amount: number;
  /** Part of `amount` that is priced: `cents` is its value. */
  readonly pricedAmount: number;
}

/** Selects the edges of a row and defines their weights. */
export interface RowQuery {
  /**
   * The query counts only transfers of these assets, and skips edges without any. An in-memory table: reading the graph in the middle of a
   * row would overwrite the bytes that are being read.
   */
  readonly evidence: ReadonlySet<number> | ReadonlyMap<number, unknown>;
  /**
   * Weight of the smallest unit, by asset. Assets that are not in it have weight 0, and sums without an amount are left out. If null, the
   * weight of an edge is its USD, or -1 / (1 + amount) if it has none, so that priced edges come first.
   */
  readonly rates: ReadonlyMap<number, number> | null;
  /** Edges with less weight are counted, but not returned. */
  readonly least: number;
  /** Edges with less weight are counted as light, also if they are returned. Default: `least`, and never less. */
  readonly lightBelow?: number | undefined;
  /** The most edges returned. Must fit the columns. */
  readonly limit: number;
  /** Sums that were first seen later are counted as hidden, but not read. Infinity reads all. */
  readonly seenUntilMs: number;
  /** Transfers of one asset with one counterparty that are left out. */
  readonly without?: { readonly counterparty: NodeId; readonly asset: number } | null;
  /** True if `evidence` has all assets that moved in the direction. A hint: edges need not be looked at for others. */
  readonly isWhole?: boolean | undefined;
  /**
   * A hint: edges to counterparties for which this returns false may be left out of a row with at most `limit` counterparties. Must not read
   * the graph.
   */
  readonly isWanted?: ((counterparty: NodeId) => boolean) | undefined;
  /**
   * Gets the counterparties that `isWanted` leaves out, if transfers with them count. Edges are left out only if `rates` is null and nothing
   * is hidden by `seenUntilMs`.
   */
  readonly leftOut?: NodeId[] | undefined;
  /**
   * Called with assets of the edges that are read, if they are not in `evidence`. Must not read the graph. Only graphs with `reportsOthers`
   * call it.
   */
  readonly onOther?: ((asset: number) => void) | undefined;
  /** The scan may stop once more edges than this are at or above `least`. Default: it reads all. */
  readonly enough?: number | undefined;
}

/** Result of reading a row. */
export interface RowScan {
  /** Edges written. */
  readonly count: number;
  /** Edges that are not light, including those beyond `limit`. */
  readonly heavy: number;
  /** Edges below `lightBelow`. */
  readonly light: {
    readonly edges: number;
    readonly transfers: number;
    readonly weight: number;
    readonly valueUsd: number;
  };
  /** Weight of the sums that `seenUntilMs` hides. */
  readonly hiddenWeight: number;
  /** True if not all edges of the row were read: `enough` were found, or the row has more than `GRAPH_LIMITS.rowScanMax`. */
  readonly isPartial: boolean;
}

/** One asset of the edge between two addresses, with its times. */
export interface EdgeDetail extends AssetFlow {
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** Amounts by day, newest first. Empty if all moved on one day, or if days were not stored. */
  readonly days: readonly EdgeDay[];
}

/**
 * Returns the edge between a node and a counterparty, by asset.
 *
 * @param direction direction seen from the node: `in` for what it received from the counterparty
 */
export const edgeBetween = (
  graph: Pick<TransferGraph, 'edge'>,
  node: NodeId,
  direction: Direction,
  other: NodeId,
): readonly EdgeDetail[] => (direction === 'in' ? graph.edge(other, node) : graph.edge(node, other));

/** Addresses that a kernel will read next, in that order. */
export interface Upcoming {
  readonly nodes: ArrayLike<NodeId>;
  /**
   * Their neighbours will be read, except for addresses with more than `degreeMax` in either direction. Default: only the addresses
   * themselves, and degrees.
   */
  readonly neighbours?: {
    readonly directions: readonly Direction[];
    readonly degreeMax: number;
    /** How many of these neighbours will themselves be read. */
    readonly met?: number;
  };
  /** For each address, the other end of an edge that will be read. */
  readonly to?: ArrayLike<NodeId>;
}

/** The limits that a hub test depends on, beside the graph and the assets that are evidence on its chain. */
export interface HubLimits {
  readonly degreeMax: number;
  readonly dustUsd: number;
  readonly dustShare: number;
}

/** Caches the results of hub tests. */
export interface HubCache {
  /** Returns the result for a direction of a node; undefined if it is not cached. */
  get(node: NodeId, direction: Direction, limits: HubLimits): boolean | undefined;
  set(node: NodeId, direction: Direction, limits: HubLimits, isHub: boolean): void;
}

/** What becomes of value that reaches an address. */
export const PASSED_ON = 1;
/** No counterparty of the value is known. */
export const NO_ORIGIN = 2;
/** The address has too many counterparties: no walk passes it. */
export const SUPER_NODE = 3;
/** Several assets moved and none has a price. */
export const UNPRICED = 4;
export type RowState = typeof PASSED_ON | typeof NO_ORIGIN | typeof SUPER_NODE | typeof UNPRICED;

/** A row along which an address passes value on: its edges, and what does not depend on the walk that met it. */
export interface PassedRow {
  readonly state: RowState;
  /** The tag with which value arrives at the counterparties: number of the asset plus 1, or 0 for no particular asset. */
  readonly tag: number;
  /** Edges below this weight are dust. */
  readonly dust: number;
  /** Weight of all value that is passed on, including value without a counterparty. */
  readonly total: number;
  /** Number of edges in the columns, greatest weight first. */
  readonly count: number;
}

/** Caches rows by node, direction and tag of the asset that came to the node. */
export interface PassedCache {
  /** Writes the edges to the columns. Returns undefined if the row is not cached. */
  get(
    node: NodeId,
    direction: Direction,
    tag: number,
    limits: HubLimits,
    into: NeighbourColumns,
  ): PassedRow | undefined;
  /** Stores a row, without its edges of weight 0. */
  set(
    node: NodeId,
    direction: Direction,
    tag: number,
    limits: HubLimits,
    row: PassedRow,
    from: NeighbourColumns,
  ): void;
}

/** Caches the texts of addresses by node. */
export interface TextCache {
  get(node: NodeId): string | undefined;
  set(node: NodeId, text: string): void;
}

/** A view of one chain that does not change while a kernel runs. */
export interface TransferGraph {
  readonly chain: ChainId;
  /** The greatest assigned id. */
  readonly nodeCount: number;
  /** Changes with each stored transfer: coverage can stay the same if one block replaces another. Absent in in-memory graphs. */
  readonly version?: string;
  /** Names the store that assigned the ids: those of another one are of other addresses. Absent if the ids of a chain cannot change. */
  readonly source?: string;
  /** Returns the id of an address, or null if no transfer of it is known. */
  idOf(key: AddressKey): NodeId | null;
  keyOf(node: NodeId): AddressKey;
  /** The same in memory that the next read of the graph overwrites. Absent if it would be no cheaper. */
  peekKey?(node: NodeId): AddressKey;
  /** Canonical text. */
  addressOf(node: NodeId): string;
  /** Texts of addresses as answers write them. Absent if nothing is cached. */
  readonly texts?: TextCache;
  /** Number of distinct counterparties in a direction (`in`: those that sent to the node). Self-transfers are not counted. */
  degree(node: NodeId, direction: Direction): number;
  /**
   * Writes the first `limit` counterparties: greatest known USD first, then most unpriced transfers, then smallest id. Each counterparty
   * appears once; the node itself and NOBODY are left out. `limit` must fit the columns.
   *
   * @returns how many were written
   */
  neighbours(node: NodeId, direction: Direction, limit: number, into: NeighbourColumns): number;
  /** The sums of a node by asset, separately for each direction. */
  sums(node: NodeId): Readonly<Record<Direction, readonly AssetSums[]>>;
  /** The chain's native symbol, or the canonical address of a token contract. */
  assetName(asset: number): string;
  /**
   * Reads the counterparties of one direction for a query: greatest weight first, then smallest id. USD, transfers and times in the columns
   * include only the assets of the query. For a node with more than `GRAPH_LIMITS.rowScanMax` counterparties, only the first `limit` by stored
   * value are read.
   */
  row(node: NodeId, direction: Direction, query: RowQuery, into: NeighbourColumns): RowScan;
  /** True if `row` calls `RowQuery.onOther`. */
  readonly reportsOthers?: boolean;
  /**
   * Sums of the transfers from one node to another, by asset, most transfers first. Empty if there are none.
   *
   * @param side the node with the row that is read: `out` (default) that of `from`, `in` that of `to`; cheaper if the other node is a hub
   */
  edge(from: NodeId, to: NodeId, side?: Direction): readonly EdgeDetail[];
  /**
   * A hint that does not change any result: a remote graph fetches together what would be read one by one. Absent if single reads are fast.
   */
  prefetch?(next: Upcoming): void;
  /** Results of hub tests, which read whole rows. They apply to the graph as it is now. Absent if nothing is cached. */
  readonly hubs?: HubCache;
  /** Rows along which value is passed on. They apply to the graph as it is now. Absent if nothing is cached. */
  readonly passed?: PassedCache;
  /** Results computed from this view, by the object they were computed with. Absent if transfers may be stored while the view is in use. */
  readonly memory?: Map<object, unknown>;
}
