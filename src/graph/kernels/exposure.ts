/**
 * Whose money an address holds or whom it pays: value-weighted (haircut) shares through unattributed addresses until an
 * attributed one.
 */
import type { Direction } from '../flow.ts';
import type { NodeId } from '../graph.ts';
import type { StopReason } from './stops.ts';
import type { KernelDeps } from './traverse.ts';

/** Whom an address belongs to. Addresses of equal `key` make one row. */
export interface Attribution {
  readonly key: string;
}

export interface ExposureOptions {
  readonly start: NodeId;
  /** `in`: where value came from; `out`: where it went. */
  readonly direction: Direction;
  /** 1 and more. */
  readonly maxHops: number;
  /** Addresses of more counterparties in either direction are not passed; of the start so many are read. */
  readonly degreeMax: number;
  /** Addresses looked at beyond the direct counterparties, which are all looked at. */
  readonly nodesMax: number;
  /** What an unpriced transfer counts as, USD. */
  readonly unpricedUsd: number;
  /** Edges without unpriced transfers below this leave the flow; 0 keeps all. */
  readonly dustUsd: number;
  /**
   * All that moved at the start in this direction, also without a counterparty (coinbase, mint) and beyond `degreeMax`. What
   * it has more than the counterparties read is UNKNOWN. Left out: the counterparties are all.
   */
  readonly startTotal?: { readonly valueUsd: number; readonly transfers: number; readonly unpriced: number };
}

export interface ExposureDeps<A extends Attribution> extends KernelDeps {
  /** Null where nobody knows. Asked once of each node looked at; never of the start. */
  readonly attribution: (node: NodeId) => A | null;
}

export interface ExposureRow<A extends Attribution> {
  readonly attribution: A;
  /** DIRECT: the counterparties themselves; INDIRECT: through others. */
  readonly type: 'DIRECT' | 'INDIRECT';
  /** The fewest hops at which a share was found: 1 for DIRECT. */
  readonly hops: number;
  /** Of all value of the direction, 0 to 1. */
  readonly share: number;
  /** The part of `share` found at each hop: index 0 is hop 1. */
  readonly shareByHop: readonly number[];
  /** The part of the start's priced USD; null where nothing of it is priced. */
  readonly valueUsd: number | null;
  /** Transfers between the attributed addresses and those next to them on the way, each counted once. */
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** The address that the greatest part of the share came from or went to. */
  readonly largestNode: NodeId;
}

/** Why a part is UNKNOWN: ORIGIN is where no counterparty is known of: mined, minted, or the first or last known holder. */
export type UnknownReason = Exclude<StopReason, 'SERVICE'> | 'ORIGIN';

export interface UnknownExposure {
  /** 0 to 1. */
  readonly share: number;
  /** The same by reason; adds up to `share`. */
  readonly byReason: Readonly<Record<UnknownReason, number>>;
  /** The part of the start's priced USD; null where nothing of it is priced. */
  readonly valueUsd: number | null;
}

export interface ExposureStop {
  readonly node: NodeId;
  readonly reason: 'MAX_DEGREE' | 'BUDGET';
  /** What of the flow could not be followed there, 0 to 1. */
  readonly share: number;
}

export interface ExposureResult<A extends Attribution> {
  /** Greatest share first, then by key, DIRECT before INDIRECT. With `unknown` the shares add up to 1, or to 0 where no value moved. */
  readonly rows: readonly ExposureRow<A>[];
  readonly unknown: UnknownExposure;
  /** Effective USD of the direction without dust: what the shares are of. */
  readonly totalUsd: number;
  /** The start's own edges that are dust. */
  readonly dust: { readonly counterparties: number; readonly transfers: number; readonly valueUsd: number };
  /** Greatest share first. */
  readonly stops: readonly ExposureStop[];
  /** False where a budget, the time or an address of too many counterparties ended the flow. */
  readonly isComplete: boolean;
  readonly nodesSeen: number;
}

export type ExposureOf = <A extends Attribution>(
  options: ExposureOptions,
  deps: ExposureDeps<A>,
) => ExposureResult<A>;
