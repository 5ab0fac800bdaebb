/** The direct counterparties of an address with their attributions, from the graph and the label snapshot. */

import { percent, twoDecimals } from '../base/figures.ts';
import { dayOf, type LaterPart, partSince } from '../graph/edge-days.ts';
import { type EdgeDetail, edgeBetween, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { type EdgeSince, rowReaderOf } from '../graph/kernels/rows.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { AddressTotals, Direction, Flow } from '../graph/transfers.ts';
import { type Attribution, attributionAt, type SuspectedOwner, UNATTRIBUTED } from './attribution.ts';
import type { Attributions } from './attributions.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { type DirectionBasis, directionBasis, NOTHING_MOVED, type UnpricedAsset } from './weighing.ts';

/** A counterparty with its attribution. */
export interface Party {
  readonly node: NodeId;
  readonly direction: Direction;
  readonly attribution: Attribution;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** USD of the priced transfers that are evidence; null if none is priced. */
  readonly valueUsd: number | null;
  /** Weight in the basis of the direction: USD by amount, or smallest units of its only asset. */
  readonly value: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** True if the whole edge is dust. This party may be only a part of the edge. */
  readonly isDust: boolean;
  /** Set if the party is the part of an edge that moved before or since its designation. */
  readonly part: { readonly fromMs: number; readonly isBefore: boolean } | null;
}

/** A whole counterparty, as a list of the greatest shows it. */
type TopParty = Omit<Party, 'isDust' | 'part'> & {
  /** Percentage of all that moved in its direction, 0 to 100. */
  readonly percentage: number;
};

/** Dealings of a labelled counterparty in an asset without a price. */
export interface UnpricedDealing {
  readonly party: Party;
  readonly asset: UnpricedAsset;
  /** Share of all that moved of the asset in the direction, 0 to 1. */
  readonly share: number;
  readonly transfers: number;
}

/** One direction of an address's trade, as far as it is evidence. */
export interface Side {
  readonly direction: Direction;
  readonly flow: Flow;
  /** The measure of values and shares. */
  readonly basis: DirectionBasis;
  /** Counterparties with a label, greatest value first. */
  readonly attributed: readonly Party[];
  /** Direct dealings in assets without a price beside others; empty if the direction is weighed by its only asset. */
  readonly unpriced: readonly UnpricedDealing[];
  /** Designated parties to which uncertain labels attribute counterparties, with more than dust since their designation. */
  readonly suspected: readonly SuspectedOwner[];
  /** The counterparties with the greatest value, at most `screeningListMax`. */
  readonly top: readonly TopParty[];
  /** Number of counterparties that were read. */
  readonly read: number;
  /** Number of all counterparties, according to the graph. */
  readonly counterparties: number;
}

const NOTHING: Flow = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };
/** Returns the flow of one direction; an empty flow if the address has no transfers. */
export const flowIn = (totals: AddressTotals | null, direction: Direction): Flow =>
  totals?.[direction] ?? NOTHING;

export interface SideOptions {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly attributions: Attributions;
  readonly weighing: Weighing;
}

/**
 * Returns the assets with direct dealings that are judged one by one: those without a price, unless the whole direction is
 * weighed by its only asset.
 */
export const assetsApart = ({ basis, unpriced }: DirectionBasis): readonly UnpricedAsset[] =>
  basis === 'ASSET' ? [] : unpriced;

/** Returns the part of an asset's sums that belongs to a party. */
function partOf(edge: EdgeDetail, { part }: Party): LaterPart {
  if (part === null) return edge;
  const since = partSince(edge, dayOf(part.fromMs));
  if (!part.isBefore) return since;
  return { amount: edge.amount - since.amount, transfers: edge.transfers - since.transfers };
}

/** Returns the dealings of labelled parties in assets without a price. */
function unpricedDealings(
  { graph, node, direction }: SideOptions,
  assets: readonly UnpricedAsset[],
  parties: readonly Party[],
): UnpricedDealing[] {
  if (assets.length === 0) return [];
  const byName = new Map(assets.map((asset) => [asset.asset, asset]));
  return parties.flatMap((party) => {
    return edgeBetween(graph, node, direction, party.node).flatMap((edge): UnpricedDealing[] => {
      const asset = byName.get(edge.asset);
      if (asset === undefined) return [];
      const { amount, transfers } = partOf(edge, party);
      return amount === 0n ? [] : [{ party, asset, share: Number(amount) / asset.amount, transfers }];
    });
  });
}

/** Returns true if more than dust moved over any of the edges since a time, in milliseconds since the epoch. */
export function isDealtSince(
  edges: readonly EdgeDetail[],
  fromMs: number,
  { isEvidence, dustUsd, dustShare, dustAmount }: Weighing,
): boolean {
  return edges.some((edge) => {
    const { amount } = partSince(edge, dayOf(fromMs));
    if (amount === 0n || !isEvidence(edge.asset)) return false;
    const part = Number(amount) / Number(edge.amount);
    if (edge.valueUsd !== null) return edge.valueUsd * part >= dustUsd;
    return part >= dustShare && Number(amount) >= (dustAmount?.(edge.asset) ?? 0);
  });
}

/** Splits the dealings with a party that was designated between the first and the last of them. */
function splitParty(party: Party, since: EdgeSince): readonly Party[] {
  const { attribution, value, valueUsd, transfers, unpricedTransfers } = party;
  const fromMs = attribution.until?.fromMs as number;
  const sharedOut = (part: number, count: number, isBefore: boolean): Party => ({
    ...party,
    attribution: isBefore ? (attribution.until?.before ?? UNATTRIBUTED) : attribution,
    value: part,
    valueUsd: valueUsd === null ? null : twoDecimals(value > 0 ? (valueUsd * part) / value : 0),
    transfers: count,
    unpricedTransfers: Math.round((unpricedTransfers * count) / transfers),
    firstSeenMs: isBefore ? party.firstSeenMs : since.firstSinceMs,
    lastSeenMs: isBefore ? (since.lastBeforeMs ?? party.firstSeenMs) : party.lastSeenMs,
    part: { fromMs, isBefore },
  });
  const after = Math.min(value, since.weight);
  if (since.transfers >= transfers) return [party];
  return [
    sharedOut(value - after, transfers - since.transfers, true),
    sharedOut(after, since.transfers, false),
  ];
}

/** Returns a function that reads one direction: at most `counterpartiesMax` parties, greatest value first. */
export function createSideReader(workspace: KernelWorkspace): (options: SideOptions) => Side {
  return (options) => {
    const { graph, node, direction, flow, attributions, weighing } = options;
    const columns = workspace.neighbours(direction, GRAPH_LIMITS.counterpartiesMax);
    const basis = directionBasis(graph, node, direction, weighing);
    const rows = rowReaderOf(graph, weighing);
    const { count: read } = rows.readWithDust(
      node,
      direction,
      basis,
      GRAPH_LIMITS.counterpartiesMax,
      columns,
    );
    const { ids, weight, valueUsd, transfers, unpriced, firstSeenMs, lastSeenMs } = columns;
    graph.prefetch?.({ nodes: ids.subarray(0, read) });
    const usdAt = (at: number): number | null =>
      valueUsd[at] === 0 && (unpriced[at] as number) > 0 ? null : twoDecimals(valueUsd[at] as number);
    const attributionOfRow = (at: number): Attribution =>
      attributionAt(attributions.of(ids[at] as number), lastSeenMs[at] as number);
    const partyAt = (at: number): Party => {
      const value = weight[at] as number;
      return {
        node: ids[at] as number,
        direction,
        attribution: attributionOfRow(at),
        transfers: transfers[at] as number,
        unpricedTransfers: unpriced[at] as number,
        valueUsd: usdAt(at),
        value,
        firstSeenMs: firstSeenMs[at] as number,
        lastSeenMs: lastSeenMs[at] as number,
        isDust: value < basis.dust,
        part: null,
      };
    };
    /** Returns the parts of an edge before and since a designation; the whole edge if there is only one part. */
    const partsAt = (at: number): readonly Party[] => {
      const party = partyAt(at);
      const until = party.attribution.until;
      if (until === undefined || party.firstSeenMs >= until.fromMs) return [party];
      return splitParty(party, rows.since(node, party.node, direction, basis, until.fromMs));
    };
    const attributed: Party[] = [];
    const suspected: SuspectedOwner[] = [];
    for (let at = 0; at < read; at++) {
      const found = attributions.of(ids[at] as number);
      if (found === UNATTRIBUTED) continue;
      if (found.suspected !== undefined) {
        const fromMs = Date.parse(found.suspected.listedAt ?? '1970-01-01');
        const edges = edgeBetween(graph, node, direction, ids[at] as number);
        if (isDealtSince(edges, fromMs, weighing)) suspected.push(found.suspected);
      }
      for (const party of partsAt(at)) if (party.attribution !== UNATTRIBUTED) attributed.push(party);
    }
    // In the order of the row, which is by value.
    const top: TopParty[] = [];
    for (let at = 0; at < Math.min(read, SCREENING_LIMITS.screeningListMax); at++)
      top.push({
        node: ids[at] as number,
        direction,
        attribution: attributionOfRow(at),
        transfers: transfers[at] as number,
        unpricedTransfers: unpriced[at] as number,
        valueUsd: usdAt(at),
        value: weight[at] as number,
        firstSeenMs: firstSeenMs[at] as number,
        lastSeenMs: lastSeenMs[at] as number,
        percentage: percent(weight[at] as number, basis.total),
      });
    return {
      direction,
      flow,
      basis,
      attributed,
      unpriced: unpricedDealings(options, assetsApart(basis), attributed),
      suspected,
      top,
      read,
      counterparties: graph.degree(node, direction),
    };
  };
}

/** Returns a side without known counterparties. */
export const emptySide = (direction: Direction, flow: Flow): Side => ({
  direction,
  flow,
  basis: NOTHING_MOVED,
  attributed: [],
  unpriced: [],
  suspected: [],
  top: [],
  read: 0,
  counterparties: 0,
});

/**
 * Returns the factor that makes values of sides comparable. USD is comparable only with USD, and amounts only within one asset.
 * If neither applies, all sides have equal weight.
 */
export function scaleOf(bases: readonly DirectionBasis[]): (basis: DirectionBasis) => number {
  const moved = bases.filter(({ total }) => total > 0);
  if (moved.some(({ basis }) => basis === 'USD')) return ({ basis }) => (basis === 'USD' ? 1 : 0);
  if (new Set(moved.map(({ asset }) => asset)).size <= 1) return () => 1;
  return ({ total }) => (total > 0 ? 1 / total : 0);
}

/** Returns the labelled counterparties of all sides. */
export const attributedOf = (sides: readonly Side[]): readonly Party[] =>
  sides.flatMap((side) => side.attributed);
