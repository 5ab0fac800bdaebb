/** What a path search is asked for, and what it returns. */
import type { NodeId } from '../graph.ts';
import type { Stop, WalkDirection } from './stops.ts';

export interface PathOptions {
  readonly start: NodeId;
  readonly target: NodeId;
  /** `out`: value went from start to target; `in`: from target to start; `both`: edges are walked either way. */
  readonly direction: WalkDirection;
  /** The most edges of a path. */
  readonly maxDepth: number;
  readonly pathsMax: number;
  /** Paths do not pass addresses with more counterparties than this in either direction. */
  readonly degreeMax: number;
  /** The most nodes seen from both ends together. */
  readonly nodesMax: number;
  /** The most partial paths considered. */
  readonly stepsMax: number;
  /**
   * Finds only paths that money can certainly have taken. Each edge has two known times, its first and its last. One of them can be chosen
   * for each edge so that the times never decrease along the flow. With `both` this holds for each run of edges of one direction.
   */
  readonly timeRespecting: boolean;
}

export interface PathEdge {
  readonly from: NodeId;
  readonly to: NodeId;
  /** USD of the priced transfers. 0 if none is priced. */
  readonly valueUsd: number;
  readonly transfers: number;
  readonly unpriced: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

export interface FoundPath {
  /** From start to target, regardless of the direction of the edges. */
  readonly nodes: readonly NodeId[];
  readonly edges: readonly PathEdge[];
  /** USD of the priced transfers of the weakest edge. Null if an edge has none. */
  readonly bottleneckUsd: number | null;
}

export interface PathSearch {
  /** Loopless paths: fewest edges first, then greatest bottleneck (edges without a price last, by amount), then smallest ids. */
  readonly paths: readonly FoundPath[];
  /**
   * Addresses at which paths might have continued: services and super-nodes in the order of discovery, then those at which the budget
   * ended. At most one stop per address. Addresses beyond `maxDepth` are not stops.
   */
  readonly stops: readonly Stop[];
  /** True if a budget, the time limit or the size of both ends left something out: other or shorter paths may exist. */
  readonly truncated: boolean;
}
