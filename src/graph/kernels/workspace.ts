/** What every kernel is given: the graph, the time, and the memory that the kernels of one thread share. */
import type { Direction } from '../flow.ts';
import { createNeighbourColumns, type NeighbourColumns, type NodeId, type TransferGraph } from '../graph.ts';
import { EdgeColumns } from './edge-columns.ts';
import { FlowColumns } from './flow-columns.ts';
import { NodeIndex } from './node-index.ts';
import type { Weighing } from './rows.ts';

export interface KernelDeps {
  readonly graph: TransferGraph;
  /** Lent for the length of one call. */
  readonly workspace: KernelWorkspace;
  /** True once the time is up; asked between addresses. The walk then ends as by a spent budget. */
  readonly isOver?: () => boolean;
}

/** What kernels that walk from address to address are given besides. */
export interface WalkDeps extends KernelDeps {
  /** Only edges of evidence are walked, and only those at or above dust count towards the limit of counterparties. */
  readonly weighing: Weighing;
  /** Asked once of each node but the start. */
  readonly isService: (node: NodeId) => boolean;
}

/** Made once a thread, lent to one call at a time. */
export interface KernelWorkspace {
  readonly seen: NodeIndex;
  readonly edges: EdgeColumns;
  readonly flows: FlowColumns;
  /** Columns with room for `capacity` neighbours of a direction. What they held before is gone. */
  neighbours(direction: Direction, capacity: number): NeighbourColumns;
}

export function createKernelWorkspace(): KernelWorkspace {
  const columns = { in: createNeighbourColumns(0), out: createNeighbourColumns(0) };
  return {
    seen: new NodeIndex(),
    edges: new EdgeColumns(),
    flows: new FlowColumns(),
    neighbours(direction, capacity) {
      if (columns[direction].ids.length < capacity) columns[direction] = createNeighbourColumns(capacity);
      return columns[direction];
    },
  };
}
