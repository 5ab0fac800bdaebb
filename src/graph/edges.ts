/** An edge between two addresses: its sums by asset, and the order of edges. */
import type { EdgeDay } from './edge-days.ts';

/** A transfer of an edge: its time and its number in the log. */
export interface TransferRef {
  readonly timestampMs: number;
  readonly ordinal: number;
}

/** Sums of one asset between an address and one counterparty in one direction. */
export interface AssetSum {
  asset: number;
  transfers: number;
  unpriced: number;
  /** USD of the priced transfers in whole cents: an integer, so that sums do not drift. */
  cents: number;
  amount: bigint;
  firstSeenMs: number;
  lastSeenMs: number;
  /** Newest first, at most `recentTransfersPerEdge`. Stored in one direction of an edge only, if the address has more than its record lists. */
  newest: TransferRef[];
  /** Amounts by day (edge-days.ts), newest first. Stored in the same direction as `newest`. Empty if all moved on one day. */
  days: EdgeDay[];
}

/** All transfers between an address and one counterparty in one direction, summed by asset. */
export interface Edge {
  /** Dense address id. */
  counterparty: number;
  /** In the order of their ids. Never empty. */
  assets: AssetSum[];
}

/** The sums of an edge over its assets. */
export interface EdgeTotals {
  readonly counterparty: number;
  readonly cents: number;
  readonly unpriced: number;
  readonly transfers: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** Adds up the assets of an edge. */
export function totalsOf({ counterparty, assets }: Edge): EdgeTotals {
  let cents = 0;
  let unpriced = 0;
  let transfers = 0;
  let firstSeenMs = Number.POSITIVE_INFINITY;
  let lastSeenMs = 0;
  for (const sum of assets) {
    cents += sum.cents;
    unpriced += sum.unpriced;
    transfers += sum.transfers;
    if (sum.firstSeenMs < firstSeenMs) firstSeenMs = sum.firstSeenMs;
    if (sum.lastSeenMs > lastSeenMs) lastSeenMs = sum.lastSeenMs;
  }
  return { counterparty, cents, unpriced, transfers, firstSeenMs, lastSeenMs };
}

/** Greatest known value first, then most unpriced transfers, then smallest id. */
export const byValue = (
  a: Pick<EdgeTotals, 'cents' | 'unpriced' | 'counterparty'>,
  b: Pick<EdgeTotals, 'cents' | 'unpriced' | 'counterparty'>,
): number => b.cents - a.cents || b.unpriced - a.unpriced || a.counterparty - b.counterparty;

/** Orders transfers by time, then by number in the log, newest first. */
export const newestFirst = (a: TransferRef, b: TransferRef): number =>
  b.timestampMs - a.timestampMs || b.ordinal - a.ordinal;

/** Inserts a transfer into the list of the newest, which keeps at most `limit`. */
export function addNewest(newest: TransferRef[], ref: TransferRef, limit: number): void {
  let at = newest.length;
  // Most are newer than all others, whose times may have to be read from the log.
  if (at > 0 && newestFirst(ref, newest[0] as TransferRef) < 0) at = 0;
  while (at > 0 && newestFirst(ref, newest[at - 1] as TransferRef) < 0) at--;
  if (at >= limit) return;
  newest.splice(at, 0, ref);
  if (newest.length > limit) newest.pop();
}

/** Returns the sums of one asset in an edge, and creates them if the edge has none. */
export function assetSumOf(edge: Edge, asset: number): AssetSum {
  let at = 0;
  for (; at < edge.assets.length; at++) {
    const sum = edge.assets[at] as AssetSum;
    if (sum.asset === asset) return sum;
    if (sum.asset > asset) break;
  }
  const made: AssetSum = {
    asset,
    transfers: 0,
    unpriced: 0,
    cents: 0,
    amount: 0n,
    firstSeenMs: Number.POSITIVE_INFINITY,
    lastSeenMs: 0,
    newest: [],
    days: [],
  };
  edge.assets.splice(at, 0, made);
  return made;
}
