/** The ends of a walk through the graph, with reasons. All kernels report this in the same form. */
import type { Direction } from '../flow.ts';
import type { NodeId } from '../graph.ts';

/** `in`: against the flow, to the sources of value; `out`: with the flow; `both`: either way. */
export type WalkDirection = Direction | 'both';

/**
 * SERVICE: the address serves the public, so its outgoing value says nothing about its incoming value. MAX_DEGREE: too many counterparties;
 * if the start has too many, it is still read in part. BUDGET: the walk reached its limit. DEPTH: the requested number of hops was reached.
 */
export type StopReason = 'SERVICE' | 'MAX_DEGREE' | 'BUDGET' | 'DEPTH';

export interface Stop {
  readonly node: NodeId;
  readonly reason: StopReason;
}

/** The directions that a walk reads, in reading order. */
export const DIRECTIONS_OF: Readonly<Record<WalkDirection, readonly Direction[]>> = {
  in: ['in'],
  out: ['out'],
  both: ['out', 'in'],
};
