/**
 * One chain's transfer graph as kernels read it: addresses are dense ids, the edges of two addresses are folded into one.
 * Implemented by the store, and in memory by tests. Kernels know nothing else of where a graph is kept.
 */
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { EdgeDay } from './edge-days.ts';
import type { AssetFlow, Direction } from './flow.ts';

/** A dense id: 1 up to and including `nodeCount`. */
export type NodeId = number;

/** The other side of a coinbase, a mint, a fee. Never a neighbour. */
export const NOBODY: NodeId = 0;

/** Columns a kernel reads neighbours into; reused from call to call. */
export interface NeighbourColumns {
  readonly ids: Uint32Array;
  /** Weight by which a query for a row orders; not written by `neighbours`. */
  readonly weight: Float64Array;
  /** USD of the priced transfers, all assets together; 0 where none is priced. */
  readonly valueUsd: Float64Array;
  readonly transfers: Float64Array;
  /** Transfers that moved an amount nobody could price. */
  readonly unpriced: Float64Array;
  /** Milliseconds since the epoch. */
  readonly firstSeenMs: Float64Array;
  readonly lastSeenMs: Float64Array;
}

export const createNeighbourColumns = (capacity: number): NeighbourColumns => ({
  ids: new Uint32Array(capacity),
  weight: new Float64Array(capacity),
  valueUsd: new Float64Array(capacity),
  transfers: new Float64Array(capacity),
  unpriced: new Float64Array(capacity),
  firstSeenMs: new Float64Array(capacity),
  lastSeenMs: new Float64Array(capacity),
});

/** Sums of one asset in one direction of an address, with or without a counterparty; self-transfers are not included. */
export interface AssetSums {
  /** Number of the asset in this graph (`TransferGraph.assetName`). */
  readonly asset: number;
  readonly transfers: number;
  readonly unpriced: number;
  /** USD of the priced transfers in whole cents. */
  readonly cents: number;
  /** Smallest units, as the nearest double. */
  readonly amount: number;
  /** Part of `amount` that `cents` is the value of. */
  readonly pricedAmount: number;
}

/** Which edges of a row are read, and how they are weighed. */
export interface RowQuery {
  /**
   * Only transfers of these assets exist for the query; edges without any are left out. A table in memory: reading the graph in the
   * middle of a row would overwrite the bytes that are being read.
   */
  readonly evidence: ReadonlySet<number> | ReadonlyMap<number, unknown>;
  /**
   * Weight of the smallest unit, by asset; assets that are not in it weigh nothing, and sums without an amount are left out. Null: an
   * edge weighs its USD, and if it has none -1 / (1 + amount), so that priced edges come first.
   */
  readonly rates: ReadonlyMap<number, number> | null;
  /** Edges with less weight are counted, not returned. */
  readonly least: number;
  /** The most edges returned; must fit the columns. */
  readonly limit: number;
  /** Sums first seen later are counted as hidden, not read. Infinity reads all. */
  readonly seenUntilMs: number;
  /** The scan may end once more edges than this are at or above `least`. Default: it reads all. */
  readonly enough?: number;
}

/** Result of reading a row. */
export interface RowScan {
  /** Edges written. */
  readonly count: number;
  /** Edges at or above `least`, also beyond `limit`. */
  readonly heavy: number;
  /** Edges below `least`. */
  readonly light: {
    readonly edges: number;
    readonly transfers: number;
    readonly weight: number;
    readonly valueUsd: number;
  };
  /** Weight of what `seenUntilMs` hides. */
  readonly hiddenWeight: number;
  /** True if not all edges of the row were read: `enough` were found, or it has more than `LIMITS.rowScanMax`. */
  readonly isPartial: boolean;
}

/** One asset of the edge between two addresses, with its times. */
export interface EdgeDetail extends AssetFlow {
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** Amounts by day, newest first; empty if all moved on one day, or if days were not kept. */
  readonly days: readonly EdgeDay[];
}

/**
 * Returns what moved between a node and a counterparty, by asset.
 *
 * @param direction of the node: `in` for what it received from the other
 */
export const edgeBetween = (
  graph: Pick<TransferGraph, 'edge'>,
  node: NodeId,
  direction: Direction,
  other: NodeId,
): readonly EdgeDetail[] => (direction === 'in' ? graph.edge(other, node) : graph.edge(node, other));

/** What a kernel is about to ask of many addresses, in the order in which it will. */
export interface Upcoming {
  readonly nodes: ArrayLike<NodeId>;
  /** Their neighbours will be read, but of those with more than `degreeMax` in either direction. Left out: who they are, and degrees. */
  readonly neighbours?: {
    readonly directions: readonly Direction[];
    readonly degreeMax: number;
    /** Of so many of these neighbours it will be asked who they are. */
    readonly met?: number;
  };
  /** The edge to each of these will be read, address by address. */
  readonly to?: ArrayLike<NodeId>;
}

/** A view of one chain that does not change while a kernel runs. */
export interface TransferGraph {
  readonly chain: ChainId;
  /** The greatest id given. */
  readonly nodeCount: number;
  /** Changes with each transfer that is stored: a block in the place of another may have the same coverage. Absent in memory graphs. */
  readonly version?: string;
  /** Null for an address no transfer is known of. */
  idOf(key: AddressKey): NodeId | null;
  keyOf(node: NodeId): AddressKey;
  /** Canonical text. */
  addressOf(node: NodeId): string;
  /** Distinct counterparties of a direction (`in`: those that sent to the node). Self-transfers are not among them. */
  degree(node: NodeId, direction: Direction): number;
  /**
   * Writes the first `limit` counterparties and says how many were written: greatest known USD first, then most unpriced
   * transfers, then smallest id. No counterparty twice, never the node itself, never NOBODY. `limit` must fit the columns.
   */
  neighbours(node: NodeId, direction: Direction, limit: number, into: NeighbourColumns): number;
  /** The sums of a node by asset, each direction apart. */
  sums(node: NodeId): Readonly<Record<Direction, readonly AssetSums[]>>;
  /** The chain's native symbol, or the canonical address of a token contract. */
  assetName(asset: number): string;
  /**
   * Reads the counterparties of one direction by a query: greatest weight first, then smallest id. USD, transfers and times in the
   * columns are of the assets of the query alone. Of a node with more than `LIMITS.rowScanMax` counterparties only the first `limit`
   * by stored value are read.
   */
  row(node: NodeId, direction: Direction, query: RowQuery, into: NeighbourColumns): RowScan;
  /** What moved from one node to another, by asset, most transfers first; empty where nothing did. */
  edge(from: NodeId, to: NodeId): readonly EdgeDetail[];
  /**
   * A hint, which changes no answer: a graph that is kept in another machine fetches together what will be read one by one. Left out
   * where reading one by one is as good.
   */
  prefetch?(next: Upcoming): void;
}
