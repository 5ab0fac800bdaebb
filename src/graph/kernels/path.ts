/** The shortest paths between two addresses. */
import type { NodeId } from '../graph.ts';
import type { Stop, WalkDirection } from './stops.ts';
import type { WalkDeps } from './workspace.ts';

export interface PathOptions {
  readonly start: NodeId;
  readonly target: NodeId;
  /** `out`: value went from start to target; `in`: from target to start; `both`: edges are walked either way. */
  readonly direction: WalkDirection;
  /** The most edges of a path. */
  readonly maxDepth: number;
  readonly pathsMax: number;
  /** Addresses of more counterparties in either direction are passed by no path. */
  readonly degreeMax: number;
  /** Nodes seen from both ends together. */
  readonly nodesMax: number;
  /** Begun paths that are looked at. */
  readonly stepsMax: number;
  /**
   * Only paths that money can have taken for certain: of the known times of each edge, its first and its last, one can be chosen
   * so that along the flow none is earlier than the one before. With `both` this holds for each run of edges of one direction.
   */
  readonly timeRespecting: boolean;
  /** What an unpriced transfer counts as where bottlenecks are compared, USD. */
  readonly unpricedUsd: number;
}

export interface PathEdge {
  readonly from: NodeId;
  readonly to: NodeId;
  /** USD of the priced transfers; 0 where none is priced. */
  readonly valueUsd: number;
  readonly transfers: number;
  readonly unpriced: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

export interface FoundPath {
  /** From start to target, whatever the direction of the edges. */
  readonly nodes: readonly NodeId[];
  readonly edges: readonly PathEdge[];
  /** USD of the priced transfers of the weakest edge; null where an edge has none. */
  readonly bottleneckUsd: number | null;
}

export interface PathSearch {
  /** Without a loop; fewest edges first, then greatest bottleneck (unpriced transfers counted), then smallest ids. */
  readonly paths: readonly FoundPath[];
  /** In the order they were met; at most one of each node. */
  readonly stops: readonly Stop[];
  /** True where a budget, the time or the size of both ends left something out: other or shorter paths may exist. */
  readonly truncated: boolean;
  readonly nodesSeen: number;
}

export type FindPaths = (options: PathOptions, deps: WalkDeps) => PathSearch;
