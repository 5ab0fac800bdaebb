/** All that lies within a few hops of an address: nodes with their depth, folded edges, and every place where the walk stopped. */
import type { NodeId, TransferGraph } from '../graph.ts';
import type { EdgeList } from './edge-columns.ts';
import type { Stop, WalkDirection } from './stops.ts';
import type { KernelWorkspace } from './workspace.ts';

export interface TraverseOptions {
  readonly start: NodeId;
  readonly direction: WalkDirection;
  /** 0 and more. */
  readonly hops: number;
  /** Addresses of more counterparties in either direction are not passed; of the start so many are read. */
  readonly degreeMax: number;
  /** Nodes of the answer, the start included. */
  readonly nodesMax: number;
  /** Edges of the answer. */
  readonly edgesMax: number;
}

export interface KernelDeps {
  readonly graph: TransferGraph;
  /** Lent for the length of one call. */
  readonly workspace: KernelWorkspace;
  /** True once the time is up; asked between addresses. The walk then ends as by a spent budget. */
  readonly isOver?: () => boolean;
}

export interface TraverseDeps extends KernelDeps {
  /** Asked once of each node but the start. */
  readonly isService: (node: NodeId) => boolean;
}

export interface Traversal {
  /** In the order of discovery: the start first, then by depth. */
  readonly nodes: Uint32Array;
  /** Hops from the start, of each of `nodes`. */
  readonly depths: Uint8Array;
  /** In the order of discovery. A pair that traded both ways has two. */
  readonly edges: EdgeList;
  /** At most one of each node, in the order of `nodes`. */
  readonly stops: readonly Stop[];
  readonly maxDepthReached: number;
  /** False where a budget, the time or the start's own size left something out. */
  readonly isComplete: boolean;
}

export type Traverse = (options: TraverseOptions, deps: TraverseDeps) => Traversal;
