/** Where a walk through the graph ends, and why: what all kernels report alike. */
import type { Direction } from '../flow.ts';
import type { NodeId } from '../graph.ts';

/** `in`: against the flow, to where value came from; `out`: with it. */
export type WalkDirection = Direction | 'both';

/**
 * SERVICE: the address serves the public, what leaves it says nothing of what came. MAX_DEGREE: too many counterparties; the
 * start of a walk is read in part even so. BUDGET: the walk saw as much as it may. DEPTH: as many hops away as was asked for.
 */
export type StopReason = 'SERVICE' | 'MAX_DEGREE' | 'BUDGET' | 'DEPTH';

export interface Stop {
  readonly node: NodeId;
  readonly reason: StopReason;
}

/** The directions that a walk reads, in the order it reads them. */
export const DIRECTIONS_OF: Readonly<Record<WalkDirection, readonly Direction[]>> = {
  in: ['in'],
  out: ['out'],
  both: ['out', 'in'],
};
