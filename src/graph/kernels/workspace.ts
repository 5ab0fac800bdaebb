/** The memory that kernels of one thread share: made once, lent to one call at a time. */
import { createNeighbourColumns, type NeighbourColumns } from '../graph.ts';
import { EdgeColumns } from './edge-columns.ts';
import { NodeIndex } from './node-index.ts';

export interface KernelWorkspace {
  readonly seen: NodeIndex;
  readonly edges: EdgeColumns;
  /** Columns with room for `capacity` neighbours. What they held before is gone. */
  neighbours(capacity: number): NeighbourColumns;
}

export function createKernelWorkspace(): KernelWorkspace {
  let columns = createNeighbourColumns(0);
  return {
    seen: new NodeIndex(),
    edges: new EdgeColumns(),
    neighbours(capacity) {
      if (columns.ids.length < capacity) columns = createNeighbourColumns(capacity);
      return columns;
    },
  };
}
