/** The dependencies of all kernels: the graph, the time limit, and the memory that the kernels of one thread share. */
import type { Direction } from '../flow.ts';
import { createNeighbourColumns, type NeighbourColumns, type NodeId, type TransferGraph } from '../graph.ts';
import { EdgeColumns } from './edge-columns.ts';
import { FlowColumns } from './flow-columns.ts';
import { NodeColumns } from './node-columns.ts';
import { NodeIndex } from './node-index.ts';
import { ReachedNodes } from './reached-nodes.ts';
import type { Weighing } from './weighing.ts';

export interface KernelDeps {
  readonly graph: TransferGraph;
  /** In use for the duration of one call. */
  readonly workspace: KernelWorkspace;
  /** Returns true once the time is up. Checked between addresses. The walk then ends as if its budget were spent. */
  readonly isOver?: () => boolean;
}

/** Additional dependencies of kernels that walk from address to address. */
export interface WalkDeps extends KernelDeps {
  /** Only edges of evidence are walked, and only those at or above dust count towards the limit of counterparties. */
  readonly weighing: Weighing;
  /** Called once for each node except the start. */
  readonly isService: (node: NodeId) => boolean;
}

/** Created once per thread, and used by one call at a time. */
export interface KernelWorkspace {
  readonly seen: NodeIndex;
  /** The nodes of an exposure walk, which meets fewer than a trace: a smaller table stays in the processor's cache. */
  readonly met: NodeIndex;
  readonly columns: NodeColumns;
  readonly reached: ReachedNodes;
  readonly edges: EdgeColumns;
  readonly flows: FlowColumns;
  /** Returns columns with room for `capacity` neighbours of a direction. Their previous contents are invalid. */
  neighbours(direction: Direction, capacity: number): NeighbourColumns;
}

/** Creates the memory that the kernels of one thread share. */
export function createKernelWorkspace(): KernelWorkspace {
  const columns = { in: createNeighbourColumns(0), out: createNeighbourColumns(0) };
  return {
    seen: new NodeIndex(),
    met: new NodeIndex(2 ** 12),
    columns: new NodeColumns(),
    reached: new ReachedNodes(),
    edges: new EdgeColumns(),
    flows: new FlowColumns(),
    neighbours(direction, capacity) {
      if (columns[direction].ids.length < capacity) columns[direction] = createNeighbourColumns(capacity);
      return columns[direction];
    },
  };
}
